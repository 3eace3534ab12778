"""Intervals in closed form: against statsmodels and scipy, a jackknife by hand, and what must hold for any counts."""

from __future__ import annotations

import math
import random
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint
from thinned import EXHAUSTIVE, SLOW, thinned

from skill_health.stats.intervals import (
    clustered_mean,
    clustered_proportion,
    clustered_quantile,
    effective_n,
    unbounded_mean,
    wilson_interval,
)

CLUSTERS = st.lists(st.integers(0, 5).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), max_size=40)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize(
    ("hits", "n"), [(0, 1), (1, 1), (0, 20), (20, 20), (1, 3), (45, 50), (97, 100), (2.5, 7.5), (599, 600)]
)
def test_wilson_is_that_of_statsmodels(hits: float, n: float, level: float) -> None:
    expected = proportion_confint(hits, n, alpha=1 - level, method="wilson")
    assert wilson_interval(hits, n, level) == pytest.approx(expected, abs=1e-9)


@given(st.floats(0, 1), st.floats(0.01, 1e6))
def test_wilson_holds_its_share_and_stays_in_range(share: float, n: float) -> None:
    low, high = wilson_interval(share * n, n)
    assert 0 <= low <= share + 1e-9
    assert share - 1e-9 <= high <= 1


@pytest.mark.parametrize(
    ("hits", "n", "level"),
    [(1, 0, 0.95), (-1, 5, 0.95), (6, 5, 0.95), (1, math.inf, 0.95), (math.nan, 5, 0.95), (1, 5, 1.0), (1, 5, 0.0)],
)
def test_what_is_no_proportion_is_refused(hits: float, n: float, level: float) -> None:
    with pytest.raises(ValueError, match="no Wilson interval"):
        wilson_interval(hits, n, level)


def by_hand(sums: list[float], totals: list[float]) -> tuple[float, float]:
    """The share and its jackknife variance, by leaving out one cluster after the other."""
    count = len(sums)
    share = sum(sums) / sum(totals)
    left = [(sum(sums) - s) / (sum(totals) - t) for s, t in zip(sums, totals, strict=True)]
    return share, (count - 1) / count * sum((one - share) ** 2 for one in left)


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize(
    ("sums", "totals"),
    [
        ([3, 3, 2, 0, 1, 3, 3, 3, 2, 3], [3] * 10),
        ([3, 2, 2, 0, 1, 3, 1, 3, 2, 3], [3, 2, 3, 3, 1, 3, 3, 3, 2, 3]),
        ([1.5, 0.5, 1, 1, 1 / 3, 1, 1, 1], [2, 1, 1, 1, 1, 1, 1, 1]),
        ([3] * 19 + [2], [3] * 20),
    ],
)
def test_the_interval_is_wilson_with_the_effective_n(sums: list[float], totals: list[float], binary: bool) -> None:
    share, variance = by_hand(sums, totals)
    clusters, rare = len(sums), len(sums) * min(share, 1 - share)
    n = (rare + 0.125) / (rare * variance / (share * (1 - share)) + 0.125 / clusters)
    n = min(n, sum(totals)) if binary else n
    found = (clustered_proportion if binary else clustered_mean)(sums, totals)
    assert (found.value, found.n, found.clusters) == (pytest.approx(share), round(sum(totals)), clusters)
    expected = proportion_confint(share * n, n, method="wilson")
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-9)


def test_single_calls_are_nearly_a_plain_wilson_interval() -> None:
    found = clustered_proportion([1] * 80 + [0] * 20, [1] * 100)
    assert (found.low, found.high) == pytest.approx(wilson_interval(80, 100), abs=0.002)


def test_calls_that_repeat_each_other_count_once() -> None:
    once, thrice = ([1] * 80 + [0] * 20, [1] * 100), ([3] * 80 + [0] * 20, [3] * 100)
    one, three = clustered_proportion(*once), clustered_proportion(*thrice)
    assert (one.low, one.high) == pytest.approx((three.low, three.high), abs=1e-9)
    assert (one.n, three.n) == (100, 300)


