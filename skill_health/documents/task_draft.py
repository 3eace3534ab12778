"""A drafted task."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._draft import Draft
from skill_health.documents._drafting import DraftFlaw
from skill_health.documents._record import Count, Name, Record

OptionalDigest = Annotated[str, Meta(pattern="^([0-9a-f]{32})?$")]


class TaskContent(Record, frozen=True, kw_only=True):
    """What a drafted task is about; the task itself is the folder of the draft's name beside this file."""

    title: Name
    """A few words."""
    proposal: str
    """The id of the proposal that it was made from."""
    hidden: str
    """What the skill knows and the instruction does not say."""
    skills: tuple[Name, ...]
    """The skills that should help, together."""
    goal: Count
    """The items of the rubric of the goal, which has 100 points."""
    instruction: Count
    """The items of the rubric of instructions that are followed, which has 100 points."""
    checked: Count
    """How many items of both are decided by a check; a judge decides the others."""
    digest: OptionalDigest
    """A hash of the folder's task, its instruction, files and rubrics; empty where no folder could be made."""


class TaskDraft(Draft, frozen=True, kw_only=True):
    """One file of drafts/tasks: a task that waits for a person, or has been decided on."""

    ID: ClassVar = "skill-health/task-draft/1"
    FOLDER: ClassVar = "tasks"

    kind: Literal["task"]
    content: TaskContent
    flaws: tuple[DraftFlaw, ...] = ()
    """Why a program rejected it."""
    review: str = ""
    """What a second model said of it: clear, ambiguous, or unread; empty where none was asked."""
    answer: str = ""
    """The model's answer, where no folder could be made of it."""
