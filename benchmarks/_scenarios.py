"""What is simulated: each scenario yields (what it is an interval of, the truth, the estimate) for one random sweep.

To add a scenario, add a function to SCENARIOS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from statistics import NormalDist

import numpy as np

from benchmarks._contrasts import composition, contrasts
from benchmarks._edges import EDGE_DESIGNS
from benchmarks._effects import effectiveness
from benchmarks._fits import agreement, slopes
from benchmarks._populations import (
    LEVELS,
    POPULATIONS,
    RESAMPLES,
    SKILLS,
    Hit,
    Population,
    by_cluster,
    chances,
    looked_up,
    related,
    right,
    traits,
)
from skill_health.stats.agreement import brier_score
from skill_health.stats.intervals import clustered_mean, clustered_proportion, clustered_quantile
from skill_health.stats.resampling import paired_bootstrap, paired_t

NULL, ABSTAINS, LATER = 0.22, 0.2, (1 / 2, 1 / 3, 1 / 4, 0.0)
"""The share of prompts without a skill; of wrong answers that abstain; and the credit of ranks 2, 3, 4 and none."""
PLACES = {"easy to place": (0.7, 0.15, 0.05, 0.1), "hard to place": (0.2, 0.2, 0.2, 0.4)}
"""How often the right skill has those ranks if it is not first, for two kinds of prompts in equal numbers."""
SAID = {0: (0.2, 0.2, 0.3, 0.3), 1: (0.05, 0.15, 0.3, 0.5)}
CONFIDENCES = (0.5, 0.7, 0.9, 0.99)
"""Confidences, and how often each is stated with a wrong and with a right answer."""
DESIGNS = ((15, 2), (20, 2), (20, 3), (40, 3))
"""Numbers of tasks, and replications of each."""


Scenario = Callable[[np.random.Generator], Iterator[Hit]]


def leaderboard(rng: np.random.Generator, population: Population) -> Iterator[Hit]:
    """The metrics of four models with different accuracies on the same prompts."""
    trait, clusters = traits(rng, population), population.clusters
    null = rng.random(population.prompts) < NULL
    hard = rng.integers(0, 2, population.prompts)
    calls = by_cluster(np.full(population.prompts, population.replications), clusters)
    places = np.array(list(PLACES.values()))
    gains = np.array([1 / np.log2(3), 0.5, 0.0, 0.0])
    for level in LEVELS:
        table = chances(population.kind, population.spread, level)
        mean = float(table.mean())
        good = right(rng, looked_up(table, related(rng, trait, 0.7)), population.replications)
        yield Hit(f"top-1, {level}", mean, clustered_proportion(by_cluster(good, clusters), calls))
        draws = rng.random(good.shape)
        rank = (draws[..., None] >= places.cumsum(axis=1)[hard][:, None, :-1]).sum(axis=-1)
        for name, credit in (("MRR", np.array(LATER)), ("nDCG@3", gains)):
            truth = mean + (1 - mean) * float((places @ credit).mean())
            value = np.where(good == 1, 1.0, credit[rank])
            yield Hit(f"{name}, {level}", truth, clustered_mean(by_cluster(value, clusters), calls))
        abstained = np.where(null[:, None], good == 1, (good == 0) & (rng.random(good.shape) < ABSTAINS))
        yield from _abstention(level, mean, abstained, null, clusters)
        said = (rng.random(good.shape)[..., None] >= np.array([SAID[0], SAID[1]]).cumsum(axis=1)[good][..., :-1]).sum(
            -1
        )
        stated = np.array(CONFIDENCES)[said]
        truth = sum(
            share * float(np.dot(SAID[outcome], (np.array(CONFIDENCES) - outcome) ** 2))
            for outcome, share in ((0, 1 - mean), (1, mean))
        )
        labels = np.repeat(clusters, population.replications)
        yield Hit(
            f"Brier, {level}", truth, brier_score(stated.ravel().tolist(), good.ravel().tolist(), labels.tolist())
        )


def _abstention(
    level: float, mean: float, abstained: np.ndarray, null: np.ndarray, clusters: np.ndarray
) -> Iterator[Hit]:
    hits = by_cluster(abstained & null[:, None], clusters)
    fires = by_cluster(~abstained & null[:, None], clusters)
    false = by_cluster(abstained & ~null[:, None], clusters)
    true, wrong = NULL * mean, (1 - NULL) * (1 - mean) * ABSTAINS
    picked = [one + other for one, other in zip(hits, false, strict=True)]
    asked = [one + other for one, other in zip(hits, fires, strict=True)]
    yield Hit(f"abstention precision, {level}", true / (true + wrong), clustered_proportion(hits, picked))
    yield Hit(f"abstention recall, {level}", mean, clustered_proportion(hits, asked))
    yield Hit(f"false fire, {level}", 1 - mean, clustered_proportion(fires, asked))
    f1 = clustered_mean([2 * one for one in hits], [one + other for one, other in zip(picked, asked, strict=True)])
    yield Hit(f"abstention F1, {level}", 2 * true / (2 * true + wrong + NULL * (1 - mean)), f1)


def paired(rng: np.random.Generator, population: Population) -> Iterator[Hit]:
    """Differences of two models, or of a run and its baseline, equal and unequal, on the same prompts."""
    for one, other in ((0.5, 0.5), (0.8, 0.8), (0.9, 0.8), (0.9, 0.9), (0.97, 0.9), (0.97, 0.97)):
        trait = traits(rng, population)
        good = [
            right(rng, looked_up(table, related(rng, trait, 0.7)), population.replications).mean(axis=1)
            for table in (chances(population.kind, population.spread, level) for level in (one, other))
        ]
        sizes = by_cluster(np.ones(population.prompts), population.clusters)
        sums = np.array(by_cluster(good[0] - good[1], population.clusters))
        differences = (sums / sizes).tolist()
        truth = float(
            chances(population.kind, population.spread, one).mean()
            - chances(population.kind, population.spread, other).mean()
        )
        name = f"{one} less {other}"
        yield Hit(f"paired delta, bootstrap, {name}", truth, paired_bootstrap(differences, sizes, RESAMPLES))
        yield Hit(f"paired delta, t, {name}", truth, paired_t(differences, sizes))


def skills(rng: np.random.Generator, population: Population) -> Iterator[Hit]:
    """Recall of 15 skills with 3 to 9 prompts each, some skills found more easily than others."""
    for level in LEVELS:
        for accuracy in rng.beta(6 * level, 6 * (1 - level), SKILLS).round(2).clip(0.02, 0.99):
            table = chances(population.kind, population.spread, float(accuracy))
            prompts = int(rng.integers(3, 10))
            good = right(rng, looked_up(table, rng.standard_normal(prompts)), population.replications).sum(axis=1)
            estimate = clustered_proportion(good.tolist(), [population.replications] * prompts)
            yield Hit(f"recall of a skill, {level} on average", float(table.mean()), estimate)


def latency(rng: np.random.Generator, alike: float) -> Iterator[Hit]:
    """Median and 95th percentile of the duration of 300 calls; prompts explain a share of its log variance."""
    own = rng.standard_normal((100, 3)) * (1 - alike) ** 0.5
    values = np.exp(0.5 * (own + rng.standard_normal((100, 1)) * alike**0.5)).ravel().tolist()
    labels = np.repeat(np.arange(100), 3).tolist()
    for share in (0.5, 0.95):
        truth = float(np.exp(0.5 * NormalDist().inv_cdf(share)))
        yield Hit(f"quantile, {share}", truth, clustered_quantile(values, labels, share))


SCENARIOS: Mapping[str, Mapping[str, Scenario]] = {
    "Metrics of a model": {each.name: partial(leaderboard, population=each) for each in POPULATIONS},
    "Differences of two models or runs": {each.name: partial(paired, population=each) for each in POPULATIONS},
    "Agreement of four models": {each.name: partial(agreement, population=each) for each in POPULATIONS[:4]},
    "Slopes": {each.name: partial(slopes, population=each) for each in POPULATIONS},
    "Skills with 3 to 9 prompts": {each.name: partial(skills, population=each) for each in POPULATIONS[:4]},
    "Latency": {f"ICC {alike}": partial(latency, alike=alike) for alike in (0.05, 0.5, 0.95)},
    "Effectiveness, 6 conditions": {f"{n} tasks": partial(effectiveness, tasks=n) for n in (20, 40)},
    "Other contrasts of arms": {
        f"{n} tasks x {reps}": partial(contrasts, tasks=n, replications=reps) for n, reps in DESIGNS
    },
    "Two skills, alone and together": {
        f"{n} tasks x {reps}": partial(composition, tasks=n, replications=reps) for n, reps in ((10, 3), *DESIGNS)
    },
}
"""The tables, each with its columns."""
EXHIBITS: Mapping[str, Mapping[str, Scenario]] = {"Where most tasks are alike": EDGE_DESIGNS}
"""The same of what an interval cannot hold as often as it says, beside others: nothing is required there."""
