"""Health of a skill: its score and what it is made of, and the findings with the lines that they point at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from skill_health.documents.lint_report import FindingRecord, LintDocument, LintedSkill, ScoreComponent
from skill_health.documents.page_data import CollectionSource
from skill_health.documents.skill_grades import SkillGrade
from skill_health.documents.skill_record import SkillRecord
from skill_health.formats.text import excerpt as source_lines
from skill_health.page.data.source import file_address
from skill_health.page.figures import MISSING, count, score
from skill_health.page.model import GRADE_TONES, Origins, PageCell
from skill_health.page.skill.budget import HtmlBudget, TextExcerpt, cut, price
from skill_health.page.verdict.rules import titles

MOST = 40
"""How many findings of a skill are shown."""
_AROUND = 420
"""Bytes of HTML around a finding."""
_LONGEST = 600


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The line that a finding points at: its number, and its text before, in and after the place."""

    number: str
    before: str
    marked: str
    after: str


@dataclass(frozen=True, slots=True)
class PageFinding:
    """A finding with the title of its rule. `excerpt` is None where its line is empty or must not be shown."""

    record: FindingRecord
    title: str
    message: TextExcerpt
    help: TextExcerpt
    excerpt: Excerpt | None
    elsewhere: bool
    source: str


@dataclass(frozen=True, slots=True)
class ComponentDetail:
    """A part of the score: its value, its share in the score, and what the value was lost by ("" and () for nothing).

    One that `multiplies` has no share: the score is multiplied by it.

    `level` is the value in tenths for a bar, -1 for a part that was left out; only a whole one is 10, only nothing 0.
    """

    name: str
    level: int
    value: PageCell
    share: PageCell
    multiplies: bool
    evidence: tuple[tuple[str, PageCell], ...]
    note: str


@dataclass(frozen=True, slots=True)
class InFile:
    """The findings in a file."""

    path: str
    findings: tuple[PageFinding, ...]


@dataclass(frozen=True, slots=True)
class HealthSection:
    """What `lint` says of a skill. `counts` are named cells by severity.

    `left` findings are not shown; `left_elsewhere` of them are reported at other skills.
    """

    grade: SkillGrade
    score: PageCell
    counts: tuple[tuple[str, PageCell], ...]
    flags: tuple[TextExcerpt, ...]
    components: tuple[ComponentDetail, ...]
    files: tuple[InFile, ...]
    left: int
    left_elsewhere: int


Found = Mapping[str, tuple[FindingRecord, ...]]
"""The findings about each skill, by the path of its SKILL.md."""


def by_skill(lint: LintDocument) -> Found:
    """The findings by skill, in the order of the report; one that is about several skills stands at each."""
    found: dict[str, list[FindingRecord]] = {}
    for each in lint.findings:
        for path in dict.fromkeys((each.skill, *each.also)):
            found.setdefault(path, []).append(each)
    return {path: tuple(own) for path, own in found.items()}


def health(
    origins: Origins, record: SkillRecord, linted: LintedSkill | None, found: Found, purse: HtmlBudget,
    source: CollectionSource | None = None,
) -> HealthSection:  # fmt: skip
    """Health of a skill: its record, its part of the lint report, and all findings. The purse pays for findings."""
    every = found.get(record.path, ())
    shown: dict[str, list[PageFinding]] = {}
    n = 0
    for told in every[:MOST]:
        one = _finding(told, record.path, source)
        texts = (one.message.text, one.help.text, told.source[:120] * bool(one.excerpt), one.title)
        if not purse.pay(_AROUND + sum(map(price, texts))):
            break
        shown.setdefault(told.path, []).append(one)
        n += 1
    severities = ("error", "warning", "info")
    return HealthSection(
        record.health.grade,
        score(origins, linted, "score", tone=GRADE_TONES[record.health.grade]) if linted else PageCell(MISSING),
        tuple((name, count(origins, linted.findings, name) if linted else PageCell(MISSING)) for name in severities),
        tuple(cut(flag, _LONGEST) for flag in record.health.flags),
        tuple(_component(origins, each) for each in (linted.components if linted else ())),
        tuple(InFile(path, tuple(own)) for path, own in shown.items()),
        len(every) - n,
        sum(told.skill != record.path for told in every[n:]),
    )


def _component(origins: Origins, part: ScoreComponent) -> ComponentDetail:
    value = part.value
    level = -1 if value is None else min(9, max(1, round(10 * value))) if 0 < value < 1 else 10 * round(value)
    # What is whole needs no reason, and most parts of most skills are.
    evidence = tuple(
        (name.replace("_", " "), PageCell(f"{number:,.6g}", number, origins.of(part, "evidence", name)))
        for name, number in (part.evidence.items() if level < 10 else ())
    )
    share = PageCell(f"{100 * part.share:.0f} %", part.share, origins.of(part, "share"))
    value_cell = score(origins, part, "value")
    return ComponentDetail(part.name, level, value_cell, share, part.multiplies, evidence, part.note)


def _finding(told: FindingRecord, path: str, source: CollectionSource | None) -> PageFinding:
    place = file_address(source, told.path, told.line) if source else ""
    message, advice = cut(told.message, _LONGEST), cut(told.help, _LONGEST)
    return PageFinding(told, titles().get(told.code, ""), message, advice, _excerpt(told), told.skill != path, place)


def _excerpt(told: FindingRecord) -> Excerpt | None:
    """The line as a terminal shows it, cut and with the same columns marked."""
    from skill_health.rules._api import Finding, Severity

    if not told.source.strip():
        return None
    found = Finding(
        code=told.code, rule=told.rule, family="", severity=Severity(told.severity), path=told.path, line=told.line,
        col=told.col, end_line=told.end_line, end_col=told.end_col, message=told.message, source=told.source,
    )  # fmt: skip
    line, carets = (each.partition(" | ") for each in source_lines(found, False))
    start = carets[2].index("^")
    end = start + carets[2].count("^")
    return Excerpt(line[0].strip(), line[2][:start], line[2][start:end], line[2][end:])
