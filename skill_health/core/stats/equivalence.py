"""Is a difference shown to be as good as none? Two one-sided tests against a margin, on paired differences.

scipy has the two t tests (`ttest_1samp` with an alternative). They err too often where few clusters differ, so that the
standard errors are made wider here, and scipy's functions take none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from skill_health.core.stats._numbers import t_quantile, t_share, tidy, tidy_p
from skill_health.core.stats._random import Floats

ALPHA = 0.05


class Equivalence(NamedTuple):
    """What two one-sided tests found.

    `low` and `high` are the ends of the 90 % interval, `p` the larger of the two p-values: below 0.05 exactly where the
    interval lies within the margin. `equivalent` is True there, False where the interval lies wholly beyond the margin,
    and None where neither is shown; `note` then says why.
    """

    p: float | None
    low: float | None
    high: float | None
    equivalent: bool | None
    note: str


def tost(mean: float, errors: tuple[float, float], freedom: float, margin: float) -> float:
    """The larger p-value of two one-sided t tests (Schuirmann, 1987): mean > -margin, and mean < margin.

    `errors` are the standard errors of the two, which are equal but for what `equivalence` adds to them.
    """
    below, above = errors
    return max(t_share(-(mean + margin) / below, freedom), t_share((mean - margin) / above, freedom))


def narrowest(clusters: int) -> float:
    """The least half-width that so many clusters can have: what none of them would have shown, 5 times out of 100.

    Let a share q of all clusters differ wholly and the others not at all. With the chance (1 - q)^n none of n is among
    those; that is 5 % for q = 1 - 0.05^(1/n): 45 % for 5 clusters, 14 % for 20, 10 % for 29.
    """
    return 1 - math.exp(math.log(ALPHA) / clusters)


def equivalence(differences: Sequence[float], margin: float) -> Equivalence:
    """Two one-sided paired t tests of the mean difference against +-margin; one difference, -1 to 1, for each cluster.

    The t interval alone is too narrow where few clusters differ, and is nothing where none does: of a loss of a tenth
    of all clusters it would say in 8 to 12 % of all runs that it is less. So each end lies where it would with one
    further cluster that differs in this direction, and by as much as those that differ at all; and never nearer
    than `narrowest`.

    Raises:
        ValueError: where a difference is not between -1 and 1 or the margin not between 0 and 1.
    """
    values = np.sort(np.asarray(differences, dtype=np.float64))
    if not (np.abs(values) <= 1 + 1e-9).all() or not 0 < margin < 1:
        raise ValueError("differences must be between -1 and 1 and the margin between 0 and 1")
    clusters = len(values)
    if clusters < 2:
        return Equivalence(None, None, None, None, f"cannot be shown: only {clusters} tasks have both sides")
    mean, quantile = float(values.mean()), t_quantile(1 - ALPHA, clusters - 1)
    below, above = (reach(values, side, quantile) for side in (-1, 1))
    low, high = tidy(mean - below), tidy(mean + above)
    p = tidy_p(tost(mean, (below / quantile, above / quantile), clusters - 1, margin))
    if p < ALPHA:
        return Equivalence(p, low, high, True, "")
    if low > margin or high < -margin:
        return Equivalence(p, low, high, False, "the difference is beyond the margin")
    return Equivalence(p, low, high, None, _why((below + above) / 2, mean, margin))


def reach(values: Floats, side: int, quantile: float) -> float:
    """How far from the mean of two or more differences the end of the interval lies on one side (-1 or 1)."""
    clusters = len(values)
    differing = values[np.abs(values) > 1e-12]
    if not len(differing):
        return narrowest(clusters)
    further = side * float((differing**2).mean()) ** 0.5
    more = np.append(values, further)
    moved = abs(further - float(values.mean())) / (clusters + 1)
    plain, wider = (quantile * float(each.std(ddof=1)) / math.sqrt(len(each)) for each in (values, more))
    return float(max(plain, moved + wider, narrowest(clusters)))


def _why(half: float, mean: float, margin: float) -> str:
    if half >= margin:
        return f"cannot be shown: the half-width of {100 * half:.1f} pp exceeds the margin of {100 * margin:.1f} pp"
    return f"not shown: {100 * mean:+.1f} +- {100 * half:.1f} pp is not within the margin of {100 * margin:.1f} pp"
