"""Two arms compared: per task the difference of means over replications, its mean over tasks, intervals and tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from skill_health.effectiveness.effects.arms import arm_json
from skill_health.effectiveness.effects.facts import TaskFacts
from skill_health.effectiveness.effects.pairs import ArmPair
from skill_health.effectiveness.effects.sheet import Cells, CellTrials
from skill_health.stats.estimates import Estimate
from skill_health.stats.hypothesis_tests import sign_flip, signed_rank
from skill_health.stats.power import FEW_CLUSTERS as FEW
from skill_health.stats.resampling import RESAMPLES, paired_bootstrap, paired_t

LEAST = 6
"""Tasks that must differ: fewer cannot give p < 0.05."""
DELTAS = ("input_tokens", "output_tokens", "cost_usd", "duration_ms", "turns")
_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two arms over the tasks that have both, `differences` one for each of them.

    `delta` has the interval of the bootstrap and the p-value of the sign-flip test, `student` the other interval.
    `shares` are those of the trials of these tasks that passed, in either arm. `p_adjusted` is for the verdict, under
    the correction that `correction` names.
    """

    pair: ArmPair
    differences: tuple[float, ...]
    delta: Estimate
    student: Estimate
    shares: tuple[float | None, float | None]
    wilcoxon_p: float | None
    normalised_gain: float | None
    deltas: Mapping[str, Estimate]
    correction: str = "none"

    @property
    def tasks(self) -> int:
        """How many tasks have both sides."""
        return len(self.differences)

    @property
    def differing(self) -> int:
        """In how many of them the two sides are not equal."""
        return sum(each != 0 for each in self.differences)

    @property
    def testable(self) -> bool:
        """Whether the difference could be significant."""
        return self.differing >= LEAST

    @property
    def interval(self) -> Estimate:
        """The one that decides: Student's with few tasks, the bootstrap's with many."""
        return self.student if self.tasks < FEW else self.delta

    @property
    def half_width(self) -> float | None:
        """Half the width of that interval."""
        low, high = self.interval.low, self.interval.high
        return None if low is None or high is None else (high - low) / 2

    def corrected(self, p: float | None, correction: str) -> Contrast:
        """The same with its p-value adjusted."""
        return replace(self, delta=replace(self.delta, p_adjusted=p), correction=correction)


def compare(pair: ArmPair, tasks: Sequence[TaskFacts], cells: Cells, seed: int) -> Contrast | None:
    """The contrast over these tasks; None where none of them has both arms at all.

    A missing replication is left out of its mean, and a task without a scored trial on either side is not compared.
    """
    if not any(pair.arm in task.arms and pair.against in task.arms for task in tasks):
        return None
    both = [
        (one, other)
        for task in tasks
        if (one := cells.get((task.id, pair.arm))) and (other := cells.get((task.id, pair.against)))
    ]
    differences = tuple(_difference(one, other) for one, other in both)
    testable = sum(each != 0 for each in differences) >= LEAST
    return Contrast(
        pair=pair,
        differences=differences,
        delta=replace(
            within(paired_bootstrap(differences, None, RESAMPLES, seed), 1.0),
            p=sign_flip(differences, seed=seed) if testable else None,
        ),
        student=within(paired_t(differences), 1.0),
        shares=(_share([one for one, _ in both]), _share([other for _, other in both])),
        wilcoxon_p=signed_rank(differences) if testable else None,
        normalised_gain=_normalised(both),
        deltas={name: _change(both, name) for name in DELTAS},
    )


def within(estimate: Estimate, most: float) -> Estimate:
    """The same without what cannot be: no difference of shares is beyond 1, and no difference of such ones beyond 2."""
    low, high = estimate.low, estimate.high
    return estimate if low is None or high is None else replace(estimate, low=max(low, -most), high=min(high, most))


def _share(cells: Sequence[CellTrials]) -> float | None:
    return sum(cell.passes for cell in cells) / sum(len(cell.trials) for cell in cells) if cells else None


def _difference(one: CellTrials, other: CellTrials) -> float:
    """The difference of two shares: exactly 0 where they are equal, whatever the numbers of trials."""
    return (one.passes * len(other.trials) - other.passes * len(one.trials)) / (len(one.trials) * len(other.trials))


def _normalised(both: Sequence[tuple[CellTrials, CellTrials]]) -> float | None:
    """(with - without) / (1 - without) of the means over tasks; None where nothing is left to gain."""
    if not both:
        return None
    gained = sum(one.success for one, _ in both) / len(both)
    without = sum(other.success for _, other in both) / len(both)
    return (gained - without) / (1 - without) if without < 1 - 1e-9 else None


def _change(both: Sequence[tuple[CellTrials, CellTrials]], measure: str) -> Estimate:
    """The mean change over the tasks of which the measure is known on both sides, with Student's interval."""
    known = [
        round(one - other, _DIGITS)
        for one, other in ((a.mean(measure), b.mean(measure)) for a, b in both)
        if one is not None and other is not None
    ]
    if not known:
        return Estimate(None, note="not known on both sides of any task")
    return paired_t(known)


def as_record(contrast: Contrast) -> dict[str, Any]:
    """A contrast as a report holds it."""
    pair, student = contrast.pair, contrast.student
    beside = contrast.tasks < FEW and student.low is not None
    return {
        "name": pair.name,
        "arm": pair.arm,
        "against": pair.against,
        "kind": pair.kind,
        "tasks": contrast.tasks,
        "differing": contrast.differing,
        "delta": arm_json(contrast.delta),
        "t": {"low": student.low, "high": student.high} if beside else None,
        "wilcoxon_p": contrast.wilcoxon_p,
        "sign_flip_p": contrast.delta.p,
        "p_adjusted": contrast.delta.p_adjusted,
        "correction": contrast.correction,
        "testable": contrast.testable,
        "note": note(contrast),
        "normalised_gain": contrast.normalised_gain,
        "deltas": {name: arm_json(estimate) for name, estimate in contrast.deltas.items()},
    }


def note(contrast: Contrast) -> str:
    """Why a contrast is not testable; "" where it is."""
    if contrast.testable:
        return ""
    if not contrast.tasks:
        return "not testable: no task has a scored trial in both arms"
    return f"not testable: {contrast.differing} of {contrast.tasks} tasks differ, {LEAST} are needed"
