"""Win rates of pairs at equal length: what is left of a preference when neither side has more to read."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from skill_health.stats.association import fit_logistic, robust_variance
from skill_health.stats.distributions import round_figure, round_p, t_cdf, t_quantile
from skill_health.stats.estimates import Estimate
from skill_health.stats.resampling import Floats

_RARE = 5
"""The least number of clusters that must bear on either side."""


@dataclass(frozen=True, slots=True)
class LengthAdjusted:
    """The win rate at equal length, and the slope: log odds of a win for each unit of the difference in length."""

    win_rate: Estimate
    slope: Estimate


def length_adjusted(scores: Sequence[float], longer: Sequence[float], clusters: Sequence[Hashable]) -> LengthAdjusted:
    """The win rate where both sides are equally long, by a logistic regression of the scores on the difference.

    `scores` are 1 for a win, 0 for a loss and 0.5 for a tie, one for each pair; `longer` is by how much the side that
    wins or loses is the longer one, such as the binary logarithm of the ratio of lengths. The idea is that of the
    length-controlled win rate of AlpacaEval (Dubois et al., 2024), with one regressor and no term for the difficulty of
    a prompt; ties make it a fractional regression (Papke and Wooldridge, 1996). Intervals are on the scale of log odds,
    over clusters, with Student's t and one degree of freedom less than the smaller of two numbers: the clusters with
    the rarer side, and the effective number of clusters. p of the win rate is for one half, that of the slope for 0.

    "Not testable" if fewer than 5 clusters hold anything but wins, or anything but losses, if lengths do not differ, or
    if length separates wins from losses.

    Raises:
        ValueError: if the lists differ in length, a score is not between 0 and 1, or a difference is not finite.
    """
    ys, xs = np.asarray(scores, dtype=np.float64), np.asarray(longer, dtype=np.float64)
    numbers: dict[Hashable, int] = {}
    groups = np.asarray([numbers.setdefault(name, len(numbers)) for name in clusters], dtype=np.int64)
    if not (xs.shape == ys.shape == groups.shape):
        raise ValueError(f"{xs.size} differences for {ys.size} scores in {groups.size} clusters")
    if not (np.isfinite(xs).all() and ((ys >= 0) & (ys <= 1)).all()):
        raise ValueError("scores must be between 0 and 1, and differences finite")
    order = np.lexsort((ys, xs))
    xs, ys, groups = xs[order], ys[order], groups[order]
    plain = Estimate(None, n=len(xs), clusters=len(numbers))
    holding = min(len(np.unique(groups[ys != side])) for side in (0.0, 1.0)) if len(ys) else 0
    why = ""
    if holding < _RARE:
        why = f"only {holding} clusters hold the rarer outcome"
    elif np.ptp(xs) < 1e-12:
        why = "lengths do not differ"
    beta = None
    if not why:
        scale = float(xs.std())
        design = np.stack([np.ones_like(xs), (xs - xs.mean()) / scale], axis=1)
        beta = fit_logistic(design, ys)
        why = "" if beta is not None else "length separates wins from losses"
    if beta is None:
        missing = replace(plain, note=f"not testable: {why}")
        return LengthAdjusted(missing, missing)
    level, level_p, level_method = _combined(design, ys, beta, groups, holding, [1.0, -float(xs.mean()) / scale])
    slope, slope_p, slope_method = _combined(design, ys, beta, groups, holding, [0.0, 1.0 / scale])
    if level is None or slope is None:
        missing = replace(plain, note="not testable: no variation between clusters")
        return LengthAdjusted(missing, missing)
    rates = [round_figure(1 / (1 + math.exp(-each))) for each in level]
    slopes = [round_figure(each) for each in slope]
    return LengthAdjusted(
        replace(plain, low=rates[0], value=rates[1], high=rates[2], p=level_p, method=level_method),
        replace(plain, low=slopes[0], value=slopes[1], high=slopes[2], p=slope_p, method=slope_method),
    )


def _combined(
    design: Floats, ys: Floats, beta: Floats, groups: NDArray[np.int64], holding: int, combination: list[float]
) -> tuple[tuple[float, float, float] | None, float | None, str]:
    """A combination of the coefficients with its 95 % interval (low, value, high), p for zero, and the method."""
    wanted = np.asarray(combination)
    variance, effective = robust_variance(design, ys, beta, groups, wanted)
    if not variance > 1e-18:
        return None, None, ""
    value, error = float(wanted @ beta), math.sqrt(variance)
    freedom = max(min(holding, effective) - 1, 1.0)
    half = t_quantile(0.975, freedom) * error
    p = round_p(2 * t_cdf(-abs(value) / error, freedom))
    method = f"logistic, cluster-robust, t with {freedom:.1f} degrees of freedom"
    return (value - half, value, value + half), p, method
