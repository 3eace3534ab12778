"""Intervals over clusters without resampling: of proportions, other means, quantiles, and how far two groups differ.

We implement them ourselves: scipy has Wilson's interval for whole numbers (`binomtest`), which an effective n is not,
`quantile_test` for independent values, and nothing for clusters. And all but `unbounded_mean` must work without scipy,
in a base installation. Unless stated otherwise, intervals are 95 % intervals.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import replace

from skill_health.stats.distributions import normal_quantile, round_figure, t_quantile
from skill_health.stats.estimates import Estimate

_PRIOR = 0.125
"""The weight of the prior of `effective_n`, in clusters with the rarer outcome. Chosen by simulation."""
_BISECTIONS = 60
_FEWEST = 6
"""With fewer clusters there is no interval of a mean; of a proportion only if they are also unequal by"""
_UNEQUAL = 1.1
"""this factor between the number of clusters and what they are worth. It would cover 85-91 % only."""


def wilson_interval(successes: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """The ends of the score interval of a binomial proportion (Wilson, 1927). The arguments need not be whole.

    Raises:
        ValueError: if not 0 <= successes <= n with n > 0, or not 0 < level < 1.
    """
    if not (0 < n < math.inf and 0 <= successes <= n and 0 < level < 1):
        raise ValueError(f"no Wilson interval for {successes} of {n} at level {level}")
    z2 = normal_quantile(0.5 + level / 2) ** 2
    share = successes / n
    centre = share + z2 / (2 * n)
    half = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n)))
    scale = 1 + z2 / n
    # Rounding must not move an end past the value itself.
    low = 0.0 if successes == 0 else (centre - half) / scale
    high = 1.0 if successes == n else (centre + half) / scale
    return round_figure(max(low, 0.0)), round_figure(min(high, 1.0))


def effective_n(share: float, variance: float, clusters: int) -> float:
    """How many independent observations a share with this variance is worth.

    That is share (1 - share) / variance (Kish's calls / design effect), shrunk towards one observation for each
    cluster: near 0 and 1 a handful of clusters decide the variance, and it is 0 if all are alike. The weight of that
    prior is _PRIOR against the number of clusters that the rarer outcome would fill. Without it coverage falls to 88-92
    % at a share of 0.97; `python -m benchmarks coverage` measures coverage with it.
    """
    rare = clusters * min(share, 1 - share)
    spread = variance / (share * (1 - share)) if 0 < share < 1 else 0.0
    return (rare + _PRIOR) / (rare * spread + _PRIOR / clusters)


def clustered_proportion(successes: Sequence[float], totals: Sequence[float]) -> Estimate:
    """A proportion over clusters: for each, the sum of its outcomes (0 to total) and its number of calls.

    The variance is the jackknife variance of a ratio of sums over clusters; the interval is Wilson's with the effective
    n, at most the number of calls. Clusters without calls do not count. There is no interval for one cluster, nor for
    clusters of unequal size that are worth fewer than 6 equal ones. With fewer than 6 equal clusters the interval is
    right on average over many proportions (a table of skills), not for each value.

    For outcomes that are right or wrong; for values in between, such as 1 / rank, use `clustered_mean`.

    Raises:
        ValueError: if the lists differ in length or a sum is not between 0 and its total.
    """
    return _estimate_ratio(successes, totals, binary=True)


def clustered_mean(sums: Sequence[float], totals: Sequence[float]) -> Estimate:
    """The same for values between 0 and 1, and for any other ratio of sums, such as F1 = 2 TP / (2 TP + FP + FN).

    Its effective n may exceed the number of calls, since such values vary less than binary ones.

    Raises:
        ValueError: if the lists differ in length or a sum is not between 0 and its total.
    """
    return _estimate_ratio(sums, totals, binary=False)


def _estimate_ratio(sums: Sequence[float], totals: Sequence[float], binary: bool) -> Estimate:
    if len(sums) != len(totals):
        raise ValueError(f"{len(sums)} sums for {len(totals)} totals")
    # The tolerance is for sums of thirds.
    if any(not (0 <= part <= total * (1 + 1e-9) < math.inf) for part, total in zip(sums, totals, strict=True)):
        raise ValueError("a cluster's sum is not between 0 and its total")
    pairs = [(part, total) for part, total in zip(sums, totals, strict=True) if total > 0]
    calls, clusters = math.fsum(total for _, total in pairs), len(pairs)
    if not pairs:
        return Estimate(None, note="no calls")
    value = min(math.fsum(part for part, _ in pairs) / calls, 1.0)
    plain = Estimate(round_figure(value), n=round(calls), clusters=clusters)
    if clusters < 2:
        return replace(plain, note="no interval: only one cluster")
    effective = calls**2 / math.fsum(total**2 for _, total in pairs)
    if effective < _FEWEST and clusters > _UNEQUAL * effective:
        return replace(plain, note=f"no interval: only {clusters} clusters, of unequal size")
    n = effective_n(value, _jackknife_variance(pairs), clusters)
    n = min(n, calls) if binary else n
    low, high = wilson_interval(value * n, n)
    return replace(plain, low=low, high=high, method="Wilson, effective n")


def _jackknife_variance(pairs: Sequence[tuple[float, float]]) -> float:
    """The variance of a ratio of sums over clusters (sum, total), of which there are at least two."""
    sums, totals, clusters = math.fsum(part for part, _ in pairs), math.fsum(total for _, total in pairs), len(pairs)
    # Leaving out a cluster moves the ratio by its residual / (the others' total).
    moves = ((part - sums / totals * total) / (totals - total) for part, total in pairs)
    return math.fsum(move**2 for move in moves) * (clusters - 1) / clusters


def clustered_quantile(values: Sequence[float], clusters: Sequence[Hashable], share: float) -> Estimate:
    """The smallest value that at least this share of all values does not exceed; `clusters` labels each value.

    The interval is Woodruff's (1952): the effective n of the clusters, with a continuity correction, says how far the
    share of values up to the true quantile may be off; the values at those two shares bound the quantile. An end that
    too few clusters bound is None, and the note says so. All are in the unit of the values.

    Raises:
        ValueError: if the lists differ in length, a value is not finite or not 0 < share < 1.
    """
    if len(values) != len(clusters):
        raise ValueError(f"{len(values)} values for {len(clusters)} clusters")
    if not (0 < share < 1 and all(map(math.isfinite, values))):
        raise ValueError("values must be finite and the share of a quantile between 0 and 1")
    if not values:
        return Estimate(None, note="no values")
    ordered = sorted(values)
    value = _value_at(ordered, share)
    sums: defaultdict[Hashable, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for one, cluster in zip(values, clusters, strict=True):
        sums[cluster][0] += one <= value
        sums[cluster][1] += 1
    if len(sums) < 2:
        return Estimate(value, n=len(values), clusters=1, note="no interval: only one cluster")
    variance = _jackknife_variance([(hits, calls) for hits, calls in sums.values()])
    n = min(effective_n(share, variance, len(sums)), len(values))
    reach = normal_quantile(0.975) * math.sqrt(share * (1 - share) / n) + 0.5 / n
    ends = (
        _value_at(ordered, share - reach) if share > reach else None,
        _value_at(ordered, share + reach) if share + reach < 1 else None,
    )
    note = "" if None not in ends else "too few calls to bound it"
    return Estimate(value, *ends, len(values), len(sums), method="order statistics, effective n", note=note)


def _value_at(ordered: Sequence[float], share: float) -> float:
    # A product such as 0.95 x 20 may come out just above a whole number.
    return ordered[max(math.ceil(share * len(ordered) - 1e-9) - 1, 0)]


def unbounded_mean(values: Sequence[float], n: int | None = None, least: float = -math.inf) -> Estimate:
    """The mean of values without an upper bound (tokens, dollars, seconds): one for each cluster, in any unit.

    `n` is the number of observations behind them, by default one each; `least` is the least possible value, which
    bounds the interval.

    The usage of trials is skewed, and Student's interval of the mean is too low: over 20 tasks, some of which use
    several times as much as others, it covers 88 to 92 %. scipy's BCa bootstrap is NaN if all are equal, and varies
    with the version. The interval here is Student's after Hall's transformation (1992), which removes the skewness and
    can be inverted. With fewer than 6 clusters there is none.

    Raises:
        ValueError: if a value is not finite.
    """
    if not all(map(math.isfinite, values)):
        raise ValueError("values must be finite")
    clusters = len(values)
    if not clusters:
        return Estimate(None, note="not known of any trial")
    mean = math.fsum(values) / clusters
    plain = Estimate(round_figure(mean), n=clusters if n is None else n, clusters=clusters)
    if clusters < _FEWEST:
        return replace(plain, note=f"no interval: fewer than {_FEWEST} clusters")
    from scipy.stats import skew  # type: ignore[import-untyped]

    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (clusters - 1))
    # A spread as small as the rounding of the values counts as none. Sorting makes the sum independent of order.
    standard = sorted((value - mean) / spread for value in values) if spread > 1e-9 * abs(mean) else []
    skewness = float(skew(standard, bias=False)) if standard else 0.0
    reach = t_quantile(0.975, clusters - 1)
    low, high = (mean - spread * invert_hall(end, skewness, clusters) for end in (reach, -reach))
    method = "Student's t over clusters, corrected for skewness"
    return replace(plain, low=round_figure(max(low, least)), high=round_figure(high), method=method)


def invert_hall(t: float, skewness: float, n: int) -> float:
    """How many standard deviations the mean is away where its transformed t statistic is `t`."""
    z = t / math.sqrt(n)
    if abs(skewness) < 1e-6:
        return z
    return 3 / skewness * (math.cbrt(1 + skewness * (z - skewness / (6 * n))) - 1)


def auc(positives: Sequence[float], negatives: Sequence[float]) -> Estimate:
    """How often a positive scores higher than a negative, 0 to 1; a tie counts half (Mann and Whitney, 1947).

    Each score is one independent observation: whoever has several of one thing gives their mean. The 95 % interval is
    method 5 of Newcombe ("Confidence intervals for an effect size measure based on the Mann-Whitney statistic", part 2,
    Statistics in Medicine 25, 2006): the values from which the one found is not farther than the variance there allows.
    Unlike a bootstrap it has a width where the groups are small or wholly apart. `n` counts both groups; without one of
    them there is no value.
    """
    m, n = len(positives), len(negatives)
    if not m or not n:
        return Estimate(None, n=m + n, clusters=m + n, note="not testable: one of the two groups is empty")
    won = math.fsum((one > other) + (one == other) / 2 for one in positives for other in negatives)
    value = won / (m * n)
    low, high = auc_interval(value, m, n)
    return Estimate(
        value=round_figure(value),
        low=low,
        high=high,
        n=m + n,
        clusters=m + n,
        method="Newcombe's method 5",
    )


def auc_interval(value: float, m: int, n: int) -> tuple[float, float]:
    """The ends of the 95 % interval of such a share over so many positives and negatives."""
    return round_figure(_auc_end(value, 0.0, m, n)), round_figure(_auc_end(value, 1.0, m, n))


def _auc_end(value: float, far: float, m: int, n: int) -> float:
    """The end of the interval between a value and `far`, which is 0 or 1, by bisection."""
    z = normal_quantile(0.975)
    inside, outside = value, far
    for _ in range(_BISECTIONS):
        middle = (inside + outside) / 2
        if abs(value - middle) <= z * math.sqrt(_auc_variance(middle, m, n)):
            inside = middle
        else:
            outside = middle
    return inside if value != far else far


def _auc_variance(share: float, m: int, n: int) -> float:
    """Hanley's and McNeil's (1982) for exponential scores, with both group sizes less 1 replaced by their mean."""
    mean = (m + n) / 2 - 1
    spread = 1 + mean * ((1 - share) / (2 - share) + share / (1 + share))
    return share * (1 - share) * spread / (m * n)
