"""Are trials missing by chance, as every figure takes for granted? What speaks against it, and what it would change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skill_health.effectiveness.effects.facts import TaskFacts
from skill_health.effectiveness.effects.pairs import ArmPair
from skill_health.effectiveness.effects.sheet import Cells
from skill_health.stats.hypothesis_tests import exact_mantel_haenszel

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Absence:
    """The missing trials of two arms over the tasks that have both.

    `missing` is of the pair's arm and of what it is against, `planned` of either. `p` is the exact test of whether one
    misses more, None where no trial is missing. `least` and `most` are the mean difference if every missing trial had
    gone against the arm, or for it; None without a task.
    """

    pair: ArmPair
    missing: tuple[int, int]
    planned: int
    p: float | None
    least: float | None
    most: float | None

    @property
    def uneven(self) -> str:
        """Why what is missing may not be so by chance; "" where nothing says so."""
        if self.p is None or self.p >= ALPHA:
            return ""
        (one, other), planned = self.missing, self.planned
        return (
            f"not missing by chance, it seems: {one} of {planned} trials of {self.pair.arm}, {other} of {planned} of "
            f"{self.pair.against} (p = {self.p:.2g})"
        )

    def unsure(self, sign: int) -> str:
        """What a gain (1) or loss (-1) would be if all that is missing had gone against it; "" where it would stand."""
        worst = self.least if sign > 0 else self.most
        if worst is None or worst * sign > 0 or not sum(self.missing):
            return ""
        return (
            f"rests on {sum(self.missing)} missing trials being missing by chance: had all gone against it, the "
            f"difference would be {100 * worst:+.1f} pp"
        )


def absence(pair: ArmPair, tasks: Sequence[TaskFacts], cells: Cells, replications: int) -> Absence:
    """What of two arms is missing: planned trials without a scored result, also of tasks that none is left of."""
    passes, absent = [], []
    for task in tasks:
        if pair.arm in task.arms and pair.against in task.arms:
            sides = [cells.get((task.id, arm)) for arm in (pair.arm, pair.against)]
            passes.append([cell.passes if cell else 0 for cell in sides])
            absent.append([replications - (len(cell.trials) if cell else 0) for cell in sides])
    trials = len(passes) * replications
    least = sum(one - other - gone for (one, other), (_, gone) in zip(passes, absent, strict=True))
    most = sum(one + gone - other for (one, other), (gone, _) in zip(passes, absent, strict=True))
    return Absence(
        pair,
        (sum(one for one, _ in absent), sum(other for _, other in absent)),
        trials,
        exact_mantel_haenszel([((one, replications), (other, replications)) for one, other in absent]),
        least / trials if trials else None,
        most / trials if trials else None,
    )
