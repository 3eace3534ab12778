"""Resamples of whole clusters: their weights, the statistic in each, and percentiles of it.

scipy's `bootstrap` could resample rows of clusters, too. This draws the same on any machine and with any version of
numpy, and once for all figures of a report, each of which is then one product with the weights: 4 ms for 10,000
resamples of 100 clusters, where scipy takes 13. And its intervals are percentiles, too narrow with few clusters, or
BCa, which may be NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from skill_health.core.stats._numbers import t_quantile
from skill_health.core.stats._random import Floats, Stream

RESAMPLES = 10_000
_BLOCK = 2_000_000
"""Numbers that are held as floats at one time."""


def cluster_weights(clusters: int, resamples: int = RESAMPLES, seed: int = 1) -> NDArray[np.uint16]:
    """How often each resample holds each cluster: shape [resamples, clusters]; every row adds up to `clusters`.

    Read-only, and the same array for the same arguments, so that all statistics of a report share their resamples.

    Raises:
        ValueError: for fewer than one cluster or resample.
    """
    if clusters < 1 or resamples < 1:
        raise ValueError(f"no resamples: {resamples} of {clusters} clusters")
    return _weights(clusters, resamples, seed)


@lru_cache(maxsize=2)
def _weights(clusters: int, resamples: int, seed: int) -> NDArray[np.uint16]:
    stream = Stream(seed)
    found = np.empty((resamples, clusters), dtype=np.uint16)
    step = max(_BLOCK // clusters, 1)
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
    """The statistic in every resample of the table's rows."""
    weights = cluster_weights(len(table), resamples, seed)
    step = max(_BLOCK // max(table.shape), 1)
    found = np.empty(resamples)
    with np.errstate(all="ignore"):
        for start in range(0, resamples, step):
            block = weights[start : start + step].astype(np.float64)
            found[start : start + step] = statistic(block @ table)
    return found


def expanded(draws: Floats, clusters: int) -> tuple[float, float]:
    """The 95 % percentile interval, expanded for few clusters (Hesterberg, 2015, section 5.3).

    Percentiles are too narrow as a normal interval with the variance's divisor n is: by sqrt((n - 1) / n) and by the
    quantile of the normal distribution instead of Student's.
    """
    reach = t_quantile(0.975, clusters - 1) * (clusters / (clusters - 1)) ** 0.5
    tail = NormalDist().cdf(-reach)
    low, high = np.quantile(draws, [tail, 1 - tail])
    return float(low), float(high)
