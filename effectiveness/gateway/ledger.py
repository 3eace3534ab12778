"""What one trial has asked, got and spent, which skills it was offered, and whether it may ask again."""

from __future__ import annotations

import asyncio
import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from skill_health.bench.http.endpoint import Endpoint
from skill_health.bench.http.failures import Failure
from skill_health.bench.http.json_values import mapping, objects, optional, parsed
from skill_health.bench.http.messages import Usage
from skill_health.bench.prices import at_most, cost
from skill_health.bench.providers._api import ProviderProtocol, normalize_name
from skill_health.bench.redact import KeyFilter, Scrubber
from skill_health.effectiveness.agents._invocation import shows
from skill_health.effectiveness.gateway._api import GatewayLimits, GatewayTrace

_LOST = 16_384
"""The tokens that are counted for an answer of which nobody saw the end, or what the call allows where that is less."""
_IN_A_ROW = 200
"""After so many errors of the server without a success between them, it is asked no more."""
KEPT = 1 << 20
"""So many bytes of a request are kept."""
START = 60
"""Hosts cut descriptions, each at another length; none cuts them shorter than so many characters."""
SEARCHED = 4 << 20
"""So many characters of a request are looked through: more than any model reads at once."""

_PLAIN = re.compile(rb"[A-Za-z0-9_-]+")
# Descriptions stand in XML as often as not.
_ENTITIES = {
    "'": ("&#39;", "&#x27;", "&apos;"),
    '"': ("&quot;", "&#34;"),
    "<": ("&lt;",),
    ">": ("&gt;",),
    "&": ("&amp;",),
}
_LINE = 4 << 20
_WHOLE = 16 << 20


class AnswerMeter:
    """Reads one answer. `feed` gives back what goes on to the agent.

    `raw` is the usage in the provider's words: the last that each number had, as all providers count up in a stream;
    `model` what it says that it is, `error` an error in the middle of a success. With `hide`, the event that has
    nothing but the usage is kept back: the agent did not ask for it, and may not expect it.
    """

    def __init__(self, provider: ProviderProtocol, streamed: bool, hide: bool = False) -> None:
        self.raw: dict[str, Any] = {}
        self.model: str | None = None
        self.error: Mapping[str, Any] = {}
        self.size = 0
        self._provider, self._streamed, self._hide = provider, streamed, hide and streamed
        self._marks = (f'"{provider.usage_field}"'.encode(), b'"error"')
        self._parts: list[bytes] = []
        self._held = 0

    @property
    def usage(self) -> Usage | None:
        """The tokens, None where the answer has not told them."""
        if not self.raw:
            return None
        usage = replace(self._provider.read_usage(self.raw), raw=None)
        return None if usage.input_tokens is None and usage.output_tokens is None else usage

    def feed(self, data: bytes) -> bytes:
        """Take in a piece of the answer, of any size."""
        self.size += len(data)
        if not self._streamed:
            self._keep(data, _WHOLE)
            return data
        head, newline, tail = data.rpartition(b"\n")
        if not newline:
            self._keep(data, _LINE)
            return b"" if self._hide else data
        lines = (b"".join(self._parts) + head).split(b"\n")
        self._parts, self._held = [tail], len(tail)
        shown = [line for line in lines if not self._line(line)]
        if not self._hide:
            return data
        return b"".join(line + b"\n" for line in shown)

    def finish(self) -> bytes:
        """The answer is at its end: the rest of it that has not gone on."""
        rest, whole = b"".join(self._parts), self._held <= _WHOLE
        self._parts, self._held = [], 0
        if self._streamed:
            hidden = self._line(rest)
            return rest if self._hide and not hidden else b""
        data = parsed(rest) if whole else None
        # Google sends a list of events where nobody asks for a stream of them.
        for item in objects(data) if isinstance(data, list) else [mapping(data)]:
            self._note(item)
        return b""

    def _keep(self, data: bytes, limit: int) -> None:
        """Keep a part, but of what is too long to be read no more than its length; what is hidden must go on later."""
        self._held += len(data)
        if self._held <= limit or self._hide:
            self._parts.append(data)

    def _line(self, line: bytes) -> bool:
        """Read one line of a stream; whether it is one to hide."""
        if not line.startswith(b"data:") or len(line) > _LINE:
            return False
        if self.model is not None and not any(mark in line for mark in self._marks):
            return False
        data = parsed(line[5:].strip())
        if isinstance(data, Failure) or not isinstance(data, dict):
            return False
        self._note(data)
        return self._hide and self._provider.is_usage_only(data)

    def _note(self, data: Mapping[str, Any]) -> None:
        """One JSON object of the answer: the whole of it, or an event that may carry the answer so far."""
        provider = self._provider
        inner = mapping(data.get(provider.event_field)) or data
        usage = mapping(inner.get(provider.usage_field)) or mapping(data.get(provider.usage_field))
        for key, value in usage.items():
            self.raw[key] = _later(self.raw.get(key), value)
        self.model = optional(inner.get(provider.model_field)) or self.model
        error = data.get("error") or inner.get("error") or (data if data.get("type") == "error" else None)
        if error and isinstance(error, dict | str):
            self.error = {"error": error}


