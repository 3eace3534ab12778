"""One line for each finding, for terminals, editors and grep: `path:line:col: CODE severity message`."""

from __future__ import annotations

from skill_health.formats._hosts import message_of
from skill_health.lint.report import LintReport
from skill_health.text.terminal import clean


def render(report: LintReport, color: bool = False) -> str:
    """The findings and nothing else."""
    return "".join(
        f"{clean(report.shown(f.path))}:{f.line}:{f.col}: {f.code} {f.severity.value} "
        f"{clean(message_of(f) + report.copies(f))}\n"
        for f in report.findings
    )
