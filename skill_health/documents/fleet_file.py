"""A fleet file."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar

from msgspec import Meta

from skill_health.documents._record import DateText, Name, Record

RepositoryName = Annotated[str, Meta(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
BranchName = Annotated[str, Meta(pattern="^([A-Za-z0-9_][A-Za-z0-9_./+-]{0,199})?$")]


class FleetGate(StrEnum):
    """What fails a run over a fleet. Findings that a baseline or a waiver hides do not count."""

    NEW_ERRORS = "new-errors"
    NEW_WARNINGS = "new-warnings"
    ERRORS = "errors"
    WARNINGS = "warnings"
    NEVER = "never"

    @property
    def severities(self) -> tuple[str, ...]:
        """Findings of which severities fail the run."""
        if self is FleetGate.NEVER:
            return ()
        return ("error",) if self.value.endswith("errors") else ("error", "warning")

    @property
    def only_new(self) -> bool:
        """Whether findings that were there last time do not count."""
        return self.value.startswith("new-")


class FleetFile(Record, frozen=True, kw_only=True, rename="kebab"):
    """The repositories that `skill-health fleet` checks, as TOML.

    Paths in it are relative to the folder of the file.
    """

    ID: ClassVar = "skill-health/fleet-file/1"

    title: str = ""
    """The title of the page and the summary; without one it is Fleet."""
    reports: Name = "reports/fleet"
    """The folder of the record, the history, the summary and the page."""
    fail_on: FleetGate = FleetGate.NEW_ERRORS
    """What fails the run."""
    config: str = ""
    """A configuration file that stands in for those of all repositories; without one each has its own."""
    repository: Annotated[tuple[ListedRepository, ...], Meta(min_length=1, max_length=10_000)]
    waiver: tuple[GivenWaiver, ...] = ()


class ListedRepository(Record, frozen=True, kw_only=True, rename="kebab"):
    """A repository of the fleet, with either a path or an address."""

    name: RepositoryName
    """What it is called in all reports. Under another name it is another repository."""
    path: str = ""
    """A folder on this machine, mostly a git work tree."""
    address: str = ""
    """An address that git can clone: https, ssh, git, http or file, or host:path. It holds no password."""
    branch: BranchName = ""
    """The branch at the address; without one the branch that the address has as its HEAD."""
    folder: str = ""
    """The folder of the repository that holds the skills; without one all skills of the repository are checked."""
    owner: str = ""
    """Who answers for skills that CODEOWNERS names nobody for."""
    config: str = ""
    """A configuration file that stands in for that of the repository."""


class GivenWaiver(Record, frozen=True, kw_only=True, rename="kebab"):
    """Findings that do not count until a day."""

    rule: Name
    """A rule by its code, a prefix of codes, its name or its family, as in the configuration."""
    repository: Name = "*"
    """A glob over the names of repositories."""
    skill: Name = "**"
    """A glob over the paths of SKILL.md, relative to the root of the collection; ** also means findings of no skill."""
    reason: Name
    """Why they do not count."""
    until: DateText
    """The last day on which they do not, such as 2026-12-31."""
