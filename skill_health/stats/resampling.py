"""Resampling: seeded numbers, bootstraps of whole clusters, and means of groups of them.

scipy's `bootstrap` could resample rows of clusters, too. This module draws the same on any machine and with any version
of numpy, and only once for all figures of a report, each of which is then one product with the weights: 4 ms for 10,000
resamples of 100 clusters, where scipy takes 13. And scipy's intervals are percentiles, too narrow with few clusters, or
BCa, which may be NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from skill_health.stats.distributions import round_figure, t_quantile
from skill_health.stats.estimates import Estimate
from skill_health.stats.intervals import effective_n, wilson_interval

Floats = NDArray[np.float64]

RESAMPLES = 10_000
BLOCK = 2_000_000
"""The most numbers kept as floats at one time."""
_UNDEFINED = 0.05
"""The share of resamples in which a statistic may be undefined."""
_FEWEST = 10
"""The least number of clusters that bear on a statistic, and"""
_DIFFERING = 6
"""of clusters that differ between two sides, for an interval."""
_ROOM = 10
"""The least number of clusters that leave something to gain, for an interval of the gain."""
_NEAR = 1e-12
_DIGITS = 9
"""Differences that agree to so many digits of the largest one are alike."""
Gains = Sequence[tuple[Sequence[float | None], Sequence[float | None]]]
_WIDER = "widened where most are alike"


class RandomStream:
    """Seeded uniform numbers in [0, 1).

    They come from the raw output of PCG64, whose stream numpy guarantees for all versions and machines, unlike the
    methods of Generator.
    """

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(seed)

    def uniforms(self, *shape: int) -> Floats:
        """The next numbers, as an array of this shape."""
        raw = np.atleast_1d(self._bits.random_raw(int(np.prod(shape))))
        return np.asarray((raw >> np.uint64(11)) * 2.0**-53, dtype=np.float64).reshape(shape)

    def signs(self, rows: int, columns: int) -> Floats:
        """The next fair signs, -1 or 1: one bit each, the lowest first."""
        raw = np.atleast_1d(self._bits.random_raw(-(-rows * columns // 64)))
        bits = np.unpackbits(raw.astype("<u8").view(np.uint8), count=rows * columns, bitorder="little")
        return np.asarray(bits.reshape(rows, columns) * 2.0 - 1.0, dtype=np.float64)


@lru_cache(maxsize=2)
def cluster_weights(clusters: int, resamples: int = RESAMPLES, seed: int = 1) -> NDArray[np.uint16]:
    """How often each resample contains each cluster: shape [resamples, clusters]; every row adds up to `clusters`.

    Read-only, and the same array for the same arguments, so that all statistics of a report share their resamples.

    Raises:
        ValueError: for fewer than one cluster or resample.
    """
    if clusters < 1 or resamples < 1:
        raise ValueError(f"no resamples: {resamples} of {clusters} clusters")
    stream = RandomStream(seed)
    found = np.empty((resamples, clusters), dtype=np.uint16)
    step = max(BLOCK // clusters, 1)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        # The product can round up to `clusters` itself only beyond 2**53 clusters.
        drawn = (stream.uniforms(rows, clusters) * clusters).astype(np.int64)
        drawn += np.arange(rows, dtype=np.int64)[:, None] * clusters
        counts = np.bincount(drawn.ravel(), minlength=rows * clusters)
        found[start : start + rows] = counts.reshape(rows, clusters)
    found.setflags(write=False)
    return found


def resample(table: Floats, statistic: Callable[[Floats], Floats], resamples: int, seed: int) -> Floats:
    """The statistic, see `cluster_bootstrap`, in every resample of the rows of a table [clusters, K]."""
    weights = cluster_weights(len(table), resamples, seed)
    step = max(BLOCK // max(table.shape), 1)
    found = np.empty(resamples)
    with np.errstate(all="ignore"):
        for start in range(0, resamples, step):
            block = weights[start : start + step].astype(np.float64)
            found[start : start + step] = statistic(block @ table)
    return found


def expanded_percentiles(draws: Floats, clusters: int) -> tuple[float, float]:
    """The 95 % percentile interval, expanded for few clusters (Hesterberg, 2015, section 5.3).

    Percentiles are too narrow in the same way as a normal interval with the variance's divisor n: by sqrt((n - 1) / n)
    and by the quantile of the normal distribution instead of Student's.
    """
    reach = t_quantile(0.975, clusters - 1) * (clusters / (clusters - 1)) ** 0.5
    tail = NormalDist().cdf(-reach)
    low, high = np.quantile(draws, [tail, 1 - tail])
    return float(low), float(high)


def cluster_bootstrap(
    sums: Sequence[Sequence[float]] | Floats,
    statistic: Callable[[Floats], Floats],
    resamples: int = RESAMPLES,
    seed: int = 1,
    bounds: tuple[float, float] | None = (0.0, 1.0),
) -> Estimate:
    """A statistic of column sums, and its interval by resampling rows; one row for each cluster.

    `statistic` maps an array [..., K] of column sums to an array [...]; NaN if undefined. `bounds` are the least and
    greatest possible values: the interval is then Wilson's with the effective n that follows from the resamples'
    variance, since percentiles of a bounded statistic cover far too little near its ends (MRR of 0.97 over 100 prompts:
    85-91 %). With None the interval is that of `expanded_percentiles`, for a statistic that is far from any bound. The
    order of the rows does not matter. `n` is the number of rows.

    Raises:
        ValueError: if `sums` is not a finite table, or a value lies outside `bounds`.
    """
    table = np.asarray(sums, dtype=np.float64)
    if table.ndim != 2 or not np.isfinite(table).all():
        raise ValueError("sums must be a finite table with one row for each cluster")
    clusters = len(table)
    if not clusters:
        return Estimate(None, note="no calls")
    table = table[np.lexsort(table.T[::-1])]
    bearing = int((table != 0).any(axis=1).sum())
    with np.errstate(all="ignore"):
        value = float(statistic(table.sum(axis=0)))
    if not np.isfinite(value):
        return Estimate(None, n=clusters, clusters=clusters, note="not defined for these counts")
    plain = Estimate(round_figure(value), n=clusters, clusters=clusters)
    if bearing < _FEWEST:
        return replace(plain, note=f"no interval: only {bearing} clusters bear on it")
    draws = resample(table, statistic, resamples, seed)
    draws = draws[np.isfinite(draws)]
    if len(draws) < (1 - _UNDEFINED) * resamples:
        return replace(plain, note="no interval: not defined in too many resamples")
    if bounds is None:
        if np.ptp(draws) < 1e-12:
            return replace(plain, note="no interval: all clusters are alike")
        low, high = expanded_percentiles(draws, bearing)
        return _with(plain, low, high, "cluster bootstrap, expanded percentiles")
    least, greatest = bounds
    width = greatest - least
    if min(value, draws.min()) < least - 1e-9 or max(value, draws.max()) > greatest + 1e-9:
        raise ValueError(f"a statistic between {least:g} and {greatest:g} took the value {value:g}")
    share = min(max((value - least) / width, 0.0), 1.0)
    n = effective_n(share, float(draws.var()) / width**2 * bearing / (bearing - 1), bearing)
    low, high = wilson_interval(share * n, n)
    return _with(plain, least + width * low, least + width * high, "Wilson, effective n of a cluster bootstrap")


def paired_bootstrap(
    differences: Sequence[float],
    weights: Sequence[float] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 1,
) -> Estimate:
    """The mean of paired differences over clusters and its interval: expanded percentiles of the cluster bootstrap.

    One difference for each cluster, weighted by `weights` (its number of prompts; by default all equal). Fewer than 6
    differing clusters give no interval; no sign-flip test could find a difference then, either. Where few differ the
    interval is wider, see `widening`: otherwise, if a few decide, it covers 92 %. `n` is the number of clusters.

    Raises:
        ValueError: if the lists differ in length, a number is not finite or a weight not positive.
    """
    table = _paired(differences, weights)
    if not len(table):
        return Estimate(None, note="no cluster has both sides")
    plain = Estimate(round_figure(table[:, 0].sum() / table[:, 1].sum()), n=len(table), clusters=len(table))
    if why := _too_alike(table):
        return replace(plain, note=why)
    draws = resample(table, lambda sums: sums[..., 0] / sums[..., 1], resamples, seed)
    value, (_, wider) = table[:, 0].sum() / table[:, 1].sum(), _spread(table)
    low, high = (value + wider * (end - value) for end in expanded_percentiles(draws, len(table)))
    return _with(plain, low, high, f"paired cluster bootstrap, expanded percentiles, {_WIDER}")


def paired_t(differences: Sequence[float], weights: Sequence[float] | None = None) -> Estimate:
    """The same mean with Student's interval, widened likewise, for comparison with the bootstrap below 30 clusters.

    It is the interval of scipy's `ttest_1samp` (for equal weights), times the factor of `_spread` to either side.

    Raises:
        ValueError: as `paired_bootstrap` does.
    """
    table = _paired(differences, weights)
    clusters = len(table)
    if not clusters:
        return Estimate(None, note="no cluster has both sides")
    value = table[:, 0].sum() / table[:, 1].sum()
    plain = Estimate(round_figure(value), n=clusters, clusters=clusters)
    if why := _too_alike(table):
        return replace(plain, note=why)
    error, wider = _spread(table)
    half = t_quantile(0.975, clusters - 1) * error * wider
    return _with(plain, value - half, value + half, f"Student's t over clusters, {_WIDER}")


def complier_effect(differences: Sequence[float], uptakes: Sequence[float]) -> Estimate:
    """What an offer does to those who take it up: the mean difference over the mean uptake, one of each for a cluster.

    A difference is the mean outcome where something is offered less that where it is not, and an uptake the share, 0 to
    1, that took the offer up; without an offer nobody can (one-sided non-compliance). The ratio is the local average
    treatment effect (Imbens and Angrist, 1994; Wald, 1940) if the offer has no effect but by being taken up.

    The interval is Fieller's (1954), which is that of Anderson and Rubin (1949) for one instrument: the effects b for
    which differences - b uptakes have a mean that Student's test does not tell from zero. It holds its level however
    seldom the offer is taken up, where the ratio's own standard error does not. The variance of the mean difference is
    that of `paired_t`, widened: so the interval holds zero if and only if that one does, and is the same where all take
    the offer up. Where the mean uptake cannot be told from zero the interval has no bounds, and there is no value.

    Raises:
        ValueError: if the lists differ in length, a number is not finite, or an uptake is not between 0 and 1.
    """
    if len(differences) != len(uptakes) or not all(0 <= uptake <= 1 for uptake in uptakes):
        raise ValueError("every difference needs an uptake between 0 and 1")
    table = _paired(differences, None)
    clusters = len(table)
    if not clusters:
        return Estimate(None, note="no cluster has both sides")
    values = np.array(sorted(zip(differences, uptakes, strict=True)))
    outcome, taken = values.mean(axis=0)
    plain = Estimate(None, n=clusters, clusters=clusters)
    if not taken > 0:
        return replace(plain, note="not testable: nobody took it up")
    known = replace(plain, value=round_figure(outcome / taken))
    if why := _too_alike(table):
        return replace(known, note=why)
    reach = t_quantile(0.975, clusters - 1) ** 2
    (of_outcome, of_both), (_, of_taken) = np.cov(values.T) / clusters
    # A quadratic in the effect: square b² - 2 middle b + rest is at most 0 inside.
    square = taken**2 - reach * of_taken
    middle = outcome * taken - reach * of_both
    rest = outcome**2 - reach * of_outcome * _spread(table)[1] ** 2
    if not square > 1e-12:
        return replace(plain, note="not testable: the uptake cannot be told from zero, so that no effect is ruled out")
    root = math.sqrt(max(middle**2 - square * rest, 0.0))
    low, high = ((middle + side * root) / square for side in (-1, 1))
    return _with(known, low, high, f"Fieller's over clusters, {_WIDER}")


def _spread(table: Floats) -> tuple[float, float]:
    """The standard error of the mean, and the factor of `widening`."""
    value, clusters = table[:, 0].sum() / table[:, 1].sum(), len(table)
    squares = float(((table[:, 0] - value * table[:, 1]) ** 2).sum())
    error = (squares * clusters / (clusters - 1)) ** 0.5 / float(table[:, 1].sum())
    return error, float(widening(table[:, 0] / table[:, 1], table[:, 1]))


def widening(differences: Floats, weights: Floats | float = 1.0) -> Floats:
    """By how much the interval of a mean is wider where few clusters decide: sqrt(1 + (1 - k / C) m / S).

    `differences` has one for each cluster, or such a row for each of several sets. k of C clusters differ from the
    commonest difference (0 as a rule), m is the mean square of how far, and S the sum of squared deviations from the
    mean. With m / S alone the interval would be as wide as if one more cluster differed likewise, which is in doubt
    only as far as clusters are alike: where few are, Student's interval is right as it is. Of several differences that
    are the commonest the one that makes the interval widest counts; where no two clusters are alike, the factor is 1.
    """
    weight = np.broadcast_to(weights, differences.shape[-1:])
    scale = float(np.abs(differences).max(initial=0.0)) or 1.0
    clusters, rounded = len(weight), (differences / scale).round(_DIGITS)
    mean = (differences * weight).sum(axis=-1) / weight.sum()
    squares = (((differences - mean[..., None]) * weight) ** 2).sum(axis=-1)
    values, counts = np.unique(rounded, return_counts=True)
    # A single row has its commonest ones at once; of several rows each has its own.
    candidates = values[counts >= max(2, int(counts.max()) if differences.ndim == 1 else 2)]
    most, found = np.ones(mean.shape), np.ones(mean.shape)
    for value in candidates:
        there = rounded == value
        alike = there.sum(axis=-1)
        away = (np.where(there, 0.0, (differences - value * scale) * weight) ** 2).sum(axis=-1)
        with np.errstate(all="ignore"):
            factor = np.sqrt(1 + alike / clusters * away / (clusters - alike) / squares)
        factor = np.where(squares > _NEAR * away, factor, 1.0)
        better = (alike > most) | ((alike == most) & (alike > 1) & (factor > found))
        most, found = np.where(better, alike, most), np.where(better, factor, found)
    return np.asarray(found, dtype=np.float64)


def _paired(differences: Sequence[float], weights: Sequence[float] | None) -> Floats:
    values = np.asarray(differences, dtype=np.float64)
    weight = np.ones_like(values) if weights is None else np.asarray(weights, dtype=np.float64)
    if values.ndim != 1 or values.shape != weight.shape:
        raise ValueError(f"{values.size} differences for {weight.size} weights")
    if not (np.isfinite(values).all() and np.isfinite(weight).all() and (weight > 0).all()):
        raise ValueError("differences must be finite and their weights positive")
    table = np.stack([values * weight, weight], axis=1)
    return np.asarray(table[np.lexsort(table.T[::-1])])


def _too_alike(table: Floats) -> str:
    differing = int(_differs(table).sum())
    if differing < _DIFFERING:
        return f"no interval: only {differing} of {len(table)} clusters differ"
    shares = table[:, 0] / table[:, 1]
    return "no interval: all clusters differ by the same" if np.ptp(shares) < 1e-12 else ""


def _differs(table: Floats) -> NDArray[np.bool_]:
    return np.asarray(np.abs(table[:, 0]) > 1e-12)


def _with(plain: Estimate, low: float, high: float, method: str) -> Estimate:
    return replace(plain, low=round_figure(low), high=round_figure(high), method=method)


def normalised_gain(groups: Gains, ceiling: float = 0.95) -> Estimate:
    """The mean over groups of (with - without) / (1 - without) (Hake, 1998), each of the means over clusters.

    A group has two lists of means, 0 to 1, with and without, one of each for every cluster, and None for both where it
    lacks the cluster; all lists are of the same clusters. "Not testable" where the mean without is at the ceiling in a
    group: what is left is too little to be a share of.

    The interval is over clusters, Student's on the logarithm of 1 - g, the share of failures that is left: it is
    skewed, and has no negative values. Its standard error is the jackknife's, which leaves a cluster out of all groups
    at once, and it is widened as that of `paired_t` is. There is none unless 10 clusters leave something to gain and 6
    differ, nor where no failure is left without a single cluster. `n` counts the pairs of group and cluster.

    Raises:
        ValueError: if the lists differ in length, one side alone is None, or a mean is not between 0 and 1.
    """
    if not groups:
        return Estimate(None, note="not testable: nothing leaves room for a gain")
    one, other = (np.asarray([group[side] for group in groups], dtype=np.float64) for side in (0, 1))
    if one.ndim != 2 or one.shape != other.shape or (np.isnan(one) != np.isnan(other)).any():
        raise ValueError("every group needs two lists of means of the same clusters")
    there = ~np.isnan(one)
    if not ((one[there] >= 0) & (one[there] <= 1) & (other[there] >= 0) & (other[there] <= 1)).all():
        raise ValueError("a mean is not between 0 and 1")
    clusters = int(there.any(axis=0).sum())
    plain = Estimate(None, n=int(there.sum()), clusters=clusters)
    if not one.size or not there.any(axis=1).all():
        return replace(plain, note="not testable: no cluster has both sides")
    failed, room = (np.where(there, 1 - side, 0.0)[:, there.any(axis=0)] for side in (one, other))
    without = 1 - room.sum(axis=1) / there.sum(axis=1)
    if (without >= ceiling).any():
        share = f"{100 * float(without.max()):.1f} %"
        return replace(plain, note=f"not testable: ceiling, {share} without the skill leave too little to gain")
    value = float((failed.sum(axis=1) / room.sum(axis=1)).mean())
    plain = replace(plain, value=round_figure(1 - value))
    differing, roomy = (int((np.abs(side) > _NEAR).any(axis=0).sum()) for side in (room - failed, room))
    if roomy < _ROOM:
        return replace(plain, note=f"no interval: only {roomy} clusters leave something to gain, {_ROOM} are needed")
    if differing < _DIFFERING:
        return replace(plain, note=f"no interval: only {differing} of {clusters} clusters differ")
    with np.errstate(all="ignore"):
        left = (failed.sum(axis=1)[:, None] - failed) / (room.sum(axis=1)[:, None] - room)
        moved = np.log(left.mean(axis=0))
    if not np.isfinite(moved).all():
        return replace(plain, note="no interval: next to no failure is left with the skill")
    error = math.sqrt((clusters - 1) / clusters * float(((moved - moved.mean()) ** 2).sum()))
    if not error > _NEAR:
        return replace(plain, note="no interval: all clusters gain alike")
    reach = t_quantile(0.975, clusters - 1) * error * float(widening((room - failed).sum(axis=0)))
    low, high = (1 - value * math.exp(side * reach) for side in (1, -1))
    method = f"Student's t on log(1 - gain), jackknife over clusters, {_WIDER}"
    return replace(plain, low=round_figure(low), high=round_figure(high), method=method)


def mean_of_groups(groups: Sequence[Sequence[float]]) -> Estimate:
    """The mean of the means of several groups of clusters, each group weighing the same (a macro mean).

    The groups are fixed, and their clusters are a sample: the interval is Student's with the degrees of freedom of
    Welch and Satterthwaite. There is none where a group has a single cluster or fewer than 6 clusters differ from 0.
    `n` and `clusters` count all clusters.

    Raises:
        ValueError: if a group is empty or a value is not finite.
    """
    values = [np.sort(np.asarray(group, dtype=np.float64)) for group in groups]
    if not all(len(group) and np.isfinite(group).all() for group in values):
        raise ValueError("groups must have finite values")
    clusters = sum(map(len, values))
    if not values:
        return Estimate(None, note="no group")
    mean = math.fsum(float(group.mean()) for group in values) / len(values)
    plain = Estimate(round_figure(mean), n=clusters, clusters=clusters)
    if single := sum(len(group) < 2 for group in values):
        return replace(plain, note=f"no interval: {single} of {len(values)} groups have one cluster only")
    differing = sum(int((np.abs(group) > _NEAR).sum()) for group in values)
    if differing < _DIFFERING:
        return replace(plain, note=f"no interval: only {differing} of {clusters} clusters differ")
    parts = [float(group.var(ddof=1)) / len(group) / len(values) ** 2 for group in values]
    total = math.fsum(parts)
    if not total > _NEAR**2:
        return replace(plain, note="no interval: all clusters differ by the same")
    freedom = total**2 / math.fsum(part**2 / (len(group) - 1) for part, group in zip(parts, values, strict=True))
    half = t_quantile(0.975, freedom) * math.sqrt(total)
    method = "Student's t over clusters, Welch and Satterthwaite"
    return replace(plain, low=round_figure(mean - half), high=round_figure(mean + half), method=method)