def test_where_all_are_right_each_cluster_counts_once() -> None:
    found = clustered_proportion([3] * 20, [3] * 20)
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(wilson_interval(20, 20)[0])


def test_equal_shares_by_chance_do_not_make_an_interval_narrower_than_the_calls_allow() -> None:
    found = clustered_proportion([2] * 7, [3] * 7)
    assert (found.low, found.high) == pytest.approx(wilson_interval(14, 21))


def test_f1_is_a_ratio_of_sums() -> None:
    true, false, missed = [3, 2, 3, 0, 0, 3, 1, 3], [0, 0, 0, 1, 0, 0, 0, 2], [0, 1, 0, 0, 3, 0, 2, 0]
    found = clustered_mean([2 * t for t in true], [2 * t + f + m for t, f, m in zip(true, false, missed, strict=True)])
    precision, recall = 15 / 18, 15 / 21
    assert found.value == pytest.approx(2 * precision * recall / (precision + recall))
    assert found.low is not None
    assert found.low < found.value < found.high


@pytest.mark.parametrize(
    ("sums", "totals", "value", "note"),
    [
        ([], [], None, "no calls"),
        ([0, 0], [0, 0], None, "no calls"),
        ([2, 0], [3, 0], 2 / 3, r"no interval\D*\bone\b\D*"),
        ([3, 1, 0, 3], [3, 1, 1, 3], 7 / 8, r"no interval\D* 4 clusters\D*"),
        ([1000, 1], [1000, 1], 1.0, r"no interval\D* 2 clusters\D*"),
    ],
)
def test_what_cannot_be_had_is_said(sums: list[float], totals: list[float], value: float | None, note: str) -> None:
    found = clustered_proportion(sums, totals)
    assert found.value == (None if value is None else pytest.approx(value))
    assert (found.low, found.high) == (None, None) and re.fullmatch(note, found.note)


@pytest.mark.parametrize(
    ("sums", "totals"),
    [([1], [1, 1]), ([2], [1]), ([-1], [1]), ([math.nan], [1]), ([1], [math.inf]), ([1], [math.nan])],
)
def test_what_is_no_share_is_refused(sums: list[float], totals: list[float]) -> None:
    with pytest.raises(ValueError, match=r"sums for|not between"):
        clustered_proportion(sums, totals)


@given(CLUSTERS, st.booleans(), st.randoms(use_true_random=False))
def test_any_clusters_in_any_order(pairs: list[tuple[int, int]], binary: bool, shuffler: random.Random) -> None:
    function = clustered_proportion if binary else clustered_mean
    found = function([hits for hits, _ in pairs], [total for _, total in pairs])
    assert found.n == sum(total for _, total in pairs)
    assert (found.low is None) == (found.high is None) == bool(found.note)
    if found.low is not None:
        assert 0 <= found.low <= found.value <= found.high <= 1
    mixed = shuffler.sample(pairs, len(pairs))
    assert function([hits for hits, _ in mixed], [total for _, total in mixed]) == found


@given(st.floats(0, 1, allow_subnormal=False), st.floats(0, 0.3), st.integers(1, 1000))
def test_an_effective_n_is_always_a_positive_number(share: float, variance: float, clusters: int) -> None:
    assert 0 < effective_n(share, variance, clusters) < math.inf


