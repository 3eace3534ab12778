"""What is known of one repository of a fleet since it was last linted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import Count, FindingKey, OpenRecord
from skill_health.documents.daily_run import DailyRun

Digest = Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
SeverityName = Literal["error", "warning", "info"]


class FleetState(OpenRecord, frozen=True, kw_only=True):
    """What one lint run found in a repository of the fleet.

    The file that holds it is named by a hash of it, without what is `seen`. Paths are relative to the root of the
    collection, findings those that a baseline leaves.
    """

    ID: ClassVar = "skill-health/fleet-state/1"

    schema: Literal["skill-health/fleet-state/1"]
    seen: SeenRepository
    run: DailyRun
    """The skills, their scores and finding keys, as a daily run has them."""
    skills: Mapping[str, FleetSkill]
    """What a daily run does not have of them, by path."""
    findings: tuple[KeptFinding, ...]
    """The findings, in the order of their places."""
    configured: str
    """The configuration file in force, relative to the root; empty for the defaults."""
    fail_on: Literal["error", "warning", "info", "never"]
    """The severity from which a finding fails a skill."""
    needs_work: Literal["error", "warning", "info", "never"]
    """The severity from which a skill needs work."""
    ignored: Count
    """Findings that comments in the repository silence."""
    baselined: Count
    """Findings that the baseline of the repository knows."""
    notes: tuple[str, ...] = ()
    """What could not be read, and settings of the repository that are not honoured."""


class SeenRepository(OpenRecord, frozen=True, kw_only=True):
    """By what a repository is known again: where all of it is the same, nothing is linted anew."""

    rules: Digest
    """A hash of the version and rules of skill-health, and of the settings from outside the repository.

    Findings of two states with another one are not compared.
    """
    basis: Digest
    """A hash of that, and of what the fleet file says of the repository."""
    source: Digest
    """A hash of the files below the path as the file system tells them, or of the commit at the address."""
    young: Digest | None = None
    """A hash of the content of files too young then for their times to tell; absent where there were none."""
    taken: Count = 0
    """When that was, in nanoseconds since 1970."""
    day: str = ""
    """The day that claims were judged on; empty where there are none."""


class FleetSkill(OpenRecord, frozen=True, kw_only=True):
    """What is kept of a skill to compare it with those of other repositories."""

    text: Digest | None
    """A hash of the bytes of its SKILL.md; null where it could not be read."""
    whole: Digest | None
    """A hash of all files of the skill but its name's; null where one could not be read."""
    sketch: str
    """The least fingerprints of its passages, eight hexadecimal digits each, in order."""
    passages: Count
    """How many fingerprints there are in all."""
    owners: tuple[str, ...]
    """Who answers for it."""


class KeptFinding(OpenRecord, frozen=True, kw_only=True):
    """A finding as it is kept: enough to waive it and to say where it is."""

    skill: str
    """The path of its SKILL.md; empty for none."""
    key: FindingKey
    """By what it is known again, as in a daily run."""
    severity: SeverityName
    code: str
    rule: str
    """The name of the rule."""
    family: str
    """The family of the rule."""
    path: str
    line: Count
    message: str
    """What is said of it, at most 300 characters."""
