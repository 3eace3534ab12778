"""SARIF 2.1.0 (OASIS standard, 2020): for code scanning."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any
from urllib.parse import quote

from skill_health.formats._hosts import message_of
from skill_health.lint.report import LintReport
from skill_health.rules._api import Finding, Rule, Severity
from skill_health.rules._load import all_rules
from skill_health.text.terminal import clean

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def render(report: LintReport, color: bool = False) -> str:
    """One run with the rules that found something and one result for each finding."""
    codes = sorted({f.code for f in report.findings})
    rules = {rule.code: rule for rule in all_rules()}
    index = {code: n for n, code in enumerate(codes)}
    seen: Counter[str] = Counter()
    results = []
    for f in report.findings:
        seen[f.key] += 1
        results.append(_result(report, f, index[f.code], seen[f.key]))
    run = {
        "tool": {
            "driver": {
                "name": "skill-health",
                "semanticVersion": report.version,
                "rules": [_rule(rules[code]) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=True) + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    title = rule.doc.split("\n", 1)[0].strip().rstrip(".")
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": title},
        "help": {"text": rule.doc.strip(), "markdown": rule.doc.strip()},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": [rule.family]},
    }


def _result(report: LintReport, f: Finding, index: int, nth: int) -> dict[str, Any]:
    region: dict[str, Any] = {"startLine": f.line, "startColumn": f.col}
    if f.end_line > f.line or (f.end_line == f.line and f.end_col > f.col):
        region |= {"endLine": f.end_line, "endColumn": max(1, f.end_col)}
    if f.source:
        region["snippet"] = {"text": clean(f.source)}
    text = clean(message_of(f) + report.copies(f)) + (f" ({clean(f.help)})" if f.help else "")
    result: dict[str, Any] = {
        "ruleId": f.code,
        "ruleIndex": index,
        "level": _LEVELS[f.severity],
        "message": {"text": text},
        "locations": [_location(report, f.path, region)],
        "partialFingerprints": {"skillHealthKey/v1": f"{f.key}-{nth}"},
    }
    if f in report.clones:
        result["relatedLocations"] = [
            {**_location(report, clone.path, region), "message": {"text": "the same file"}}
            for clone in report.clones[f]
        ]
    return result


def _location(report: LintReport, path: str, region: dict[str, Any]) -> dict[str, Any]:
    uri = quote(report.shown(path).encode("utf-8", "surrogatepass"))
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}
