"""From replies to the one result of a call: pure, so that a recorded attempt and a fresh one come to the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, get_args

from skill_health.bench.http.messages import Usage
from skill_health.bench.prices import TieredPrice, cost
from skill_health.router.answers import read_answer
from skill_health.router.records import NONE, Prompt, RankedReply, Reply, RoutingResult, Status

TRUNCATED = "truncated"
_USAGE = tuple(field.name for field in fields(Usage))
_TOKENS = tuple(name for name in _USAGE if name != "raw")
_REPLY = ("model", "request_id", "stop_reason", "duration_ms", "requests", "error", "stop")
# What the provider certainly did not charge for: it had no such model, or refused to serve this account.
_UNCHARGED = ("model_unavailable",)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a call: the reply, what it comes to, and its dollars, None where nobody knows."""

    reply: Reply
    status: Status
    answer: RankedReply
    usd: float | None

    @property
    def answered(self) -> bool:
        """Whether a result can rest on it, also in a run that is resumed."""
        return self.status in ("finished", "format_failure", "refusal", "truncated")


def read_attempt(reply: Reply, names: Sequence[str], none_allowed: bool, price: TieredPrice | None) -> Attempt:
    """What one reply comes to.

    A reply that was cut off at its limit counts as finished, with a note, where a whole answer stands in it.
    """
    usd = 0.0 if reply.status in _UNCHARGED or reply.stop else cost(price, reply.usage)
    if reply.status not in ("finished", "truncated"):
        return Attempt(reply, reply.status, RankedReply(), usd)
    answer = read_answer(reply.text, names, none_allowed)
    if reply.status == "truncated":
        if answer.kinds:
            return Attempt(reply, "truncated", RankedReply(), usd)
        answer = RankedReply(answer.ranking, answer.confidence, answer.rationale, (), (*answer.notes, TRUNCATED))
    return Attempt(reply, "format_failure" if answer.kinds else "finished", answer, usd)


def to_result(
    prompt: Prompt, model: str, replication: int, order: Sequence[str], attempts: Sequence[Attempt]
) -> RoutingResult:
    """The result that the attempts at one call come to: the last one's answer, the cost of all of them.

    `order` is the presentation. Tokens are those of all attempts, the raw usage and the duration those of the last.
    """
    first, last = attempts[0], attempts[-1]
    places = {name: place for place, name in enumerate(order, 1)}
    ranking = last.answer.ranking
    target = prompt.target
    return RoutingResult(
        prompt_id=prompt.prompt_id,
        model=model,
        replication=replication,
        status=last.status,
        ranking=ranking,
        confidence=last.answer.confidence,
        rationale=last.answer.rationale,
        kinds=last.answer.kinds,
        notes=last.answer.notes,
        attempts=len(attempts),
        first_status=first.status,
        first_kinds=first.answer.kinds,
        target_position=places.get(target) if target not in (None, NONE) else None,
        picked_position=places.get(ranking[0]) if ranking and ranking[0] != NONE else None,
        resolved_model=last.reply.model,
        request_id=last.reply.request_id,
        stop_reason=last.reply.stop_reason,
        usage=_summed([each.reply.usage for each in attempts]),
        duration_ms=last.reply.duration_ms,
        cost_usd=None if any(each.usd is None for each in attempts) else sum(each.usd or 0.0 for each in attempts),
        error=last.reply.error,
    )


def not_asked(prompt: Prompt, model: str, replication: int, error: str) -> RoutingResult:
    """The result of a call to a model that its provider does not have. The same whether or not it was asked."""
    gone: Status = "model_unavailable"
    return RoutingResult(
        prompt.prompt_id, model, replication, gone, attempts=0, first_status=gone, cost_usd=0.0, error=error
    )


def _summed(usages: Sequence[Usage]) -> Usage:
    if len(usages) == 1:
        return usages[0]
    totals: dict[str, int | None] = {}
    for name in _TOKENS:
        counts = [getattr(usage, name) for usage in usages]
        totals[name] = None if None in counts else sum(counts)
    return Usage(**totals, raw=usages[-1].raw)


def to_event(attempt: Attempt) -> dict[str, Any]:
    """What the journal keeps of an attempt, from which `from_event` has the reply again."""
    reply = attempt.reply
    return {name: getattr(reply, name) for name in _REPLY} | {
        "status": reply.status,
        "outcome": attempt.status,
        "kinds": list(attempt.answer.kinds),
        "raw_text": reply.text,
        "usage": {name: getattr(reply.usage, name) for name in _USAGE},
        "cost_usd": attempt.usd,
    }


def from_event(event: Mapping[str, Any]) -> Reply | None:
    """The reply of a recorded attempt; None where the record does not hold one."""
    if event.get("status") not in get_args(Status) or not isinstance(event.get("raw_text"), str):
        return None
    try:
        usage = Usage(**event.get("usage") or {})
        return Reply(
            status=event["status"], text=event["raw_text"], usage=usage, **{name: event[name] for name in _REPLY}
        )
    except (TypeError, KeyError):
        return None
