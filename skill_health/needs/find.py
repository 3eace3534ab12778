"""A skill -> what it needs, by the categories of `categories/`, each with its evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from math import fsum
from typing import Protocol

from skill_health.core.plugins import plugin_names
from skill_health.needs import categories
from skill_health.needs.model import Need, NeedEvidence, Sign, SkillNeeds
from skill_health.needs.reading.read import ReadText, SkillReading
from skill_health.skill.model import Skill

ENOUGH = 1.0
"""The weight of signs of different subjects that makes a category needed."""
MOST_EVIDENCE = 12
_SLACK = 1e-9
_AGAIN = 0.5


class CategoryModule(Protocol):
    """A module of `categories/`: its place and title in table 1 of the paper, and what it means."""

    ORDER: int
    TITLE: str
    MEANING: str

    def find(self, reading: SkillReading) -> Iterable[Sign]:
        """The signs that a skill needs it, in any order."""


@cache
def all_categories() -> dict[str, CategoryModule]:
    """The categories by their names, in their order."""
    found = {}
    for name in plugin_names(categories.__path__):
        module: CategoryModule = import_module(f"{categories.__name__}.{name}")
        found[name.replace("_", "-")] = module
    return dict(sorted(found.items(), key=lambda each: each[1].ORDER))


def find_needs(skill: Skill, read: ReadText = lambda path: None) -> SkillNeeds:
    """What a skill needs of its environment to do its normal work; the same for the same bytes, and nothing is run.

    `read` gives the texts of its bundled files by their paths relative to the root of the collection; without it
    SKILL.md alone is looked at.
    """
    reading = SkillReading(skill, read)
    needs = (_need(name, module.find(reading)) for name, module in all_categories().items())
    return SkillNeeds(skill.path, skill.name, tuple(need for need in needs if need is not None))


def _need(category: str, signs: Iterable[Sign]) -> Need | None:
    found: dict[NeedEvidence, float] = {}
    for weight, evidence in signs:
        if weight > 0:
            found[evidence] = max(found.get(evidence, 0.0), weight)
    if total_weight(found) < ENOUGH - _SLACK:
        return None
    ranked = sorted(found, key=lambda each: (-found[each], each.path, each.line, each.kind, each.subject, each.text))
    return Need(category, tuple(ranked[:MOST_EVIDENCE]))


def total_weight(found: Mapping[NeedEvidence, float]) -> float:
    """The weight of all signs: of each subject the strongest, and half of its strongest on another line."""
    places: dict[str, dict[tuple[str, int], float]] = {}
    for evidence, weight in found.items():
        lines = places.setdefault(evidence.subject, {})
        lines[evidence.path, evidence.line] = max(lines.get((evidence.path, evidence.line), 0.0), weight)
    ordered = (sorted(lines.values(), reverse=True)[:2] for lines in places.values())
    return fsum(weights[0] + (weights[1] * _AGAIN if len(weights) > 1 else 0.0) for weights in ordered)
