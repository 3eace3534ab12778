"""How skills are written, and what each adds to the share of trials that pass: points and patterns beside gains.

Which skills show a pattern is their authors' choice, not chance: a difference here is no effect of the pattern.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import NamedTuple, cast

from skill_health.documents.effect_manifest import FrozenSkill
from skill_health.documents.effect_report import ModelEffectReport
from skill_health.documents.quality_report import AuthoringAssociation, AuthoringPattern, PatternEffect, PatternSide
from skill_health.effectiveness.effects.arms import full_figure
from skill_health.skill.authoring import SIDES
from skill_health.stats.association import clustered_rank_correlation
from skill_health.stats.estimates import Estimate
from skill_health.stats.hypothesis_tests import group_permutation_test
from skill_health.stats.multiplicity import holm
from skill_health.stats.resampling import mean_of_groups

LEAST = 6
"""Skills with the pattern, and without it, that a difference takes."""


class WrittenSkill(NamedTuple):
    """A skill, the points for how it is written, of twelve, and the patterns that show in it."""

    name: str
    points: int
    patterns: frozenset[str]


def gains_of_skills(models: Iterable[ModelEffectReport]) -> dict[str, float]:
    """What each skill adds to the share of trials that pass, in the mean over models; biased ones are left out."""
    found: dict[str, list[float]] = {}
    for model in models:
        for own in model.skills if not model.biased else ():
            primary = next((each for each in own.contrasts if each.kind == "primary"), None)
            if not own.skills and primary and primary.delta.value is not None:
                found.setdefault(own.skill, []).append(primary.delta.value)
    return {skill: fmean(values) for skill, values in found.items()}


def written_skills(skills: Iterable[FrozenSkill]) -> tuple[WrittenSkill, ...]:
    """The skills of a run of which it is known how they are written; a name that several skills have is left out."""
    found: dict[str, set[WrittenSkill | None]] = {}
    for skill in skills:
        own = skill.authoring
        found.setdefault(skill.name, set()).add(
            WrittenSkill(skill.name, own.points, frozenset(own.patterns)) if own else None
        )
    return tuple(each for own in found.values() if len(own) == 1 for each in own if each)


def associate_authoring(skills: Sequence[WrittenSkill], gains: Mapping[str, float]) -> AuthoringAssociation:
    """What points and patterns go with, over the skills with a gain."""
    known = [each for each in skills if each.name in gains]
    values = [gains[each.name] for each in known]
    correlation = clustered_rank_correlation([each.points for each in known], values, list(range(len(known))))
    effects = [_compare_pattern(name, known, values) for name in SIDES]
    adjusted = holm([each.p for each in effects])
    return AuthoringAssociation(
        skills=len(known),
        correlation=full_figure(correlation, "skill"),
        patterns=tuple(
            PatternEffect(
                pattern=cast(AuthoringPattern, name),
                side=cast(PatternSide, side),
                showing=(showing := sum(name in each.patterns for each in known)),
                others=len(known) - showing,
                difference=full_figure(replace(estimate, p_adjusted=p), "skill"),
            )
            for (name, side), estimate, p in zip(SIDES.items(), effects, adjusted, strict=True)
        ),
    )


def _compare_pattern(pattern: str, skills: Sequence[WrittenSkill], gains: Sequence[float]) -> Estimate:
    """The difference of mean gains, with Welch's interval and the p of a permutation test."""
    shows = [pattern in each.patterns for each in skills]
    sides = [[gain for gain, there in zip(gains, shows, strict=True) if there is side] for side in (True, False)]
    if min(map(len, sides)) < LEAST:
        note = f"not testable: {LEAST} skills are needed on each side"
        return Estimate(None, n=len(gains), clusters=len(gains), note=note)
    half = mean_of_groups([sides[0], [-gain for gain in sides[1]]])
    value, low, high = (None if end is None else 2 * end for end in (half.value, half.low, half.high))
    return replace(half, value=value, low=low, high=high, p=group_permutation_test(gains, shows).get(True))
