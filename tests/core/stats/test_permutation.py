"""The sign-flip test: against all patterns by hand, scipy, and simulation."""

from __future__ import annotations

import math
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from skill_health.core.stats.permutation import sign_flip
from skill_health.core.stats.power import smallest_p

THIRDS = st.sampled_from([-1.0, -2 / 3, -1 / 3, 0.0, 0.0, 1 / 3, 2 / 3, 1.0])


def by_hand(differences: Any) -> float:
    """All sign patterns of all differences, zeros included."""
    sums = np.zeros(1)
    for value in differences:
        sums = np.concatenate([sums + value, sums - value])
    return float((np.abs(sums) >= abs(sum(differences)) - 1e-9).mean())


@given(st.lists(THIRDS, min_size=1, max_size=11))
def test_every_pattern_is_counted_ties_and_zeros_too(differences: list[float]) -> None:
    p = sign_flip(differences)
    if any(differences):
        assert p == pytest.approx(by_hand(differences))
        assert p >= smallest_p(sum(one != 0 for one in differences)) - 1e-12
    else:
        assert p is None


ODD = np.random.default_rng(11).normal(0.3, 1, 12)


@pytest.mark.parametrize("count", range(1, 13))
def test_off_the_grid_every_pattern_is_counted_by_scipy(count: int) -> None:
    with patch.object(stats, "permutation_test", wraps=stats.permutation_test) as called:
        assert sign_flip(ODD[:count].tolist()) == pytest.approx(by_hand(ODD[:count]), rel=1e-8)
    assert called.call_count == (count > 1)


def test_patterns_that_are_tied_but_for_rounding_are_tied_for_scipy_too() -> None:
    odd = [math.e, -math.pi, math.e - math.pi, 1.0, 2**0.5]
    rounded = [round(each, 9) for each in odd]
    assert sign_flip(rounded) == sign_flip(odd) == pytest.approx(by_hand(odd))


@pytest.mark.parametrize(
    "differences", [[0.4, -0.1, 0.25, 0.3, -0.2], [1, 1, 1, 1, 1, 1], [0.1, 0.2, 0.3, -0.6, 0, 0.05]]
)
def test_on_the_grid_it_is_the_test_of_scipy(differences: list[float]) -> None:
    theirs = stats.permutation_test(
        (np.array(differences),), np.sum, permutation_type="samples", n_resamples=np.inf, vectorized=False
    )
    assert sign_flip(differences) == pytest.approx(theirs.pvalue)


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param(1, marks=pytest.mark.slow),
        3,
        pytest.param(6, marks=pytest.mark.slow),
        pytest.param(10, marks=pytest.mark.slow),
    ],
)
def test_many_differences_on_a_grid_are_exact_too(parts: int) -> None:
    rng = np.random.default_rng(parts)
    values = rng.integers(1, parts + 1, 14) * rng.choice([-1, 1, 1], 14) / parts
    assert sign_flip(values.tolist()) == pytest.approx(by_hand(values), abs=1e-9)


def test_hundreds_of_equal_differences_are_a_sign_test() -> None:
    differences = [1 / 3] * 120 + [-1 / 3] * 90 + [0.0] * 500
    assert sign_flip(differences) == pytest.approx(stats.binomtest(120, 210).pvalue, rel=1e-8)


@pytest.mark.slow
def test_odd_numbers_of_many_clusters_are_sampled_with_a_seed() -> None:
    values = np.random.default_rng(3).normal(0.15, 0.5, 18)
    found = sign_flip(values.tolist())
    assert found == pytest.approx(by_hand(values), abs=0.01)
    assert sign_flip(values.tolist()) == found
    assert sign_flip(values.tolist(), seed=2) != found
    # The observed pattern is one of them, so that no p-value is 0.
    assert sign_flip((np.abs(values) + 1).tolist(), 999) == pytest.approx(1 / 1000, rel=0.01)


@given(st.lists(THIRDS, min_size=1, max_size=40), st.sampled_from([0.001, 1 / 7, 0.1, 3.0, 1000.0]))
def test_zeros_signs_and_order_change_nothing(differences: list[float], scale: float) -> None:
    p = sign_flip(differences)
    assert sign_flip([*differences, 0.0, 0.0]) == p
    assert sign_flip([-one for one in reversed(differences)]) == p
    if sum(one != 0 for one in differences) <= 8:
        again = sign_flip([scale * one for one in differences])
        assert again == (None if p is None else pytest.approx(p))


def test_rounding_errors_are_no_differences() -> None:
    assert sign_flip([0.1 + 0.2 - 0.3, 1.0, -1.0]) == sign_flip([0.0, 1.0, -1.0]) == 1.0
    assert sign_flip([1 / 3 + 1 / 3 + 1 / 3 - 1, 1.0, 1.0]) == 0.5


@pytest.mark.parametrize("differences", [[], [0.0], [0.0] * 30])
def test_without_a_difference_there_is_nothing_to_test(differences: list[float]) -> None:
    assert sign_flip(differences) is None


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        sign_flip([1.0, float("nan")])


@pytest.mark.parametrize(("differing", "p"), [(-1, 1.0), (0, 1.0), (1, 1.0), (2, 0.5), (5, 0.0625), (6, 0.03125)])
def test_the_smallest_p_is_that_of_equal_signs(differing: int, p: float) -> None:
    assert smallest_p(differing) == p
    if differing > 0:
        assert sign_flip([1.0] * differing) == p


@pytest.mark.slow
def test_equal_models_differ_in_no_more_than_five_of_a_hundred_runs() -> None:
    rng = np.random.default_rng(8)
    chance = rng.beta(1.6, 0.4, (400, 60))
    runs = [rng.binomial(3, chance) / 3 for _ in range(2)]
    found = [sign_flip(one.tolist()) for one in runs[0] - runs[1]]
    share = np.mean([p is not None and p < 0.05 for p in found])
    # Sums of thirds come in few values, so that the test is on the safe side.
    assert 0.02 < share < 0.055


@pytest.mark.parametrize("parts", [3, 6, 7, 9])
def test_differences_that_were_rounded_to_nine_digits_are_still_tied(parts: int) -> None:
    generator = np.random.default_rng(parts)
    for _ in range(60):
        exact = generator.integers(-parts, parts + 1, size=int(generator.integers(6, 16))) / parts
        assert sign_flip([round(float(each), 9) for each in exact]) == pytest.approx(
            sign_flip(exact.tolist()), abs=1e-12
        )


@pytest.mark.parametrize("parts", [7, 11, 13, 16, 18, 48, 90])
def test_it_is_exact_for_many_tasks_with_this_many_replications(parts: int) -> None:
    whole = np.random.default_rng(parts).integers(-parts, parts + 1, size=24)
    chances = {0: 1.0}
    for step in np.abs(whole).tolist():
        moved: dict[int, float] = {}
        for total, chance in chances.items():
            for to in (total - step, total + step):
                moved[to] = moved.get(to, 0.0) + chance / 2
        chances = moved
    exact = sum(chance for total, chance in chances.items() if abs(total) >= abs(int(whole.sum())))
    assert sign_flip((whole / parts).tolist()) == pytest.approx(exact, rel=1e-8)
