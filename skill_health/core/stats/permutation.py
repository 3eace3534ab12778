"""The sign-flip test of paired differences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skill_health.core.stats._numbers import tidy_p
from skill_health.core.stats._random import Floats, Stream

_PATTERNS = 16
"""Non-zero differences up to which scipy enumerates all sign patterns, in 0.2 seconds."""
_GRID = (*range(1, 65), 72, 90, 100, 110, 120, 840, 2520)
"""Denominators that are tried to write the differences as whole numbers: those of a few replications."""
_WORK = 100_000_000
"""Additions that a convolution may take."""
_TIE = 1e-7
"""Sums this near, in units of the largest difference, are equal: callers may have rounded to nine digits."""


def sign_flip(differences: Sequence[float], resamples: int = 20_000, seed: int = 1) -> float | None:
    """The two-sided p-value of the mean difference under flips of the signs; None where every difference is zero.

    One difference for each cluster. For clusters of unequal size give the sums, so that test and weighted mean agree.
    A zero stays zero under a flip: it changes neither the sum nor the p-value. The p-value is exact where all are
    multiples of a simple fraction (means of a few replications), however many they are, and else for up to 16 that
    are not zero. Beyond that `resamples` seeded flips estimate it, the observed pattern counted as one of them (Phipson
    and Smyth, 2010).

    It is scipy's `permutation_test` of one sample, which is called where it has to enumerate. On a grid the sum's
    distribution is a convolution of ours, which is exact where 2^n patterns are too many to enumerate and takes a
    thousandth of the time where they are not. The flips are drawn by ours, since numpy does not promise that scipy's
    generators draw the same in its next version.

    Raises:
        ValueError: where a difference is not finite.
    """
    values = np.sort(np.abs(np.asarray(differences, dtype=np.float64)))
    if not np.isfinite(values).all():
        raise ValueError("differences must be finite")
    observed = abs(float(np.sort(np.asarray(differences, dtype=np.float64)).sum()))
    scale = float(values[-1]) if len(values) else 0.0
    values = values[values > scale * 1e-12]
    if not len(values):
        return None
    steps = _whole(values)
    if steps is not None:
        return tidy_p(_convolved(steps, observed * float(steps.sum()) / float(values.sum())))
    least = observed - _TIE * scale
    return _enumerated(values, least) if len(values) <= _PATTERNS else _sampled(values, least, resamples, seed)


def _whole(values: Floats) -> Floats | None:
    for parts in _GRID:
        steps = np.rint(values * parts)
        if np.abs(values * parts - steps).max() < 1e-6 and steps.min() >= 1:
            return steps if steps.sum() * len(steps) <= _WORK else None
    return None


def _convolved(steps: Floats, observed: float) -> float:
    total = int(steps.sum())
    chances = np.zeros(total + 1)
    chances[0] = 1.0
    # Of the sum of the positive ones; that of all is twice as much less the total.
    for step in steps.astype(np.int64):
        moved = chances.copy()
        moved[step:] += chances[: total + 1 - step]
        chances = 0.5 * moved
    far = np.abs(2 * np.arange(total + 1) - total) >= observed - 0.5
    return min(float(chances[far].sum()), 1.0)


def _enumerated(values: Floats, least: float) -> float:
    from scipy.stats import permutation_test  # type: ignore[import-untyped]

    def is_as_far(flipped: Floats, axis: int) -> Floats:
        # scipy takes sums for tied up to 1e-14 of them, which is too little for differences that were rounded.
        return np.asarray(np.abs(flipped.sum(axis=axis)) >= least, dtype=np.float64)

    if len(values) == 1:
        return 1.0
    # The pattern that scipy is given for the observed one has all signs alike: it is as far as can be, so 1 as well.
    found = permutation_test(
        (values,), is_as_far, permutation_type="samples", n_resamples=np.inf, alternative="greater", vectorized=True
    )
    return tidy_p(float(found.pvalue))


def _sampled(values: Floats, least: float, resamples: int, seed: int) -> float:
    stream, hits = Stream(seed), 0
    step = max(2_000_000 // len(values), 1)
    for start in range(0, resamples, step):
        flips = stream.signs(min(step, resamples - start), len(values))
        hits += int((np.abs(flips @ values) >= least).sum())
    return tidy_p((1 + hits) / (1 + resamples))
