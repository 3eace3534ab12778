"""What the body of a request asks for, in few words, so that the body's many values need not be kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from skill_health.bench.http.json_values import mapping
from skill_health.effectiveness.gateway.exchange import Rejected
from skill_health.effectiveness.gateway.fields import fields_of
from skill_health.effectiveness.gateway.refusals import refusal

UNSAID = 131_072
"""The tokens that a call is taken to answer at most where it does not say: no model writes more at once."""
_MOST, _TIMES = 10**9, 1000
_LIMITS: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("maxtokens",),
    "openai": ("maxtokens", "maxcompletiontokens"),
    "openai-responses": ("maxoutputtokens",),
    "gemini": ("maxoutputtokens",),
}


@dataclass(frozen=True, slots=True)
class CallRequest:
    """A call of `model`, "" where the body does not say. `most` are the tokens of all its answers at most.

    `why_not` is why it may not pass, "" where it may. `blind` says that its answer would not tell its tokens, `told` is
    then the whole body with the wish to be told, where it cannot be added at its end.
    """

    model: str = ""
    most: int = UNSAID
    why_not: str = ""
    blind: bool = False
    told: bytes = b""


def loaded(body: bytes) -> Mapping[str, Any]:
    """The JSON object in a body. Raises Rejected for anything else.

    A name that stands twice in one object is refused: who reads it next may take the other value.
    """
    try:
        text = body.decode("utf-8-sig")
        data = json.loads(text, object_pairs_hook=_once, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        raise Rejected(400, "the body is no JSON object") from None
    if not isinstance(data, dict):
        raise Rejected(400, "the body is no JSON object")
    return data


def asked_of(protocol: str, path: str, data: Mapping[str, Any]) -> CallRequest:
    """What a body asks for; `path` is where it goes, since one protocol names its model there. Raises Rejected."""
    fields = fields_of(data)
    why_not = refusal(protocol, fields)
    if protocol == "gemini":
        model = path.partition("?")[0].rpartition("/")[2].partition(":")[0]
        # A count of tokens may hold a whole call.
        why_not = why_not or refusal(protocol, fields_of(mapping(fields.get("generatecontentrequest"))))
        config = fields_of(mapping(fields.get("generationconfig")))
        return CallRequest(model, _most(protocol, config) * _times(config.get("candidatecount")), why_not)
    named = fields.get("model")
    asked = CallRequest(
        named if isinstance(named, str) else "", _most(protocol, fields) * _times(fields.get("n")), why_not
    )
    options = data.get("stream_options")
    if protocol != "openai" or not data.get("stream") or mapping(options).get("include_usage") is True:
        return asked
    told = b""
    if "stream_options" in data:
        more = {**data, "stream_options": {**mapping(options), "include_usage": True}}
        told = json.dumps(more, separators=(",", ":")).encode("ascii")
    return replace(asked, blind=True, told=told)


def with_usage(body: bytes, asked: CallRequest) -> bytes:
    """A body that asks for its tokens, too. Without being asked, OpenAI's protocol tells none in a stream."""
    return asked.told or body.rstrip()[:-1] + b',"stream_options":{"include_usage":true}}'


def _most(protocol: str, fields: Mapping[str, Any]) -> int:
    """The largest limit of tokens that is given: which of several holds, only the server knows."""
    return max(
        (value for name in _LIMITS[protocol] if 0 < (value := _whole(fields.get(name))) <= _MOST), default=UNSAID
    )


def _times(value: Any) -> int:
    """How many answers are asked for."""
    return max(1, min(_whole(value), _TIMES))


def _whole(value: Any) -> int:
    """A whole number, 0 for whatever is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Rejected(400, "a name stands twice in one object of the body")
    return found
