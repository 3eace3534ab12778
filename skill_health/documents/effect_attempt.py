"""An attempt of an effectiveness run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import Amount, Count, OpenRecord


class TrialAttempt(OpenRecord, frozen=True, kw_only=True):
    """One line of attempts.jsonl: the start or the end of one trial. From the ends a lost result is had again."""

    ID: ClassVar = "skill-health/effectiveness-attempt/1"

    event: Literal["start", "end"]
    """start before the agent is started, end when the outcome is known."""
    key: tuple[str, str, str, Count]
    """task, model, arm and replication."""
    attempt: Annotated[int, Meta(ge=1)]
    """Counted from 1."""
    at: str = ""
    """When, in UTC."""
    reserved_usd: Amount | None = None
    """start: what the trial can cost at most; it counts as spent until the end is known."""
    outcome: Literal["pass", "fail", "timeout", "refusal", "infrastructure", "quota", "auth", "cancelled"] | None = None
    """end: what the trial came to."""
    cost_usd: Amount | None = None
    """end: dollars; null where nobody knows, and then the reservation counts."""
    error: str = ""
    """end: why there is no outcome that counts."""
    result: Mapping[str, Any] | None = None
    """end: the whole result, where there is one."""
