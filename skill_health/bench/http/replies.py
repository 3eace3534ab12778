"""The outcome of a call as a journal keeps it, and what several come to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import structs

from skill_health.bench.http.failures import Failure
from skill_health.bench.http.messages import Usage, add_usage
from skill_health.bench.prices import TieredPrice, cost
from skill_health.documents._record import TokenUsage
from skill_health.documents.router_attempt import AttemptReply

if TYPE_CHECKING:
    from skill_health.bench.http.client import CallOutcome

_STATUS = {"model": "model_unavailable", "refusal": "refusal"}


def to_reply(outcome: CallOutcome, price: TieredPrice | None, charged: bool) -> AttemptReply:
    """What the journal keeps of a call; its dollars are 0 where it cannot have been `charged`, None if not known."""
    found = outcome.completion
    if found is None:
        failure = outcome.failure or Failure("fatal", "did not answer")
        return AttemptReply(
            status=_STATUS.get(failure.kind, "provider_error"),  # type: ignore[arg-type]
            raw_text="",
            requests=outcome.requests,
            duration_ms=outcome.duration_ms,
            cost_usd=None if charged and failure.kind not in ("model", "quota", "auth") else 0.0,
            error=failure.message,
            stop="quota" if failure.kind == "quota" else "auth" if failure.kind == "auth" else "",
        )
    refused = found.end == "refusal"
    return AttemptReply(
        status="refusal" if refused else "truncated" if found.end == "truncated" else "finished",
        raw_text=found.text,
        model=found.model,
        request_id=found.request_id,
        stop_reason=found.stop_reason,
        usage=TokenUsage(**found.usage.to_json()),
        duration_ms=outcome.duration_ms,
        requests=outcome.requests,
        cost_usd=cost(price, found.usage),
        error=f"the model refused to answer ({found.stop_reason or 'no reason given'})" if refused else "",
    )


def sum_usage(replies: Sequence[AttemptReply]) -> TokenUsage:
    """The tokens of all attempts."""
    return TokenUsage(**add_usage([Usage(**structs.asdict(each.usage)) for each in replies]).to_json())


def sum_cost(replies: Sequence[AttemptReply]) -> float | None:
    """The dollars of all attempts, None where those of one are not known."""
    costs = [each.cost_usd for each in replies]
    return None if None in costs else sum(each for each in costs if each is not None)
