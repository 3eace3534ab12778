"""Corrects the p-values of several tests for their number. None (not testable) stays None and does not count.

scipy's `false_discovery_control` refuses untestable values, and scipy has no Holm correction. Both must work in a base
installation, which has no scipy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from skill_health.stats.distributions import round_p


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values that control the family-wise error rate (Holm, 1979). Raises ValueError outside [0, 1]."""
    order = _rank(ps)
    found: list[float | None] = [None] * len(ps)
    worst = 0.0
    for rank, (p, at) in enumerate(order):
        worst = max(worst, min(p * (len(order) - rank), 1.0))
        found[at] = round_p(worst)
    return found


def benjamini_hochberg(ps: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values that control the false discovery rate (1995). Raises ValueError outside [0, 1]."""
    order = _rank(ps)
    found: list[float | None] = [None] * len(ps)
    best = 1.0
    for rank, (p, at) in reversed(list(enumerate(order, 1))):
        best = min(best, p * len(order) / rank)
        found[at] = round_p(best)
    return found


class Endpoints(NamedTuple):
    """The p-values of one unit's two endpoints: success, and efficiency given that success is no worse.

    `success` is of no difference at all, `efficiency` of amounts that are no lower, `no_worse` of a loss of success as
    large as the margin or larger. None is not testable; without either of the last two there is no second endpoint.
    """

    success: float | None
    efficiency: float | None
    no_worse: float | None


FIRST_WEIGHT, SECOND_WEIGHT = 0.8, 0.2
"""How the level is shared: amounts are shown to be lower by far smaller p-values than success to be higher."""


def weight_of_tests(units: Sequence[Endpoints]) -> float:
    """How many tests of success alone would be corrected as hard as the first rejection of all these endpoints is."""
    first = sum(unit.success is not None for unit in units)
    second = sum(unit.efficiency is not None and unit.no_worse is not None for unit in units)
    return first + second * SECOND_WEIGHT / FIRST_WEIGHT


def two_endpoints(units: Sequence[Endpoints]) -> list[tuple[float | None, float | None]]:
    """Adjusted p-values of both endpoints of each unit; the family-wise error rate over all of them is controlled.

    A closed test (Marcus, Peritz and Gabriel, 1976) with weighted Bonferroni tests. With one endpoint it is Holm's. It
    uses that success cannot both be the same and be worse by the margin: where a unit's two null hypotheses are true
    together, it is the amounts that are no lower, and their own p-value is valid. So that success is no worse need not
    be shown at a level that is shared with that of success.

    The adjusted p of a hypothesis is the largest, over all sets of hypotheses that hold it, of the least weighted
    p-value in the set times the set's weight. For each possible least value the heaviest set is found unit by unit.
    """
    scaled = [_Scaled.of(unit) for unit in units]
    levels = sorted({level for unit in scaled for level in unit if level is not None})
    heaviest = [sum(unit.heaviest(level) for unit in scaled) for level in levels]

    def adjust(unit: _Scaled, first: bool) -> float | None:
        if (unit.success if first else unit.alone) is None:
            return None
        found = [
            level * (whole - unit.heaviest(level) + own)
            for level, whole in zip(levels, heaviest, strict=True)
            if (own := unit.heaviest_with(first, level))
        ]
        return round_p(min(max(found), 1.0))

    return [(adjust(unit, True), adjust(unit, False)) for unit in scaled]


class _Scaled(NamedTuple):
    """The p-values of a unit divided by their weights: success, efficiency beside it, and efficiency alone."""

    success: float | None
    beside: float | None
    alone: float | None

    @classmethod
    def of(cls, unit: Endpoints) -> _Scaled:
        first = None if unit.success is None else unit.success / FIRST_WEIGHT
        if unit.efficiency is None or unit.no_worse is None:
            return cls(first, None, None)
        return cls(first, unit.efficiency / SECOND_WEIGHT, max(unit.efficiency, unit.no_worse) / SECOND_WEIGHT)

    def heaviest_with(self, first: bool, level: float) -> float:
        """The weight of the heaviest set of this unit with this endpoint, of values from `level` up; 0: none."""
        if _reaches(self.success, level) and _reaches(self.beside, level):
            return FIRST_WEIGHT + SECOND_WEIGHT
        if first:
            return FIRST_WEIGHT if _reaches(self.success, level) else 0.0
        return SECOND_WEIGHT if _reaches(self.alone, level) else 0.0

    def heaviest(self, level: float) -> float:
        return max(self.heaviest_with(True, level), self.heaviest_with(False, level))


def _reaches(value: float | None, level: float) -> bool:
    return value is not None and value >= level


def _rank(ps: Sequence[float | None]) -> list[tuple[float, int]]:
    known = [(p, at) for at, p in enumerate(ps) if p is not None]
    if wrong := [p for p, _ in known if not 0 <= p <= 1]:
        raise ValueError(f"{wrong[0]} is not a p-value")
    return sorted(known)
