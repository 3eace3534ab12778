"""How often a run of this size comes to what the rules ask for, by simulating it and the very tests of its report."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import expit, ndtri  # type: ignore[import-untyped]

from skill_health.stats.distributions import t_cdf
from skill_health.stats.hypothesis_tests import ALPHA, equivalence, no_worse
from skill_health.stats.resampling import Floats, RandomStream

_RUNS = 200
"""Simulated runs: the share is known to seven points, 95 times in 100."""
SPREAD = 2.5
"""Standard deviation of the tasks' difficulty in logits, as in the minimum detectable effect: the best case."""
OF_TRIAL, OF_RATIO = 0.35, 0.3
"""Standard deviations of the logarithm of what a trial takes, and of a task's ratio between two arms."""


@lru_cache(maxsize=64)
def chance_to_pass_controls(controls: int, others: int, replications: int, margin: float, full: bool = True) -> float:
    """How often the negative controls pass where there is no bias at all: every difference is shown to be within it.

    `controls` are the negative-control tasks, `others` those that have the arm *negative*, too; `full` says whether the
    arm with the whole collection is run. The differences are those of a report, which share their control: *negative*
    and *full* over the negative-control tasks, and *negative* over all. All arms find the same tasks hard. The margin
    of error of the simulation is seven points.

    Raises:
        ValueError: for no task, replication or margin.
    """
    if controls + others < 1 or replications < 1 or not 0 < margin < 1:
        raise ValueError("nothing can be shown without tasks, replications and a margin")
    stream, tasks, passed = RandomStream(1), controls + others, 0
    for _ in range(_RUNS):
        chance = expit(SPREAD * _normal(stream.uniforms(tasks)))
        control, negative, whole = ((stream.uniforms(replications, tasks) < chance).mean(axis=0) for _ in range(3))
        pairs = [(negative - control)] if others else []
        if controls:
            pairs.append((negative - control)[:controls])
            pairs += [(whole - control)[:controls]] if full else []
        passed += all(equivalence(each.tolist(), margin).equivalent for each in pairs)
    return passed / _RUNS


@lru_cache(maxsize=64)
def chance_to_be_cheaper(
    tasks: int, replications: int, margin: float, texts: int, tests: int = 1, ratio: float = 0.5, success: float = 0.5
) -> float:
    """How often a skill that takes this share, at the same success, is shown to be cheaper.

    `texts` are the arms of no use that it must beat beside the control, `tests` the units that are corrected together,
    `success` the share of trials that pass, on average over tasks. Student's test of the logarithms stands in for the
    sign flip, as if success were not testable. The margin of error of the simulation is seven points.

    Raises:
        ValueError: for no task, replication or test, or a share that is none.
    """
    if min(tasks, replications, tests) < 1 or not (0 < margin < 1 and 0 < ratio < 1 and 0 < success <= 1):
        raise ValueError("nothing can be shown by these tasks")
    if tasks < 6:
        return 0.0
    stream, found, level = RandomStream(1), 0, ALPHA / tests
    for _ in range(_RUNS):
        easy = SPREAD * _normal(stream.uniforms(tasks))
        chance = np.ones(tasks) if success == 1 else expit(easy + _shift(success))
        one, other = ((stream.uniforms(replications, tasks) < chance).mean(axis=0) for _ in range(2))
        p = no_worse((one - other).tolist(), margin).p
        own = math.log(ratio) + OF_RATIO * _normal(stream.uniforms(tasks))
        amounts = [
            np.log(np.exp(OF_TRIAL * _normal(stream.uniforms(replications, tasks))).mean(axis=0))
            for _ in range(2 + texts)
        ]
        ps = [_p_below(own + amounts[0] - each) for each in amounts[1:]]
        found += p is not None and max(p, *ps) < level
    return found / _RUNS


@lru_cache(maxsize=16)
def _shift(success: float) -> float:
    """The mean of the logits at which this share passes."""
    from scipy.optimize import bisect  # type: ignore[import-untyped]

    easy = SPREAD * _normal((np.arange(2_000) + 0.5) / 2_000)
    return float(bisect(lambda mean: float(expit(easy + mean).mean()) - success, -40.0, 40.0))


def _p_below(logs: Floats) -> float:
    """Student's two-sided p where the mean is below zero, else 1."""
    tasks, mean = len(logs), float(logs.mean())
    t = mean / (float(logs.std(ddof=1)) / math.sqrt(tasks))
    return 2 * t_cdf(t, tasks - 1) if mean < 0 else 1.0


def _normal(shares: Floats) -> Floats:
    # The stream may give 0, which has no finite quantile.
    return np.asarray(ndtri(np.maximum(shares, math.ldexp(1.0, -54))), dtype=np.float64)
