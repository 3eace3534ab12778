"""Position bias: does a skill's place in the list decide whether it is picked? Distance and slope, both by prompt.

scipy's `permutation_test` exchanges within pairs or over everything, but not orders within a prompt. Of logistic
regression it has only a solver; statsmodels has everything but requires pandas, too much to install for one slope, so
only the tests compare with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from skill_health.stats.association import fit_logistic, robust_variance
from skill_health.stats.distributions import round_figure, round_p, t_cdf, t_quantile
from skill_health.stats.estimates import Estimate
from skill_health.stats.resampling import BLOCK, Floats, RandomStream

_RARE = 5
"""The least number of clusters with the rarer outcome for which a slope is estimated."""


def tv_position_test(
    positions: Sequence[Sequence[Sequence[int]]], offered: int, resamples: int = 2_000, seed: int = 1
) -> Estimate:
    """Total variation distance of the picked positions from those expected if their prompts' orders did not matter.

    `positions` has a square table for each prompt: row r is the skill picked in call r, column s the position (from 1
    to `offered`) of that skill in the order of call s; the diagonal is what was picked. If the order did not matter,
    any call could have had any order of its prompt: the mean over all columns is the expectation, and permuting the
    orders among a prompt's calls gives the p-value. A model that picks one skill in every order adds nothing to the
    distance, wherever that skill was. Leave out calls without a pick; prompts with fewer than two calls are ignored.

    `n` counts calls, `clusters` prompts. There is no interval: a sample's distance is above 0 even without bias; the
    note says by how much.

    Raises:
        ValueError: if a table is not square or a position is not among those offered.
    """
    by_calls: defaultdict[int, list[NDArray[np.int64]]] = defaultdict(list)
    for one in filter(len, positions):
        table = np.asarray(one, dtype=np.int64).reshape(len(one), -1) - 1
        if table.shape != (len(one), len(one)):
            raise ValueError(f"a prompt with {len(one)} calls needs a table of {len(one)} x {len(one)} positions")
        if not (table.min() >= 0 and table.max() < offered):
            raise ValueError(f"a position is not among 1 to {offered}")
        if len(one) > 1:
            by_calls[len(one)].append(table)
    tables = [np.stack(by_calls[calls]) for calls in sorted(by_calls)]
    prompts = sum(len(table) for table in tables)
    if not prompts:
        return Estimate(None, note="not testable: no prompt has two calls with a pick")
    calls = sum(table.shape[0] * table.shape[1] for table in tables)
    excess, drawn = np.zeros(offered), np.zeros((resamples, offered))
    stream = RandomStream(seed)
    for table in tables:
        # A skill picked in all calls has the same positions under every permutation.
        mixed = table[(table != table[:, :1]).any(axis=(1, 2))]
        if len(mixed):
            excess += _excess(mixed, np.diagonal(mixed, axis1=1, axis2=2)[None], offered)[0]
            drawn += _permuted(mixed, offered, resamples, stream)
    distance, chance = (0.5 * np.abs(one).sum(axis=-1) / calls for one in (excess, drawn))
    p = (1 + int((chance >= distance - 1e-9).sum())) / (1 + resamples)
    note = f"no interval: without any bias a distance of {chance.mean():.3f} is expected"
    return Estimate(
        round_figure(distance), n=calls, clusters=prompts, p=round_p(p), method="within-prompt permutation", note=note
    )


def _permuted(tables: NDArray[np.int64], offered: int, resamples: int, stream: RandomStream) -> Floats:
    prompts, calls, _ = tables.shape
    step = max(BLOCK // (prompts * calls), 1)
    found = []
    for start in range(0, resamples, step):
        keys = stream.uniforms(min(step, resamples - start), prompts, calls)
        orders = np.argsort(keys, axis=-1, kind="stable")
        picked = tables[np.arange(prompts)[None, :, None], np.arange(calls)[None, None, :], orders]
        found.append(_excess(tables, picked, offered))
    return np.concatenate(found)


def _excess(tables: NDArray[np.int64], picked: NDArray[np.int64], offered: int) -> Floats:
    """By how much each position is picked above expectation: [draws, offered] of `picked` [draws, prompts, calls]."""
    draws = len(picked)
    cells = picked.reshape(draws, -1) + np.arange(draws)[:, None] * offered
    counts = np.bincount(cells.ravel(), minlength=draws * offered).reshape(draws, offered)
    return np.asarray(counts - np.bincount(tables.ravel(), minlength=offered) / tables.shape[1])


def clustered_slope(x: Sequence[float], y: Sequence[float], cluster: Sequence[Hashable]) -> Estimate:
    """The slope of a logistic regression of y (0 or 1, True or False) on x, in log odds for each unit of x.

    The model is marginal: the slope is that of the average over clusters, which is flatter than within one prompt. The
    standard error is cluster-robust (Liang and Zeger, 1986, with the factor G / (G - 1) (N - 1) / (N - 2)). Interval
    and p-value of "no slope" use Student's t with one degree of freedom less than the smaller of two numbers: the
    clusters with the rarer outcome, and the effective number of clusters by leverage (after Carter, Schnepel and
    Steigerwald, 2017). "Not testable" if x or y does not vary, fewer than 5 clusters have the rarer outcome, or x
    separates the outcomes.

    Raises:
        ValueError: if the lists differ in length, x is not finite or y neither 0 nor 1.
    """
    numbers: dict[Hashable, int] = {}
    groups = np.asarray([numbers.setdefault(name, len(numbers)) for name in cluster], dtype=np.int64)
    xs, ys = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if not (xs.shape == ys.shape == groups.shape and xs.ndim == 1):
        raise ValueError(f"{xs.size} values of x for {ys.size} of y in {groups.size} clusters")
    if not np.isfinite(xs).all() or not np.isin(ys, (0, 1)).all():
        raise ValueError("x must be finite and y 0 or 1")
    order = np.lexsort((ys, xs))
    xs, ys, groups = xs[order], ys[order], groups[order]
    size, clusters = len(xs), len(numbers)
    holding = min(len(np.unique(groups[ys == side])) for side in (0, 1))
    plain = Estimate(None, n=size, clusters=clusters)
    if why := _untestable(xs, ys, holding):
        return replace(plain, note=f"not testable: {why}")
    scale = float(xs.std())
    design = np.stack([np.ones_like(xs), (xs - xs.mean()) / scale], axis=1)
    beta = fit_logistic(design, ys)
    if beta is None:
        return replace(plain, note="not testable: the fit does not converge")
    error, freedom = _robust_error(design, ys, beta, groups, holding)
    if not error > 1e-9:
        return replace(plain, note="not testable: no variation between clusters")
    slope = float(beta[1])
    half = t_quantile(0.975, freedom) * error
    value, low, high = (round_figure(end / scale) for end in (slope, slope - half, slope + half))
    p = round_p(2 * t_cdf(-abs(slope) / error, freedom))
    method = f"logistic, cluster-robust, t with {freedom:.1f} degrees of freedom"
    return Estimate(value, low, high, size, clusters, p=p, method=method)


def _robust_error(
    design: Floats, y: Floats, beta: Floats, groups: NDArray[np.int64], holding: int
) -> tuple[float, float]:
    """The cluster-robust standard error of the slope, and its degrees of freedom."""
    variance, effective = robust_variance(design, y, beta, groups, np.asarray([0.0, 1.0]))
    return variance**0.5, max(min(holding, effective) - 1, 1.0)


def _untestable(xs: Floats, ys: Floats, holding: int) -> str:
    if not len(xs) or np.ptp(ys) == 0:
        return "every outcome is the same"
    if np.ptp(xs) < 1e-12 * max(np.abs(xs).max(), 1e-300):
        return "x does not vary"
    if holding < _RARE:
        return f"only {holding} clusters hold the rarer outcome"
    no, yes = xs[ys == 0], xs[ys == 1]
    # With one regressor the estimate exists unless the outcomes overlap in at most one point (Albert, Anderson, 1984).
    if no.max() <= yes.min() or yes.max() <= no.min():
        return "x separates the outcomes"
    return ""
