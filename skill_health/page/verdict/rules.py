"""The findings of lint by rule: how many there are, in which skills, and how many have a fix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from skill_health.documents.lint_report import FindingRecord
from skill_health.page.model import Page

_ORDER = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class RuleCount:
    """A rule at one severity. `skills` are the paths of the skills with a finding of it, in their order."""

    code: str
    rule: str
    title: str
    severity: Literal["error", "warning", "info"]
    findings: int
    fixable: int
    skills: tuple[str, ...]


def count_rules(page: Page) -> tuple[RuleCount, ...]:
    """The rules that found something: the most severe first, then those of most skills, then by code. Pure."""
    shown = {each.path for each in page.status.skills}
    found: dict[tuple[str, str], list[FindingRecord]] = {}
    for each in page.lint.findings:
        found.setdefault((each.severity, each.code), []).append(each)
    counted = []
    for (_, code), own in found.items():
        paths = {path for each in own for path in (each.skill, *each.also)} & shown
        counted.append(
            RuleCount(
                code, own[0].rule, titles().get(code, own[0].rule), own[0].severity, len(own),
                sum(each.fixable for each in own), tuple(sorted(paths)),
            )
        )  # fmt: skip
    return tuple(sorted(counted, key=lambda each: (_ORDER.index(each.severity), -len(each.skills), each.code)))


@cache
def titles() -> Mapping[str, str]:
    """What each rule reports, by its code."""
    from skill_health.rules._load import all_rules

    return {rule.code: rule.doc.split("\n", 1)[0].strip().rstrip(".") for rule in all_rules()}
