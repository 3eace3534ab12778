"""For people: one line a finding, the source with a caret, what to do, and a summary."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.core.console import clean, paint
from skill_health.formats._api import Report
from skill_health.rules._api import Finding, Severity

_COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}
_WIDTH = 100
_MARKED = 40


def render(report: Report, color: bool) -> str:
    """The findings grouped by file, then what they add up to."""
    lines: list[str] = []
    if report.statistics:
        lines += _statistics(report, color)
    else:
        for finding in report.findings:
            lines += _finding(report, finding, color)
    if report.scores is not None:
        from skill_health.formats._scores import score_lines

        lines += score_lines(report, color)
    lines += _summary(report, color)
    return "\n".join(lines) + "\n"


def _finding(report: Report, finding: Finding, color: bool) -> Iterator[str]:
    place = f"{clean(report.shown(finding.path))}:{finding.line}:{finding.col}:"
    severity = paint(finding.severity.value, _COLORS[finding.severity], color)
    code = paint(finding.code, "bold", color)
    yield f"{paint(place, 'bold', color)} {severity} {code} {clean(finding.message)}"
    if finding.source.strip():
        yield from excerpt(finding, color)
    if finding.help:
        yield f"    {paint('help:', 'cyan', color)} {clean(finding.help)}"
    yield ""


def excerpt(finding: Finding, color: bool) -> Iterator[str]:
    """The line that a finding points at, cut to what a terminal shows, and a line with carets under what is wrong."""
    at = finding.col - 1
    start = max(0, at - _WIDTH // 2) if at > _WIDTH - 20 else 0
    shown = finding.source[start : start + _WIDTH]
    if not start:
        start = len(shown) - len(shown.lstrip())
        shown = shown.lstrip()
    before = clean(shown[: max(0, at - start)])
    same_line = finding.end_line in (0, finding.line)
    length = finding.end_col - finding.col if same_line and finding.end_col > finding.col else 1
    marked = clean(finding.source[at : at + length])
    room = max(1, min(_MARKED, _WIDTH - len(before)))
    caret = "^" * max(1, min(len(marked), room))
    number = str(finding.line)
    yield paint(f"    {number} | ", "dim", color) + clean(shown.rstrip())
    yield paint(f"    {' ' * len(number)} | ", "dim", color) + " " * len(before) + paint(caret, "green", color)


def _statistics(report: Report, color: bool) -> Iterator[str]:
    rows = report.by_rule()
    width = max((len(str(n)) for _, n in rows), default=1)
    for finding, n in rows:
        severity = paint(f"{finding.severity.value:7}", _COLORS[finding.severity], color)
        yield f"{n:{width}}  {severity}  {finding.code}  {finding.rule}"
    if rows:
        yield ""


def _summary(report: Report, color: bool) -> Iterator[str]:
    for warning in report.warnings:
        yield f"{paint('note:', 'yellow', color)} {clean(warning)}"
    copies = [(entry.path, entry.copies) for entry in report.skills if entry.copies]
    for path, others in copies[:5]:
        named = ", ".join(clean(report.shown(other)) for other in others[:3])
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        yield f"{paint('note:', 'cyan', color)} {clean(report.shown(path))} stands for its copies {named}{more}"
    if len(copies) > 5:
        yield f"{paint('note:', 'cyan', color)} {len(copies) - 5} more skills have copies, checked once"
    counts = [
        f"{report.number(s)} {s.value}{'s' * (report.number(s) != 1 and s is not Severity.INFO)}" for s in Severity
    ]
    skills = report.subject or f"{len(report.skills)} skill{'s' * (len(report.skills) != 1)}"
    extra = [f"{report.ignored} ignored inline"] * bool(report.ignored)
    extra += [f"{report.baselined} in the baseline"] * bool(report.baselined)
    tail = f" ({', '.join(extra)})" if extra else ""
    worst = next((_COLORS[s] for s in Severity if report.number(s)), "green")
    fixable = sum(f.fixable for f in report.findings)
    text = f"{skills} checked: {', '.join(counts)}{tail}" if report.findings else f"{skills} checked: no findings{tail}"
    yield paint(text, worst, color)
    if fixable:
        yield f"{fixable} with a fix: --diff shows the safe ones, --diff --unsafe-fixes all; --fix applies them"
