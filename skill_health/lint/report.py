"""The outcome of one lint run: what every format renders, and whether it fails."""

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from skill_health.config.settings import CustomRules
from skill_health.core.boundary import Boundary
from skill_health.core.errors import CLEAN, FINDINGS
from skill_health.core.files import blake2b
from skill_health.discovery.corpus import Entry
from skill_health.rules._api import Finding, Severity

if TYPE_CHECKING:
    from skill_health.lint.urls import UrlResult
    from skill_health.score.scoring import Scores


NAMED = 3
"""How many copies of a file a message names."""


class LintReport(NamedTuple):
    """The outcome of one lint run.

    Paths in it are relative to the root of the collection; `prefix` is what leads there from the current
    directory ("" where that is no sub-folder). `scores` is None unless they were asked for.
    `statistics` asks for a count per rule instead of the findings themselves; `subject` says what was checked
    if not the skills. `clones` are the same findings in files that are byte for byte the same, by the first of them.
    `hidden` counts findings less severe than what was asked for; `unsafe` says that unsafe fixes are wanted.
    `texts` are the files that findings are in, where a format needs them. `custom` are the rules of the repository's
    own configuration. `accepted` are the skills whose score is flagged for what a baseline knows and for nothing else,
    by the paths of their SKILL.md. `fail_on` and `needs_work` are the severities from which a finding fails a skill,
    or means work.
    """

    version: str
    profile: str
    skills: tuple[Entry, ...]
    findings: tuple[Finding, ...]
    prefix: str = ""
    ignored: int = 0
    baselined: int = 0
    warnings: tuple[str, ...] = ()
    scores: "Scores | None" = None
    urls: Mapping[str, "UrlResult"] = {}
    statistics: bool = False
    subject: str = ""
    clones: Mapping[Finding, tuple[Finding, ...]] = {}
    hidden: int = 0
    unsafe: bool = False
    texts: Mapping[str, str] = {}
    custom: CustomRules = CustomRules()
    fail_on: str = "error"
    needs_work: str = "warning"
    accepted: frozenset[str] = frozenset()

    def at_least(self, severity: str) -> "LintReport":
        """The report with the findings that are at least so severe; how many are not is said."""
        if severity == Severity.INFO.value:
            return self
        shown = [f for f in self.findings if is_shown(f, severity)]
        clones = {first: others for first, others in self.clones.items() if is_shown(first, severity)}
        hidden = len(self.everything()) - len(shown) - sum(map(len, clones.values()))
        return self._replace(findings=tuple(shown), clones=clones, hidden=hidden)

    def number(self, severity: Severity) -> int:
        """The number of findings of this severity."""
        return sum(f.severity is severity for f in self.findings)

    def by_rule(self) -> list[tuple[Finding, int]]:
        """One finding of each rule and severity and how many there are, most frequent first."""
        counts = Counter((f.code, f.severity.rank) for f in self.findings)
        first = {(f.code, f.severity.rank): f for f in reversed(self.findings)}
        return [(first[kind], n) for kind, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]

    def everything(self) -> tuple[Finding, ...]:
        """The findings with their clones, for those who count by file or by skill."""
        return self.findings + tuple(clone for clones in self.clones.values() for clone in clones)

    def copies(self, finding: Finding) -> str:
        """What follows the message of a finding where other files share it: their number, and some of them."""
        clones = self.clones.get(finding, ())
        if not clones:
            return ""
        named = ", ".join(self.shown(clone.path) for clone in clones[:NAMED])
        more = f" and {len(clones) - NAMED} more" if len(clones) > NAMED else ""
        return f"; so in {len(clones)} cop{'y' if len(clones) == 1 else 'ies'} of the file: {named}{more}"

    def shown(self, path: str) -> str:
        """A path as the user can open it from where they are."""
        return self.prefix + path


def is_shown(finding: Finding, severity: str) -> bool:
    """Whether a finding is at least so severe."""
    return finding.severity.rank <= Severity(severity).rank


def count_fixes(findings: Iterable[Finding], unsafe: bool, command: str = "") -> str:
    """How many of the findings `--diff` shows a fix of, and what to call; "" where there is none."""
    fixable = [finding for finding in findings if finding.fixable]
    shown = sum(unsafe or finding.safe for finding in fixable)
    more = len(fixable) - shown
    switch = " --unsafe-fixes" if unsafe or not shown else ""
    if not fixable:
        return ""
    if not shown:
        return (
            f"{more} with an unsafe fix: {command}--diff{switch} shows {_it(more)}, --fix{switch} applies {_it(more)}"
        )
    tail = f" ({more} more with --unsafe-fixes)" if more else ""
    return f"{shown} with a fix: {command}--diff{switch} shows {_it(shown)}, --fix{switch} applies {_it(shown)}{tail}"


def _it(count: int) -> str:
    return "it" if count == 1 else "them"


BASELINE = "skill-health-baseline.json"


def judge_report(report: LintReport, fail_on: str, fail_under: float) -> int:
    """0, or 1 where a finding is at least as bad as `fail_on` or the collection scores below `fail_under`."""
    if fail_on != "never" and any(f.severity.rank <= Severity(fail_on).rank for f in report.findings):
        return FINDINGS
    if report.scores is not None and report.scores.corpus.mean is not None and report.scores.corpus.mean < fail_under:
        return FINDINGS
    return CLEAN


MAX_BYTES = 4 * 1024 * 1024


def fold_clones(report: LintReport, boundary: Boundary) -> LintReport:
    """The report with one finding for each fault of files that are byte for byte the same; the first path holds it.

    Findings about several skills stay apart, and so do those in files that cannot be read or are too large to compare.
    """

    @cache
    def digest(path: str) -> bytes | None:
        try:
            data = boundary.read(path, MAX_BYTES)
        except OSError:
            return None
        return blake2b(data, digest_size=32).digest() if data is not None else None

    alike: defaultdict[tuple[object, ...], list[Finding]] = defaultdict(list)
    for finding in report.findings:
        if not finding.also:
            blank = finding._replace(path=os.path.basename(finding.path), skill="", key="")
            alike[blank].append(finding)
    clones: dict[Finding, list[Finding]] = {}
    folded = set[Finding]()
    for group in alike.values():
        first_of: dict[bytes, Finding] = {}
        for finding in group if len({one.path for one in group}) > 1 else ():
            content = digest(finding.path)
            if content is None:
                continue
            first = first_of.setdefault(content, finding)
            if first.path != finding.path:
                clones.setdefault(first, []).append(finding)
                folded.add(finding)
    left = tuple(finding for finding in report.findings if finding not in folded)
    return report._replace(findings=left, clones={first: tuple(others) for first, others in clones.items()})
