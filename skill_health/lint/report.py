"""The outcome of one lint run: what every format renders, and whether it fails."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from skill_health.core.errors import CLEAN, FINDINGS
from skill_health.discovery.corpus import Entry
from skill_health.rules._api import Finding, Severity

if TYPE_CHECKING:
    from skill_health.lint.urls import UrlResult
    from skill_health.score.scoring import Scores


class LintReport(NamedTuple):
    """The outcome of one lint run.

    Paths in it are relative to the root of the collection; `prefix` is what leads there from the current
    directory ("" where that is no sub-folder). `scores` is None unless they were asked for.
    `statistics` asks for a count per rule instead of the findings themselves; `subject` says what was checked
    if not the skills.
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

    def number(self, severity: Severity) -> int:
        """The number of findings of this severity."""
        return sum(f.severity is severity for f in self.findings)

    def by_rule(self) -> list[tuple[Finding, int]]:
        """One finding of each rule and severity and how many there are, most frequent first."""
        counts = Counter((f.code, f.severity.rank) for f in self.findings)
        first = {(f.code, f.severity.rank): f for f in reversed(self.findings)}
        return [(first[kind], n) for kind, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]

    def shown(self, path: str) -> str:
        """A path as the user can open it from where they are."""
        return self.prefix + path


BASELINE = "skill-health-baseline.json"


def judge_report(report: LintReport, fail_on: str, fail_under: float) -> int:
    """0, or 1 where a finding is at least as bad as `fail_on` or the collection scores below `fail_under`."""
    if fail_on != "never" and any(f.severity.rank <= Severity(fail_on).rank for f in report.findings):
        return FINDINGS
    if report.scores is not None and report.scores.corpus.mean is not None and report.scores.corpus.mean < fail_under:
        return FINDINGS
    return CLEAN
