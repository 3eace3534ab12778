"""What is missing in what is known of a skill."""

from __future__ import annotations

from enum import StrEnum

from skill_health.documents._record import Record


class StepKind(StrEnum):
    """What is missing, in the order of the questions."""

    FIX_FIRST = "fix first"
    NOT_FOUND = "not found"
    NOT_LISTED = "not listed"
    NO_PROMPTS = "no prompts"
    ROUTING_NOT_MEASURED = "routing not measured"
    ROUTING_OUT_OF_DATE = "routing out of date"
    HARMFUL = "harmful"
    NO_TASKS = "no tasks"
    EFFECT_NOT_MEASURED = "effect not measured"
    EFFECT_OUT_OF_DATE = "effect out of date"
    EFFECT_NOT_TESTABLE = "effect not testable"


class NextStep(Record, frozen=True, kw_only=True):
    """A gap of a skill, and what to do about it."""

    gap: StepKind
    """What is missing, in a few words."""
    advice: str
    """What to do about it."""
    command: str
    """The command that comes next; empty where none does it."""


class SharedStep(NextStep, frozen=True, kw_only=True):
    """A gap that several skills have."""

    skills: tuple[str, ...]
    """The skills that it is for."""
