"""Sweeps without any effect: each yields (what was tested, the p-value, None if not testable)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import combinations

import numpy as np

from benchmarks._effects import without_effect
from benchmarks._populations import (
    POPULATIONS,
    Population,
    Test,
    by_cluster,
    chances,
    looked_up,
    related,
    right,
    traits,
)
from skill_health.stats.hypothesis_tests import sign_flip
from skill_health.stats.multiplicity import holm
from skill_health.stats.position import tv_position_test

OFFERED = 15
LEVELS = (0.5, 0.8, 0.97)


Null = Callable[[np.random.Generator], Iterator[Test]]


def equal_models(rng: np.random.Generator, population: Population) -> Iterator[Test]:
    """Four models of the same skill on the same prompts: one pair, and the least of all six after Holm."""
    for level in LEVELS:
        table, trait = chances(population.kind, population.spread, level), traits(rng, population)
        shares = [
            right(rng, looked_up(table, related(rng, trait, 0.7)), population.replications).mean(axis=1)
            for _ in range(4)
        ]
        ps = [sign_flip(by_cluster(one - other, population.clusters)) for one, other in combinations(shares, 2)]
        yield Test(f"sign flip, two models, {level}", ps[0])
        yield Test(f"sign flip, four models, Holm, {level}", min((p for p in holm(ps) if p is not None), default=None))


def unbiased(rng: np.random.Generator, population: Population) -> Iterator[Test]:
    """Picks independent of the order: the right skill, or one of three that are confused with it."""
    for level in LEVELS:
        chance = looked_up(chances(population.kind, population.spread, level), traits(rng, population))
        target = rng.integers(0, OFFERED, (population.prompts, 1))
        good = right(rng, chance, population.replications) == 1
        picked = np.where(good, target, target + rng.integers(1, 4, good.shape))
        first = rng.integers(0, OFFERED, (population.prompts, 1))
        turned = first + 8 * np.arange(population.replications)
        positions = (picked[:, :, None] + turned[:, None, :]) % OFFERED + 1
        yield Test(f"position, total variation, {level}", tv_position_test(positions.tolist(), OFFERED, 500).p)


NULLS: Mapping[str, Null] = {
    **{each.name: partial(equal_models, population=each) for each in POPULATIONS},
    "ICC 0.5, positions": partial(unbiased, population=POPULATIONS[1]),
    "20 tasks": partial(without_effect, tasks=20),
}
