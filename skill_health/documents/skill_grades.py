"""The one vocabulary of verdicts: fail, needs work, passing, not measured; and the functions that decide on them.

A skill is graded on four things: Lint, Routing, Effect and Composition. Harm that is shown fails it, what is shown to
be well passes, whatever else was measured needs work, and what was not measured says so. Nobody else compares a figure
with a threshold: `status` writes the grades into its records, and the badge, the page and the summary read them there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from skill_health.rules._api import Severity

if TYPE_CHECKING:
    from skill_health.lint.report import LintReport


class SkillGrade(StrEnum):
    """A verdict, the most in need first."""

    FAIL = "fail"
    NEEDS_WORK = "needs work"
    NOT_MEASURED = "not measured"
    PASSING = "passing"

    @property
    def rank(self) -> int:
        """Sorts grades: what is most in need of somebody first."""
        return list(SkillGrade).index(self)

    def predicate(self, n: int) -> str:
        """So many skills of this grade, as the predicate of a sentence: "1 fails", "12 need work"."""
        one, many = _PREDICATES[self]
        return f"{n:,} {one if n == 1 else many}"


_PREDICATES: Mapping[SkillGrade, tuple[str, str]] = {
    SkillGrade.FAIL: ("fails", "fail"),
    SkillGrade.NEEDS_WORK: ("needs work", "need work"),
    SkillGrade.NOT_MEASURED: ("not measured", "not measured"),
    SkillGrade.PASSING: ("passes", "pass"),
}


def grade_all(grades: Iterable[SkillGrade]) -> SkillGrade:
    """The grade of a whole by those of its parts: the worst of what was measured."""
    return min((each for each in grades if each is not SkillGrade.NOT_MEASURED), key=_rank, default=_NOTHING)


def _rank(grade: SkillGrade) -> int:
    return grade.rank


_NOTHING = SkillGrade.NOT_MEASURED


def reaches(counts: Mapping[Severity, int], least: str) -> bool:
    """Whether there is a finding of at least this severity; "never" is reached by none."""
    return least != "never" and any(n and each.rank <= Severity(least).rank for each, n in counts.items())


def grade_lint(counts: Mapping[Severity, int], flagged: bool, fail_on: str, needs_work: str) -> SkillGrade:
    """The grade of a skill by its findings, counted by severity, and by whether its score is `flagged`."""
    if reaches(counts, fail_on):
        return SkillGrade.FAIL
    return SkillGrade.NEEDS_WORK if flagged or reaches(counts, needs_work) else SkillGrade.PASSING


def grade_skills(report: LintReport) -> dict[str, SkillGrade]:
    """The grade of each skill of a lint run that scored them, by the path of its SKILL.md; {} where it scored none.

    A report that hides findings knows too little, and grades none. What a baseline has accepted decides nothing,
    neither as a finding nor by the points that it takes from the score.
    """
    if report.scores is None or report.hidden:
        return {}
    counts: dict[str, Counter[Severity]] = {}
    for each in report.everything():
        counts.setdefault(each.skill, Counter())[each.severity] += 1
    found = {}
    for entry in report.skills:
        score = report.scores.skills.get(entry.path)
        own = counts.get(entry.path, Counter())
        flagged = bool(score and score.flagged) and entry.path not in report.accepted
        found[entry.path] = grade_lint(own, flagged, report.fail_on, report.needs_work)
    return found


def count_grades(grades: Iterable[SkillGrade]) -> str:
    """How many skills have which grade: "1 fails, 12 need work"; none of a kind is not said."""
    counts = Counter(grades)
    return ", ".join(each.predicate(counts[each]) for each in SkillGrade if counts[each])


def grade_share(value: float | None, low: float | None, high: float | None, found: float) -> SkillGrade:
    """The grade of a share of requests with its 95 % interval: it decides where it lies on one side of `found`."""
    if value is None:
        return SkillGrade.NOT_MEASURED
    if high is not None and high < found:
        return SkillGrade.FAIL
    return SkillGrade.PASSING if low is not None and low >= found else SkillGrade.NEEDS_WORK


def grade_measured_share(
    value: float | None, low: float | None, high: float | None, found: float, preliminary: bool
) -> SkillGrade:
    """The same of a share that may be preliminary, which condemns and praises nothing."""
    grade = grade_share(value, low, high, found)
    return SkillGrade.NEEDS_WORK if preliminary and grade is not SkillGrade.NOT_MEASURED else grade


_SHOWN: Mapping[str, SkillGrade] = {
    "harmful": SkillGrade.FAIL, "helps": SkillGrade.PASSING, "cheaper": SkillGrade.PASSING,
    "any text helps": SkillGrade.NEEDS_WORK, "unexplained gain": SkillGrade.NEEDS_WORK,
    "no evidence": SkillGrade.NEEDS_WORK,
    "conflicting": SkillGrade.FAIL, "synergistic": SkillGrade.PASSING, "additive": SkillGrade.PASSING,
    "redundant": SkillGrade.NEEDS_WORK,
}  # fmt: skip


def grade_word(word: str, preliminary: bool) -> SkillGrade:
    """The grade of what an experiment came to: of an effect, or of two skills together.

    What is preliminary condemns and praises nothing. A biased experiment, and one that could show nothing, has
    measured nothing.
    """
    shown = _SHOWN.get(word, SkillGrade.NOT_MEASURED)
    return SkillGrade.NEEDS_WORK if preliminary and shown is not SkillGrade.NOT_MEASURED else shown
