"""An audit of router prompts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import Count, Record

AuditSeverity = Literal["error", "warning", "info"]
KindText = Annotated[str, Meta(pattern="^[a-z]+(-[a-z]+)*$")]


class PromptAudit(Record, frozen=True, kw_only=True):
    """What `skill-health router prompts --format json` prints: what prompts cover, and what is wrong with them."""

    ID: ClassVar = "skill-health/router-audit/1"

    schema: Literal["skill-health/router-audit/1"]
    prompts: Count
    """How many prompts were read."""
    nulls: Count
    """How many of them expect no skill."""
    unknown: Count
    """How many only say which skill must not fire."""
    families: Count
    """How many families they are in; a prompt without one is its own."""
    skills: tuple[AuditedSkill, ...]
    """The skills, by the path of their SKILL.md."""
    splits: Mapping[str, Mapping[str, Annotated[int, Meta(ge=1)]]]
    """By class (a skill, "none", or "?" where the answer is not known), the prompts in each split; "" holds those
    without one.
    """
    remarks: tuple[AuditRemark, ...]
    """What to know, errors first."""
    problems: tuple[AuditProblem, ...]
    """Records that are no prompts."""
    notes: tuple[str, ...]
    """What was read from where, and how the collection was listed."""

    @property
    def failed(self) -> bool:
        """Whether anything is an error."""
        return any(remark.severity == "error" for remark in self.remarks)


class AuditedSkill(Record, frozen=True, kw_only=True):
    """How many prompts name one skill."""

    skill: str
    """The name."""
    positives: Count
    """Prompts that expect it."""
    acceptable: Count
    """Prompts that accept it as a second."""
    negatives: Count
    """Prompts that reject it and expect another or none: near misses."""


class AuditRemark(Record, frozen=True, kw_only=True):
    """One thing to know of the prompts."""

    severity: AuditSeverity
    kind: KindText
    """A stable word."""
    message: str
    """What is wrong."""
    prompts: tuple[str, ...]
    """The ids of the prompts that it is about."""
    places: tuple[str, ...]
    """Where those stand, as path:line."""
    help: str
    """What to do."""


class AuditProblem(Record, frozen=True, kw_only=True):
    """A record that is no prompt."""

    path: str
    line: Annotated[int, Meta(ge=1)]
    message: str
    """What is wrong."""
    help: str
    """What to do."""
