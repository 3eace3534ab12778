"""Skills ranked by what is lost without them, and which of them can be told apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from skill_health.documents.effect_report import SkillContribution
from skill_health.effectiveness.effects.arms import ALPHA, full_figure
from skill_health.effectiveness.effects.contrasts import LEAST, Contrast, difference_of, paired_cells
from skill_health.effectiveness.effects.sheet import Cells, TrialRunFacts
from skill_health.effectiveness.records import FULL, LEAVE_OUT, TARGET, WITHOUT
from skill_health.stats.estimates import Estimate
from skill_health.stats.hypothesis_tests import sign_flip
from skill_health.stats.multiplicity import holm

_WHOLE = {LEAVE_OUT: FULL, WITHOUT: TARGET}
"""An arm that leaves a skill out, and the one that has all of them."""


def contributions(facts: TrialRunFacts, found: Sequence[Contrast], cells: Cells) -> tuple[SkillContribution, ...]:
    """What each skill contributes by the contrasts of one model over all tasks, the greatest contribution first.

    A contribution is such a contrast with its sign turned, so the two can never disagree. Skills are compared with each
    other by their two arms without them, paired by task: the arm with all skills is the same for both, and cancels out.
    """
    by_whole: dict[str, list[Contrast]] = {}
    for contrast in found:
        arm = facts.arms[contrast.pair.arm]
        whole = _WHOLE.get(arm.condition)
        if whole and facts.arms[contrast.pair.against] == replace(arm, condition=whole, argument=""):
            by_whole.setdefault(contrast.pair.against, []).append(contrast)
    return tuple(each for own in by_whole.values() for each in _ranked(own, facts, cells))


def _ranked(own: Sequence[Contrast], facts: TrialRunFacts, cells: Cells) -> Iterator[SkillContribution]:
    skills = {contrast.pair.arm: facts.arms[contrast.pair.arm].argument for contrast in own}
    above = _above(list(skills), facts, cells)
    turned = {contrast.pair.arm: turn(contrast.delta) for contrast in own}
    values = sorted((each.value for each in turned.values() if each.value is not None), reverse=True)
    for contrast in sorted(own, key=lambda each: _order(turned[each.pair.arm].value, skills[each.pair.arm])):
        delta = turned[contrast.pair.arm]
        yield SkillContribution(
            rank=None if delta.value is None else values.index(delta.value) + 1,
            skill=skills[contrast.pair.arm],
            against=contrast.pair.against,
            tasks=contrast.tasks,
            delta=full_figure(delta),
            testable=contrast.testable,
            above=tuple(sorted(skills[arm] for arm in above.get(contrast.pair.arm, ()))),
        )


def _order(value: float | None, skill: str) -> tuple[bool, float, str]:
    return value is None, -(value or 0.0), skill


def turn(estimate: Estimate) -> Estimate:
    """The estimate of the difference the other way round."""
    value, low, high = (None if each is None else -each + 0.0 for each in (estimate.value, estimate.low, estimate.high))
    return replace(estimate, value=value, low=high, high=low)


def _above(arms: Sequence[str], facts: TrialRunFacts, cells: Cells) -> Mapping[str, list[str]]:
    """The arms whose skill is shown to contribute less, for each arm: those that lose less without it."""
    every = list(combinations(arms, 2))
    differences = [[difference_of(*both) for both in paired_cells(*pair, facts.targets, cells)] for pair in every]
    ps = [sign_flip(each, seed=facts.seed) if sum(d != 0 for d in each) >= LEAST else None for each in differences]
    found: dict[str, list[str]] = {}
    for (one, other), each, p in zip(every, differences, holm(ps), strict=True):
        if p is not None and p < ALPHA:
            more, less = (one, other) if sum(each) < 0 else (other, one)
            found.setdefault(more, []).append(less)
    return found
