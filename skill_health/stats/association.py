"""What goes with what, over clusters: rank correlation, area under the curve, logistic regression; and what is alike.

scipy has these values, and intervals for independent pairs only. Here the pairs of one cluster (the prompts of one
skill, the replications of a prompt) may be alike, so what is left out and put back is a whole cluster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from skill_health.stats.distributions import round_figure, t_quantile
from skill_health.stats.estimates import Estimate
from skill_health.stats.intervals import auc_interval
from skill_health.stats.resampling import Floats

_STEPS = 100
_FEWEST = 6
"""With fewer clusters there is no interval: the jackknife's would cover far too little."""
_NEAR = 1e-12


def clustered_rank_correlation(one: Sequence[float], other: Sequence[float], clusters: Sequence[Hashable]) -> Estimate:
    """Spearman's rank correlation of pairs, ties at their mean rank; `clusters` labels each pair.

    The 95 % interval is Student's on Fisher's z (atanh), with the standard error of the jackknife that leaves out one
    cluster at a time and one degree of freedom less than there are clusters. There is no value where all values of a
    side are equal, and no interval with fewer than 6 clusters, nor where ranks agree wholly. `n` counts pairs.

    Raises:
        ValueError: if the lists differ in length or a number is not finite.
    """
    x, y, groups = _table(one, other, clusters)
    plain = Estimate(None, n=len(x), clusters=len(set(groups)))
    value = _spearman(x, y)
    if value is None:
        return replace(plain, note=f"not testable: {_no_variation(x, y)}")
    return _jackknifed(plain, value, groups, lambda kept: _spearman(x[kept], y[kept]), math.atanh, math.tanh, 1.0)


def clustered_auc(
    scores: Sequence[float], hits: Sequence[float], totals: Sequence[float], clusters: Sequence[Hashable]
) -> Estimate:
    """How often a score of a hit is above one of a miss, a tie counting half; each score has so many hits of a total.

    The 95 % interval is Student's on the logit, with the standard error of the jackknife over `clusters`. Where hits
    and misses are wholly apart that has no width: the interval is then Newcombe's (see `auc`), with as many of each as
    clusters have some. There is no value without a hit or a miss, and no interval with fewer than 6 clusters. `n`
    counts the totals.

    Raises:
        ValueError: if the lists differ in length, a number is not finite, or hits are not between 0 and their total.
    """
    x, y, groups = _table(scores, hits, clusters)
    whole = np.asarray(totals, dtype=np.float64)
    if whole.shape != x.shape or not ((y >= 0) & (y <= whole)).all():
        raise ValueError("hits must lie between 0 and their totals")
    misses = whole - y
    plain = Estimate(None, n=round(float(whole.sum())), clusters=len(set(groups)))
    value = _area(x, y, misses)
    if value is None:
        return replace(plain, note=f"not testable: no {'hit' if y.sum() <= 0 else 'miss'}")
    found = _jackknifed(
        plain, value, groups, lambda kept: _area(x[kept], y[kept], misses[kept]), _logit, _expit, 1.0, least=0.0
    )
    if plain.clusters >= _FEWEST and found.low is None:
        with_hits, with_misses = (len({g for g, n in zip(groups, each, strict=True) if n > 0}) for each in (y, misses))
        low, high = auc_interval(value, with_hits, with_misses)
        return replace(found, low=low, high=high, method="Newcombe's method 5 over clusters", note="")
    return found


def _table(
    one: Sequence[float], other: Sequence[float], clusters: Sequence[Hashable]
) -> tuple[Floats, Floats, list[Hashable]]:
    x, y = (np.asarray(each, dtype=np.float64) for each in (one, other))
    if x.ndim != 1 or x.shape != y.shape or len(clusters) != len(x):
        raise ValueError(f"{x.size} scores for {y.size} outcomes and {len(clusters)} clusters")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("scores and outcomes must be finite")
    return x, y, list(clusters)


def _spearman(x: Floats, y: Floats) -> float | None:
    from scipy.stats import rankdata  # type: ignore[import-untyped]

    if len(x) < 3 or np.ptp(x) < _NEAR or np.ptp(y) < _NEAR:
        return None
    a, b = (rankdata(each) - (len(x) + 1) / 2 for each in (x, y))
    return float((a * b).sum() / math.sqrt(float((a * a).sum()) * float((b * b).sum())))


def _area(x: Floats, hits: Floats, misses: Floats) -> float | None:
    all_hits, all_misses = float(hits.sum()), float(misses.sum())
    if all_hits <= 0 or all_misses <= 0:
        return None
    _, at = np.unique(x, return_inverse=True)
    each, other = (np.bincount(at, weights=weights) for weights in (hits, misses))
    below = np.cumsum(other) - other
    return float((each * (below + other / 2)).sum()) / (all_hits * all_misses)


