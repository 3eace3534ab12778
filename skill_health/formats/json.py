"""The JSON report, `reports/skill-health.json`: everything that a run knows, with a published schema."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from skill_health.discovery.corpus import Entry
from skill_health.documents._record import record_values
from skill_health.documents.lint_report import (
    CheckedUrl,
    FindingCounts,
    FindingRecord,
    LintDocument,
    LintedSkill,
    LintSummary,
    LintTool,
    ScoreComponent,
    ScoreLoss,
    ScorePopulation,
    ScoreStanding,
)
from skill_health.documents.skill_grades import SkillGrade, grade_skills
from skill_health.lint.report import LintReport
from skill_health.rules._api import Finding, Severity


def render(report: LintReport, color: bool = False) -> str:
    """The whole report as JSON, keys in a fixed order, without a clock, a host name or an absolute path.

    Each skill and each finding is one line: easy to compare, and indenting everything would produce millions of pieces.
    """
    document = record_values(build_lint_document(report))
    return "{\n" + ",\n".join(f" {_text(key)}: {_value(value)}" for key, value in document.items()) + "\n}\n"


def _value(value: Any) -> str:
    if isinstance(value, list | tuple) and value:
        return "[\n" + ",\n".join(f"  {_text(item)}" for item in value) + "\n ]"
    return _text(value)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False)


def build_lint_document(report: LintReport) -> LintDocument:
    """The report as other programs read it."""
    corpus = report.scores.corpus if report.scores else None
    population = report.scores.population if report.scores else None
    counts = Counter((f.skill, f.severity) for f in report.everything())
    grades = grade_skills(report)
    return LintDocument(
        schema="skill-health/report/1",
        tool=LintTool(name="skill-health", version=report.version),
        profile=report.profile,
        summary=LintSummary(
            skills=len(report.skills), error=report.number(Severity.ERROR), warning=report.number(Severity.WARNING),
            info=report.number(Severity.INFO), ignored=report.ignored, baselined=report.baselined, hidden=report.hidden,
            score=corpus.mean if corpus else None, min_score=corpus.min if corpus else None,
            max_score=corpus.max if corpus else None, flagged=corpus.flagged if corpus else None,
            population=ScorePopulation(
                date=population.date, skills=population.skills, repositories=len(population.repositories)
            ) if population else None,
        ),
        warnings=report.warnings,
        skills=tuple(_skill(report, entry, counts, grades.get(entry.path)) for entry in report.skills),
        findings=tuple(_finding(f, report.clones.get(f, ())) for f in report.findings),
        urls=tuple(
            CheckedUrl(url=url, status=found.status, code=found.code, final=found.final, reason=found.reason)
            for url, found in sorted(report.urls.items())
        ),
    )  # fmt: skip


def _skill(
    report: LintReport, entry: Entry, counts: Counter[tuple[str, Severity]], grade: SkillGrade | None
) -> LintedSkill:
    score = report.scores.skills.get(entry.path) if report.scores else None
    population = report.scores.population if report.scores else None
    standing = population.place(score.value) if population and score else None
    error, warning, info = (counts[entry.path, severity] for severity in Severity)
    return LintedSkill(
        path=entry.path,
        copies=entry.copies,
        findings=FindingCounts(error=error, warning=warning, info=info),
        score=score.value if score else None,
        flagged=score.flagged if score else None, grade=grade,
        flags=tuple(flag.message for flag in score.flags) if score else (),
        components=tuple(
            ScoreComponent(
                name=part.name, weight=part.weight, share=part.share, value=part.value, note=part.note,
                evidence=part.evidence, multiplies=part.multiplies,
            )
            for part in (score.parts if score else ())
        ),
        losses=tuple(
            ScoreLoss(
                component=loss.component, code=loss.code, rule=loss.rule, severity=loss.severity, findings=loss.findings,
                excepted=loss.excepted, gain=loss.gain, right=loss.right, judged=loss.judged, places=loss.places,
            )
            for loss in (score.losses or () if score else ())
        ),
        standing=ScoreStanding(lower=standing.lower, same=standing.same, higher=standing.higher) if standing else None,
    )  # fmt: skip


def _finding(f: Finding, clones: Sequence[Finding]) -> FindingRecord:
    return FindingRecord(
        code=f.code, rule=f.rule, severity=f.severity.value, path=f.path, line=f.line, col=f.col,
        end_line=f.end_line or f.line, end_col=f.end_col or f.col, message=f.message, help=f.help, source=f.source,
        skill=f.skill, key=f.key, fixable=f.fixable, also=f.also, hosts=f.hosts,
        clones=tuple(clone.path for clone in clones),
    )  # fmt: skip
