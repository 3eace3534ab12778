"""Wilcoxon's signed-rank test of paired differences, exact with ties and zeros."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from skill_health.core.stats._numbers import tidy_p
from skill_health.core.stats._random import Floats

_WORK = 20_000_000
"""Additions that the exact distribution may take: enough for about 270 non-zero differences."""


def signed_rank(differences: Sequence[float]) -> float | None:
    """The two-sided p-value of the signed ranks (Wilcoxon, 1945); None where every difference is zero.

    Zeros are left out, and ties share the mean of their ranks. The p-value is exact: the distribution of the rank sum
    over all sign patterns is a convolution, however many there are. It is that of scipy's `wilcoxon` with
    `zero_method="wilcox"` and a `PermutationMethod` that enumerates. Beyond some 270 non-zero differences it is the
    normal approximation with the correction for ties, which by then agrees to two or three digits.

    It tests whether the differences are symmetric about zero. With a few large losses against many small gains it may
    find a gain where the mean shows a loss: the mean has the sign-flip test.

    Raises:
        ValueError: where a difference is not finite.
    """
    values = np.asarray(differences, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError("differences must be finite")
    scale = float(np.abs(values).max()) if len(values) else 0.0
    values = values[np.abs(values) > scale * 1e-12]
    if not len(values):
        return None
    ranks = _doubled_ranks(np.abs(values) / scale)
    total, above = int(ranks.sum()), int(ranks[values > 0].sum())
    far = max(above, total - above)
    if total * len(ranks) > _WORK:
        deviation = 0.5 * math.sqrt(float((ranks.astype(np.float64) ** 2).sum()))
        return tidy_p(math.erfc((far - total / 2) / deviation / math.sqrt(2)))
    chances: Floats = np.zeros(total + 1)
    chances[0] = 1.0
    for rank in ranks:
        moved = chances.copy()
        moved[rank:] += chances[: total + 1 - rank]
        chances = 0.5 * moved
    return tidy_p(min(2 * float(chances[far:].sum()), 1.0))


def _doubled_ranks(sizes: Floats) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Twice the mean ranks, so that they are whole numbers. Sizes that differ by rounding alone are tied."""
    _, place, count = np.unique(np.round(sizes, 9), return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    doubled: np.ndarray[tuple[int], np.dtype[np.int64]] = (2 * last - count + 1)[place]
    return doubled
