"""skill-health JSON report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import Amount, Count, Record, Share

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
    urls: tuple[CheckedUrl, ...]
    """The external addresses, where they were asked for."""


class LintTool(Record, frozen=True, kw_only=True):
    """The program that wrote the report."""

    name: Literal["skill-health"]
    version: str


class LintSummary(Record, frozen=True, kw_only=True):
    """The collection as a whole."""

    skills: Count
    error: Count
    warning: Count
    info: Count
    ignored: Count
    """findings silenced by inline comments"""
    baselined: Count
    """findings that the baseline knows"""
    score: Amount | None
    """mean of the skills' scores; null where nothing was scored; above 1 only under the profile plan-v2.3.0"""
    min_score: Amount | None
    max_score: Amount | None
    flagged: Count | None


class LintedSkill(Record, frozen=True, kw_only=True):
    """One skill that was checked."""

    path: str
    """of SKILL.md, relative to the root of the collection"""
    copies: tuple[str, ...]
    findings: FindingCounts
    score: Amount | None
    flagged: bool | None
    flags: tuple[str, ...]
    components: tuple[ScoreComponent, ...]


class FindingCounts(Record, frozen=True, kw_only=True):
    """How many findings there are of each severity."""

    error: Count
    warning: Count
    info: Count


class ScoreComponent(Record, frozen=True, kw_only=True):
    """One component of a score."""

    name: str
    weight: Share
    """the profile's"""
    share: Share
    """after renormalising"""
    value: Amount | None
    """null where the component does not apply"""
    note: str
    evidence: Mapping[str, float]


class FindingRecord(Record, frozen=True, kw_only=True):
    """One finding."""

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
    hosts: tuple[str, ...] = ()
    """keys of the hosts that skip the skill because of it; left out where there are none"""
    clones: tuple[str, ...] = ()
    """other paths of the same file, where it is found too and not listed again"""


class CheckedUrl(Record, frozen=True, kw_only=True):
    """What is known of one external address."""

    url: str
    status: Literal["ok", "moved", "gone", "error"]
    """moved: permanently, to final, which answers; gone: 404 or 410; error: not known."""
    code: Count
    """the last HTTP status; 0 without an answer"""
    final: str
    reason: str
    """why it is not known"""
