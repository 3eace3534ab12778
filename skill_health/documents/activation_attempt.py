"""An attempt of an activation run."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, UnsetType

from skill_health.documents._record import Amount, Count, OpenRecord
from skill_health.documents.activation_result import ActivationOutcome, LoadResult


class LoadAttempt(OpenRecord, frozen=True, kw_only=True):
    """One line of attempts.jsonl: the start or the end of one request. From the ends a lost result is had again."""

    ID: ClassVar = "skill-health/activation-attempt/1"

    event: Literal["start", "end"]
    """start before the agent is started, end when the outcome is known."""
    key: tuple[str, str, Count, Count]
    """prompt, model, size of the collection and replication."""
    attempt: Annotated[int, Meta(ge=1)]
    """Counted from 1."""
    at: str | UnsetType = UNSET
    """When, in UTC."""
    reserved_usd: Amount | UnsetType | None = UNSET
    """start: what the request can cost at most; it counts as spent until the end is known."""
    outcome: ActivationOutcome | UnsetType | None = UNSET
    """end: what became of it."""
    cost_usd: Amount | UnsetType | None = UNSET
    """end: dollars; null where nobody knows, and then the reservation counts."""
    error: str | UnsetType = UNSET
    """end: why there is no outcome that counts."""
    result: LoadResult | UnsetType | None = UNSET
    """end: the whole result, where there is one."""
