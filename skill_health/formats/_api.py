"""What a format renders."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from skill_health.core.corpus import Entry
from skill_health.rules._api import Finding, Severity

if TYPE_CHECKING:
    from skill_health.scores import Scores


class Report(NamedTuple):
    """The outcome of one lint run.

    Paths in it are relative to the root of the collection; `prefix` is what leads there from the current
    directory ("" where that is no sub-folder). `scores` is None unless they were asked for.
    `statistics` asks for a count per rule instead of the findings themselves; `subject` says what was checked
    where that is not the skills.
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
    urls: Mapping[str, Any] = {}
    statistics: bool = False
    subject: str = ""

    def number(self, severity: Severity) -> int:
        """How many findings are of this severity."""
        return sum(f.severity is severity for f in self.findings)

    def by_rule(self) -> list[tuple[Finding, int]]:
        """One finding of each rule and severity and how many there are, most frequent first."""
        counts = Counter((f.code, f.severity.rank) for f in self.findings)
        first = {(f.code, f.severity.rank): f for f in reversed(self.findings)}
        return [(first[kind], n) for kind, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]

    def shown(self, path: str) -> str:
        """A path as the user can open it from where they are."""
        return self.prefix + path
