"""Wilcoxon's signed-rank test, against scipy's enumeration, its own symmetries and its normal approximation."""

from __future__ import annotations

import math
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from skill_health.core.stats import signed_rank as module
from skill_health.core.stats.power import smallest_p
from skill_health.core.stats.signed_rank import signed_rank

THIRDS = st.lists(st.integers(-3, 3), max_size=14).map(lambda whole: [each / 3 for each in whole])


@pytest.mark.parametrize("seed", range(16))
def test_it_is_scipys_by_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(-3, 4, rng.integers(6, 10)) / 3 if seed % 2 else rng.normal(0.2, 1, rng.integers(4, 9))
    if np.count_nonzero(values) < 2:
        pytest.skip("scipy needs two")
    every = stats.PermutationMethod(n_resamples=np.inf)
    expected = stats.wilcoxon(values, zero_method="wilcox", method=every).pvalue
    assert signed_rank(values.tolist()) == pytest.approx(expected, abs=1e-8)


def by_hand(values: list[float]) -> float:
    """The chance of each rank sum, one rank after the other, in whole numbers."""
    sizes = sorted(abs(each) for each in values if each)
    twice = {size: sum((each < size) + (each <= size) for each in sizes) + 1 for size in sizes}
    ways, total = {0: 1}, sum(twice[size] for size in sizes)
    for size in sizes:
        more = dict(ways)
        for ranks, count in ways.items():
            more[ranks + twice[size]] = more.get(ranks + twice[size], 0) + count
        ways = more
    seen = abs(2 * sum(twice[each] for each in values if each > 0) - total)
    return sum(count for ranks, count in ways.items() if abs(2 * ranks - total) >= seen) / 2 ** len(sizes)


@pytest.mark.parametrize("count", [1, 2, 10, 20, 40])
@pytest.mark.parametrize("tied", [False, True])
def test_it_is_exact_with_ties_and_without(count: int, tied: bool) -> None:
    rng = np.random.default_rng(count)
    values = rng.integers(-4, 5, count) / 4 if tied else rng.normal(0.3, 1, count)
    expected = by_hand(values.tolist()) if values.any() else None
    with patch.object(stats, "wilcoxon", wraps=stats.wilcoxon) as called:
        assert signed_rank(values.tolist()) == (None if expected is None else pytest.approx(expected, rel=1e-8))
    sizes = np.abs(values[values != 0])
    assert called.call_count == (0 < len(sizes) == len(np.unique(sizes)))


def test_many_differences_take_the_normal_approximation_with_ties(monkeypatch: pytest.MonkeyPatch) -> None:
    values = (np.random.default_rng(1).integers(-3, 4, 900) / 3).tolist()
    expected = stats.wilcoxon(values, zero_method="wilcox", correction=False, method="asymptotic").pvalue
    assert signed_rank(values) == pytest.approx(expected, rel=1e-8)
    some = values[:200]
    exact = signed_rank(some)
    monkeypatch.setattr(module, "_EXACT", 60)
    assert exact is not None and signed_rank(some) == pytest.approx(exact, rel=0.02)


@given(THIRDS, st.floats(1e-6, 1e6), st.randoms(use_true_random=False))
def test_signs_scale_zeros_and_order_do_not_matter(values: list[float], factor: float, random: object) -> None:
    p = signed_rank(values)
    assert signed_rank([-each for each in values]) == p
    assert signed_rank([each * factor for each in values]) == p
    assert signed_rank([0.0, *reversed(values), 0.0]) == p
    if p is not None:
        assert smallest_p(sum(each != 0 for each in values)) - 1e-9 <= p <= 1


def test_rounding_does_not_break_ties() -> None:
    assert signed_rank([0.1 + 0.2, 0.3, -0.3, 0.6]) == signed_rank([3, 3, -3, 6])


@pytest.mark.parametrize("values", [[], [0.0], [0.0, -0.0]])
def test_nothing_that_differs_is_not_testable(values: list[float]) -> None:
    assert signed_rank(values) is None


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_what_is_no_number_is_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        signed_rank([1.0, wrong])


def test_it_is_not_a_test_of_the_mean() -> None:
    values = [0.1] * 18 + [-1.0, -1.0]
    p = signed_rank(values)
    assert sum(values) < 0 and p is not None and p < 0.05
