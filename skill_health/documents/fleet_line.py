"""A line of the fleet history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from skill_health.documents._record import CommitText, Count, DateText, OpenRecord, TimeText
from skill_health.documents.daily_run import Measure
from skill_health.documents.fleet_state import Digest

FleetStatus = Literal["checked", "unchanged", "failed"]


class FleetLine(OpenRecord, frozen=True, kw_only=True):
    """One line of skill-health-fleet-history.jsonl: a run over a fleet, however many skills there are."""

    ID: ClassVar = "skill-health/fleet-line/1"

    schema: Literal["skill-health/fleet-line/1"]
    time: TimeText
    """When the run began, in UTC."""
    as_of: DateText
    """The day that claims and waivers were judged on."""
    version: str
    """The version of skill-health."""
    repositories: Mapping[str, FleetEntry]
    """By name."""
    copies: Count
    """Skills of several repositories whose SKILL.md is the same, each group once."""
    near: Count
    """Pairs of skills of two repositories that share most of their passages."""
    namesakes: Count
    """Names that skills of several repositories have, and that stand for different texts."""
    expired: Count
    """Waivers whose last day has passed."""


class FleetEntry(OpenRecord, frozen=True, kw_only=True):
    """A repository in a run. Counts are null where it could not be checked: it is not known how many there are."""

    status: FleetStatus
    error: str = ""
    """Why it could not be checked."""
    commit: CommitText | None = None
    skills: Count | None = None
    score: Measure | None = None
    """The mean of its skills."""
    errors: Count | None = None
    """Findings that neither a baseline nor a waiver hides, here and below."""
    warnings: Count | None = None
    infos: Count | None = None
    waived: Count | None = None
    """Findings that a waiver hides."""
    new: Count | None = None
    """Findings that were not there when it was last checked; null where that cannot be compared."""
    fixed: Count | None = None
    rules: Digest | None = None
    """A hash of the version, the rules and the settings from outside; figures with another one are not compared."""
    state: Digest | None = None
    """The last state of it that is known, which may be of an earlier run; null where it was never checked."""
