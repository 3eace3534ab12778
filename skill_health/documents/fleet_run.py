"""A run over a fleet of repositories."""

from __future__ import annotations

from typing import ClassVar, Literal

from skill_health.documents._record import CommitText, Count, DateText, NotedFigure, Record, TimeText
from skill_health.documents.daily_run import Measure
from skill_health.documents.fleet_file import FleetGate
from skill_health.documents.fleet_line import FleetStatus
from skill_health.documents.fleet_state import SeverityName
from skill_health.documents.skill_grades import SkillGrade

WaiverStatus = Literal["expired", "unused", "unknown", "active"]


class FleetRun(Record, frozen=True, kw_only=True):
    """What `skill-health fleet --format json` prints: what a run over a fleet found.

    Counts are of findings that neither a baseline nor a waiver hides. What could not be checked has no counts, and is
    left out of all sums and comparisons.
    """

    ID: ClassVar = "skill-health/fleet/1"

    schema: Literal["skill-health/fleet/1"]
    version: str
    """The version of skill-health."""
    title: str
    time: TimeText
    """When the run began, in UTC."""
    as_of: DateText
    """The day that claims and waivers were judged on."""
    fail_on: FleetGate
    reasons: tuple[str, ...]
    """Why the run fails; empty where it does not."""
    total: FleetTotal
    repositories: tuple[FleetRepository, ...]
    """In the order of their names."""
    owners: tuple[FleetOwner, ...]
    """In the order of their names; skills with several owners count for each of them."""
    copies: tuple[SharedText, ...]
    """Skills of several repositories with the same SKILL.md, byte for byte."""
    near: tuple[NearCopy, ...]
    """Pairs of different texts that share most of their passages: of each skill the closest in another repository."""
    namesakes: tuple[FleetNamesake, ...]
    """Names that several repositories have for different skills."""
    waivers: tuple[FleetWaiver, ...]
    """In the order of the file."""
    notes: tuple[str, ...]
    """What could not be read of earlier runs."""


class SeverityCounts(Record, frozen=True, kw_only=True):
    """Findings by severity."""

    error: Count
    warning: Count
    info: Count

    @property
    def total(self) -> int:
        """All of them."""
        return self.error + self.warning + self.info


class FleetTotal(Record, frozen=True, kw_only=True):
    """The fleet as a whole."""

    repositories: Count
    """How many the file lists."""
    linted: Count
    """How many were linted in this run."""
    unchanged: Count
    """How many were known to be what they were, and were not linted."""
    failed: Count
    """How many could not be checked; nothing below counts them."""
    skills: Count
    findings: SeverityCounts
    waived: Count
    """Findings that a waiver hides."""
    compared: Count
    """How many repositories could be compared with an earlier run."""
    new: SeverityCounts
    """Findings of these that were not there."""
    fixed: SeverityCounts
    """Findings of these that are gone."""
    expired: Count
    """Waivers whose last day has passed."""
    unused: Count
    """Waivers that no finding needs."""


class FleetRepository(Record, frozen=True, kw_only=True):
    """A repository of the fleet."""

    name: str
    source: str
    """The path or the address, as the file has it."""
    branch: str
    folder: str
    owner: str
    status: FleetStatus
    """Linted now, known to be what it was, or not to be checked."""
    error: str
    """Why it could not be checked."""
    findings: RepositoryFindings | None
    """What is known of it now; null where it could not be checked."""
    last: TimeText | None
    """When it was last linted; null where it never was."""
    trend: FleetTrend | None
    """What it was before; null where there are no figures of both."""


