"""From replies to the one result of a call: pure, so that a recorded attempt and a fresh one come to the same."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from msgspec import structs

from skill_health.bench.http.replies import sum_cost, sum_usage
from skill_health.bench.prices import TieredPrice, cost
from skill_health.bench.run.questions import ReadAttempt
from skill_health.documents._record import TokenUsage
from skill_health.documents.router_attempt import AttemptReply
from skill_health.router.records import NONE, Prompt, RankedReply, Reply, RoutingResult, Status
from skill_health.text.patterns import lazy
from skill_health.text.terminal import table_line

MAX_CHARS = 1 << 16
MAX_RATIONALE = 2_000
KINDS = (
    "confidence_range", "duplicate", "empty_answer", "empty_ranking", "missing_key", "not_an_object", "not_json",
    "prose", "too_long", "unknown_skill", "wrong_type",
)  # fmt: skip
_FENCE = lazy(r"```[A-Za-z]{0,10}[ \t]*\n(.*)\n[ \t]*```", 16)


def read_answer(text: str, names: Sequence[str], none_allowed: bool = True, think_tags: bool = False) -> RankedReply:
    """Read one answer against the names that were shown. Never raises.

    With `think_tags`, thoughts may stand before it, up to `</think>`; servers that put `<think>` into their prompt
    send no opening tag.
    """
    stripped = text.strip()
    notes: tuple[str, ...] = ()
    if think_tags and _THOUGHTS_END in stripped:
        stripped, notes = stripped.partition(_THOUGHTS_END)[2].strip(), (THOUGHTS,)
    if not stripped:
        return RankedReply(kinds=("empty_answer",), notes=notes)
    if len(stripped) > MAX_CHARS:
        return RankedReply(kinds=("too_long",), notes=notes)
    if fenced := _FENCE.fullmatch(stripped):
        stripped, notes = fenced[1].strip(), (*notes, "fenced")
    try:
        data = json.loads(stripped, parse_constant=_refuse, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return RankedReply(kinds=(_unreadable(stripped),), notes=notes)
    if not isinstance(data, dict):
        return RankedReply(kinds=("not_an_object",), notes=notes)
    return _checked(data, set(names) | ({NONE} if none_allowed else set()), notes)


def _checked(data: dict[str, Any], known: set[str], notes: tuple[str, ...]) -> RankedReply:
    kinds = {"missing_key" for key in ("ranking", "confidence", "rationale") if key not in data}
    ranking = data.get("ranking", [])
    ranking = [ranking] if ranking == NONE else ranking
    if not isinstance(ranking, list) or not all(isinstance(name, str) for name in ranking):
        kinds.add("wrong_type")
        ranking = []
    elif not ranking and "ranking" in data:
        kinds.add("empty_ranking")
    if len(set(ranking)) < len(ranking):
        kinds.add("duplicate")
    if not known.issuperset(ranking):
        kinds.add("unknown_skill")
    confidence, rationale = data.get("confidence"), data.get("rationale")
    if isinstance(confidence, bool) or not isinstance(confidence, int | float | None):
        kinds.add("wrong_type")
        confidence = None
    if confidence is not None and not 0 <= confidence <= 1:
        kinds.add("confidence_range")
        confidence = None
    if not isinstance(rationale, str | None):
        kinds.add("wrong_type")
        rationale = None
    if "confidence" in data and data["confidence"] is None:
        kinds.add("wrong_type")
    return RankedReply(
        ranking=() if kinds else tuple(ranking),
        confidence=None if confidence is None else float(confidence),
        rationale=table_line((rationale or "")[:MAX_RATIONALE]),
        kinds=tuple(sorted(kinds)),
        notes=notes,
    )


def _unreadable(text: str) -> str:
    """An answer with text around it is prose; anything else that begins as an object or a list is broken JSON."""
    if text[0] not in "{[":
        return "prose"
    try:
        json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_unique).raw_decode(text)
    except (ValueError, RecursionError):
        return "not_json"
    return "prose"


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is repeated")
    return found


TRUNCATED, THOUGHTS = "truncated", "thoughts"
_THOUGHTS_END = "</think>"
# What the provider certainly did not charge for: it had no such model, or refused to serve this account.
_UNCHARGED = ("model_unavailable",)

RoutedAttempt: TypeAlias = ReadAttempt[RankedReply]


def to_kept(reply: Reply, price: TieredPrice | None) -> AttemptReply:
    """A reply as a journal keeps it, with its dollars, None where nobody knows."""
    return AttemptReply(
        status=reply.status,
        raw_text=reply.text,
        model=reply.model,
        request_id=reply.request_id,
        stop_reason=reply.stop_reason,
        usage=TokenUsage(**reply.usage.to_json()),
        duration_ms=reply.duration_ms,
        requests=reply.requests,
        cost_usd=0.0 if reply.status in _UNCHARGED or reply.stop else cost(price, reply.usage),
        error=reply.error,
        stop=reply.stop,
    )


def read_attempt(
    reply: AttemptReply, names: Sequence[str], none_allowed: bool, think_tags: bool = False
) -> RoutedAttempt:
    """What one reply comes to.

    A reply that was cut off at its limit counts as finished, with a note, where a whole answer stands in it.
    """
    if reply.status not in ("finished", "truncated"):
        return ReadAttempt(structs.replace(reply, outcome=reply.status), RankedReply())
    answer = read_answer(reply.raw_text or "", names, none_allowed, think_tags)
    if reply.status == "truncated":
        if answer.kinds:
            return ReadAttempt(structs.replace(reply, outcome="truncated"), RankedReply())
        answer = RankedReply(answer.ranking, answer.confidence, answer.rationale, (), (*answer.notes, TRUNCATED))
    outcome: Status = "format_failure" if answer.kinds else "finished"
    return ReadAttempt(structs.replace(reply, outcome=outcome, kinds=answer.kinds), answer)


def to_result(
    prompt: Prompt,
    model: str,
    replication: int,
    order: Sequence[str],
    attempts: Sequence[RoutedAttempt],
    meant: Mapping[str, str] = MappingProxyType({}),
) -> RoutingResult:
    """The result that the attempts at one call come to: the last one's answer, the cost of all of them.

    `order` is the presentation, and `meant` the skills that listed names of others stand for. Tokens are those of all
    attempts, the raw usage and the duration those of the last.
    """
    first, last, replies = attempts[0], attempts[-1], [each.reply for each in attempts]
    places = {name: place for place, name in enumerate(order, 1)}
    ranking = tuple(meant.get(name, name) for name in last.answer.ranking)
    target = prompt.target
    return RoutingResult(
        prompt_id=prompt.prompt_id,
        model=model,
        replication=replication,
        status=last.outcome,
        ranking=ranking,
        confidence=last.answer.confidence,
        rationale=last.answer.rationale,
        kinds=last.answer.kinds,
        notes=last.answer.notes,
        attempts=len(attempts),
        first_status=first.outcome,
        first_kinds=first.answer.kinds,
        target_position=places.get(target) if target not in (None, NONE) else None,
        picked_position=places.get(ranking[0]) if ranking and ranking[0] != NONE else None,
        resolved_model=last.reply.model,
        request_id=last.reply.request_id,
        stop_reason=last.reply.stop_reason,
        usage=structs.replace(sum_usage(replies), raw=last.reply.usage.raw),
        duration_ms=last.reply.duration_ms,
        cost_usd=sum_cost(replies),
        error=last.reply.error,
        batch=last.reply.batch,
    )


def not_asked(prompt: Prompt, model: str, replication: int, error: str) -> RoutingResult:
    """The result of a call to a model that its provider does not have. The same whether or not it was asked."""
    gone: Status = "model_unavailable"
    return RoutingResult(
        prompt.prompt_id, model, replication, gone, attempts=0, first_status=gone, cost_usd=0.0, error=error
    )