def _later(old: Any, new: Any) -> Any:
    """The later of two reports: numbers only grow, and nothing is no report."""
    if isinstance(old, int) and isinstance(new, int):
        return max(old, new)
    return new or old


@dataclass(slots=True)
class GatewayCall:
    """One call of a model, from its request to the end of its answer, however that ends.

    `size` are the bytes of its request, `most` the tokens that it may answer at most. `reserved` dollars are held for
    it while it is under way. `meter` is there once the server has answered with success; `whole` where that answer came
    to its end; `free` where nothing can have been charged. `turn` where it has tools.
    """

    size: int
    most: int
    reserved: float
    turn: bool = False
    meter: AnswerMeter | None = None
    whole: bool = False
    free: bool = True


class Ledger:
    """The state of one gateway: no message in it holds the key of the endpoint."""

    def __init__(self, provider: ProviderProtocol, limits: GatewayLimits, endpoint: Endpoint) -> None:
        self._limits, self._host = limits, endpoint.host
        self._scrub, self._filter = Scrubber(endpoint.key), KeyFilter(endpoint.key)
        self._watcher = NameWatcher(provider, limits.watch, limits.telling)
        self._seen = GatewayTrace()
        self._cost: float | None = None
        self._sent = self._in_a_row = 0
        self._spent = self._reserved = 0.0
        self._left = asyncio.Event()

    @property
    def seen(self) -> GatewayTrace:
        """All of it, as it stands."""
        # Where no call came through, nothing was spent, whatever the price.
        dollars = self._cost if self._sent else self._cost or 0.0
        return replace(
            self._seen, cost_usd=dollars, offered=self._watcher.found,
            first_request=self._filter.whole(self._watcher.first), given=self._watcher.given,
        )  # fmt: skip

    def note_refusal(self, line: str) -> None:
        """Note a request that was none of a model, or not made with the stand-in key."""
        self._seen = replace(self._seen, refused=self._seen.refused + 1, trouble=self._scrub.line(line))

    def note_request(self, body: bytes, data: Mapping[str, Any]) -> None:
        """Note what a request to a model holds, whether it may pass or not."""
        self._watcher.read_request(body, data)

    def note_barred(self, line: str) -> None:
        """Note that a request asked for what no trial may have."""
        self._seen = replace(self._seen, barred=self._scrub.line(line))

    async def begin_call(self, size: int, most: int, turn: bool = False) -> GatewayCall | str:
        """Let a call of a model begin, or say why it may not.

        The cap in dollars cannot be kept to the cent, as nobody knows the price of an answer that is not yet written:
        a call begins while less than the cap is spent, and calls at the same time only as far as what they may cost
        at most fits in. Those that do not fit wait. So a trial goes over its cap by one call at most.
        """
        self._seen = replace(self._seen, requests=self._seen.requests + 1)
        dollars = self._estimate(size, most) if self._limits.max_usd is not None else 0.0
        while not (why := self._why_not()):
            cap = self._limits.max_usd
            if cap is None or not self._reserved or self._spent + self._reserved + dollars <= cap:
                self._sent += 1
                self._reserved += dollars
                return GatewayCall(size, most, dollars, turn)
            await self._left.wait()
        return why

    def end_call(self, call: GatewayCall) -> None:
        """A call is over: count what its answer told, or what it can have cost where it told nothing."""
        self._reserved = max(0.0, self._reserved - call.reserved)
        if call.meter is not None:
            self._count(call, call.meter)
        elif call.free:
            self._sent -= 1
        else:
            self._spent += self._estimate(call.size, min(call.most, _LOST))
        self._left.set()
        self._left = asyncio.Event()

    def note_failure(self, failure: Failure) -> None:
        """Note that a call met an error of the server; one of key or credit ends all further calls."""
        self._in_a_row += 1
        line = self._scrub.line(f"{self._host} {failure.message}")
        self._seen = replace(self._seen, errors=self._seen.errors + 1, trouble=line)
        if failure.kind in ("quota", "auth") and self._seen.failure not in ("quota", "auth"):
            self._seen = replace(self._seen, failure=failure.kind, error=line)
        elif failure.status == 0 and not self._seen.failure:
            self._seen = replace(self._seen, failure="unreachable", error=line)

    def note_refuted(self, failure: Failure) -> None:
        """Note an error of key or credit that was that one request's: the key is good, and there is credit."""
        line = self._scrub.line(f"{self._host} {failure.message}")
        self._seen = replace(self._seen, refuted=line)
        self.note_failure(replace(failure, kind="fatal"))

    def note_own_call(self, usage: Usage) -> None:
        """Count what a call of the gateway's own has cost."""
        dollars = cost(self._limits.price, usage)
        if dollars is not None:
            self._cost = round((self._cost or 0.0) + dollars, 9)
            self._spent += dollars

    def note_contact(self) -> None:
        """The server has answered, so what was wrong with the way to it is over."""
        if self._seen.failure == "unreachable":
            self._seen = replace(self._seen, failure="", error="")

    def _why_not(self) -> str:
        limits, seen = self._limits, self._seen
        if limits.closed:
            return "no model is asked here: this is a probe"
        if seen.failure in ("quota", "auth", "capped"):
            return seen.error
        if limits.max_requests is not None and self._sent >= limits.max_requests:
            return self._capped(f"the trial has made the {limits.max_requests:,} calls of a model that it may")
        if limits.end_after is not None and (why := limits.end_after(seen.turns, bool(self._watcher.given))):
            return self._capped(why)
        if limits.max_usd is not None and self._spent >= limits.max_usd and not (limits.price and limits.price.free):
            return self._capped(f"the trial has spent ${self._spent:.4f}; its cap is ${limits.max_usd:.4f}")
        if self._in_a_row >= _IN_A_ROW:
            return f"{self._host} has answered {_IN_A_ROW} calls in a row with an error"
        return ""

    def _capped(self, line: str) -> str:
        self._seen = replace(self._seen, failure="capped", error=line)
        return line

    def _count(self, call: GatewayCall, meter: AnswerMeter) -> None:
        usage, seen = meter.usage, self._seen
        metered = usage is not None and usage.input_tokens is not None and usage.output_tokens is not None
        models = (self._scrub.line(meter.model, 200),) if meter.model else ()
        self._seen = replace(
            seen, answered=seen.answered + 1, unmetered=seen.unmetered + (not metered), turns=seen.turns + call.turn,
            models=tuple(dict.fromkeys((*seen.models, *models))), usage=_both(seen.usage, usage or Usage()),
        )  # fmt: skip
        dollars = None if usage is None else cost(self._limits.price, usage)
        if dollars is not None:
            self._cost = round((self._cost or 0.0) + dollars, 9)
        self._in_a_row = 0 if call.whole and not meter.error else self._in_a_row
        estimate = self._estimate(call.size, max(meter.size // 4, 0 if call.whole else min(call.most, _LOST)))
        # Of an answer that broke off only its beginning is told, for the rest of it may be charged, too.
        self._spent += estimate if dollars is None else dollars if call.whole else max(dollars, estimate)

    def _estimate(self, request: int, output: int) -> float:
        """Dollars at most, with a quarter of the bytes of a request as its tokens."""
        return at_most(self._limits.price, request // 4 + 1, output) if self._limits.price else 0.0


def _both(one: Usage, two: Usage) -> Usage:
    """The sum of what two answers told; None where neither did."""

    def plus(a: int | None, b: int | None) -> int | None:
        return a if b is None else b if a is None else a + b

    return Usage(
        plus(one.input_tokens, two.input_tokens),
        plus(one.output_tokens, two.output_tokens),
        plus(one.cached_tokens, two.cached_tokens),
        plus(one.cache_write_tokens, two.cache_write_tokens),
        plus(one.reasoning_tokens, two.reasoning_tokens),
    )


class NameWatcher:
    """Looks for watched names in bodies of requests: the proof of an offer that needs no word of the agent.

    `found` is None before the first request.

    Agents ask for a title of the session or check their quota before they begin, without any skill in it: so what
    counts is all that was offered in any request, and the request that is kept is the first that has tools, or the
    first at all as long as there is none. Of a conversation only what stands before the model's first answer is an
    offer: what comes later may be a file that names other skills, read by the agent. `given` are the skills whose text
    stands there, by the lines that are `telling`: not in any offer, where no model has asked for it.
    """

    def __init__(
        self,
        provider: ProviderProtocol,
        watch: Mapping[str, str],
        telling: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    ) -> None:
        self._provider = provider
        self._talk = {normalize_name(name) for name in provider.conversation}
        self._speaks = {*self._talk, *map(normalize_name, provider.instructions)}
        self.found: tuple[str, ...] | None = None
        self.first = b""
        self._tools = False
        self._watch = dict(watch)
        self._missing = {name: (_word(name), _start(text)) for name, text in watch.items()}
        self._telling = dict(telling)
        self.given: tuple[tuple[str, ...], ...] = ()

    def read_request(self, body: bytes, data: Mapping[str, Any]) -> None:
        """Take in one request: its bytes without any encoding of the content, and what they say."""
        tools = bool(data.get("tools"))
        if not tools and not any(value for name, value in data.items() if normalize_name(name) in self._speaks):
            return
        if not self.first or (tools and not self._tools):
            self.first, self._tools = body[:KEPT], tools
        self.found = self.found or ()
        # Most requests of a trial hold no name that is still missing; to look for its bytes costs next to nothing.
        if any(_present(name, body) for name in self._missing):
            self._search("\n".join(_strings(self._offer(data))))
        if self._telling:
            self._look_for_texts(data)

    def _look_for_texts(self, data: Mapping[str, Any]) -> None:
        for text, counts in (("\n".join(_strings(self._offer(data))), False), ("\n".join(_strings(data)), True)):
            found = tuple(name for name, lines in self._telling.items() if shows(text, lines))
            for name in found:
                del self._telling[name]
            if found and counts:
                self.given = (*self.given, found)

    def _search(self, text: str) -> None:
        for name, (word, start) in list(self._missing.items()):
            if name in text and word.search(text) and start.search(text):
                del self._missing[name]
        self.found = tuple(name for name in self._watch if name not in self._missing)

    def _offer(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """A request without what follows the first answer of its model."""
        return {
            name: list(self._before_answer(value))
            if isinstance(value, list) and normalize_name(name) in self._talk
            else value
            for name, value in data.items()
        }

    def _before_answer(self, turns: list[Any]) -> Iterator[Any]:
        for turn in turns:
            if isinstance(turn, dict) and self._provider.is_answer(turn):
                return
            yield turn


def _word(name: str) -> re.Pattern[str]:
    """The name as a whole: not as a part of a longer one."""
    return re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")


def _start(text: str) -> re.Pattern[str]:
    """The start of a description, whatever white space is between its words and whether it stands in XML or not.

    One that holds an entity itself is found as it is, and as the sign that the entity is for.
    """
    begun = " ".join(text.split())[:START]
    forms = dict.fromkeys((begun, " ".join(html.unescape(text).split())[:START]))
    return re.compile("|".join("".join(map(_sign, form)) for form in forms))


def _sign(sign: str) -> str:
    if sign == " ":
        return r"\s+"
    entities = _ENTITIES.get(sign)
    return f"(?:{'|'.join((*entities, re.escape(sign)))})" if entities else re.escape(sign)


def _present(name: str, body: bytes) -> bool:
    """Whether the name can stand in the body. One with characters that JSON may escape is always looked for."""
    raw = name.encode("utf-8", "replace")
    return raw in body if _PLAIN.fullmatch(raw) else True


def _strings(data: Any) -> Iterator[str]:
    """Every text of a JSON value, names of members too, in their order; no more than SEARCHED characters."""
    stack, left = [data], SEARCHED
    while stack and left > 0:
        value = stack.pop()
        if isinstance(value, str):
            yield value[:left]
            left -= len(value)
        elif isinstance(value, dict):
            for key, inner in reversed(value.items()):
                stack += (inner, key)
        elif isinstance(value, list):
            stack.extend(reversed(value))


def texts_of(body: bytes) -> str:
    """Every text in the body of a request, one on a line; "" for what is no JSON, such as one that was cut."""
    try:
        return "\n".join(_strings(json.loads(body)))
    except (ValueError, RecursionError):
        return ""


def offered_order(body: bytes, watch: Mapping[str, str]) -> tuple[str, ...] | None:
    """The watched names in the order in which their descriptions stand in a request; None where it cannot be read."""
    text = texts_of(body)
    found = ((match.start(), name) for name, about in watch.items() if (match := _start(about).search(text)))
    return tuple(name for _, name in sorted(found)) if text else None
