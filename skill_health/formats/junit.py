"""JUnit XML: one suite, one test case for each skill, a failure for its errors and warnings."""

from __future__ import annotations

from collections import defaultdict
from xml.sax.saxutils import escape, quoteattr

from skill_health.formats._hosts import message_of
from skill_health.lint.report import LintReport
from skill_health.rules._api import Finding, Severity
from skill_health.text.terminal import clean


def render(report: LintReport, color: bool = False) -> str:
    """The report as JUnit XML; information goes to system-out and fails nothing."""
    known = {entry.path for entry in report.skills}
    grouped: defaultdict[str, list[Finding]] = defaultdict(list)
    for f in report.everything():
        grouped[f.skill if f.skill in known else f.path].append(f)
    names = [entry.path for entry in report.skills]
    cases = [_case(report, name, grouped[name]) for name in [*names, *sorted(grouped.keys() - known)]]
    failures = sum("<failure" in case for case in cases)
    head = f'<testsuite name="skill-health" tests="{len(cases)}" failures="{failures}" errors="0" skipped="0">'
    return (
        "\n".join(
            ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>", head, *cases, "</testsuite>", "</testsuites>"]
        )
        + "\n"
    )


def _case(report: LintReport, path: str, findings: list[Finding]) -> str:
    name = _attribute(report.shown(path))
    serious = [f for f in findings if f.severity is not Severity.INFO]
    notes = [f for f in findings if f.severity is Severity.INFO]
    inner = ""
    if serious:
        text = "\n".join(_line(report, f) for f in serious)
        summary = _attribute(f"{len(serious)} finding{'s' * (len(serious) != 1)}")
        inner += f'<failure type="finding" message={summary}>{escape(text)}</failure>'
    if notes:
        inner += f"<system-out>{escape(chr(10).join(_line(report, f) for f in notes))}</system-out>"
    return f'<testcase classname="skill-health" name={name} time="0">{inner}</testcase>'


def _line(report: LintReport, f: Finding) -> str:
    return clean(f"{report.shown(f.path)}:{f.line}:{f.col}: {f.severity.value} {f.code} {message_of(f)}")


def _attribute(text: str) -> str:
    return quoteattr(clean(text))
