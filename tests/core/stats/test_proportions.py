"""Intervals of proportions: against statsmodels, a jackknife by hand, and what must hold for any counts."""

from __future__ import annotations

import math
import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from skill_health.core.stats.proportions import clustered_mean, clustered_proportion, effective_n, wilson

CLUSTERS = st.lists(st.integers(0, 5).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), max_size=40)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize(
    ("hits", "n"), [(0, 1), (1, 1), (0, 20), (20, 20), (1, 3), (45, 50), (97, 100), (2.5, 7.5), (599, 600)]
)
def test_wilson_is_that_of_statsmodels(hits: float, n: float, level: float) -> None:
    expected = proportion_confint(hits, n, alpha=1 - level, method="wilson")
    assert wilson(hits, n, level) == pytest.approx(expected, abs=1e-9)


@given(st.floats(0, 1), st.floats(0.01, 1e6))
def test_wilson_holds_its_share_and_stays_in_range(share: float, n: float) -> None:
    low, high = wilson(share * n, n)
    assert 0 <= low <= share + 1e-9
    assert share - 1e-9 <= high <= 1


@pytest.mark.parametrize(
    ("hits", "n", "level"),
    [(1, 0, 0.95), (-1, 5, 0.95), (6, 5, 0.95), (1, math.inf, 0.95), (math.nan, 5, 0.95), (1, 5, 1.0), (1, 5, 0.0)],
)
def test_what_is_no_proportion_is_refused(hits: float, n: float, level: float) -> None:
    with pytest.raises(ValueError, match="no Wilson interval"):
        wilson(hits, n, level)


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
    assert (found.low, found.high) == pytest.approx(wilson(80, 100), abs=0.002)


def test_calls_that_repeat_each_other_count_once() -> None:
    once, thrice = ([1] * 80 + [0] * 20, [1] * 100), ([3] * 80 + [0] * 20, [3] * 100)
    one, three = clustered_proportion(*once), clustered_proportion(*thrice)
    assert (one.low, one.high) == pytest.approx((three.low, three.high), abs=1e-9)
    assert (one.n, three.n) == (100, 300)


def test_where_all_are_right_each_cluster_counts_once() -> None:
    found = clustered_proportion([3] * 20, [3] * 20)
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(wilson(20, 20)[0])


def test_equal_shares_by_chance_do_not_make_an_interval_narrower_than_the_calls_allow() -> None:
    found = clustered_proportion([2] * 7, [3] * 7)
    assert (found.low, found.high) == pytest.approx(wilson(14, 21))


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
        ([2, 0], [3, 0], 2 / 3, "no interval: only one cluster"),
        ([3, 1, 0, 3], [3, 1, 1, 3], 7 / 8, "no interval: only 4 clusters, of unequal size"),
        ([1000, 1], [1000, 1], 1.0, "no interval: only 2 clusters, of unequal size"),
    ],
)
def test_what_cannot_be_had_is_said(sums: list[float], totals: list[float], value: float | None, note: str) -> None:
    found = clustered_proportion(sums, totals)
    assert found.value == (None if value is None else pytest.approx(value))
    assert (found.low, found.high, found.note) == (None, None, note)


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
        "import sys; from skill_health.core.stats import means, multiplicity, power, proportions, quantiles; "
        "proportions.clustered_proportion([1, 2], [3, 3]); power.mde_paired(50, 3); multiplicity.holm([0.1]); "
        "multiplicity.benjamini_hochberg([0.1]); quantiles.clustered_quantile([1, 2], [1, 2], 0.5); means.average([1, 2]); "
        "sys.exit('numpy' in sys.modules or 'scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
