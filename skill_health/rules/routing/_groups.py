"""Which skills stand side by side, and how names and descriptions are compared."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from skill_health.rules._api import Summary

def collections(skills: Iterable[Summary]) -> dict[str, list[Summary]]:
    """The skills by the folder that holds their folders: what a host loads as one collection."""
    found: dict[str, list[Summary]] = {}
    for skill in skills:
        found.setdefault(collection_of(skill), []).append(skill)
    return found


def collection_of(skill: Summary) -> str:
    """The folder that holds the skill's folder; "" at the root."""
    return skill.folder.rpartition("/")[0]


def name_key(name: str) -> str:
    """The name as hosts compare it: NFKC, without regard to case."""
    return unicodedata.normalize("NFKC", name).casefold().strip()


def names_other(description: str, name: str) -> bool:
    """Whether a description names this skill, as a hand-over such as "use NAME instead" does."""
    return name in description and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", description) is not None
