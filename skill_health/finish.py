"""From raw findings to those that are shown: what was asked for, inline comments, per-path rules, severities."""

from __future__ import annotations

from functools import cache

from skill_health import ignores, records
from skill_health.core.config import Config
from skill_health.core.ignores import Patterns, compile_patterns, ignored_within
from skill_health.rules._api import Finding, Severity, named_by
from skill_health.session import LintSession


def finish(session: LintSession, corpus_findings: list[Finding], paths: set[str]) -> tuple[list[Finding], int]:
    """The findings to show, sorted by place, and how many inline comments silenced."""
    entries = session.discovery.entries
    wanted = {entry.path for entry in entries if entry.target}
    everything = len(wanted) == len(entries)
    findings = [f for f in corpus_findings if _asked_for(f, wanted, everything, paths)]
    comments = []
    for path in wanted:
        findings += [records.unpack(values) for values in session.records[path]["findings"]]
        comments += records.ignores_of(session.records[path])
    left, unused = ignores.apply(findings, comments)
    silenced = len(findings) - len(left)
    table = session.rules_table()
    ran = [(code, name) for code, name, _, _, on in table if on]
    left += ignores.report(comments, unused, ran, [(code, name) for code, name, *_ in table])
    shown = [graded(f, session.config) for f in left if not off_here(f, session.config)]
    return sorted(set(shown), key=place), silenced


def _asked_for(finding: Finding, wanted: set[str], everything: bool, paths: set[str]) -> bool:
    if everything or finding.path in paths or finding.skill in wanted:
        return True
    return any(path in wanted for path in finding.also)


def place(f: Finding) -> tuple[str, int, int, str, str]:
    """What findings are sorted by."""
    return f.path, f.line, f.col, f.code, f.message


@cache
def _patterns(glob: str) -> Patterns | None:
    return compile_patterns((glob,))


def off_here(finding: Finding, config: Config) -> bool:
    """Whether the configuration switches this rule off for this path; the last entry that says so counts."""
    off = False
    for entry in config.per_path:
        patterns = _patterns(entry.glob)
        if patterns and ignored_within((patterns,), finding.path, False):
            off = off or _named(finding, entry.ignore)
            off = off and not _named(finding, entry.select)
    return off


def _named(finding: Finding, selectors: tuple[str, ...]) -> bool:
    return any(named_by(selector, finding.code, finding.rule, finding.family) for selector in selectors)


def graded(finding: Finding, config: Config) -> Finding:
    """The finding with the severity that the configuration gives its rule; the narrowest selector counts."""
    if not config.severity:
        return finding
    best = ""
    for selector in config.severity:
        if _named(finding, (selector,)) and (selector == finding.code or len(selector) >= len(best)):
            best = selector
    return finding._replace(severity=Severity(config.severity[best])) if best else finding
