"""Where most tasks are alike: the interval of a report beside two that nobody can better, in the same simulated runs.

A run with fewer than six differing tasks has no interval, and those that have one are the runs in which more differ
than usual: what is left is covered more often than 95 %, whatever the interval. What a run does not show at all, such
as losses of a few tasks, no interval can hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from benchmarks._populations import Floats, Hit, chances, looked_up, right
from skill_health.effectiveness.effects.contrasts import mean_difference
from skill_health.stats.estimates import Estimate

_DRAWN = 400_000
_NONE = Estimate(None)


class Edge(NamedTuple):
    """Success rates of the control and the target, the spread of difficulty, and the share of tasks that are lost."""

    control: float
    target: float
    spread: float = 1.0
    lost: float = 0.0


EDGES: Mapping[str, Edge] = {
    "80 and 90 %": Edge(0.8, 0.9, 2.5),
    "90 and 97 %": Edge(0.9, 0.97, 2.5),
    "1 and 90 %": Edge(0.01, 0.9),
    "3 and 97 %": Edge(0.03, 0.97),
    "35 and 35 %, half of the tasks hopeless or sure": Edge(0.35, 0.35, 6.0),
    "85 and 95 %, but a tenth of the tasks lost": Edge(0.85, 0.95, 1.0, 0.1),
    "90 and 90 %, but a tenth of the tasks lost": Edge(0.9, 0.9, 1.0, 0.1),
}


def edges(rng: np.random.Generator, tasks: int, replications: int) -> Iterator[Hit]:
    """Each edge by the interval of a report, by scipy's Student's interval, and by one that knows the true variance."""
    from scipy.stats import ttest_1samp

    for name, edge in EDGES.items():
        values = _differences(rng, edge, tasks, replications)
        mean, spread = _truth(edge, replications)
        exact = [Fraction(int(each), replications) for each in values]
        ours = mean_difference(exact, 1.0, 1)
        yield Hit(f"{name}: a report's", mean, ours)
        shares, given = values / replications, ours.low is not None
        student = ttest_1samp(shares, 0).confidence_interval() if given else (None, None)
        yield Hit(f"{name}: Student's of scipy", mean, Estimate(None, *student) if given else _NONE)
        half = 1.959964 * spread / tasks**0.5
        known = Estimate(None, float(shares.mean()) - half, float(shares.mean()) + half)
        yield Hit(f"{name}: with the true variance", mean, known if given else _NONE)
        yield Hit(f"{name}: the same in all runs", mean, known)


def _differences(rng: np.random.Generator, edge: Edge, tasks: int, replications: int) -> Floats:
    """Passes of the target less those of the control, for each task."""
    easy = rng.standard_normal(tasks)
    before, after = (
        looked_up(chances("logit-normal", edge.spread, each), easy) for each in (edge.control, edge.target)
    )
    after = np.where(rng.random(tasks) < edge.lost, 0.0, after)
    return np.asarray(right(rng, after, replications).sum(axis=1) - right(rng, before, replications).sum(axis=1), float)


@lru_cache(maxsize=64)
def _truth(edge: Edge, replications: int) -> tuple[float, float]:
    """The mean difference and the standard deviation of one task's: exact, and of very many tasks."""
    mean = (1 - edge.lost) * chances("logit-normal", edge.spread, edge.target).mean()
    mean -= chances("logit-normal", edge.spread, edge.control).mean()
    values = _differences(np.random.default_rng(1), edge, _DRAWN, replications) / replications
    return float(mean), float(values.std())


EDGE_DESIGNS: Mapping[str, Callable[[np.random.Generator], Iterator[Hit]]] = {
    f"{tasks} tasks x {replications}": partial(edges, tasks=tasks, replications=replications)
    for tasks, replications in ((15, 2), (15, 3), (20, 3), (20, 10), (40, 3))
}
