"""Markdown for pull requests and job summaries."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.formats._hosts import message_of
from skill_health.formats.text import score_notes, standing_text
from skill_health.lint.report import LintReport
from skill_health.rules._api import Severity
from skill_health.text.blocks import markdown_table
from skill_health.text.terminal import markdown_text as md

_MOST = 200


def render(report: LintReport, color: bool = False) -> str:
    """A summary, the scores if there are any, and the findings; everything from a skill is escaped."""
    counts = ", ".join(
        f"{report.number(s)} {s.value}{'s' * (report.number(s) != 1 and s.value != 'info')}" for s in Severity
    )
    subject = report.subject or f"{len(report.skills)} skill{'s' * (len(report.skills) != 1)}"
    hidden = f" {report.hidden} less severe not shown." if report.hidden else ""
    lines = ["## skill-health", "", f"{subject} checked: {counts}.{hidden}", ""]
    lines += _scores(report)
    lines += _statistics(report) if report.statistics else _findings(report)
    return "\n".join(lines).rstrip() + "\n"


def _scores(report: LintReport) -> Iterator[str]:
    if report.scores is None or report.scores.corpus.mean is None:
        return
    corpus, population = report.scores.corpus, report.scores.population
    yield f"Score {corpus.mean:.4f} (mean of {corpus.n}; {corpus.min:.4f} to {corpus.max:.4f}), {corpus.flagged} flagged."
    yield ""
    for note in score_notes(report):
        yield f"{note[0].upper()}{note[1:]}."
        yield ""
    skills = sorted(report.scores.skills.items(), key=lambda item: (item[1].value, item[0]))
    yield from markdown_table(
        ("skill", "score", "flags") if population is None else ("skill", "score", "of public skills", "flags"),
        [
            (
                md(report.shown(path)), f"{score.value:.4f}",
                *(() if population is None else (standing_text(population.place(score.value), score.value),)),
                md("; ".join(flag.message for flag in score.flags)),
            )
            for path, score in skills
        ],
    )  # fmt: skip


def _findings(report: LintReport) -> Iterator[str]:
    found = sorted(report.findings, key=lambda f: (f.severity.rank, f.path, f.line, f.col, f.code))[:_MOST]
    rows = [
        (
            f.severity.value,
            f"{f.code} {f.rule}",
            md(f"{report.shown(f.path)}:{f.line}:{f.col}"),
            md(message_of(f) + report.copies(f)),
        )
        for f in found
    ]
    yield from markdown_table(("", "rule", "where", "what"), rows)
    if len(report.findings) > _MOST:
        yield f"{len(report.findings) - _MOST} more findings are not shown."


def _statistics(report: LintReport) -> Iterator[str]:
    rows = [(str(n), f"{f.code} {f.rule}", f.severity.value) for f, n in report.by_rule()]
    yield from markdown_table(("n", "rule", "severity"), rows)
