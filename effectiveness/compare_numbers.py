"""Two runs, task by task: by how much what an arm adds has changed, and by how much each arm has.

Replications are averaged first, and only tasks that all sides have a scored trial of count: one difference for each
task, of the arm less what it is against, after less before (difference in differences).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from skill_health.effectiveness.effects.contrasts import LEAST, within
from skill_health.effectiveness.effects.pairs import ArmPair
from skill_health.effectiveness.effects.sheet import Cells, CellTrials
from skill_health.stats.estimates import Estimate
from skill_health.stats.hypothesis_tests import sign_flip
from skill_health.stats.intervals import clustered_proportion
from skill_health.stats.multiplicity import benjamini_hochberg, holm
from skill_health.stats.power import FEW_CLUSTERS as FEW
from skill_health.stats.resampling import paired_bootstrap, paired_t

ALPHA = 0.05
HOLM, FALSE_SHARE = "holm", "benjamini-hochberg"


@dataclass(frozen=True, slots=True)
class ContrastChange:
    """A change of a contrast, or of one arm where it is against nothing; `before` and `after` are the two sides.

    `student` is the interval that decides below 30 tasks.
    """

    arm: str
    against: str
    kind: str
    differing: int
    before: Estimate
    after: Estimate
    delta: Estimate
    student: Estimate
    correction: str = "none"

    @property
    def primary(self) -> bool:
        """Whether it decides about a loss."""
        return self.kind == "primary"

    @property
    def lost(self) -> bool:
        """Whether it shows a loss: a corrected p below 0.05, and an interval that lies below zero.

        Where all tasks lost the same there is no interval, and the test alone decides.
        """
        interval = self.student if self.delta.clusters < FEW else self.delta
        p, end = self.delta.p_adjusted, self.delta.value if interval.high is None else interval.high
        return p is not None and p < ALPHA and end is not None and end < 0


def changes(
    tasks: Sequence[str], old: Cells, new: Cells, wanted: Iterable[ArmPair], seed: int
) -> Iterator[ContrastChange]:
    """The change of every contrast over these tasks that both runs have at all; the primary one first."""
    for pair in wanted:
        rows = [row for task in tasks if (row := _row(task, old, new, pair))]
        if rows:
            yield _change(pair, rows, seed)


def arm_changes(
    tasks: Sequence[str], old: Cells, new: Cells, arms: Iterable[str], seed: int
) -> Iterator[ContrastChange]:
    """The change of the success of every arm by itself."""
    for arm in arms:
        cells = [(old.get((task, arm)), new.get((task, arm))) for task in tasks]
        both = [(before, after) for before, after in cells if before and after]
        if both:
            found = _change(ArmPair(arm, "", "descriptive"), [(_share(a), _share(b)) for a, b in both], seed)
            before, after = ([pair[side] for pair in both] for side in (0, 1))
            yield replace(found, before=_rate(before), after=_rate(after))


def _row(task: str, old: Cells, new: Cells, pair: ArmPair) -> tuple[Fraction, Fraction] | None:
    cells = [side.get((task, arm)) for side in (old, new) for arm in (pair.arm, pair.against)]
    shares = [_share(cell) for cell in cells if cell]
    return (shares[0] - shares[1], shares[2] - shares[3]) if len(shares) == len(cells) else None


def _rate(cells: Sequence[CellTrials]) -> Estimate:
    """The share of trials that passed; its interval cannot lie beyond 0 and 1, as that of a mean could."""
    return clustered_proportion([cell.passes for cell in cells], [len(cell.trials) for cell in cells])


def _share(cell: CellTrials) -> Fraction:
    """Exact, so that equal sides differ by nothing."""
    return Fraction(cell.passes, len(cell.trials))


def _change(pair: ArmPair, rows: Sequence[tuple[Fraction, Fraction]], seed: int) -> ContrastChange:
    before, after, by = (
        [float(row[0]) for row in rows],
        [float(row[1]) for row in rows],
        [float(b - a) for a, b in rows],
    )
    differing = sum(each != 0 for each in by)
    p = sign_flip(by, seed=seed) if differing >= LEAST else None
    most = 2.0 if pair.against else 1.0
    delta, student = replace(within(paired_bootstrap(by, seed=seed), most), p=p), within(paired_t(by), most)
    was, now = (within(paired_t(side), 1.0) for side in (before, after))
    return ContrastChange(pair.arm, pair.against, pair.kind, differing, was, now, delta, student)


def correct(table: Mapping[Any, list[ContrastChange]], primary: bool) -> None:
    """Adjust one family in place: the primary contrasts by Holm, the rest by Benjamini and Hochberg."""
    places = [(key, at) for key, found in table.items() for at, each in enumerate(found) if each.primary == primary]
    ps = [table[key][at].delta.p for key, at in places]
    method, adjusted = (HOLM, holm(ps)) if primary else (FALSE_SHARE, benjamini_hochberg(ps))
    for (key, at), p in zip(places, adjusted, strict=True):
        each = table[key][at]
        table[key][at] = replace(each, delta=replace(each.delta, p_adjusted=p), correction=method)


def record(change: ContrastChange) -> dict[str, Any]:
    """A change as JSON values."""
    student, testable = change.student, change.differing >= LEAST
    note = (
        ""
        if testable
        else f"not testable: {change.differing} of {change.delta.clusters} tasks changed, {LEAST} are needed"
    )
    beside = change.delta.clusters < FEW and student.low is not None
    return {
        "arm": change.arm, "against": change.against or None, "kind": change.kind, "tasks": change.delta.clusters, "differing": change.differing,
        "before": estimate_record(change.before), "after": estimate_record(change.after), "delta": estimate_record(change.delta),
        "t": {"low": student.low, "high": student.high} if beside else None,
        "correction": change.correction, "testable": testable, "note": note,
    }  # fmt: skip


def estimate_record(number: Estimate) -> dict[str, Any]:
    """An estimate as JSON values."""
    return {
        name: getattr(number, name) for name in ("value", "low", "high", "n", "clusters", "p", "p_adjusted", "note")
    }
