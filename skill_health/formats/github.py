"""Workflow commands: annotations on the lines of a pull request."""

from __future__ import annotations

from skill_health.formats._hosts import message_of
from skill_health.lint.report import LintReport
from skill_health.rules._api import Severity
from skill_health.text.terminal import clean

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(report: LintReport, color: bool = False) -> str:
    """One workflow command for each finding (GitHub, "Workflow commands", 2026), escaped as documented there."""
    lines = []
    for f in report.findings:
        message = clean(message_of(f) + report.copies(f)) + (f" ({clean(f.help)})" if f.help else "")
        places = {"file": report.shown(f.path), "line": f.line, "col": f.col, "title": f"{f.code} {f.rule}"}
        if f.end_line:
            places["endLine"] = f.end_line
        given = ",".join(f"{key}={_property(clean(str(value)))}" for key, value in places.items())
        lines.append(f"::{_LEVELS[f.severity]} {given}::{_data(message)}")
    return "".join(line + "\n" for line in lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
