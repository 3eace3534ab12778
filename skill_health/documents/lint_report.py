"""skill-health JSON report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import Count, OpenRecord, Record, Share

CodeText = Annotated[str, Meta(pattern="^[A-Z]{2}[0-9]{3}$")]


class LintDocument(Record, frozen=True, kw_only=True):
    """skill-health JSON report."""

    ID: ClassVar = "skill-health/report/1"

    schema: Literal["skill-health/report/1"]
    tool: LintTool
    profile: str
    summary: LintSummary
    warnings: tuple[str, ...]
    skills: tuple[LintedSkill, ...]
    findings: tuple[FindingRecord, ...]
    urls: tuple[UncheckedUrls, ...]


class LintTool(Record, frozen=True, kw_only=True):
    """tool."""

    name: Literal["skill-health"]
    version: str


class LintSummary(Record, frozen=True, kw_only=True):
    """summary."""

    skills: Count
    error: Count
    warning: Count
    info: Count
    ignored: Count
    """findings silenced by inline comments"""
    baselined: Count
    """findings that the baseline knows"""
    score: Share | None
    """mean of the skills' scores; null where nothing was scored"""
    min_score: Share | None
    max_score: Share | None
    flagged: Count | None


class LintedSkill(Record, frozen=True, kw_only=True):
    """skill."""

    path: str
    """of SKILL.md, relative to the root of the collection"""
    copies: tuple[str, ...]
    findings: FindingCounts
    score: Share | None
    flagged: bool | None
    flags: tuple[str, ...]
    components: tuple[ScoreComponent, ...]


class FindingCounts(Record, frozen=True, kw_only=True):
    """findings."""

    error: Count
    warning: Count
    info: Count


class ScoreComponent(Record, frozen=True, kw_only=True):
    """component."""

    name: str
    weight: Share
    """the profile's"""
    share: Share
    """after renormalising"""
    value: Share | None
    """null where the component does not apply"""
    note: str
    evidence: Mapping[str, float]


class FindingRecord(Record, frozen=True, kw_only=True):
    """finding."""

    code: CodeText
    rule: str
    severity: Literal["error", "warning", "info"]
    path: str
    line: Annotated[int, Meta(ge=1)]
    col: Annotated[int, Meta(ge=1)]
    end_line: Annotated[int, Meta(ge=1)]
    end_col: Annotated[int, Meta(ge=1)]
    message: str
    help: str
    source: str
    """the line; empty where it must not be shown"""
    skill: str
    """SKILL.md that it belongs to; empty for a registry"""
    key: str
    """identifies the finding by content"""
    fixable: bool
    also: tuple[str, ...]


class UncheckedUrls(OpenRecord, frozen=True, kw_only=True):
    """url."""

    url: str
