"""Which skills stand side by side, and how names and descriptions are compared."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from skill_health.rules._api import Summary

# Words that say nothing of the subject: English function words, and what every description of a skill says.
STOP = frozenset(
    "a about above after again all also an and any are as at be been before being between both but by can could do does doing "
    "done during each etc for from further had has have having he her his how if in into is it its itself just may me might more "
    "most must my need needed needs no nor not of off on once only onto or other our out over own per same shall she should so some such "
    "than that the their them then there these they this those through to too under until up upon us use used user users uses using "
    "via want wants was we were what when whenever where whether which while who whom why will with within without would you "
    "your ask asks asked asking say says said mention mentions mentioned skill skills trigger triggers triggered covers cover "
    "include includes including help helps like".split()
)


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
