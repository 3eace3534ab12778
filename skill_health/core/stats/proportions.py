"""Intervals of proportions and of other means between 0 and 1, with clusters.

scipy's `binomtest` has Wilson's interval of whole numbers, which an effective n is not, and knows no clusters. And
these must work in a base installation, which has no scipy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from skill_health.core.estimates import Estimate
from skill_health.core.stats._numbers import normal_quantile, tidy

METHOD = "Wilson, effective n"
_PRIOR = 0.125
"""Weight of the prior of `effective_n`, in clusters with the rarer outcome. Chosen by simulation."""
_FEWEST, _UNEQUAL = 6, 1.1
"""With effectively fewer clusters, fewer than there are by this factor, no interval: it covers 85-91 % only."""


def wilson(successes: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """The score interval of a binomial proportion (Wilson, 1927). Neither argument need be whole.

    Raises:
        ValueError: where not 0 <= successes <= n with n > 0, or not 0 < level < 1.
    """
    if not (0 < n < math.inf and 0 <= successes <= n and 0 < level < 1):
        raise ValueError(f"no Wilson interval for {successes} of {n} at level {level}")
    z2 = normal_quantile(0.5 + level / 2) ** 2
    share = successes / n
    centre = share + z2 / (2 * n)
    half = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n)))
    scale = 1 + z2 / n
    # Rounding must not lift an end above the value it belongs to.
    low = 0.0 if successes == 0 else (centre - half) / scale
    high = 1.0 if successes == n else (centre + half) / scale
    return tidy(max(low, 0.0)), tidy(min(high, 1.0))


def effective_n(share: float, variance: float, clusters: int) -> float:
    """How many independent observations a share with this variance is worth.

    That is share (1 - share) / variance (Kish's calls / design effect), drawn towards one observation for each cluster:
    near 0 and 1 a handful of clusters decide the variance, and it is 0 where all are alike. The weight of that prior is
    _PRIOR against the number of clusters that the rarer outcome would fill. Without it coverage falls to
    88-92 % at a share of 0.97; `python -m benchmarks coverage` measures what it is with it.
    """
    rare = clusters * min(share, 1 - share)
    spread = variance / (share * (1 - share)) if 0 < share < 1 else 0.0
    return (rare + _PRIOR) / (rare * spread + _PRIOR / clusters)


def clustered_proportion(successes: Sequence[float], totals: Sequence[float]) -> Estimate:
    """A proportion over clusters: one entry for each, the sum of its outcomes (0 to total) and the number of its calls.

    The variance is the jackknife's of a ratio of sums over clusters, the interval Wilson's with the effective n, at
    most the number of calls. Clusters without a call do not count. One cluster has no interval, nor have clusters of
    unequal size where they are worth fewer than 6 equal ones. With fewer than 6 equal clusters the interval is
    right on average over many proportions (a table of skills), not for each value.

    For outcomes that are right or wrong; values between, such as 1 / rank, take `clustered_mean`.

    Raises:
        ValueError: where the lists differ in length or a sum is not between 0 and its total.
    """
    return _ratio(successes, totals, binary=True)


def clustered_mean(sums: Sequence[float], totals: Sequence[float]) -> Estimate:
    """The same for values between 0 and 1, and for any other ratio of sums, such as F1 = 2 TP / (2 TP + FP + FN).

    Its effective n may exceed the number of calls, since such values vary less than a coin does.

    Raises:
        ValueError: where the lists differ in length or a sum is not between 0 and its total.
    """
    return _ratio(sums, totals, binary=False)


def _ratio(sums: Sequence[float], totals: Sequence[float], binary: bool) -> Estimate:
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
    plain = Estimate(tidy(value), n=round(calls), clusters=clusters)
    if clusters < 2:
        return replace(plain, note="no interval: only one cluster")
    effective = calls**2 / math.fsum(total**2 for _, total in pairs)
    if effective < _FEWEST and clusters > _UNEQUAL * effective:
        return replace(plain, note=f"no interval: only {clusters} clusters, of unequal size")
    n = effective_n(value, jackknife(pairs), clusters)
    n = min(n, calls) if binary else n
    low, high = wilson(value * n, n)
    return replace(plain, low=low, high=high, method=METHOD)


def jackknife(pairs: Sequence[tuple[float, float]]) -> float:
    """The variance of a ratio of sums over clusters (sum, total), of which there are at least two."""
    sums, totals, clusters = math.fsum(part for part, _ in pairs), math.fsum(total for _, total in pairs), len(pairs)
    # Leaving out a cluster moves the ratio by its residual / (the others' total).
    moves = ((part - sums / totals * total) / (totals - total) for part, total in pairs)
    return math.fsum(move**2 for move in moves) * (clusters - 1) / clusters
