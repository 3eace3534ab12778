"""An attempt of a judging."""

from __future__ import annotations

from typing import ClassVar

from skill_health.documents._record import Count
from skill_health.documents.router_attempt import ModelAttempt


class JudgeAttempt(ModelAttempt, frozen=True, kw_only=True, omit_defaults=True):
    """One line of attempts.jsonl: the start or the end of one request to a judge.

    From the ends a lost result is had again.
    """

    ID: ClassVar = "skill-health/judging-attempt/1"

    key: tuple[str, str, str, Count, str, Count]
    """task, model, arm and replication of the trial (of a pair, of the one shown as A), judge and vote."""
