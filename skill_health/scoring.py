"""Measurements and a profile -> the score of a skill, with what went into it and what was left out.

Pure: the same numbers give the same score in any order. docs/scoring.md explains every component.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import fsum
from typing import Any

from skill_health.components import COMPONENTS, SkillFacts, missing_sections
from skill_health.core.config import RuleLimits
from skill_health.core.measure import Measures
from skill_health.profiles import Profile

_DIGITS = 4


@dataclass(frozen=True, slots=True)
class ScorePart:
    """One component of a score.

    `weight` is the profile's; `share` is what it came to after the components that do not apply were left
    out (0 for those). `value` lies between 0 and 1; None means that it does not apply, and `note` says why.
    `evidence` are the counts it was computed from.
    """

    name: str
    weight: float
    share: float
    value: float | None
    note: str
    evidence: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Flag:
    """A reason to look at a skill whatever its score: a stable word and a line for people."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Score:
    """The score of one skill: the mean of its parts, weighted by their shares, to 4 decimals."""

    value: float
    parts: tuple[ScorePart, ...]
    flags: tuple[Flag, ...]

    @property
    def flagged(self) -> bool:
        """Whether there is any reason to look at the skill."""
        return bool(self.flags)


@dataclass(frozen=True, slots=True)
class CorpusScore:
    """The plain mean of the scores with its extremes; None where there is no skill to score."""

    n: int
    mean: float | None
    min: float | None
    max: float | None
    flagged: int


def score_skill(measures: Measures, facts: SkillFacts, profile: Profile, limits: RuleLimits | None = None) -> Score:
    """Score one skill by a profile. `limits` give the line limit where the profile has none of its own."""
    graded = [(part, COMPONENTS[part.name](measures, facts, part.settings)) for part in profile.components]
    whole = fsum(component.weight for component, grade in graded if grade.value is not None)
    parts = tuple(
        ScorePart(
            component.name, component.weight, 0.0 if grade.value is None else round(component.weight / whole, _DIGITS),
            None if grade.value is None else round(grade.value, _DIGITS), grade.note, grade.evidence,
        )
        for component, grade in graded
    )  # fmt: skip
    total = fsum(component.weight * grade.value for component, grade in graded if grade.value is not None)
    value = round(min(1.0, total / whole), _DIGITS)
    lines = profile.lines or (limits or RuleLimits()).body_lines
    return Score(value, parts, tuple(_flags(value, measures, facts, profile, lines)))


def _flags(value: float, measures: Measures, facts: SkillFacts, profile: Profile, lines: int) -> Iterable[Flag]:
    if value < profile.below:
        yield Flag("low-score", f"score {value:.4f} is below {profile.below:.2f}")
    if measures.line_count > lines:
        yield Flag("too-long", f"{measures.line_count} lines, over {lines}")
    if profile.missing_sections:
        for title in missing_sections(measures, _settings(profile, "sections")):
            yield Flag("missing-section", f"no section '{title}'")
    invalid = _settings(profile, "frontmatter").get("invalid", ())
    for issue in measures.issues:
        if issue in invalid:
            yield Flag("invalid-frontmatter", f"invalid frontmatter: {issue.replace('-', ' ')}")
    if profile.leaks and facts.leaks:
        yield Flag("leak", f"{facts.leaks} leak{'s' if facts.leaks > 1 else ''} of evaluation material or secrets")


def _settings(profile: Profile, name: str) -> Mapping[str, Any]:
    return next((c.settings for c in profile.components if c.name == name), {})


def score_corpus(scores: Iterable[Score]) -> CorpusScore:
    """The mean, the extremes and the number of flagged skills of a collection, whatever their order."""
    every = list(scores)
    if not every:
        return CorpusScore(0, None, None, None, 0)
    values = [score.value for score in every]
    mean = round(fsum(values) / len(values), _DIGITS)
    return CorpusScore(len(every), mean, min(values), max(values), sum(score.flagged for score in every))
