"""GitLab's code quality report (the Code Climate subset, GitLab documentation, 2026)."""

from __future__ import annotations

import json
from collections import Counter

from skill_health.formats._hosts import message_of
from skill_health.lint.report import LintReport
from skill_health.rules._api import Severity
from skill_health.text.terminal import clean

_LEVELS = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


def render(report: LintReport, color: bool = False) -> str:
    """A JSON array of issues with unique fingerprints."""
    seen: Counter[str] = Counter()
    issues = []
    for f in report.findings:
        seen[f.key] += 1
        issues.append(
            {
                "description": clean(message_of(f) + report.copies(f)),
                "check_name": f"{f.code} {f.rule}",
                "fingerprint": f"{f.key}-{seen[f.key]}",
                "severity": _LEVELS[f.severity],
                "location": {"path": report.shown(f.path), "lines": {"begin": f.line}},
            }
        )
    return json.dumps(issues, indent=1, ensure_ascii=True) + "\n"
