"""Scenarios whose truth has to be computed: agreement, and slopes of accuracy by position and by length."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from benchmarks._populations import LEVELS, RESAMPLES, SKILLS, Hit, Population, chances, looked_up, right, traits
from skill_health.stats.agreement import fleiss_kappa
from skill_health.stats.position import clustered_slope


def agreement(rng: np.random.Generator, population: Population) -> Iterator[Hit]:
    """Fleiss' kappa of four models, one rating each; when they err, they often err alike."""
    for level in LEVELS:
        estimate = fleiss_kappa(_ratings(rng, population, level, population.prompts).tolist(), RESAMPLES)
        yield Hit(f"Fleiss kappa, {level}", _kappa(population, level), estimate)


def _ratings(rng: np.random.Generator, population: Population, level: float, prompts: int) -> np.ndarray:
    chance = looked_up(chances(population.kind, population.spread, level), rng.standard_normal(prompts))
    target, confused = rng.integers(0, SKILLS + 1, (2, prompts, 1))
    wrong = np.where(rng.random((prompts, 4)) < 0.7, confused, rng.integers(0, SKILLS + 1, (prompts, 4)))
    picked = np.where(rng.random((prompts, 4)) < chance[:, None], target, wrong)
    return np.asarray((picked[..., None] == np.arange(SKILLS + 1)).sum(axis=1))


@lru_cache(maxsize=64)
def _kappa(population: Population, level: float) -> float:
    """The population's kappa, from a sample large enough to stand in for it."""
    counts = _ratings(np.random.default_rng(1), population, level, 300_000)
    among = ((counts**2).sum(axis=1) - 4).mean() / 12
    by_chance = float(((counts.sum(axis=0) / counts.sum()) ** 2).sum())
    return float((among - by_chance) / (1 - by_chance))


def slopes(rng: np.random.Generator, population: Population) -> Iterator[Hit]:
    """Accuracy by the right skill's position, without and with a bias, and by the length of descriptions."""
    for level in LEVELS:
        for bias in (0.0, -0.1):
            first = rng.integers(0, SKILLS, (population.prompts, 1))
            at = (first + 8 * np.arange(population.replications)) % SKILLS + 1
            chance = looked_up(chances(population.kind, population.spread, level), traits(rng, population))[:, None]
            biased = rng.random(at.shape) < _moved(chance, bias * (at - (SKILLS + 1) / 2))
            labels = np.repeat(population.clusters, population.replications).tolist()
            estimate = clustered_slope(at.ravel().tolist(), biased.ravel().tolist(), labels)
            yield Hit(f"position slope {bias:g}, {level}", _slope(population, level, bias), estimate)
        skill = np.arange(population.prompts) % SKILLS
        lengths = rng.lognormal(1.0, 0.5, SKILLS)[skill]
        chance = looked_up(chances(population.kind, population.spread, level), traits(rng, population))
        good = right(rng, chance, population.replications)
        repeated = np.repeat(np.stack([lengths, skill]), population.replications, axis=1)
        estimate = clustered_slope(repeated[0].tolist(), good.ravel().tolist(), repeated[1].tolist())
        yield Hit(f"length slope 0, {level}", 0.0, estimate)


def _moved(chance: np.ndarray, by: np.ndarray) -> np.ndarray:
    odds = chance * np.exp(by)
    return np.asarray(odds / (odds + 1 - chance))


@lru_cache(maxsize=64)
def _slope(population: Population, level: float, bias: float) -> float:
    """The maximum-likelihood slope of the population's accuracy at each position."""
    x = np.arange(1.0, SKILLS + 1) - (SKILLS + 1) / 2
    table = chances(population.kind, population.spread, level)
    accuracy = _moved(table[:, None], bias * x).mean(axis=0)
    design, beta = np.stack([np.ones(SKILLS), x], axis=1), np.zeros(2)
    for _ in range(50):
        fitted = 1 / (1 + np.exp(-design @ beta))
        beta += np.linalg.solve((design * (fitted * (1 - fitted))[:, None]).T @ design, design.T @ (accuracy - fitted))
    return float(beta[1])
