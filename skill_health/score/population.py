"""Where a score stands among public skills: `population.json`, which scripts/population.py makes."""

from __future__ import annotations

import json
import os
from bisect import bisect_left
from functools import cache
from typing import NamedTuple

from skill_health.core.files import read_whole


class Standing(NamedTuple):
    """The shares of the population that score lower, the same and higher. The same means: to two digits, cut off."""

    lower: float
    same: float
    higher: float


class PopulationSource(NamedTuple):
    """A repository of the population at a commit: how many skills it has, their mean, and the share that score 1."""

    name: str
    commit: str
    skills: int
    mean: float
    whole: float


class Population(NamedTuple):
    """How public skills scored on a day. Each repository counts as much as another, whatever its size.

    `steps` are the scores that occur, in hundredths, and `shares` how much of the population has each of them.
    """

    date: str
    profile: str
    repositories: tuple[PopulationSource, ...]
    steps: tuple[int, ...]
    shares: tuple[float, ...]

    @property
    def skills(self) -> int:
        """How many skills were scored."""
        return sum(each.skills for each in self.repositories)

    def place(self, score: float) -> Standing:
        """Where a score between 0 and 1 stands."""
        step = hundredths(score)
        at = bisect_left(self.steps, step)
        same = self.shares[at] if at < len(self.steps) and self.steps[at] == step else 0.0
        lower = sum(self.shares[:at])
        return Standing(round(lower, 4), round(same, 4), round(max(0.0, 1 - lower - same), 4))


def hundredths(score: float) -> int:
    """A score in whole hundredths, cut off: only what is whole is 100."""
    return int(round(score * 10_000) // 100)


@cache
def load_population() -> Population:
    """The population that comes with this release."""
    data = json.loads(read_whole(os.path.join(os.path.dirname(__file__), "population.json")))
    sources = tuple(PopulationSource(**each) for each in data["repositories"])
    steps, shares = zip(*data["shares"], strict=True)
    return Population(data["date"], data["profile"], sources, steps, shares)
