"""A drafted prompt."""

from __future__ import annotations

from typing import ClassVar, Literal

from skill_health.documents._draft import Draft
from skill_health.documents._record import Name, Record

PromptRole = Literal["positive", "near_miss", "none"]


class PromptContent(Record, frozen=True, kw_only=True):
    """A labelled request, as the registry of prompts will hold it."""

    text: str
    """What the user says."""
    role: PromptRole
    """positive: the skill must come first; near_miss: a sibling must, and the skill must not; none: no skill must."""
    expected: Name | None
    """The skill that must come first; null where none applies."""
    acceptable: tuple[Name, ...] = ()
    """Skills that may come first without harm."""
    rejected: tuple[Name, ...] = ()
    """Skills that must not fire."""
    reason: str = ""
    """Why the labels are right."""


class PromptDraft(Draft, frozen=True, kw_only=True):
    """One file of drafts/prompts: a labelled request that waits for a person, or has been decided on."""

    ID: ClassVar = "skill-health/prompt-draft/1"
    FOLDER: ClassVar = "prompts"

    kind: Literal["prompt"]
    content: PromptContent
