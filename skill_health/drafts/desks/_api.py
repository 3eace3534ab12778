"""What a desk is: the drafts of one kind before a person, whether in a terminal or on a page.

A desk's module has

    open_desk(collection, now) -> ReviewDesk

where `now` tells the time of a decision. Its lines are safe to print; what it is given by a person is held against the
rules of its kind. Nothing that it shows says which drafts are sealed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from typing import Any, Protocol

from skill_health.core.plugins import plugin_names
from skill_health.documents._draft import Draft
from skill_health.drafts import desks
from skill_health.drafts.material import DraftingCollection

Now = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class ShownDraft:
    """A draft for a person: a title, (name, value) pairs, and notes. All of it may hold any characters."""

    title: str
    fields: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


class ReviewDesk(Protocol):
    """The drafts of one kind. Methods that write raise UsageError where a draft was decided on or changed meanwhile."""

    @property
    def title(self) -> str:
        """What the drafts are, in the plural."""

    def waiting(self) -> tuple[Draft, ...]:
        """The proposed drafts that were asked for, in their order."""

    def problems(self) -> tuple[str, ...]:
        """Files that are no drafts, a line each."""

    def show(self, draft: Any) -> ShownDraft:
        """A draft for a person."""

    def write_out(self, draft: Any) -> str:
        """What a person may edit, as text."""

    def edit(self, draft: Any, text: str) -> Draft:
        """Take in an edited text, which is kept even if it breaks a rule. Raises UsageError for an unreadable one."""

    def find_fault(self, draft: Any) -> str:
        """Why a draft cannot be accepted as it is; "" where it can."""

    def accept(self, draft: Any) -> Draft:
        """Accept it. Raises UsageError where it has a fault."""

    def reject(self, draft: Any, reason: str) -> Draft:
        """Reject it. Raises UsageError where no reason is given."""


def open_desks(collection: DraftingCollection, now: Now, skills: tuple[str, ...] = ()) -> Iterator[ReviewDesk]:
    """A desk for each kind of draft, with the drafts about these skills, or all."""
    for name in plugin_names(desks.__path__):
        yield import_module(f"{desks.__name__}.{name}").open_desk(collection, now, skills)
