"""The JSON report, `reports/skill-health.json`: everything that a run knows, with a published schema."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from skill_health.lint.report import LintReport
from skill_health.rules._api import Finding, Severity

SCHEMA = "skill-health/report/1"


def render(report: LintReport, color: bool = False) -> str:
    """The whole report as JSON, keys in a fixed order, without a clock, a host name or an absolute path.

    Each skill and each finding is one line: easy to compare, and indenting everything would produce millions of pieces.
    """
    return "{\n" + ",\n".join(f" {_text(key)}: {_value(value)}" for key, value in document(report).items()) + "\n}\n"


def _value(value: Any) -> str:
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f"  {_text(item)}" for item in value) + "\n ]"
    return _text(value)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False)


def document(report: LintReport) -> dict[str, Any]:
    """The report as JSON values (see core/schemas/report.schema.json)."""
    corpus = report.scores.corpus if report.scores else None
    counts = Counter((f.skill, f.severity) for f in report.findings)
    return {
        "schema": SCHEMA,
        "tool": {"name": "skill-health", "version": report.version},
        "profile": report.profile,
        "summary": {
            "skills": len(report.skills),
            **{s.value: report.number(s) for s in Severity},
            "ignored": report.ignored,
            "baselined": report.baselined,
            "score": corpus.mean if corpus else None,
            "min_score": corpus.min if corpus else None,
            "max_score": corpus.max if corpus else None,
            "flagged": corpus.flagged if corpus else None,
        },
        "warnings": list(report.warnings),
        "skills": [_skill(report, entry, counts) for entry in report.skills],
        "findings": [_finding(finding) for finding in report.findings],
        "urls": [{"url": url, **found} for url, found in sorted(report.urls.items())],
    }


def _skill(report: LintReport, entry: Any, counts: Counter[tuple[str, Severity]]) -> dict[str, Any]:
    score = report.scores.skills.get(entry.path) if report.scores else None
    return {
        "path": entry.path,
        "copies": list(entry.copies),
        "findings": {s.value: counts[entry.path, s] for s in Severity},
        "score": score.value if score else None,
        "flagged": score.flagged if score else None,
        "flags": [flag.message for flag in score.flags] if score else [],
        "components": [
            {
                "name": part.name, "weight": part.weight, "share": part.share, "value": part.value,
                "note": part.note, "evidence": dict(part.evidence),
            }
            for part in (score.parts if score else ())
        ],
    }  # fmt: skip


def _finding(f: Finding) -> dict[str, Any]:
    return {
        "code": f.code, "rule": f.rule, "severity": f.severity.value, "path": f.path, "line": f.line, "col": f.col,
        "end_line": f.end_line or f.line, "end_col": f.end_col or f.col, "message": f.message, "help": f.help,
        "source": f.source, "skill": f.skill, "key": f.key, "fixable": f.fixable, "also": list(f.also),
    }  # fmt: skip
