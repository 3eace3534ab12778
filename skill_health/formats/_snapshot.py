"""The JSON report of a run as saved to a file, in our format or the published checker's."""

from __future__ import annotations

import json

from skill_health import formats
from skill_health.lint.compat import compat_report
from skill_health.lint.pipeline import LintResult
from skill_health.lint.report import LintReport
from skill_health.profiles import COMPAT


def render_snapshot(report: LintReport, result: LintResult) -> str:
    """The text of the file. `result` must contain facts, that is, the run must have been asked for them."""
    if report.profile == COMPAT:
        return json.dumps(compat_report(result), indent=2) + "\n"
    return str(formats.load("json").render(report, False))
