"""An attempt at anything for which an agent is started."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from skill_health.documents._record import Amount, OpenRecord


class AgentAttempt(OpenRecord, frozen=True, kw_only=True):
    """The start or the end of one attempt. From the ends a lost result is had again."""

    event: Literal["start", "end"]
    """start before the agent is started, end when the outcome is known."""
    key: tuple[Any, ...]
    attempt: Annotated[int, Meta(ge=1)]
    """Counted from 1."""
    at: str | UnsetType = UNSET
    """When, in UTC."""
    reserved_usd: Amount | UnsetType | None = UNSET
    """start: what the attempt can cost at most; it counts as spent until the end is known."""
    outcome: str | UnsetType | None = UNSET
    cost_usd: Amount | UnsetType | None = UNSET
    """end: dollars; null where nobody knows, and then the reservation counts."""
    error: str | UnsetType = UNSET
    """end: why there is no outcome that counts."""
    result: Any = UNSET
