"""`lint --check-urls`: what the network says, as findings and as a list in the report."""

from __future__ import annotations

import os
from typing import Any

from skill_health import cache, finish, ignores
from skill_health.check import FileContext, as_findings, load_skill
from skill_health.core.config import Config
from skill_health.core.files import read_bytes
from skill_health.core.registries import Registries
from skill_health.core.skill import Skill
from skill_health.engine import LintResult
from skill_health.formats._api import Report
from skill_health.rules._api import Finding, Rule
from skill_health.rules._load import all_rules
from skill_health.rules.links import dead_url
from skill_health.urls import UrlResult, check_urls


def with_urls(report: Report, result: LintResult, config: Config) -> Report:
    """Ask for every external address of the skills in the report; add what is gone or has moved, and list all."""
    rule = next(rule for rule in all_rules() if rule.code == dead_url.CODE)
    read = _skills(report, result, config)
    facts: dict[str, dict[str, Any]] = {s.path: {dead_url.CODE: dead_url.collect(s, context)} for s, context in read}
    results = check_urls(dead_url.addresses(facts), os.path.join(cache.directory(), "urls.json"))
    findings: list[Finding] = []
    silenced = 0
    for skill, context in read:
        new = _findings(rule, skill, context, facts[skill.path], results)
        left, _ = ignores.apply(new, ignores.read_ignores(skill))
        silenced += len(new) - len(left)
        findings += [finish.graded(f, config) for f in left if not finish.off_here(f, config)]
    unknown = sorted({found.reason or "no answer" for found in results.values() if found.status == "error"})
    failed = sum(found.status == "error" for found in results.values())
    note = f"{failed} of {len(results)} addresses could not be checked: {', '.join(unknown[:3])}"
    return report._replace(
        warnings=report.warnings + ((note,) if failed else ()),
        findings=tuple(sorted({*report.findings, *findings}, key=finish.place)),
        ignored=report.ignored + silenced,
        urls={url: _listed(found) for url, found in results.items()},
    )


def _skills(report: Report, result: LintResult, config: Config) -> list[tuple[Skill, FileContext]]:
    read = []
    for entry in report.skills:
        if not entry.problem:
            data, problem = read_bytes(os.path.join(result.root, entry.path))
            context = FileContext(result.root, config, Registries())
            read.append((load_skill(entry, data, problem), context))
    return read


def _findings(
    rule: Rule, skill: Skill, context: FileContext, facts: dict[str, Any], results: dict[str, UrlResult]
) -> list[Finding]:
    return as_findings(rule, dead_url.hits_for(results, {skill.path: facts}), skill, context)


def _listed(found: UrlResult) -> dict[str, Any]:
    return {"status": found.status, "code": found.code, "final": found.final, "reason": found.reason}
