"""What became of drafts."""

from __future__ import annotations

from typing import ClassVar, Literal

from skill_health.documents._draft import DraftJudge
from skill_health.documents._record import Count, Record


class DraftReport(Record, frozen=True, kw_only=True):
    """What `skill-health draft report --format json` prints: how many drafts became what, and why."""

    ID: ClassVar = "skill-health/draft-report/1"

    schema: Literal["skill-health/draft-report/1"]
    makers: tuple[DraftCounts, ...]
    """By what made them: model, template (which is weaker), transcript."""
    all: DraftCounts
    """All of them together."""
    reasons: tuple[RejectedDrafts, ...]
    """Why drafts were rejected, the commonest reason first."""
    problems: tuple[str, ...]
    """Files that are no drafts."""


class DraftCounts(Record, frozen=True, kw_only=True):
    """How many drafts are in each state."""

    made_by: str
    """What made them, or all."""
    proposed: Count
    """Nobody has decided."""
    unchanged: Count
    """Accepted as they were generated."""
    edited: Count
    """Accepted after an edit."""
    rejected_by_validation: Count
    rejected_by_model: Count
    """By the second model."""
    rejected_by_person: Count


class RejectedDrafts(Record, frozen=True, kw_only=True):
    """Drafts that were rejected for one reason."""

    by: DraftJudge
    reason: str
    """The word of a rule, or what a person said."""
    drafts: Count
