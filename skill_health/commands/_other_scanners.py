"""Results of other scanners, from SARIF 2.1.0 (OASIS standard, 2020), merged into a report with their origin."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from posixpath import normpath
from typing import Any
from urllib.parse import unquote, urlsplit

from skill_health.config.settings import Config
from skill_health.core.errors import UsageError
from skill_health.core.files import blake2b, read_whole
from skill_health.core.strict_json import JsonProblem, parse_object
from skill_health.lint.pipeline import graded, off_here, place
from skill_health.lint.report import LintReport
from skill_health.rules._api import Finding, Rule, Severity
from skill_health.rules._load import all_rules, rules_with
from skill_health.rules._select import selected
from skill_health.rules.safety import other_scanner
from skill_health.text.patterns import lazy

MOST_BYTES, MOST_RESULTS = 32 << 20, 20_000
_SEVERITIES = {"error": Severity.ERROR, "warning": Severity.WARNING, "note": Severity.INFO, "none": Severity.INFO}
_NOT_OF_A_NAME = lazy(r"[^\w.\-/ ]+")
_LONGEST, _NAME = 400, 80


def merge_sarif(report: LintReport, file: str, root: str, config: Config) -> LintReport:
    """The report with the results of a SARIF file about files of its skills; a warning counts all others.

    Raises UsageError, in one line, for a file that cannot be read or is no SARIF 2.1.0.
    """
    rule = next(rule for rule in all_rules() if rule.code == other_scanner.CODE)
    if rule not in selected(rules_with(config.custom), config):
        return report
    owners = {path: entry.path for entry in report.skills for path in _files(entry.folder, entry.path, entry.files)}
    findings, strangers = [], Counter[str]()
    for tool, result, described in _results(file):
        path, region = _place(result, root, report.prefix, owners)
        if path not in owners:
            strangers[tool] += 1
            continue
        finding = _finding(rule, tool, result, described, path, owners[path], region)
        if not off_here(finding, config):
            findings.append(graded(finding, config))
    notes = tuple(
        f"{file}: {n} result{'s' * (n > 1)} of {tool} left out: about no file of the skills that were checked"
        for tool, n in sorted(strangers.items())
    )
    merged = tuple(sorted({*report.findings, *findings}, key=place))
    return report._replace(findings=merged, warnings=report.warnings + notes)


def _files(folder: str, path: str, files: tuple[str, ...]) -> Iterator[str]:
    yield path
    yield from (f"{folder}/{file}" if folder else file for file in files)


def _results(file: str) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """Each result that is a failure, with the name of its tool and what that says of the rule."""
    try:
        data = parse_object(read_whole(file, MOST_BYTES).decode("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{file}: cannot read this SARIF file: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file}: this SARIF file is not UTF-8") from None
    except JsonProblem as problem:
        raise UsageError(f"{file}: this is no SARIF file: {problem.message}") from None
    if data.get("version") != "2.1.0" or not isinstance(data.get("runs"), list):
        raise UsageError(f'{file}: this is no SARIF 2.1.0 file: it needs "version": "2.1.0" and a list of "runs"')
    left = MOST_RESULTS
    for run in map(_object, data["runs"]):
        driver = _object(_object(run.get("tool")).get("driver"))
        tool = _name(driver.get("name")) or "an unnamed tool"
        rules = [_object(rule) for rule in _list(driver.get("rules"))]
        by_id = {str(rule.get("id")): rule for rule in rules}
        for result in map(_object, _list(run.get("results"))):
            left -= 1
            if left < 0:
                raise UsageError(f"{file}: more than {MOST_RESULTS:,} results: have the scanner report fewer")
            if result.get("kind", "fail") != "fail" or _list(result.get("suppressions")):
                continue
            index = result.get("ruleIndex")
            described = rules[index] if isinstance(index, int) and 0 <= index < len(rules) else {}
            yield tool, result, described or by_id.get(_rule_id(result, {}), {})


def _place(
    result: Mapping[str, Any], root: str, prefix: str, owners: Mapping[str, str]
) -> tuple[str, Mapping[str, Any]]:
    """The path of a result, relative to the root if it is below it, and the region in it."""
    physical = _object(_object(next(iter(_list(result.get("locations"))), None)).get("physicalLocation"))
    uri = _object(physical.get("artifactLocation")).get("uri")
    try:
        parts = urlsplit(uri if isinstance(uri, str) else "")
    except ValueError:
        return "", {}
    path = unquote(parts.path).replace("\\", "/")
    if parts.scheme not in ("", "file") or "\0" in path or not path:
        return "", {}
    if path.startswith("/"):
        path = os.path.relpath(path, os.path.realpath(root)).replace(os.sep, "/")
    path = normpath(path)
    region = _object(physical.get("region"))
    # Scanners name files as seen from where they ran: from the root, or from here.
    if path not in owners and prefix and path.startswith(prefix):
        path = path[len(prefix) :]
    return path, region


def _finding(
    rule: Rule,
    tool: str,
    result: Mapping[str, Any],
    described: Mapping[str, Any],
    path: str,
    skill: str,
    region: Mapping[str, Any],
) -> Finding:
    id_ = _rule_id(result, described)
    text = _object(result.get("message")).get("text") or _object(described.get("shortDescription")).get("text")
    said = " ".join(text.split())[:_LONGEST] if isinstance(text, str) else ""
    level = result.get("level") or _object(described.get("defaultConfiguration")).get("level") or "warning"
    line, col = _count(region.get("startLine")), _count(region.get("startColumn"))
    message = f"{tool}, {id_}: {said}" if said else f"{tool}, {id_}"
    key = blake2b(f"{rule.code}\0{path}\0{message}".encode("utf-8", "replace"), digest_size=8).hexdigest()
    return Finding(
        rule.code, rule.name, rule.family, _SEVERITIES.get(str(level), Severity.WARNING), path, line, col,
        max(line, _count(region.get("endLine"))), _count(region.get("endColumn")), message, "", "", skill, key,
    )  # fmt: skip


def _rule_id(result: Mapping[str, Any], described: Mapping[str, Any]) -> str:
    every = (result.get("ruleId"), _object(result.get("rule")).get("id"), described.get("id"))
    return next((name for each in every if (name := _name(each))), "a rule without a name")


def _name(value: Any) -> str:
    return _NOT_OF_A_NAME.sub("?", value.strip()[:_NAME]) if isinstance(value, str) else ""


def _count(value: Any) -> int:
    return min(value, 1 << 31) if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 1


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
