"""SARIF 2.1.0 (OASIS standard, 2020): for code scanning."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from skill_health.core.extras import rule_page
from skill_health.formats._hosts import message_of
from skill_health.lint.report import LintReport
from skill_health.rules._api import CUSTOM, Finding, Fix, Rule, Severity
from skill_health.rules._load import rules_with
from skill_health.skill.model import Span
from skill_health.text.terminal import clean

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def render(report: LintReport, color: bool = False) -> str:
    """One run with the rules that found something and one result for each finding."""
    codes = sorted({f.code for f in report.findings})
    rules = {rule.code: rule for rule in rules_with(report.custom)}
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
        "columnKind": "utf16CodeUnits",
        "results": results,
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=True) + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    title = rule.doc.split("\n", 1)[0].strip().rstrip(".")
    address = rule_page(rule.code) if rule.family != CUSTOM else ""
    return {
        **({"helpUri": address} if address else {}),
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": title},
        "help": {"text": rule.doc.strip(), "markdown": rule.doc.strip()},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": [rule.family]},
    }


def _result(report: LintReport, f: Finding, index: int, nth: int) -> dict[str, Any]:
    lines = _lines(report.texts.get(f.path, "")) if f.path in report.texts else {f.line: f.source}
    region: dict[str, Any] = {"startLine": f.line, "startColumn": _column(lines, f.line, f.col)}
    if f.end_line > f.line or (f.end_line == f.line and f.end_col > f.col):
        region |= {"endLine": f.end_line, "endColumn": _column(lines, f.end_line, f.end_col)}
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
    if f.fix is not None and f.fix.edits:
        result["fixes"] = [_fix(report, f.path, f.fix, lines)]
    return result


def _lines(text: str) -> dict[int, str]:
    return dict(enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1))


def _column(lines: Mapping[int, str], line: int, col: int) -> int:
    """A column in UTF-16 units, in which a character beyond U+FFFF is two."""
    return max(1, col) + sum(char > "\uffff" for char in lines.get(line, "")[: max(0, col - 1)])


def _fix(report: LintReport, path: str, fix: Fix, lines: Mapping[int, str]) -> dict[str, Any]:
    """A fix as replacements; one that only gives another name has no form in SARIF."""
    newline = "\r\n" if "\r\n" in report.texts.get(path, "") else "\n"
    replacements = [
        {"deletedRegion": _deleted(edit.span, lines), "insertedContent": {"text": edit.text.replace("\n", newline)}}
        for edit in sorted(fix.edits, key=lambda edit: edit.span)
    ]
    change = {"artifactLocation": _artifact(report, path), "replacements": replacements}
    text = clean(fix.message) + ("" if fix.safe else " (unsafe)")
    return {"description": {"text": text}, "artifactChanges": [change], "properties": {"safe": fix.safe}}


def _deleted(span: Span, lines: Mapping[int, str]) -> dict[str, int]:
    if (span.line, span.col) == (1, 0):
        # A byte-order mark, which is in no column.
        return {"byteOffset": 0, "byteLength": 3}
    end_line, end_col = span.end_line or span.line, span.end_col or span.col
    return {
        "startLine": span.line, "startColumn": _column(lines, span.line, span.col),
        "endLine": end_line, "endColumn": _column(lines, end_line, end_col),
    }  # fmt: skip


def _location(report: LintReport, path: str, region: dict[str, Any]) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": _artifact(report, path), "region": region}}


def _artifact(report: LintReport, path: str) -> dict[str, str]:
    return {"uri": quote(report.shown(path).encode("utf-8", "surrogatepass"))}