def _jackknifed(
    plain: Estimate,
    value: float,
    groups: list[Hashable],
    without: Callable[[NDArray[np.bool_]], float | None],
    into: Callable[[float], float],
    back: Callable[[float], float],
    most: float,
    least: float = -1.0,
) -> Estimate:
    """The value with Student's interval on a transformed scale; none where too little varies."""
    plain = replace(plain, value=round_figure(value))
    if plain.clusters < _FEWEST:
        return replace(plain, note=f"no interval: only {plain.clusters} clusters")
    labels = np.asarray([sorted(set(map(str, groups))).index(str(group)) for group in groups])
    found = [without(labels != nth) for nth in range(plain.clusters)]
    ends = (least + _NEAR, most - _NEAR)
    if any(each is None or not ends[0] < each < ends[1] for each in (value, *found)):
        return replace(plain, note="no interval: a cluster alone decides it")
    moved = np.asarray([into(each) for each in found if each is not None])
    count = len(moved)
    error = math.sqrt((count - 1) / count * float(((moved - moved.mean()) ** 2).sum()))
    reach = t_quantile(0.975, count - 1) * error
    low, high = (back(into(value) + side * reach) for side in (-1, 1))
    method = "Student's t on a transformed scale, jackknife over clusters"
    return replace(plain, low=round_figure(low), high=round_figure(high), method=method)


def _logit(share: float) -> float:
    return math.log(share / (1 - share))


def _expit(logit: float) -> float:
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1 + math.exp(logit))


def _no_variation(x: Floats, y: Floats) -> str:
    if len(x) < 3:
        return f"only {len(x)} pairs"
    return "all scores are equal" if np.ptp(x) < _NEAR else "all outcomes are alike"


def fit_logistic(design: Floats, y: Floats) -> Floats | None:
    """The two (quasi-)maximum-likelihood coefficients for regressors [calls, 2] and y from 0 to 1, or None.

    Newton's steps, halved where they overshoot. `scipy.optimize` would find the same and takes 0.14 seconds to import,
    in a report that takes one second.
    """
    from scipy.special import expit  # type: ignore[import-untyped]

    beta, step, likelihood = np.zeros(2), np.zeros(2), -np.inf
    for _ in range(_STEPS):
        logits = design @ (beta + step)
        reached = float((y * logits - np.logaddexp(0.0, logits)).sum())
        if reached < likelihood - 1e-9:
            step /= 2
            continue
        beta, likelihood, fitted = beta + step, reached, expit(logits)
        information = _information(design, fitted)
        if not np.linalg.cond(information) < 1e12:
            return None
        step = np.linalg.solve(information, design.T @ (y - fitted))
        if np.abs(step).max() < 1e-10:
            return beta
    return None


def _information(design: Floats, fitted: Floats) -> Floats:
    return np.asarray(design.T @ (design * (fitted * (1 - fitted))[:, None]))


def robust_variance(
    design: Floats, y: Floats, beta: Floats, groups: NDArray[np.int64], combination: Floats
) -> tuple[float, float]:
    """The variance of a combination of the coefficients over clusters, numbered from 0, and their effective number.

    The variance is Liang and Zeger's (1986) with the factor G / (G - 1) (N - 1) / (N - 2); the effective number of
    clusters is that by leverage (after Carter, Schnepel and Steigerwald, 2017).
    """
    from scipy.special import expit

    size, clusters, fitted = len(y), int(groups.max()) + 1, expit(design @ beta)
    bread = np.linalg.inv(_information(design, fitted))
    residuals = design * (y - fitted)[:, None]
    scores = np.stack([np.bincount(groups, column, clusters) for column in residuals.T], axis=1)
    factor = clusters / (clusters - 1) * (size - 1) / (size - 2)
    side = bread @ combination
    variance = float(side @ (scores.T @ scores) @ side) * factor
    leverage = np.bincount(groups, fitted * (1 - fitted) * (design @ side) ** 2, clusters)
    return variance, float(leverage.sum() ** 2 / (leverage**2).sum())


def link_clusters(similarity: Sequence[Sequence[float]], least: float) -> list[list[int]]:
    """Clusters of places by average linkage (Sokal and Michener, 1958), each sorted, in order of their first members.

    `similarity` is a lower triangle: row i has the similarity of i, 0 to 1, to each place before it. Two clusters are
    one as long as the mean similarity of their members is at least `least`, so that no number of clusters is chosen.
    """
    from scipy.cluster.hierarchy import fcluster, linkage  # type: ignore[import-untyped]

    size = len(similarity)
    if size < 2:
        return [[place] for place in range(size)]
    # scipy takes the upper triangle, row by row; its last digits are not told apart.
    apart = [round(1 - similarity[other][one], 9) for one in range(size) for other in range(one + 1, size)]
    labels = fcluster(linkage(np.asarray(apart), "average"), 1 - least + 1e-9, "distance")
    found: dict[int, list[int]] = {}
    for place, label in enumerate(labels.tolist()):
        found.setdefault(label, []).append(place)
    return sorted(found.values())
