"""How well the skills of a collection are written, and what that goes with."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import Count, FullFigure, Name, Record

QualityDimension = Literal["completeness", "clarity", "specificity", "examples"]
AuthoringPattern = Literal[
    "script_with_defaults", "canonical_source", "exact_format", "invariant", "specific_description",
    "heavy_without_fast_path", "recipe_without_bounds", "tool_without_fallback",
]  # fmt: skip
PatternSide = Literal["gain", "loss"]
ContractMeasure = Literal["tool calls", "tokens"]
ContractVerdict = Literal["kept", "exceeded", "open"]
Points = Annotated[int, Meta(ge=0, le=3)]
TotalPoints = Annotated[int, Meta(ge=0, le=12)]


class QualityReport(Record, frozen=True, kw_only=True):
    """What `skill-health quality --format json` prints.

    The rubric is that of SkillsBench, appendix A.3; its readers gave public skills 6.2 of 12 points in the mean.
    """

    ID: ClassVar = "skill-health/quality/1"

    schema: Literal["skill-health/quality/1"]
    skills: tuple[QualityOfSkill, ...]
    """By the path of their SKILL.md."""
    points: PointFigures
    """All twelve."""
    dimensions: tuple[DimensionFigures, ...]
    patterns: tuple[PatternCount, ...]
    effects: QualityEffects | None
    """Beside what runs have measured; null where no run was named."""


class QualityOfSkill(Record, frozen=True, kw_only=True):
    """One skill."""

    path: Name
    """Its SKILL.md, relative to the root."""
    name: str
    description: str
    points: TotalPoints
    """Of twelve."""
    dimensions: tuple[DimensionPoints, ...]
    patterns: tuple[PatternPlace, ...]
    """The patterns that show."""
    contract: DeclaredContract | None
    """Its complexity contract; null where it has none."""


class DimensionPoints(Record, frozen=True, kw_only=True):
    """The points of a dimension."""

    dimension: QualityDimension
    points: Points
    """Of three."""
    signs: tuple[SoughtSign, ...]
    """What they follow from."""


class SoughtSign(Record, frozen=True, kw_only=True):
    """A sign that is looked for."""

    title: str
    there: bool


class PatternPlace(Record, frozen=True, kw_only=True):
    """Where a pattern shows."""

    pattern: AuthoringPattern
    side: PatternSide
    """What it went with in SkillsBench."""
    line: Annotated[int, Meta(ge=1)]


class DeclaredContract(Record, frozen=True, kw_only=True):
    """What a skill says of its cost and bounds."""

    tool_calls: Count | None
    """The most calls of tools; null where it does not say."""
    tokens: Count | None
    """The most tokens, read and written; null likewise."""
    applies_to: str
    fallback: str
    problems: tuple[str, ...]
    """Why it is no contract; empty where it is one."""


class PointFigures(Record, frozen=True, kw_only=True):
    """How points are distributed over skills."""

    n: Count
    mean: float
    lower: float
    """The first quartile."""
    median: float
    upper: float
    """The third quartile."""


class DimensionFigures(Record, frozen=True, kw_only=True):
    """How the points of a dimension are distributed."""

    dimension: QualityDimension
    figures: PointFigures


class PatternCount(Record, frozen=True, kw_only=True):
    """How many skills show a pattern."""

    pattern: AuthoringPattern
    side: PatternSide
    skills: Count
    n: Count
    """All skills."""


class QualityEffects(Record, frozen=True, kw_only=True):
    """Points and patterns beside the gains that runs have measured."""

    runs: tuple[str, ...]
    simulated: bool
    """True where an agent of these runs is simulated: their gains are made up."""
    skills: Count
    """Skills here for which one of the runs has a gain."""
    correlation: FullFigure
    """Of points and gain by ranks (Spearman)."""
    patterns: tuple[PatternEffect, ...]
    themes: tuple[ThemeEffect, ...]
    """By the words that names and descriptions share, the largest theme first."""
    contracts: tuple[ContractCheck, ...]


class PatternEffect(Record, frozen=True, kw_only=True):
    """Gains of the skills that show a pattern against those that do not."""

    pattern: AuthoringPattern
    side: PatternSide
    showing: Count
    others: Count
    difference: FullFigure
    """Of mean gains; Welch's interval, and the p of a permutation test, corrected over the patterns (Holm)."""


class AuthoringAssociation(Record, frozen=True, kw_only=True):
    """How skills are written beside what they add. Authors chose it: no difference is an effect of a pattern."""

    skills: Count
    """Skills with a gain, of which it is known how they are written."""
    correlation: FullFigure
    """Of the points, of twelve, and the gain, by ranks (Spearman)."""
    patterns: tuple[PatternEffect, ...]


class ThemeEffect(Record, frozen=True, kw_only=True):
    """What the skills of a theme add."""

    theme: str
    """The terms that weigh most in it; other for skills that are like no other."""
    skills: Count
    gain: FullFigure
    """The mean over its skills, with the interval of the cluster bootstrap; p is that of the sign-flip test."""


class ContractCheck(Record, frozen=True, kw_only=True):
    """What a contract says, and what was measured where the skill was offered."""

    skill: str
    model: str
    """Agent and model."""
    measure: ContractMeasure
    said: Count
    measured: FullFigure
    """The mean over tasks."""
    verdict: ContractVerdict
    """kept, exceeded: the whole interval lies below or above what is said; open: it does not, or there is none."""
