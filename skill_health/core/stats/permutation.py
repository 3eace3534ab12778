"""The sign-flip test of paired differences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skill_health.core.stats._numbers import tidy_p
from skill_health.core.stats._random import Floats, Stream

_PATTERNS = 16
"""Non-zero differences up to which all sign patterns are enumerated."""
_GRID = (*range(1, 65), 72, 90, 100, 110, 120, 840, 2520)
"""Denominators that are tried to write the differences as whole numbers: those of a few replications."""
_WORK = 100_000_000
"""Additions that a convolution may take."""
_TIE = 1e-7
"""Sums this near, in units of the largest difference, are equal: callers may have rounded to nine digits."""


def sign_flip(differences: Sequence[float], resamples: int = 20_000, seed: int = 1) -> float | None:
    """The two-sided p-value of the mean difference under flips of the signs; None where every difference is zero.

    One difference for each cluster. For clusters of unequal size give the sums, so that test and weighted mean agree.
    A zero stays zero under a flip: it changes neither the sum nor the p-value. The p-value is exact for up to
    16 non-zero differences and, for any number, where all are multiples of a simple fraction (means of a few
    replications): their sum's distribution is then a convolution. Else `resamples` seeded flips estimate it,
    the observed pattern counted as one of them (Phipson and Smyth, 2010).

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
    if len(values) <= _PATTERNS:
        sums = np.zeros(1)
        for value in values:
            sums = np.concatenate([sums + value, sums - value])
        return tidy_p(float(np.mean(np.abs(sums) >= observed - _TIE * scale)))
    steps = _whole(values)
    if steps is not None:
        return tidy_p(_convolved(steps, observed * float(steps.sum()) / float(values.sum())))
    return _sampled(values, observed - _TIE * scale, resamples, seed)


def _whole(values: Floats) -> Floats | None:
    for parts in _GRID:
        steps = np.rint(values * parts)
        if np.abs(values * parts - steps).max() < 1e-6 and steps.min() >= 1:
            return steps if steps.sum() * len(steps) <= _WORK else None
    return None


def _convolved(steps: Floats, observed: float) -> float:
    reach = int(steps.sum())
    chances = np.zeros(2 * reach + 1)
    chances[reach] = 1.0
    for step in steps.astype(np.int64):
        # No mass is near the ends yet, so nothing wraps around.
        chances = 0.5 * (np.roll(chances, step) + np.roll(chances, -step))
    far = np.abs(np.arange(-reach, reach + 1)) >= observed - 0.5
    return min(float(chances[far].sum()), 1.0)


def _sampled(values: Floats, least: float, resamples: int, seed: int) -> float:
    stream, hits = Stream(seed), 0
    step = max(2_000_000 // len(values), 1)
    for start in range(0, resamples, step):
        flips = stream.signs(min(step, resamples - start), len(values))
        hits += int((np.abs(flips @ values) >= least).sum())
    return tidy_p((1 + hits) / (1 + resamples))
