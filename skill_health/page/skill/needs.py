"""What one skill needs of its environment, with the line that shows each need best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from skill_health.documents.needs_report import NeedsOfSkill, NeedsReport
from skill_health.page.skill.budget import HtmlBudget, price

_AROUND, _SUBJECTS = 160, 4
"""Bytes of HTML around a need, and how many things are named for it."""


@dataclass(frozen=True, slots=True)
class ShownNeed:
    """A category that is needed: what of it by name, and the file, line and text of the strongest evidence."""

    category: str
    subjects: str
    place: str
    text: str


@dataclass(frozen=True, slots=True)
class NeedsSection:
    """The needs of a skill; `left` are not shown."""

    shown: tuple[ShownNeed, ...]
    left: int


def needs_by_path(report: NeedsReport | None) -> Mapping[str, NeedsOfSkill]:
    """The needs of each skill by the path of its SKILL.md."""
    return {each.path: each for each in report.skills} if report else {}


def needs(found: NeedsOfSkill | None, purse: HtmlBudget) -> NeedsSection:
    """The needs of a skill in the order of the categories. The purse pays for them."""
    every = found.needs if found else ()
    shown = []
    for need in every:
        best = need.evidence[0]
        subjects = list(dict.fromkeys(each.subject for each in need.evidence))[:_SUBJECTS]
        one = ShownNeed(need.category, ", ".join(subjects), f"{best.path}:{best.line}", best.text)
        if not purse.pay(_AROUND + sum(map(price, (one.subjects, one.place, one.text)))):
            break
        shown.append(one)
    return NeedsSection(tuple(shown), len(every) - len(shown))
