"""A need of a skill and the evidence for it, as values that travel."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class EvidenceKind(StrEnum):
    """What sort of thing a text says that shows a need."""

    COMMAND = "command"
    PROGRAM = "program"
    SCRIPT = "script"
    VARIABLE = "variable"
    HOST = "host"
    SERVER = "server"
    FILE = "file"
    IMPORT = "import"
    DECLARED = "declared"
    SENTENCE = "sentence"


class NeedEvidence(NamedTuple):
    """One place that shows a need.

    `path` is the file, relative to the root of the collection, and `line` counts from 1. `subject` is what is needed
    there, in a form that can be compared (`psql`, `OPENAI_API_KEY`, `api.github.com`); `text` is what stands there.
    """

    path: str
    line: int
    kind: EvidenceKind
    subject: str
    text: str


class Sign(NamedTuple):
    """Evidence with its weight: a category is needed where the signs of different subjects add up to 1."""

    weight: float
    evidence: NeedEvidence


@dataclass(frozen=True, slots=True)
class Need:
    """One category that a skill needs, with its evidence, the strongest first."""

    category: str
    evidence: tuple[NeedEvidence, ...]

    @property
    def subjects(self) -> tuple[str, ...]:
        """What is needed, by name, the best supported first."""
        return tuple(dict.fromkeys(each.subject for each in self.evidence))


@dataclass(frozen=True, slots=True)
class SkillNeeds:
    """What a skill needs, in the order of the categories. `path` is its SKILL.md, relative to the root."""

    path: str
    name: str
    needs: tuple[Need, ...]

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories that it needs."""
        return tuple(need.category for need in self.needs)

    def need(self, category: str) -> Need | None:
        """The need of this category, or None."""
        return next((need for need in self.needs if need.category == category), None)
