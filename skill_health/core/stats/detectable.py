"""The least effect that a comparison of two arms over so many tasks would find, by simulating its own rule."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from skill_health.core.stats._numbers import t_quantile
from skill_health.core.stats._random import Floats, Stream
from skill_health.core.stats.power import fewest_differing, mde_paired

_SPREAD = 2.5
"""Standard deviation of the tasks' difficulty in logits: about half of a trial's variance lies between tasks."""
_RUNS, _DRAWS = 600, 3_000_000
"""Simulated runs, and how many trials of one arm there may be in all of them."""
_LEAST = 100
_FURTHEST = 12.0
"""So far apart, in logits, an arm passes everywhere and the other nowhere."""


@lru_cache(maxsize=256)
def least_detectable(
    tasks: int, replications: int, tests: int = 1, power: float = 0.8, alpha: float = 0.05
) -> float | None:
    """The least mean difference, as a share, that is found with this power; None where even 1 would not be.

    The rule is the one of docs/statistics.md: enough tasks differ for significance after Holm's correction for so many
    tests, Student's interval leaves out zero, and so does its test, which stands in for the sign flip's here, at
    alpha / tests. Both arms find the same tasks hard and about half of a trial's variance lies between tasks, which is
    more than usual and so the best case; their chances lie evenly about a half. The simulated runs are the same ones
    each time, and the result some 5 to 10 % too small, as Student's test finds more than the sign flip. Beyond some
    30,000 trials of an arm it is `mde_paired`'s.

    Raises:
        ValueError: for fewer than one task, replication or test.
    """
    from scipy.special import expit  # type: ignore[import-untyped]

    if tasks < 1 or replications < 1 or tests < 1:
        raise ValueError(f"nothing is tested by {tests} tests of {tasks} tasks x {replications} replications")
    if tasks < (needed := fewest_differing(tests, alpha)):
        return None
    runs = min(_DRAWS // (tasks * replications), _RUNS)
    if runs < _LEAST:
        return round(mde_paired(tasks, replications, 0.5, 0.5, alpha / tests, power), 3)
    stream = Stream(1)
    hard = _SPREAD * _normal(stream.uniforms(runs, tasks))
    drawn = [stream.uniforms(replications, runs, tasks) for _ in range(2)]
    reaches = t_quantile(1 - alpha / 2, tasks - 1), t_quantile(1 - alpha / (2 * tests), tasks - 1)

    def found(apart: float) -> float:
        passes = [(one < expit(hard + side)).mean(axis=0) for one, side in zip(drawn, (apart, -apart), strict=True)]
        return float(_significant(passes[0] - passes[1], needed, reaches).mean())

    if found(_FURTHEST) < power:
        return None
    low, high = 0.0, _FURTHEST
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (low, middle) if found(middle) >= power else (middle, high)
    easy = _SPREAD * _normal((np.arange(2_000) + 0.5) / 2_000)
    return round(float((expit(easy + high) - expit(easy - high)).mean()), 3)


def _significant(differences: Floats, needed: int, reaches: tuple[float, float]) -> Floats:
    """1 for each run, a row of differences by task, in which a gain is found, 0 for the others."""
    tasks = differences.shape[1]
    mean, squares = differences.mean(axis=1), differences.var(axis=1) * tasks
    differing = np.count_nonzero(np.abs(differences) > 1e-9, axis=1)
    error = np.sqrt(squares / (tasks - 1) / tasks)
    with np.errstate(all="ignore"):
        # As in `bootstrap.paired_t`, as if one further task differed as much as the others do.
        wider = np.sqrt(1 + (differences**2).sum(axis=1) / differing / squares)
    alike = squares < 1e-12
    reach = np.where(alike, 0.0, np.maximum(reaches[0] * np.where(alike, 1.0, wider), reaches[1]))
    return np.asarray((differing >= needed) & (mean > reach * error), dtype=np.float64)


def _normal(shares: Floats) -> Floats:
    from scipy.special import ndtri

    # The stream may give 0, of which there is no finite quantile.
    return np.asarray(ndtri(np.maximum(shares, math.ldexp(1.0, -54))), dtype=np.float64)