class RepositoryFindings(Record, frozen=True, kw_only=True):
    """What is known of a repository."""

    commit: CommitText | None
    """The commit; null outside git."""
    dirty: bool | None
    """Whether files differed from it; null where that is not known."""
    configured: str
    """The configuration file in force; empty for the defaults."""
    grade: SkillGrade
    """The worst of its skills, and of what was found outside them."""
    skills: Count
    grades: tuple[GradeCount, ...]
    """How many skills have which grade, the worst first."""
    score: Measure | None
    """The mean of its skills; null where nothing was scored."""
    counts: SeverityCounts
    rules: tuple[RuleTotal, ...]
    """The findings by rule: errors first, then the most frequent."""
    waived: Count
    ignored: Count
    """Findings that comments in the repository silence."""
    baselined: Count
    """Findings that the baseline of the repository knows."""
    change: RepositoryChange | None
    """What is new since it was last checked; null where that cannot be said."""
    incomparable: str
    """Why it cannot; empty where it can."""
    notes: tuple[str, ...]
    """What could not be read, and settings of the repository that are not honoured."""


class GradeCount(Record, frozen=True, kw_only=True):
    """So many skills of a grade."""

    grade: SkillGrade
    skills: Count


class RuleTotal(Record, frozen=True, kw_only=True):
    """So many findings of a rule and severity."""

    code: str
    rule: str
    severity: SeverityName
    n: Count


class RepositoryChange(Record, frozen=True, kw_only=True):
    """What has changed in a repository since it was last checked."""

    since: TimeText
    """When that was."""
    new: tuple[ChangedFinding, ...]
    """Findings that were not there, or that a waiver hid which has ended."""
    fixed: tuple[ChangedFinding, ...]
    """Findings that are gone."""
    added: tuple[str, ...]
    """The paths of new skills."""
    removed: tuple[str, ...]
    """The paths of skills that are gone; one that was only moved is in neither."""


class ChangedFinding(Record, frozen=True, kw_only=True):
    """Findings of the same content in one skill, of which there are more or fewer."""

    severity: SeverityName
    code: str
    rule: str
    skill: str
    """The path of its SKILL.md; empty for none."""
    path: str
    line: Count
    message: str
    n: Count
    """How many more, or fewer."""
    owners: tuple[str, ...]
    """Who answers for the skill."""


class FleetTrend(Record, frozen=True, kw_only=True):
    """A repository now and in the first of the earlier runs whose rules were the same."""

    runs: Count
    """How many such runs there are that checked it, this one left out."""
    since: TimeText
    """When the first of them ran."""
    score_before: Measure | None
    score: Measure | None
    errors_before: Count
    errors: Count
    warnings_before: Count
    warnings: Count


class FleetOwner(Record, frozen=True, kw_only=True):
    """Who answers for skills."""

    name: str
    """As CODEOWNERS or the fleet file has it; empty for skills that nobody answers for."""
    repositories: tuple[str, ...]
    skills: Count
    findings: SeverityCounts
    new: SeverityCounts
    """Those that were not there when their repository was last checked, as far as that can be said."""


class SkillPlace(Record, frozen=True, kw_only=True):
    """A skill of the fleet."""

    repository: str
    path: str
    name: str


class SharedText(Record, frozen=True, kw_only=True):
    """Skills with the same SKILL.md."""

    places: tuple[SkillPlace, ...]
    whole: bool | None
    """Whether all their other files are the same too; null where one could not be read."""


class NearCopy(Record, frozen=True, kw_only=True):
    """Two skills that share most of their passages. Copies of them are not listed again."""

    one: SkillPlace
    other: SkillPlace
    shared: NotedFigure
    """Passages that both have, of those that one of them has, by a sample of `n`; with its 95 % interval."""


class FleetNamesake(Record, frozen=True, kw_only=True):
    """Skills of several repositories with the same name, not all of which are copies of one another."""

    name: str
    places: tuple[SkillPlace, ...]


class FleetWaiver(Record, frozen=True, kw_only=True):
    """A waiver, and what it does."""

    rule: str
    repository: str
    skill: str
    reason: str
    until: DateText
    status: WaiverStatus
    """Unused: no finding is one that it means; unknown: none is, but a repository of it could not be checked."""
    findings: Count
    """How many it hides; of one that has expired, how many it hides no longer."""
