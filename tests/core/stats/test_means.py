"""Means of what trials use: Student's where nothing is skewed, and coverage where much is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from skill_health.core.stats.means import average


def test_without_skewness_it_is_students_interval() -> None:
    values = [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0]
    found = average(values)
    low, high = stats.t.interval(0.95, 6, 0.0, stats.sem(values))
    assert (found.value, found.low, found.high) == (0.0, pytest.approx(low), pytest.approx(high))


def test_the_ends_are_where_halls_statistic_is_students_quantile() -> None:
    values = np.exp(np.random.default_rng(2).normal(0, 0.8, 20))
    found, n, mean, spread = average(values.tolist()), 20, values.mean(), values.std(ddof=1)
    skew = n / ((n - 1) * (n - 2)) * (((values - mean) / spread) ** 3).sum()
    reach = stats.t.ppf(0.975, n - 1)
    for end, t in ((found.low, reach), (found.high, -reach)):
        assert end is not None
        w = (mean - end) / spread
        transformed = w + skew * w**2 / 3 + skew**2 * w**3 / 27 + skew / (6 * n)
        assert math.sqrt(n) * transformed == pytest.approx(t)


@pytest.mark.parametrize(
    "spread", [pytest.param(0.1, marks=pytest.mark.slow), 0.5, pytest.param(0.9, marks=pytest.mark.slow)]
)
def test_it_covers_what_students_does_not(spread: float) -> None:
    rng, truth, hits, plain = np.random.default_rng(5), math.exp(spread**2 / 2), 0, 0
    for _ in range(400):
        values = np.exp(spread * rng.standard_normal(20))
        found = average(values.tolist())
        assert found.low is not None and found.high is not None
        hits += found.low <= truth <= found.high
        low, high = stats.t.interval(0.95, 19, values.mean(), stats.sem(values))
        plain += low <= truth <= high
    assert hits >= 364 and hits >= plain - 3


@pytest.mark.parametrize(
    ("values", "value", "note"),
    [
        ([], None, "not known of any trial"),
        ([2.0, 4.0], 3.0, "no interval: fewer than 6 clusters"),
        ([1e-3] * 5, 1e-3, "no interval: fewer than 6 clusters"),
    ],
)
def test_few_have_no_interval(values: list[float], value: float | None, note: str) -> None:
    found = average(values, 3 * len(values))
    assert (found.value, found.low, found.high, found.note) == (value, None, None, note)
    assert (found.n, found.clusters) == (3 * len(values), len(values))


def test_equal_values_have_an_interval_of_no_width() -> None:
    found = average([0.1] * 10)
    assert (found.low, found.high) == (pytest.approx(0.1), pytest.approx(0.1))


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_what_is_no_number_is_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        average([1.0, wrong])


@given(st.lists(st.floats(-1e12, 1e12), min_size=6, max_size=30))
def test_the_interval_holds_the_mean(values: list[float]) -> None:
    found = average(values)
    assert found.value is not None and found.low is not None and found.high is not None
    slack = 1e-6 * max(map(abs, values), default=0) + 1e-9
    assert found.low - slack <= found.value <= found.high + slack
    assert average(values[::-1]) == found
