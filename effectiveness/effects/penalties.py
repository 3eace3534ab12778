"""What is lost where the agent must find the skill, in one delivery against another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from skill_health.documents.effect_report import PenaltyContrast
from skill_health.effectiveness.effects.arms import full_figure
from skill_health.effectiveness.effects.contrasts import LEAST, mean_difference
from skill_health.effectiveness.effects.sheet import Cells, TrialRunFacts
from skill_health.effectiveness.records import DELIVERIES, Arm
from skill_health.stats.estimates import Estimate
from skill_health.stats.multiplicity import holm


@dataclass(frozen=True, slots=True)
class PenaltyDifference:
    """The discovery penalty of an arm less that of the same arm in a plainer delivery, one difference for each task.

    `delta` has the interval that decides and the p of the sign-flip test.
    """

    arm: str
    against: str
    differences: tuple[Fraction, ...]
    delta: Estimate

    @property
    def differing(self) -> int:
        """In how many tasks the penalties are not equal."""
        return sum(each != 0 for each in self.differences)


def compare_penalties(facts: TrialRunFacts, cells: Cells) -> tuple[PenaltyContrast, ...]:
    """Every two penalties of one condition in two deliveries, corrected together (Holm).

    Two penalties that are told from zero, or not, are not thereby told from each other: only their difference, over the
    tasks that have all four arms, says so.
    """
    found = [measure_penalties(arm, against, facts, cells) for arm, against in _pairs(facts.arms)]
    adjusted = holm([each.delta.p for each in found])
    return tuple(_record(each, p) for each, p in zip(found, adjusted, strict=True))


def _pairs(arms: Mapping[str, Arm]) -> Iterator[tuple[Arm, Arm]]:
    for arm in arms.values():
        if arm.hint or replace(arm, hint=True).name not in arms:
            continue
        for way in DELIVERIES[: DELIVERIES.index(arm.delivery)]:
            plainer = replace(arm, delivery=way)
            if {plainer.name, replace(plainer, hint=True).name} <= set(arms):
                yield arm, plainer


def measure_penalties(arm: Arm, against: Arm, facts: TrialRunFacts, cells: Cells) -> PenaltyDifference:
    """The difference of two penalties over the tasks that have a scored trial in all four arms, without a correction.

    Both arms are without the hint.
    """
    names = [each.name for one in (arm, against) for each in (replace(one, hint=True), one)]
    differences = []
    for task in facts.targets:
        four = [cell.exact for name in names if (cell := cells.get((task.id, name)))]
        if len(four) == len(names):
            differences.append(four[0] - four[1] - four[2] + four[3])
    return PenaltyDifference(arm.name, against.name, tuple(differences), mean_difference(differences, 2.0, facts.seed))


def _record(found: PenaltyDifference, p_adjusted: float | None) -> PenaltyContrast:
    tasks, differing = len(found.differences), found.differing
    few = f"not testable: {differing} of {tasks} tasks differ, {LEAST} are needed"
    return PenaltyContrast(
        arm=found.arm,
        against=found.against,
        tasks=tasks,
        differing=differing,
        delta=full_figure(replace(found.delta, p_adjusted=p_adjusted)),
        testable=differing >= LEAST,
        note=""
        if differing >= LEAST
        else few
        if tasks
        else "not testable: no task has a scored trial in all four arms",
    )
