"""An attempt of an effectiveness run."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, UnsetType

from skill_health.documents._record import Amount, Count, OpenRecord
from skill_health.documents.effect_result import Outcome, TrialResult


class TrialAttempt(OpenRecord, frozen=True, kw_only=True):
    """One line of attempts.jsonl: the start or the end of one trial. From the ends a lost result is had again."""

    ID: ClassVar = "skill-health/effectiveness-attempt/1"

    event: Literal["start", "end"]
    """start before the agent is started, end when the outcome is known."""
    key: tuple[str, str, str, Count]
    """task, model, arm and replication."""
    attempt: Annotated[int, Meta(ge=1)]
    """Counted from 1."""
    at: str | UnsetType = UNSET
    """When, in UTC."""
    reserved_usd: Amount | UnsetType | None = UNSET
    """start: what the trial can cost at most; it counts as spent until the end is known."""
    outcome: Outcome | UnsetType | None = UNSET
    """end: what the trial came to."""
    cost_usd: Amount | UnsetType | None = UNSET
    """end: dollars; null where nobody knows, and then the reservation counts."""
    error: str | UnsetType = UNSET
    """end: why there is no outcome that counts."""
    result: TrialResult | UnsetType | None = UNSET
    """end: the whole result, where there is one."""
