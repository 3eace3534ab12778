"""An attempt of an effectiveness run."""

from __future__ import annotations

from typing import ClassVar

from msgspec import UNSET, UnsetType

from skill_health.documents._agent_attempt import AgentAttempt
from skill_health.documents._record import Count
from skill_health.documents.effect_result import Outcome, TrialResult


class TrialAttempt(AgentAttempt, frozen=True, kw_only=True):
    """One line of attempts.jsonl: the start or the end of one trial. From the ends a lost result is had again."""

    ID: ClassVar = "skill-health/effectiveness-attempt/1"

    key: tuple[str, str, str, Count]
    """task, model, arm and replication."""
    outcome: Outcome | UnsetType | None = UNSET
    """end: what the trial came to."""
    result: TrialResult | UnsetType | None = UNSET
    """end: the whole result, where there is one."""
