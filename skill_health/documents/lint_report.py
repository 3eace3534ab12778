"""skill-health JSON report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import Amount, Count, Record, Share
from skill_health.documents.skill_grades import SkillGrade

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
    """skills that there is a reason to look at; under `standard` those that a finding takes points of"""
    population: ScorePopulation | None = None
    """what scores are held against; left out where there is nothing for the profile"""
    hidden: Count = 0
    """findings less severe than what was asked for, which are left out"""


class ScorePopulation(Record, frozen=True, kw_only=True):
    """Public skills that were scored in the same way; each repository weighs the same."""

    date: str
    skills: Count
    repositories: Count


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
    losses: tuple[ScoreLoss, ...] = ()
    """what findings take from the score, the most first; left out where they take nothing"""
    standing: ScoreStanding | None = None
    """where the score stands in the population; left out where there is none"""
    grade: SkillGrade | None = None
    """the verdict of lint: fail, needs work or passing; left out where the run scored nothing"""


class ScoreLoss(Record, frozen=True, kw_only=True):
    """What the findings of one rule and severity take from the score of a skill."""

    component: str
    code: CodeText
    rule: str
    severity: Literal["error", "warning"]
    findings: Count
    """how many there are; for hosts, how many hosts skip the skill"""
    excepted: Count
    """how many of them a comment or the configuration keeps out of the findings; they count all the same"""
    gain: Share
    """by how much the score rises when all of them are fixed and nothing else is"""
    right: Count
    """of the judged findings, how many were right on collections that the rule was not tuned on"""
    judged: Count
    """0 where none was found there"""
    places: tuple[str, ...]
    """the first of them: file within the skill, line and column; for hosts, which ones and why"""


class ScoreStanding(Record, frozen=True, kw_only=True):
    """The shares of the population that score lower, the same (to two digits) and higher."""

    lower: Share
    same: Share
    higher: Share


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
    multiplies: bool = False
    """the score is multiplied by its value, which is no part of the mean; left out where it is"""


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
