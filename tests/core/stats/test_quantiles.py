"""Quantiles: against numpy, and order statistics of independent values by the binomial distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from skill_health.core.stats.quantiles import clustered_quantile


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9, 0.95])
@pytest.mark.parametrize("size", [1, 2, 20, 101, 300])
def test_the_quantile_is_a_value_that_was_seen(share: float, size: int) -> None:
    values = np.random.default_rng(size).lognormal(size=size)
    found = clustered_quantile(values.tolist(), range(size), share)
    assert found.value == np.quantile(values, share, method="inverted_cdf")
    assert (found.n, found.clusters) == (size, size)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_independent_values_have_the_order_statistics_of_a_binomial(share: float) -> None:
    found = clustered_quantile(list(range(400)), range(400), share)
    # The ends are whole numbers, and the effective n is an estimate.
    low, high = stats.binom.ppf([0.025, 0.975], 400, share)
    assert (found.low, found.high) == (pytest.approx(low, abs=2), pytest.approx(high, abs=2))


def test_calls_that_repeat_each_other_count_once() -> None:
    values = np.random.default_rng(1).lognormal(size=100)
    once = clustered_quantile(values.tolist(), range(100), 0.5)
    thrice = clustered_quantile(np.repeat(values, 3).tolist(), np.repeat(np.arange(100), 3).tolist(), 0.5)
    assert (thrice.low, thrice.high) == (once.low, once.high)
    assert (thrice.n, thrice.clusters) == (300, 100)
    independent = clustered_quantile(np.repeat(values, 3).tolist(), range(300), 0.5)
    assert independent.high - independent.low < thrice.high - thrice.low


@pytest.mark.parametrize(
    ("values", "clusters", "share", "expected", "note"),
    [
        ([], [], 0.5, (None, None, None), "no values"),
        ([3.0, 1.0], ["a", "a"], 0.5, (1.0, None, None), "no interval: only one cluster"),
        (list(range(30)), range(30), 0.95, (28, None), "too few calls to bound it"),
        (list(range(30)), range(30), 0.05, (1, None), "too few calls to bound it"),
    ],
)
def test_what_cannot_be_bounded_is_said(values: Any, clusters: Any, share: float, expected: Any, note: str) -> None:
    found = clustered_quantile(values, clusters, share)
    assert found.value == expected[0]
    assert None in (found.low, found.high)
    assert found.note == note


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.integers(0, 5)), max_size=60), st.floats(0.01, 0.99))
def test_any_values_in_any_order(rows: list[tuple[float, int]], share: float) -> None:
    found = clustered_quantile([value for value, _ in rows], [cluster for _, cluster in rows], share)
    if rows:
        assert (found.low if found.low is not None else found.value) <= found.value
        assert found.value <= (found.high if found.high is not None else found.value)
    assert bool(found.note) == (None in (found.low, found.high))
    turned = clustered_quantile([value for value, _ in rows[::-1]], [cluster for _, cluster in rows[::-1]], share)
    assert turned == found


@pytest.mark.parametrize(
    ("values", "clusters", "share"),
    [([1.0], [], 0.5), ([float("nan")], [1], 0.5), ([1.0], [1], 0.0), ([1.0], [1], 1.0)],
)
def test_what_has_no_quantile_is_refused(values: Any, clusters: Any, share: float) -> None:
    with pytest.raises(ValueError, match="values"):
        clustered_quantile(values, clusters, share)
