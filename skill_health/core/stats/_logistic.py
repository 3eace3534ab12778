"""Logistic regression on one variable, with the cluster-robust standard error of its slope.

scipy has neither. statsmodels has both and brings pandas along, too much to install for one slope; the tests compare
with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skill_health.core.stats._random import Floats

_STEPS = 100


class Fit(NamedTuple):
    """Coefficients, the inverse of the information, and for each call its regressors, fitted chance and outcome."""

    beta: Floats
    bread: Floats
    design: Floats
    fitted: Floats
    y: Floats


def robust(fit: Fit, groups: NDArray[np.int64], clusters: int, holding: int) -> tuple[float, float, float]:
    """The slope, its cluster-robust standard error and its degrees of freedom."""
    size = len(fit.y)
    design = fit.design * (fit.y - fit.fitted)[:, None]
    scores = np.stack([np.bincount(groups, column, clusters) for column in design.T], axis=1)
    factor = clusters / (clusters - 1) * (size - 1) / (size - 2)
    variance = float((fit.bread @ (scores.T @ scores) @ fit.bread)[1, 1]) * factor
    leverage = np.bincount(groups, fit.fitted * (1 - fit.fitted) * (fit.design @ fit.bread[1]) ** 2, clusters)
    effective = float(leverage.sum() ** 2 / (leverage**2).sum())
    return float(fit.beta[1]), variance**0.5, max(min(holding, effective) - 1, 1.0)


def logistic(x: Floats, y: Floats) -> Fit | None:
    """Newton's steps, halved where they overshoot; None without convergence."""
    from scipy.special import expit  # type: ignore[import-untyped]

    design = np.stack([np.ones_like(x), x], axis=1)
    beta, likelihood = np.zeros(2), -np.inf
    step = np.zeros(2)
    for _ in range(_STEPS):
        eta = design @ (beta + step)
        now = float((y * eta - np.logaddexp(0.0, eta)).sum())
        if now < likelihood - 1e-9:
            step = step / 2
            continue
        beta, likelihood = beta + step, now
        fitted = expit(eta)
        information = design.T @ (design * (fitted * (1 - fitted))[:, None])
        if np.linalg.cond(information) > 1e12:
            return None
        bread = np.asarray(np.linalg.inv(information), dtype=np.float64)
        step = bread @ (design.T @ (y - fitted))
        if np.abs(step).max() < 1e-10:
            return Fit(beta, bread, design, fitted, y)
    return None
