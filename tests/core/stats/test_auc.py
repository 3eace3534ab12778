"""How well a score tells two groups apart: against scipy's statistic, Newcombe's limits by root finding, simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import mannwhitneyu, norm

from skill_health.stats.intervals import auc

SCORES = st.lists(st.integers(0, 9).map(lambda n: n / 10), min_size=1, max_size=25)


@given(SCORES, SCORES)
def test_the_value_is_that_of_mann_and_whitney(positives: list[float], negatives: list[float]) -> None:
    found = auc(positives, negatives)
    expected = mannwhitneyu(positives, negatives).statistic / (len(positives) * len(negatives))
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert found.n == found.clusters == len(positives) + len(negatives)
    assert found.low is not None and found.value is not None and found.high is not None
    assert 0 <= found.low <= found.value <= found.high <= 1 and found.low < found.high


@given(SCORES, SCORES)
def test_the_other_way_round_it_is_the_mirror_image(positives: list[float], negatives: list[float]) -> None:
    one, other = auc(positives, negatives), auc(negatives, positives)
    assert (one.value, one.low, one.high) == pytest.approx((1 - other.value, 1 - other.high, 1 - other.low), abs=1e-11)


@pytest.mark.parametrize("sizes", [(1, 1), (1, 14), (4, 7), (12, 40)])
@pytest.mark.parametrize("seed", range(3))
def test_the_ends_are_as_far_as_the_variance_there_allows(sizes: tuple[int, int], seed: int) -> None:
    m, n = sizes
    rng = np.random.default_rng(seed)
    found = auc(rng.normal(0.8, 1, m).tolist(), rng.normal(0, 1, n).tolist())
    value = found.value

    def beyond(theta: float) -> float:
        # Method 5 of Newcombe (2006), with q1 and q2 as Hanley and McNeil (1982) write them.
        q1, q2, mean = theta / (2 - theta), 2 * theta**2 / (1 + theta), (m + n) / 2 - 1
        variance = (theta * (1 - theta) + mean * (q1 - theta**2) + mean * (q2 - theta**2)) / (m * n)
        return (value - theta) ** 2 - norm.ppf(0.975) ** 2 * variance

    # At the ends of the scale the variance is 0, which is a root, too.
    near = 1e-9
    assert found.low == pytest.approx(brentq(beyond, near, value - near) if value > 0 else 0, abs=1e-8)
    assert found.high == pytest.approx(brentq(beyond, value + near, 1 - near) if value < 1 else 1, abs=1e-8)


@pytest.mark.parametrize(("m", "n", "true"), [(3, 10, 0.75), (5, 20, 0.5), (10, 30, 0.9)])
def test_it_covers_the_truth_as_often_as_it_says(m: int, n: int, true: float) -> None:
    rng = np.random.default_rng(m)
    shift, runs, held = norm.ppf(true) * math.sqrt(2), 400, 0
    for _ in range(runs):
        found = auc((rng.normal(size=m) + shift).tolist(), rng.normal(size=n).tolist())
        held += found.low <= true <= found.high  # type: ignore[operator]
    # 0.95 less, and more, than three standard errors of such a count.
    assert 0.917 <= held / runs <= 0.99


@pytest.mark.parametrize(("positives", "negatives"), [([], [0.5]), ([0.5], []), ([], [])])
def test_without_one_of_the_groups_there_is_no_value(positives: list[float], negatives: list[float]) -> None:
    found = auc(positives, negatives)
    assert (found.value, found.low, found.high) == (None, None, None)
    assert found.note == "not testable: one of the two groups is empty"


def test_groups_that_are_wholly_apart_leave_a_doubt() -> None:
    few, many = auc([1.0], [0.0] * 14), auc([1.0] * 30, [0.0] * 80)
    assert few.value == many.value == few.high == many.high == 1
    assert few.low is not None and many.low is not None and few.low < 0.5 < 0.9 < many.low < 1
