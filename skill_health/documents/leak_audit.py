"""What a model says leaks from skills into tasks, as far as its quotes stand where it says."""

from __future__ import annotations

from typing import ClassVar, Literal

from skill_health.documents._record import Count, Record

LeakStanding = Literal["quoted", "made up"]
AuditOutcome = Literal["answered", "no answer"]


class LeakAudit(Record, frozen=True, kw_only=True):
    """What `skill-health draft leaks --format json` prints.

    A model's opinion beside the deterministic findings of `effectiveness check`; nothing is decided by it.
    """

    ID: ClassVar = "skill-health/leak-audit/1"

    schema: Literal["skill-health/leak-audit/1"]
    run_id: str
    """The drafting that holds the questions and answers."""
    model: str
    """As it was named."""
    tasks: tuple[AuditedTask, ...]
    """By their ids."""
    quoted: Count
    """Claims whose both quotes stand where the model says."""
    made_up: Count
    """Claims with a quote that stands nowhere."""


class AuditedTask(Record, frozen=True, kw_only=True):
    """One task."""

    task: str
    skills: tuple[str, ...]
    """The skills that the model was shown."""
    outcome: AuditOutcome
    cut: bool
    """Whether texts were too long to be shown whole."""
    claims: tuple[LeakClaim, ...]


class LeakClaim(Record, frozen=True, kw_only=True):
    """A place that a model calls a leak."""

    skill: str
    quote: str
    """What the skill says."""
    answer: str
    """What of the solution or the tests that gives away."""
    why: str
    standing: LeakStanding
    """quoted: the skill holds the one text and the solution or the tests the other; made up: they do not."""
