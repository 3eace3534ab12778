"""Each group of independent observations against all others: is one skill found less often than the rest?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, TypeVar

import numpy as np

from skill_health.core.stats._numbers import tidy_p
from skill_health.core.stats._random import Stream

Group = TypeVar("Group", bound=Hashable)
_CHUNK = 1 << 20


def group_deviations(
    values: Sequence[float], groups: Sequence[Group], resamples: int = 10_000, seed: int = 1
) -> dict[Group, float | None]:
    """For each group the two-sided p of its mean against random sets of as many of all the values.

    A permutation test of exchangeability between the group and the others; one set of permutations serves all groups,
    each of which is tested by itself. None where there is one group only, or where all values are equal. scipy's
    `permutation_test` would draw a set for each of a hundred skills, and others with another version of numpy.
    """
    order = sorted(range(len(groups)), key=lambda at: str(groups[at]))
    names = list(dict.fromkeys(groups[at] for at in order))
    if len(names) < 2 or len(set(values)) < 2:
        return dict.fromkeys(names)
    ordered: Any = np.array([values[at] for at in order], dtype=float)
    counts = Counter(groups)
    sizes = np.array([counts[name] for name in names])
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    centre = ordered.mean()
    seen = np.abs(np.add.reduceat(ordered, starts) / sizes - centre)
    stream = Stream(seed)
    beyond = np.zeros(len(names), dtype=np.int64)
    rows = max(1, _CHUNK // len(ordered))
    for done in range(0, resamples, rows):
        shuffled = np.argsort(stream.uniforms(min(rows, resamples - done), len(ordered)), axis=1)
        means = np.add.reduceat(ordered[shuffled], starts, axis=1) / sizes
        beyond += (np.abs(means - centre) >= seen - 1e-12).sum(axis=0)
    return {name: tidy_p((hits + 1) / (resamples + 1)) for name, hits in zip(names, beyond, strict=True)}
