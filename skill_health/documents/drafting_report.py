"""What a drafting of tasks came to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from skill_health.documents._draft import DraftMaker
from skill_health.documents._record import Count, Name, Record


class DraftCount(Record, frozen=True, kw_only=True):
    """How many drafts of one kind there are, and what became of them."""

    generated: Count
    """All that were made, rejected ones included."""
    rejected: Count
    """Those that a program rejected."""
    fit: Count
    """Those that no program found a flaw in; a person decides on them."""
    reasons: Mapping[str, Count]
    """The rejected ones by their first flaw."""


class DraftedFor(Record, frozen=True, kw_only=True):
    """What was drafted for one skill, or for a set of skills together."""

    skills: tuple[Name, ...]
    """Their names."""
    proposals: DraftCount
    """Tasks that could be made."""
    tasks: DraftCount
    """Executable tasks."""
    unanswered: Count
    """Questions to which the model gave no answer."""
    waiting: Count
    """Proposals that a person has to accept before tasks are made of them."""
    nothing: tuple[str, ...]
    """What a template could use and they do not declare; empty where there is something to draft from."""


class DraftingReport(Record, frozen=True, kw_only=True):
    """What `skill-health draft tasks --format json` prints: the drafts that this maker has made of these skills."""

    ID: ClassVar = "skill-health/drafting-report/1"

    schema: Literal["skill-health/drafting-report/1"]
    by: DraftMaker
    """What drafted: model, or template, which is weaker."""
    model: str
    """The name of the model as it was given; empty for templates."""
    review: str
    """The name of the second model; empty where none was asked."""
    skills: tuple[DraftedFor, ...]
    """In the order in which they were named."""
    total: DraftedFor
    """All of them together."""
