"""An attempt of a router run."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import UNSET, Meta, UnsetType

from skill_health.documents._record import Amount, Count, OpenRecord, TokenUsage
from skill_health.documents.router_result import Status


class AttemptReply(OpenRecord, frozen=True, kw_only=True, omit_defaults=False):
    """What the end of an attempt keeps of the reply, from which a lost result is had again."""

    status: Status | None = None
    """end: the status of the reply."""
    outcome: Status | None = None
    """end: the status after the answer was read."""
    kinds: tuple[str, ...] = ()
    """end: what is wrong with the format of the answer."""
    raw_text: str | None = None
    """end: the answer, word by word."""
    model: str | None = None
    """end: the id of the model that the provider named."""
    request_id: str | None = None
    """end: the provider's id of the request."""
    stop_reason: str | None = None
    """end: why the answer ended, in the provider's word."""
    usage: TokenUsage = TokenUsage()
    """end: tokens of this attempt."""
    duration_ms: Amount | None = None
    """end: the time of the answered request."""
    requests: Count = 1
    """end: how many requests were sent for it, repeated ones included."""
    cost_usd: Amount | None = None
    """end: what it cost; null where nobody knows, and then what was reserved counts."""
    error: str = ""
    """end: why there is no answer, in one line."""
    stop: Literal["", "quota", "auth"] = ""
    """end: what ends the whole run (quota, auth), or empty."""
    batch: str | UnsetType = UNSET
    """Our name of the batch that the request was part of, as in batches.jsonl; only there."""


class ModelAttempt(AttemptReply, frozen=True, kw_only=True, omit_defaults=True):
    """The start or the end of one request to a model. From the ends a lost result is had again."""

    event: Literal["start", "end"]
    """start before the request is sent, end when its outcome is known."""
    key: tuple[Any, ...]
    attempt: Annotated[int, Meta(ge=1)]
    """Counted from 1."""
    at: str = ""
    """When, in UTC."""
    reserved_usd: Amount | None = None
    """start: what the request can cost at most; it counts as spent until the end is known."""


class RoutingAttempt(ModelAttempt, frozen=True, kw_only=True, omit_defaults=True):
    """One line of attempts.jsonl: the start or the end of one request to a model.

    From the ends a lost result is had again.
    """

    ID: ClassVar = "skill-health/router-attempt/1"

    key: tuple[str, str, Count]
    """prompt, model and replication."""