def test_proportions_power_and_corrections_need_no_numpy() -> None:
    code = (
        "import sys; from skill_health.stats import intervals, multiplicity, power; "
        "intervals.clustered_proportion([1, 2], [3, 3]); power.mde_paired(50, 3); multiplicity.holm([0.1]); "
        "multiplicity.benjamini_hochberg([0.1]); intervals.clustered_quantile([1, 2], [1, 2], 0.5); intervals.unbounded_mean([1, 2]); "
        "sys.exit('numpy' in sys.modules or 'scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


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


def test_calls_that_repeat_each_other_count_once_in_a_quantile() -> None:
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
        ([3.0, 1.0], ["a", "a"], 0.5, (1.0, None, None), r"no interval\D*\bone\b\D*"),
        (list(range(30)), range(30), 0.95, (28, None), r"\D*\bcalls\b\D*"),
        (list(range(30)), range(30), 0.05, (1, None), r"\D*\bcalls\b\D*"),
    ],
)
def test_what_cannot_be_bounded_is_said(values: Any, clusters: Any, share: float, expected: Any, note: str) -> None:
    found = clustered_quantile(values, clusters, share)
    assert found.value == expected[0]
    assert None in (found.low, found.high)
    assert re.fullmatch(note, found.note)


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


def test_without_skewness_it_is_students_interval() -> None:
    values = [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0]
    found = unbounded_mean(values)
    low, high = stats.t.interval(0.95, 6, 0.0, stats.sem(values))
    assert (found.value, found.low, found.high) == (0.0, pytest.approx(low), pytest.approx(high))


def test_the_ends_are_where_halls_statistic_is_students_quantile() -> None:
    values = np.exp(np.random.default_rng(2).normal(0, 0.8, 20))
    found, n, mean, spread = unbounded_mean(values.tolist()), 20, values.mean(), values.std(ddof=1)
    skew = n / ((n - 1) * (n - 2)) * (((values - mean) / spread) ** 3).sum()
    reach = stats.t.ppf(0.975, n - 1)
    for end, t in ((found.low, reach), (found.high, -reach)):
        assert end is not None
        w = (mean - end) / spread
        transformed = w + skew * w**2 / 3 + skew**2 * w**3 / 27 + skew / (6 * n)
        assert math.sqrt(n) * transformed == pytest.approx(t)


@pytest.mark.parametrize("spread", thinned([0.5, 0.1, 0.9], 3, SLOW, EXHAUSTIVE))
def test_it_covers_what_students_does_not(spread: float) -> None:
    rng, truth, hits, plain = np.random.default_rng(5), math.exp(spread**2 / 2), 0, 0
    for _ in range(400):
        values = np.exp(spread * rng.standard_normal(20))
        found = unbounded_mean(values.tolist())
        assert found.low is not None and found.high is not None
        hits += found.low <= truth <= found.high
        low, high = stats.t.interval(0.95, 19, values.mean(), stats.sem(values))
        plain += low <= truth <= high
    assert hits >= 364 and hits >= plain - 3


@pytest.mark.parametrize(
    ("values", "value", "note"),
    [
        ([], None, r"\D*\btrial\b\D*"),
        ([2.0, 4.0], 3.0, r"no interval\D* 6 clusters"),
        ([1e-3] * 5, 1e-3, r"no interval\D* 6 clusters"),
    ],
)
def test_few_have_no_interval(values: list[float], value: float | None, note: str) -> None:
    found = unbounded_mean(values, 3 * len(values))
    assert (found.value, found.low, found.high) == (value, None, None) and re.fullmatch(note, found.note)
    assert (found.n, found.clusters) == (3 * len(values), len(values))


def test_equal_values_have_an_interval_of_no_width() -> None:
    found = unbounded_mean([0.1] * 10)
    assert (found.low, found.high) == (pytest.approx(0.1), pytest.approx(0.1))


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_what_is_no_number_is_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        unbounded_mean([1.0, wrong])


@given(st.lists(st.floats(-1e12, 1e12), min_size=6, max_size=30))
def test_the_interval_holds_the_mean(values: list[float]) -> None:
    found = unbounded_mean(values)
    assert found.value is not None and found.low is not None and found.high is not None
    slack = 1e-6 * max(map(abs, values), default=0) + 1e-9
    assert found.low - slack <= found.value <= found.high + slack
    assert unbounded_mean(values[::-1]) == found
