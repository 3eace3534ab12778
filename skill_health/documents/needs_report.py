"""What the skills of a collection need."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import Count, Name, Record, Share

NeedCategory = Literal[
    "tools", "mcp", "network", "auth", "environment-variables", "runtime", "multi-turn", "repository", "code-files",
    "git-state", "database", "browser", "services", "input-file", "service-state", "other",
]  # fmt: skip
EvidenceForm = Literal[
    "command", "program", "script", "variable", "host", "server", "file", "import", "declared", "sentence"
]


class NeedsReport(Record, frozen=True, kw_only=True):
    """What `skill-health needs --format json` prints: what each skill needs of its environment, and how often."""

    ID: ClassVar = "skill-health/needs/1"

    schema: Literal["skill-health/needs/1"]
    skills: tuple[NeedsOfSkill, ...]
    """The skills, by the path of their SKILL.md."""
    frequencies: tuple[NeedFrequency, ...]
    """How many of the skills need each category, in the order of the categories."""


class NeedsOfSkill(Record, frozen=True, kw_only=True):
    """What one skill needs."""

    path: Name
    """Its SKILL.md, relative to the root."""
    name: str
    """Its name."""
    needs: tuple[SkillNeed, ...]
    """The categories that it needs, in their order."""


class SkillNeed(Record, frozen=True, kw_only=True):
    """A category that a skill needs."""

    category: NeedCategory
    evidence: tuple[NeedPlace, ...]
    """The places that show it, the strongest first; at most twelve."""


class NeedPlace(Record, frozen=True, kw_only=True):
    """A place that shows a need."""

    path: Name
    """The file, relative to the root."""
    line: Annotated[int, Meta(ge=1)]
    """Its line."""
    kind: EvidenceForm
    """What stands there."""
    subject: str
    """What is needed: a program, a variable, a host, a file."""
    text: str
    """The text of the place, cut to 160 characters."""


class NeedFrequency(Record, frozen=True, kw_only=True):
    """How many skills of a collection need a category."""

    category: NeedCategory
    title: str
    """What the category is called in table 1 of arXiv:2606.17819."""
    count: Count
    """The skills that need it."""
    n: Annotated[int, Meta(ge=1)]
    """All skills."""
    value: Share
    """The one divided by the other."""
    low: Share
    """The lower end of Wilson's 95 % interval; it is that of a sample, where the collection is taken for one."""
    high: Share
    """The upper end."""
