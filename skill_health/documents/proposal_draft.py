"""A drafted proposal of a task."""

from __future__ import annotations

from typing import ClassVar, Literal

from skill_health.documents._draft import Draft
from skill_health.documents._drafting import DraftFlaw
from skill_health.documents._record import Name, Record


class ProposalContent(Record, frozen=True, kw_only=True):
    """What a task could be, before it is made."""

    title: Name
    """A few words."""
    situation: Name
    """Who wants what, and why."""
    inputs: tuple[str, ...]
    """The files that it starts from, each in a sentence; none where it starts from nothing."""
    outcome: Name
    """What is there afterwards, and by what it can be told that it is right."""
    hidden: Name
    """What the skill knows and the request does not say: this is what the task measures."""
    needs: tuple[str, ...] = ()
    """The categories of environment that the task needs."""
    skills: tuple[Name, ...] = ()
    """The skills that should help, together."""


class ProposalDraft(Draft, frozen=True, kw_only=True):
    """One file of drafts/proposals: a task that could be made, and waits for a person, or has been decided on."""

    ID: ClassVar = "skill-health/proposal-draft/1"
    FOLDER: ClassVar = "proposals"

    kind: Literal["proposal"]
    content: ProposalContent
    flaws: tuple[DraftFlaw, ...] = ()
    """Why a program rejected it."""
