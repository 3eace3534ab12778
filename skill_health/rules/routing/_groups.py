"""Which skills are listed together, and how names and descriptions are compared."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Sequence
from itertools import islice
from typing import Any

from skill_health.rules._api import Corpus, SkillSummary

_FEW = 8


class ListedTogether(Sequence[SkillSummary]):
    """Some of the skills of a collection: those at the given places."""

    def __init__(self, skills: Sequence[SkillSummary], places: Sequence[int]) -> None:
        self.skills, self.places = skills, places

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, at: Any) -> Any:
        """The skill at a place in this group; slices are not supported."""
        return self.skills[self.places[at]]


def collections(skills: Sequence[SkillSummary]) -> dict[str, ListedTogether]:
    """The skills by the parent of their folders: what a host loads as one collection."""
    found: dict[str, array[int]] = {}
    for at, skill in enumerate(skills):
        found.setdefault(collection_of(skill), array("I")).append(at)
    return {home: ListedTogether(skills, places) for home, places in found.items()}


def few_asked(corpus: Corpus, skills: Sequence[SkillSummary]) -> list[int] | None:
    """Where those whose findings are wanted are, if so few that each is better compared with all; else None."""
    asked = (at for at, skill in enumerate(skills) if corpus.shows(skill.path))
    few = list(islice(asked, _FEW + 1))
    return few if len(few) <= _FEW else None


def collection_of(skill: SkillSummary) -> str:
    """The parent of the skill's folder; "" at the root."""
    return skill.folder.rpartition("/")[0]


def name_key(name: str) -> str:
    """The form in which hosts compare names: NFKC, ignoring case."""
    return unicodedata.normalize("NFKC", name).casefold().strip()


def quote_name(name: str) -> str:
    """A name quoted for a message, and cut: a hostile one may be a megabyte long."""
    return repr(name if len(name) <= 80 else name[:77] + "...")


def names_other(description: str, name: str) -> bool:
    """Whether a description names this skill, as a hand-off such as "use NAME instead" does.

    A name of one word (review) counts only if it is marked as a name, since it is also an ordinary word.
    """
    if name not in description:
        return False
    escaped = re.escape(name)
    if not name.isalpha():
        return re.search(rf"(?<![\w-]){escaped}(?![\w-])", description) is not None
    marked = rf"[/$@`]{escaped}(?![\w-])|(?<![\w-]){escaped} (?:skill|instead)\b|\b(?:use|see) {escaped}(?=[.,;)]|$)"
    return re.search(marked, description) is not None


def tied(a: SkillSummary, b: SkillSummary) -> bool:
    """Whether one of two skills hands off to the other by name."""
    return names_other(a.description, b.name) or names_other(b.description, a.name)
