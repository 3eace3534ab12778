"""How long do the statistics of one report take, once numpy is loaded?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from statistics import median

import numpy as np

from benchmarks._measure import Options
from skill_health.stats.agreement import fleiss_kappa
from skill_health.stats.hypothesis_tests import sign_flip
from skill_health.stats.intervals import clustered_proportion
from skill_health.stats.position import clustered_slope, tv_position_test
from skill_health.stats.resampling import RESAMPLES, cluster_bootstrap, paired_bootstrap

TITLE = "Resampling 1,200 results"
ROUNDS = 5
PROMPTS, CALLS, OFFERED, LEVEL = 100, 12, 15, 0.8
MAX_SECONDS = 0.5


def run(options: Options) -> Iterator[str]:
    """Time each statistic; every round has its own seed, so no resamples are reused from an earlier one."""
    yield (
        f"{PROMPTS} prompts x {CALLS} results, {RESAMPLES:,} resamples, n = {options.rounds} rounds; "
        "the first call of each round draws its resamples anew."
    )
    lines = ["| statistic | median | max | target | met |", "|---|---|---|---|---|"]
    for name, target, call in _calls(options.seed):
        call(0)
        seconds = [_timed(call, options.seed + round_) for round_ in range(1, options.rounds + 1)]
        goal = f"< {target * 1e3:.0f} ms" if target else "-"
        met = "-" if not target else "yes" if max(seconds) < target else "**no**"
        lines.append(f"| {name} | **{median(seconds) * 1e3:.1f} ms** | {max(seconds) * 1e3:.1f} ms | {goal} | {met} |")
    yield "\n".join(lines)


def _timed(call: Callable[[int], object], seed: int) -> float:
    start = time.perf_counter()
    call(seed)
    return time.perf_counter() - start


def _calls(seed: int) -> Iterator[tuple[str, float | None, Callable[[int], object]]]:
    rng = np.random.default_rng(seed)
    chance = rng.beta(LEVEL, 1 - LEVEL, (PROMPTS, 1))
    good = rng.random((PROMPTS, CALLS)) < chance
    prompts = np.repeat(np.arange(PROMPTS), CALLS).tolist()
    at = rng.integers(1, OFFERED + 1, good.shape)
    outcomes, places = good.ravel().tolist(), at.ravel().tolist()
    shares = good.reshape(PROMPTS, 4, 3).mean(axis=2)
    picked = np.where(good[:, :4], 0, rng.integers(1, OFFERED + 1, (PROMPTS, 4)))
    counts = (picked[..., None] == np.arange(OFFERED + 1)).sum(axis=1).tolist()
    positions = rng.integers(1, OFFERED + 1, (PROMPTS, 3, 3)).tolist()

    def bootstrap(seed: int) -> object:
        sums = np.stack([np.bincount(prompts, outcomes), np.bincount(prompts)], axis=1).astype(float)
        return cluster_bootstrap(sums, lambda total: total[..., 0] / total[..., 1], seed=seed)

    yield "cluster bootstrap of a ratio", MAX_SECONDS, bootstrap
    yield (
        "paired bootstrap",
        MAX_SECONDS,
        lambda seed: paired_bootstrap((shares[:, 0] - shares[:, 1]).tolist(), seed=seed),
    )
    yield "Fleiss kappa, 16 classes", MAX_SECONDS, lambda seed: fleiss_kappa(counts, seed=seed)
    yield "position test, 3 calls a prompt", None, lambda seed: tv_position_test(positions, OFFERED, seed=seed)
    yield "sign flip", None, lambda seed: sign_flip((shares[:, 0] - shares[:, 1]).tolist(), seed=seed)
    yield "clustered slope", None, lambda seed: clustered_slope(places, outcomes, prompts)
    yield "clustered proportion", None, lambda seed: clustered_proportion(good.sum(axis=1).tolist(), [CALLS] * PROMPTS)
