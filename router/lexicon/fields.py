"""A skill -> the fields that free routers search, each with an index of its own.

A description says what a skill is for, and often what it is not for ("not for X; use Y instead"). The words of such a
clause belong to a sibling, so they are left out of what is searched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from skill_health.router.records import ListedSkill
from skill_health.text.patterns import lazy

DESCRIPTION: Final = "description"
BODY: Final = "body"
CONTENT: Final = "content"

_CLAUSE = lazy(r"(?<=[.;!?])\s+|(?<=[。；！？])|\n|\s[—–]\s")
_AGAINST = lazy(
    r"(?i)\b(?:do not (?:use|trigger)|don't (?:use|trigger)|not (?:for|when)|never use|skip (?:this|if|when)|instead,? use"
    r"|use [\w`:/-]+ instead|except|should not|rather than)\b|→\s*[`/]?\w+(?:[-:]\w+)+|不適用|不用於|ではなく"
)
_SECTION = lazy(r"(?m)^(?=#{1,4}[ \t])")


@dataclass(frozen=True, slots=True)
class SkillFields:
    """What is searched of a skill. `positive` is the listed text without what the skill is not for.

    For the index "description" `body` is "", and only for "content" there are `references`.
    """

    name: str
    positive: str
    body: str = ""
    references: str = ""

    @property
    def listed(self) -> str:
        """Name and positive text: what a host shows."""
        return f"{self.name}\n{self.positive}"


def read_fields(skill: ListedSkill, index: str) -> SkillFields:
    """The fields of a skill; those that no host shows only where the index says so."""
    clauses = (clause.strip(" -*") for clause in _CLAUSE.split(skill.text))
    positive = " ".join(clause for clause in clauses if clause and not _AGAINST.search(clause))
    name = spaced(skill.listed_as)
    if index == DESCRIPTION:
        return SkillFields(name, positive)
    return SkillFields(name, positive, skill.body, skill.references if index == CONTENT else "")


def sections_of(fields: SkillFields) -> list[str]:
    """The parts of the body from one heading to the next, each with the name of the skill in front."""
    return [f"{fields.name}\n{part}" for part in _SECTION.split(fields.body) if part.strip()]


def spaced(name: str) -> str:
    """The name of a skill as words."""
    for mark in "-_:":
        name = name.replace(mark, " ")
    return name
