"""Made-up populations of prompts for which every figure is known, and random sweeps of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skill_health.stats.estimates import Estimate

Floats = NDArray[np.float64]
LEVELS = (0.5, 0.8, 0.9, 0.97)
RESAMPLES = 2_000
SKILLS = 15
_CELLS = 2_000


class Hit(NamedTuple):
    """One interval of one simulated sweep."""

    what: str
    truth: float
    estimate: Estimate


class Test(NamedTuple):
    """One test of one simulated sweep without any effect; None if not testable."""

    what: str
    p: float | None


@dataclass(frozen=True)
class Population:
    """The difficulty of prompts. `kind` is "beta" or "logit-normal"; `spread` the ICC of two calls (beta) or the
    standard deviation on the logit scale. `family` prompts share `kinship` of their difficulty."""

    name: str
    kind: str
    spread: float
    prompts: int = 100
    replications: int = 3
    family: int = 1
    kinship: float = 0.6

    @property
    def clusters(self) -> NDArray[np.int64]:
        """The cluster of each prompt."""
        return np.arange(self.prompts) // self.family


POPULATIONS = (
    Population("ICC 0.2", "beta", 0.2),
    Population("ICC 0.5", "beta", 0.5),
    Population("ICC 0.85", "beta", 0.85),
    Population("logit-normal", "logit-normal", 2.0),
    Population("50 families", "beta", 0.5, family=2),
)


@lru_cache(maxsize=1024)
def chances(kind: str, spread: float, mean: float) -> Floats:
    """Equally likely probabilities of a right answer, hardest prompt first; their mean is the population's accuracy."""
    from scipy.special import betaincinv, expit, ndtri

    shares = (np.arange(_CELLS) + 0.5) / _CELLS
    if kind == "beta":
        strength = 1 / spread - 1
        return np.asarray(betaincinv(mean * strength, (1 - mean) * strength, shares))
    scores, low, high = spread * ndtri(shares), -30.0, 30.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if expit(middle + scores).mean() < mean else (low, middle)
    return np.asarray(expit(low + scores))


def traits(rng: np.random.Generator, population: Population) -> Floats:
    """What makes each prompt easy: standard normal, alike within a family."""
    own = rng.standard_normal(population.prompts)
    if population.family == 1:
        return own
    shared = rng.standard_normal(population.clusters[-1] + 1)[population.clusters]
    return np.asarray(population.kinship**0.5 * shared + (1 - population.kinship) ** 0.5 * own)


def related(rng: np.random.Generator, trait: Floats, correlation: float) -> Floats:
    """Another model's traits of the same prompts."""
    own = rng.standard_normal(trait.shape)
    return np.asarray(correlation**0.5 * trait + (1 - correlation) ** 0.5 * own)


def looked_up(table: Floats, trait: Floats) -> Floats:
    """The probability of a right answer for each trait."""
    from scipy.special import ndtr

    return np.asarray(table[np.minimum((ndtr(trait) * len(table)).astype(np.int64), len(table) - 1)])


def right(rng: np.random.Generator, chance: Floats, replications: int) -> NDArray[np.int64]:
    """Outcomes 0 or 1: one row for each prompt, one column for each replication."""
    return (rng.random((len(chance), replications)) < chance[:, None]).astype(np.int64)


def by_cluster(values: Floats | NDArray[np.int64], clusters: NDArray[np.int64]) -> list[float]:
    """The sum of a table's rows, then of the rows of each cluster."""
    sums = np.asarray(values, dtype=float).reshape(len(clusters), -1).sum(axis=1)
    return [float(one) for one in np.bincount(clusters, sums)]
