"""What a run of this size can show: minimum detectable effects (MDE), and why a result is preliminary.

scipy's `power` simulates a given test, for which data must be drawn as here; it has no formulas. All but
`simulated_mde` and `mde_from_sd` must work in a base installation, which has neither scipy nor numpy.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from skill_health.stats.distributions import normal_quantile, round_figure, t_cdf, t_quantile

if TYPE_CHECKING:
    from skill_health.stats.resampling import Floats

FEW_CLUSTERS, MOST_MISSING, FEW_REPLICATIONS = 30, 0.05, 3
"""Fewer clusters, a larger share of missing calls, or fewer replications make a result preliminary.

Two trials that differ do not say which of them is the exception.
"""
_SPREAD = 2.5
"""Standard deviation of the tasks' difficulty in logits: about half of a trial's variance lies between tasks."""
_RUNS, _DRAWS = 600, 3_000_000
"""The number of simulated runs, and the most trials of one arm in all of them."""
_LEAST = 100
"""Fewer simulated runs say nothing."""
_FURTHEST = 12.0
"""This far apart, in logits, one arm passes everywhere and the other nowhere."""
_REPEATS = 200
"""Simulated runs: the share is known to seven points, 95 times in 100."""
OF_TRIAL, OF_RATIO = 0.35, 0.3
"""Standard deviations of the logarithm of what a trial takes, and of a task's ratio between two arms."""
_OF_TASK = 0.6
"""The same of what a task takes."""


def mde_paired(
    prompts: int,
    replications: int,
    accuracy: float = 0.8,
    icc: float = 0.5,
    alpha: float = 0.05,
    power: float = 0.8,
) -> float:
    """The minimum detectable difference of two accuracies in a paired comparison with this power, as a share.

    The best case: the two sides find the same prompts hard, so only the replications' own noise is left. Then a
    prompt's difference has the variance 2 accuracy (1 - accuracy) (1 - icc) / replications, where `icc` is the share of
    the variance of a call that lies between prompts. The defaults give 11.2, 6.5 and 3.5 percentage points for 100
    prompts and 1, 3 and 10 replications.

    Raises:
        ValueError: for fewer than one prompt or replication.
    """
    if prompts < 1 or replications < 1:
        raise ValueError(f"no effect can be detected by {prompts} prompts x {replications} replications")
    sd = math.sqrt(2 * accuracy * (1 - accuracy) * (1 - icc) / replications)
    return round_figure((normal_quantile(1 - alpha / 2) + normal_quantile(power)) * sd / math.sqrt(prompts))


