"""The JSON report of a run as it is kept in a file: ours, or the published checker's under its own profile."""

from __future__ import annotations

import json

from skill_health import formats
from skill_health.engine import LintResult
from skill_health.formats._api import Report
from skill_health.profiles import COMPAT


def snapshot(report: Report, result: LintResult) -> str:
    """The text of the file. `result` must hold facts (a run that was asked for them)."""
    if report.profile == COMPAT:
        from skill_health.compat import compat_report

        return json.dumps(compat_report(result), indent=2) + "\n"
    return str(formats.load("json").render(report, False))
