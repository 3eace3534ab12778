"""Quantiles (median and 95th percentile of latency and cost) with clusters, which scipy's `quantile_test` has not."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence

from skill_health.core.estimates import Estimate
from skill_health.core.stats._numbers import normal_quantile
from skill_health.core.stats.proportions import effective_n, jackknife


def clustered_quantile(values: Sequence[float], clusters: Sequence[Hashable], share: float) -> Estimate:
    """The smallest value that at least this share of all values does not exceed; a cluster's name for each value.

    The interval is Woodruff's (1952): how far the share of values up to the true quantile may be from what it should
    be, by the effective n of the clusters and with a correction for continuity; the values at those two shares
    bound the quantile. An end that so few clusters cannot bound is None, and the note says so.

    Raises:
        ValueError: where the lists differ in length, a value is not finite or not 0 < share < 1.
    """
    if len(values) != len(clusters):
        raise ValueError(f"{len(values)} values for {len(clusters)} clusters")
    if not (0 < share < 1 and all(map(math.isfinite, values))):
        raise ValueError("values must be finite and the share of a quantile between 0 and 1")
    if not values:
        return Estimate(None, note="no values")
    ordered = sorted(values)
    value = _at(ordered, share)
    sums: defaultdict[Hashable, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for one, cluster in zip(values, clusters, strict=True):
        sums[cluster][0] += one <= value
        sums[cluster][1] += 1
    if len(sums) < 2:
        return Estimate(value, n=len(values), clusters=1, note="no interval: only one cluster")
    n = min(effective_n(share, jackknife([(hits, calls) for hits, calls in sums.values()]), len(sums)), len(values))
    reach = normal_quantile(0.975) * math.sqrt(share * (1 - share) / n) + 0.5 / n
    ends = (
        _at(ordered, share - reach) if share > reach else None,
        _at(ordered, share + reach) if share + reach < 1 else None,
    )
    note = "" if None not in ends else "too few calls to bound it"
    return Estimate(value, *ends, len(values), len(sums), method="order statistics, effective n", note=note)


def _at(ordered: Sequence[float], share: float) -> float:
    # A product such as 0.95 x 20 may come out just above a whole number.
    return ordered[max(math.ceil(share * len(ordered) - 1e-9) - 1, 0)]
