"""An attempt of an activation run."""

from __future__ import annotations

from typing import ClassVar

from msgspec import UNSET, UnsetType

from skill_health.documents._agent_attempt import AgentAttempt
from skill_health.documents._record import Count
from skill_health.documents.activation_result import ActivationOutcome, LoadResult


class LoadAttempt(AgentAttempt, frozen=True, kw_only=True):
    """One line of attempts.jsonl: the start or the end of one request. From the ends a lost result is had again."""

    ID: ClassVar = "skill-health/activation-attempt/1"

    key: tuple[str, str, Count, Count]
    """prompt, model, size of the collection and replication."""
    outcome: ActivationOutcome | UnsetType | None = UNSET
    """end: what became of it."""
    result: LoadResult | UnsetType | None = UNSET
    """end: the whole result, where there is one."""
