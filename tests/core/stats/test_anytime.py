"""Tests that may be looked at after each value: how often they err however one stops, against simulation and scipy."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from thinned import EXHAUSTIVE, SLOW, thinned

from skill_health.stats.hypothesis_tests import anytime_interval, anytime_p

ROUNDS, LENGTH = 1500, 120
VALUES = st.lists(st.floats(-1, 1), max_size=40)


def draws(rng: np.random.Generator, kind: str, mean: float) -> list[float]:
    """Values between -1 and 1 with this mean: mostly nothing, thirds, or far to one side."""
    if kind == "rare":
        chance = rng.random(LENGTH)
        return np.where(chance < 0.05 - mean / 2, -1.0, np.where(chance > 0.95 - mean / 2, 1.0, 0.0)).tolist()
    if kind == "thirds":
        return ((rng.binomial(3, 0.5 + mean / 2, LENGTH) * 2 - 3) / 3).tolist()
    return (2 * rng.beta(0.2 * (1 + mean), 0.2 * (1 - mean), LENGTH) - 1).tolist()


@pytest.mark.parametrize(
    ("kind", "bound"), thinned(product(("rare", "thirds", "skewed"), (-0.05, 0.0, 0.3)), 4, SLOW, EXHAUSTIVE)
)
def test_a_true_bound_is_seldom_ever_rejected(kind: str, bound: float) -> None:
    """The p of the last moment is the least of all, so that it tells whether one was ever below the level."""
    if kind == "rare" and bound == 0.3:
        pytest.skip("such a mean is not rare")
    rng = np.random.Generator(np.random.PCG64(3))
    found = [anytime_p(draws(rng, kind, bound), bound, -1.0, 1.0) for _ in range(ROUNDS)]
    for side in (0, 1):
        wrong = sum(p[side] <= 0.05 for p in found)
        assert binomtest(wrong, ROUNDS, 0.05, alternative="greater").pvalue > 1e-3, (side, wrong / ROUNDS)


@pytest.mark.slow
def test_the_interval_holds_the_mean_at_every_moment() -> None:
    rng = np.random.Generator(np.random.PCG64(5))
    missed = 0
    for _ in range(200):
        values = draws(rng, "thirds", 0.1)
        missed += any(
            not low <= 0.1 <= high
            for low, high in (anytime_interval(values[:n], 0.05, -1.0, 1.0) for n in range(10, LENGTH, 10))
        )
    assert binomtest(missed, 200, 0.05, alternative="greater").pvalue > 1e-3


def test_a_clear_difference_is_found_with_few_values_and_none_with_none() -> None:
    above, below = anytime_p([0.5] * 20, 0.0, -1.0, 1.0)
    assert above < 0.005 and below == 1.0
    assert anytime_p([], 0.0, -1.0, 1.0) == (1.0, 1.0)
    assert anytime_interval([], 0.05, -1.0, 1.0) == (-1.0, 1.0)


@given(VALUES, st.floats(-0.9, 0.9))
def test_p_values_never_rise_and_mirror_each_other(values: list[float], bound: float) -> None:
    all_of_them = [anytime_p(values[:n], bound, -1.0, 1.0) for n in range(len(values) + 1)]
    for before, after in pairwise(all_of_them):
        assert after[0] <= before[0] and after[1] <= before[1]
    mirrored = anytime_p([-value for value in values], -bound, -1.0, 1.0)
    assert mirrored == pytest.approx(all_of_them[-1][::-1], rel=1e-6)


@given(VALUES, st.integers(-40, 40))
def test_the_interval_and_the_p_value_say_the_same(values: list[float], at: int) -> None:
    bound = at / 41
    low, high = anytime_interval(values, 0.1, -1.0, 1.0)
    above, below = anytime_p(values, bound, -1.0, 1.0)
    if min(above, below) > 0.05 + 1e-9:
        assert low <= bound <= high


@pytest.mark.parametrize(("values", "bound"), [([1.5], 0.0), ([0.0], 1.0), ([0.0], -2.0), ([math.nan], 0.0)])
def test_what_is_not_within_the_bounds_is_refused(values: list[float], bound: float) -> None:
    with pytest.raises(ValueError, match="not between"):
        anytime_p(values, bound, -1.0, 1.0)