def mde_from_sd(clusters: int, sd_of_differences: float, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """The same from the standard deviation of the clusters' differences in a run, in its unit.

    None below 2 clusters. It uses Student's quantiles, and is within 2 % of the exact value from 5 clusters on.
    """
    if clusters < 2:
        return None
    reach = t_quantile(1 - alpha / 2, clusters - 1) + t_quantile(power, clusters - 1)
    return round_figure(reach * sd_of_differences / math.sqrt(clusters))


@lru_cache(maxsize=256)
def simulated_mde(
    tasks: int, replications: int, tests: float = 1, against: int = 1, power: float = 0.8, alpha: float = 0.05
) -> float | None:
    """The minimum detectable mean difference, as a share, with this power; None if even 1 would not be found.

    The rule is the one of docs/statistics.md: enough tasks differ for significance after correction for this many tests
    (those of less weight count as fractions), Student's interval excludes zero, and so does its test at alpha / tests,
    which stands in for the sign-flip test. With `against` that holds for the difference from each of so many arms that
    are alike (an intersection-union test). All arms find the same tasks hard and about half of a trial's variance lies
    between tasks, which is more than usual and so the best case; their pass probabilities are symmetric about a half.
    The simulated runs are the same each time, and the result is some 5 to 10 % too small, as Student's test finds more
    than the sign-flip test. Beyond some 30,000 trials of an arm it is that of `mde_paired`.

    Raises:
        ValueError: for fewer than one task, replication, test or arm.
    """
    if min(tasks, replications, tests, against) < 1:
        raise ValueError(f"nothing is tested by {tests} tests of {tasks} tasks x {replications} replications")
    if tasks < (needed := fewest_differing(tests, alpha)):
        return None
    runs = min(_DRAWS // (tasks * replications), _RUNS)
    if runs < _LEAST:
        return round(mde_paired(tasks, replications, 0.5, 0.5, alpha / tests, power), 3)
    import numpy as np
    from scipy.optimize import bisect  # type: ignore[import-untyped]
    from scipy.special import expit  # type: ignore[import-untyped]

    from skill_health.stats.resampling import RandomStream

    stream = RandomStream(1)
    hard = _SPREAD * _normal_quantiles(stream.uniforms(runs, tasks))
    drawn = [stream.uniforms(replications, runs, tasks) for _ in range(1 + against)]
    reaches = t_quantile(1 - alpha / 2, tasks - 1), t_quantile(1 - alpha / (2 * tests), tasks - 1)

    def found(apart: float) -> float:
        first, *others = ((one < expit(hard + (-apart if at else apart))).mean(axis=0) for at, one in enumerate(drawn))
        return float(np.prod([_significant(first - other, needed, reaches) for other in others], axis=0).mean())

    if found(_FURTHEST) < power:
        return None
    least = bisect(lambda apart: found(apart) - power, 0.0, _FURTHEST, xtol=1e-3)
    easy = _SPREAD * _normal_quantiles((np.arange(2_000) + 0.5) / 2_000)
    return round(float((expit(easy + least) - expit(easy - least)).mean()), 3)


def _significant(differences: Floats, needed: int, reaches: tuple[float, float]) -> Floats:
    """For each run, a row of differences by task: 1 if a gain is found, else 0."""
    import numpy as np

    from skill_health.stats.resampling import widening

    tasks = differences.shape[1]
    mean, squares = differences.mean(axis=1), differences.var(axis=1) * tasks
    differing = np.count_nonzero(np.abs(differences) > 1e-9, axis=1)
    error = np.sqrt(squares / (tasks - 1) / tasks)
    alike = squares < 1e-12
    reach = np.where(alike, 0.0, np.maximum(reaches[0] * widening(differences), reaches[1]))
    return np.asarray((differing >= needed) & (mean > reach * error), dtype=np.float64)


def _normal_quantiles(shares: Floats) -> Floats:
    import numpy as np
    from scipy.special import ndtri

    # The stream may give 0, which has no finite quantile.
    return np.asarray(ndtri(np.maximum(shares, math.ldexp(1.0, -54))), dtype=np.float64)


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
    from scipy.special import expit

    from skill_health.stats.hypothesis_tests import equivalence
    from skill_health.stats.resampling import RandomStream

    stream, tasks, passed = RandomStream(1), controls + others, 0
    for _ in range(_REPEATS):
        chance = expit(_SPREAD * _normal_quantiles(stream.uniforms(tasks)))
        control, negative, whole = ((stream.uniforms(replications, tasks) < chance).mean(axis=0) for _ in range(3))
        pairs = [(negative - control)] if others else []
        if controls:
            pairs.append((negative - control)[:controls])
            pairs += [(whole - control)[:controls]] if full else []
        passed += all(equivalence(each.tolist(), margin).equivalent for each in pairs)
    return passed / _REPEATS


@lru_cache(maxsize=64)
def chance_to_be_cheaper(
    tasks: int, replications: int, margin: float, texts: int, tests: int = 1, ratio: float = 0.5, success: float = 0.5
) -> float:
    """How often a skill that takes this share, at the same success, is shown to be cheaper.

    `texts` are the arms of no use that it must beat beside the control, `tests` the units that are corrected together,
    `success` the share of trials that pass, on average over tasks. Student's test of the logarithms stands in for the
    sign flip, and the whole amounts are tested beside it, as if success were not testable. The margin of error of the
    simulation is seven points.

    Raises:
        ValueError: for no task, replication or test, or a share that is none.
    """
    if min(tasks, replications, tests) < 1 or not (0 < margin < 1 and 0 < ratio < 1 and 0 < success <= 1):
        raise ValueError("nothing can be shown by these tasks")
    if tasks < 6:
        return 0.0
    import numpy as np
    from scipy.special import expit

    from skill_health.stats.amounts import whole_amounts
    from skill_health.stats.hypothesis_tests import ALPHA, no_worse
    from skill_health.stats.resampling import RandomStream

    stream, found, level = RandomStream(1), 0, ALPHA / tests
    for _ in range(_REPEATS):
        easy = _SPREAD * _normal_quantiles(stream.uniforms(tasks))
        chance = np.ones(tasks) if success == 1 else expit(easy + _shift(success))
        one, other = ((stream.uniforms(replications, tasks) < chance).mean(axis=0) for _ in range(2))
        p = no_worse((one - other).tolist(), margin).p
        own = math.log(ratio) + OF_RATIO * _normal_quantiles(stream.uniforms(tasks))
        size = _OF_TASK * _normal_quantiles(stream.uniforms(tasks))
        mine, *amounts = (
            size + np.log(np.exp(OF_TRIAL * _normal_quantiles(stream.uniforms(replications, tasks))).mean(axis=0))
            for _ in range(2 + texts)
        )
        ps = [max(_p_below(own + mine - each), whole_amounts(own + mine, each)[1]) for each in amounts]
        found += p is not None and max(p, *ps) < level
    return found / _REPEATS


@lru_cache(maxsize=16)
def _shift(success: float) -> float:
    """The mean of the logits at which this share passes."""
    import numpy as np
    from scipy.optimize import bisect
    from scipy.special import expit

    easy = _SPREAD * _normal_quantiles((np.arange(2_000) + 0.5) / 2_000)
    return float(bisect(lambda mean: float(expit(easy + mean).mean()) - success, -40.0, 40.0))


def _p_below(logs: Floats) -> float:
    """Student's two-sided p where the mean is below zero, else 1."""
    tasks, mean = len(logs), float(logs.mean())
    t = mean / (float(logs.std(ddof=1)) / math.sqrt(tasks))
    return 2 * t_cdf(t, tasks - 1) if mean < 0 else 1.0


def smallest_p(differing: int) -> float:
    """The least two-sided p-value that this many non-zero differences can reach: 2 of 2^n patterns."""
    return min(2.0 ** (1 - differing), 1.0) if differing > 0 else 1.0


def fewest_differing(tests: float, alpha: float = 0.05) -> int:
    """How many clusters must differ for the best of this many sign-flip tests to be significant after Holm.

    6 for one test, 7 for two and three, 8 for four to six: 2^(1 - n) x tests must be below alpha. Tests of less weight
    count as fractions.

    Raises:
        ValueError: for no test at all.
    """
    if tests < 1:
        raise ValueError(f"nothing is tested by {tests} tests")
    return math.floor(1 - math.log2(alpha / tests)) + 1


def preliminary_reasons(
    clusters: int,
    half_width: float | None,
    missing_share: float,
    effect: float | None = None,
    units: str = "independent prompts or families",
    calls: str = "calls",
    replications: int | None = None,
) -> list[str]:
    """The reasons why a result is preliminary, in a few words each; [] if it is not.

    All are shares: `half_width` of the interval (None: it has none), `missing_share` of the planned calls, and the
    declared `effect` (None: none was declared). `units` and `calls` are the words for clusters and calls;
    `replications` are the planned ones (None: they do not matter, or nobody planned them).
    """
    reasons = []
    if clusters < FEW_CLUSTERS:
        reasons.append(f"fewer than {FEW_CLUSTERS} {units} ({clusters})")
    if half_width is None:
        reasons.append("no interval")
    elif effect is not None and half_width > effect:
        reasons.append(f"half-width {100 * half_width:.1f} pp exceeds the declared effect of {100 * effect:.1f} pp")
    if missing_share > MOST_MISSING:
        reasons.append(f"{100 * missing_share:.1f} % of the {calls} are missing (more than {100 * MOST_MISSING:.0f} %)")
    return reasons + list(filter(None, [few_replications(replications)]))


def few_replications(count: int | None) -> str:
    """Why a run of so few replications is preliminary, "" for one with enough, or where nobody planned them."""
    few = count is not None and count < FEW_REPLICATIONS
    return f"fewer than {FEW_REPLICATIONS} replications ({count})" if few else ""
