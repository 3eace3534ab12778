"""Simulated effectiveness runs: tasks x 6 conditions x 3 replications, with known effects and with none."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from benchmarks._populations import RESAMPLES, Floats, Hit, Test, chances, looked_up, related, right
from skill_health.stats.amounts import mean_change
from skill_health.stats.hypothesis_tests import exact_mantel_haenszel, sign_flip, signed_rank, t_test_over_strata
from skill_health.stats.intervals import clustered_proportion, unbounded_mean
from skill_health.stats.multiplicity import benjamini_hochberg, holm
from skill_health.stats.resampling import paired_bootstrap, paired_t

REPLICATIONS, LEAST, MARGIN = 3, 6, 0.10
SUCCESS = (0.5, 0.5, 0.55, 0.6, 0.7, 0.8)
"""Success rates of the control and five other conditions."""
HARD, ALIKE = 3.0, 0.8
"""The spread of the tasks' difficulty in logits, and the correlation of difficulty between two conditions."""
TOKENS = (1.0, 1.0, 1.1, 1.3, 1.5, 2.0)
OF_TASK, OF_TRIAL = 0.5, 0.35
"""Their usage relative to the control; the spread of its logarithm between tasks, and between trials of one."""


def effectiveness(rng: np.random.Generator, tasks: int) -> Iterator[Hit]:
    """The success of each condition, its gain over the control by task, its usage, and how much more that is."""
    easy = rng.standard_normal(tasks)
    tables = [chances("logit-normal", HARD, level) for level in SUCCESS]
    runs = [right(rng, looked_up(table, related(rng, easy, ALIKE)), REPLICATIONS) for table in tables]
    for run, level in list(zip(runs, SUCCESS, strict=True))[1:]:
        share = clustered_proportion(run.sum(axis=1).tolist(), [REPLICATIONS] * tasks)
        yield Hit(f"success, {level:.2f}", level, share)
        differences = (run.mean(axis=1) - runs[0].mean(axis=1)).tolist()
        name = f"gain of {level - SUCCESS[0]:.2f}"
        yield Hit(f"bootstrap, {name}", level - SUCCESS[0], paired_bootstrap(differences, None, RESAMPLES))
        yield Hit(f"t, {name}", level - SUCCESS[0], paired_t(differences))
    yield from _usage(rng, tasks)


def _usage(rng: np.random.Generator, tasks: int) -> Iterator[Hit]:
    size = np.exp(OF_TASK * rng.standard_normal(tasks))
    mean = float(np.exp((OF_TASK**2 + OF_TRIAL**2) / 2))
    used = [
        factor * (size[:, None] * np.exp(OF_TRIAL * rng.standard_normal((tasks, REPLICATIONS)))).mean(axis=1)
        for factor in TOKENS
    ]
    for factor, each in list(zip(TOKENS, used, strict=True))[1:]:
        yield Hit(f"tokens, x {factor}", factor * mean, unbounded_mean(each.tolist()))
        yield Hit(f"tokens more, x {factor}", (factor - 1) * mean, mean_change((each - used[0]).tolist()))


def without_effect(rng: np.random.Generator, tasks: int) -> Iterator[Test]:
    """Identical conditions: one contrast, the best of all after correction, verdicts and "biased"."""
    for level in (0.5, 0.8):
        table = chances("logit-normal", HARD, level)
        found = [list(_alike(rng, table, tasks)) for _ in range(3)]
        contrasts = [[run.mean(axis=1) - runs[0].mean(axis=1) for run in runs[1:]] for runs in found]
        ps = [[_p(each) for each in of_model] for of_model in contrasts]
        yield Test(f"sign flip, one contrast, {level}", ps[0][0])
        yield Test(f"signed ranks, one contrast, {level}", _p(contrasts[0][0], ranks=True))
        yield Test(f"five contrasts, Benjamini-Hochberg, {level}", _least(benjamini_hochberg(ps[0])))
        primary = holm([of_model[0] for of_model in ps])
        yield Test(f"three models, Holm, {level}", _least(primary))
        verdicts = [
            p if _leaves_out_zero(of_model[0]) or p is None else 1.0
            for p, of_model in zip(primary, contrasts, strict=True)
        ]
        yield Test(f"any false verdict, three models, {level}", _least(verdicts))
        yield Test(f"biased, three models, {level}", _biased(found, tasks))


def _alike(rng: np.random.Generator, table: Floats, tasks: int) -> Iterator[NDArray[np.int64]]:
    chance = looked_up(table, rng.standard_normal(tasks))
    for _ in SUCCESS:
        yield right(rng, chance, REPLICATIONS)


def _p(differences: Floats, ranks: bool = False) -> float | None:
    if np.count_nonzero(differences) < LEAST:
        return None
    return signed_rank(differences.tolist()) if ranks else sign_flip(differences.tolist())


def _leaves_out_zero(differences: Floats) -> bool:
    found = paired_t(differences.tolist())
    return found.low is not None and found.high is not None and (found.low > 0 or found.high < 0)


def _least(ps: list[float | None]) -> float | None:
    return min((p for p in ps if p is not None), default=None)


def _biased(found: list[list[NDArray[np.int64]]], tasks: int) -> float | None:
    """The least p of a run's bias tests, among those whose difference exceeds the margin."""
    ps, sizes = [], []
    for control, irrelevant, full in (islice(runs, 3) for runs in found):
        # A quarter of the tasks are negative controls.
        for arm, last in ((irrelevant, tasks), (irrelevant, tasks // 4), (full, tasks // 4)):
            hits = (arm[:last].sum(axis=1).tolist(), control[:last].sum(axis=1).tolist())
            within = exact_mantel_haenszel([((a, REPLICATIONS), (b, REPLICATIONS)) for a, b in zip(*hits, strict=True)])
            over = t_test_over_strata((arm[:last].mean(axis=1) - control[:last].mean(axis=1)).tolist())
            ps.append(None if within is None or over is None else max(within, over))
            sizes.append(abs(float(arm[:last].mean() - control[:last].mean())))
    return _least([p if size > MARGIN or p is None else 1.0 for p, size in zip(holm(ps), sizes, strict=True)])
