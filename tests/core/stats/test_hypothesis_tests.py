"""Tests of differences: against enumeration, scipy, statsmodels and simulation."""

from __future__ import annotations

import math
import re
from itertools import combinations, product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import StratifiedTable
from statsmodels.stats.weightstats import DescrStatsW

from skill_health.stats import hypothesis_tests
from skill_health.stats.hypothesis_tests import (
    Counts,
    equivalence,
    exact_mantel_haenszel,
    half_width,
    least_half_width,
    sign_flip,
    signed_rank,
    t_test_over_strata,
    tost,
)
from skill_health.stats.power import smallest_p

THIRD = st.sampled_from([-1.0, -2 / 3, -1 / 3, 0.0, 0.0, 1 / 3, 2 / 3, 1.0])


def by_hand(differences: Any) -> float:
    """All sign patterns of all differences, zeros included."""
    sums = np.zeros(1)
    for value in differences:
        sums = np.concatenate([sums + value, sums - value])
    return float((np.abs(sums) >= abs(sum(differences)) - 1e-9).mean())


@given(st.lists(THIRD, min_size=1, max_size=11))
def test_every_pattern_is_counted_ties_and_zeros_too(differences: list[float]) -> None:
    p = sign_flip(differences)
    if any(differences):
        assert p == pytest.approx(by_hand(differences))
        assert p >= smallest_p(sum(one != 0 for one in differences)) - 1e-12
    else:
        assert p is None


ODD = np.random.default_rng(11).normal(0.3, 1, 12)


@pytest.mark.parametrize("count", range(1, 13))
def test_off_the_grid_every_pattern_is_counted(count: int) -> None:
    found = sign_flip(ODD[:count].tolist())
    assert found == pytest.approx(by_hand(ODD[:count]), rel=1e-8)
    if count > 1:
        theirs = stats.permutation_test((ODD[:count],), np.sum, permutation_type="samples", n_resamples=np.inf)
        assert found == pytest.approx(theirs.pvalue, rel=1e-8)


def test_patterns_that_are_tied_but_for_rounding_are_tied() -> None:
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
        pytest.param(1, marks=pytest.mark.slow), 3, pytest.param(6, marks=pytest.mark.slow),
        pytest.param(10, marks=pytest.mark.slow),
    ],
)  # fmt: skip
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


@given(st.lists(THIRD, min_size=1, max_size=40), st.sampled_from([0.001, 1 / 7, 0.1, 3.0, 1000.0]))
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


def by_rank_sums(values: list[float]) -> float:
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
    expected = by_rank_sums(values.tolist()) if values.any() else None
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
    monkeypatch.setattr(hypothesis_tests, "_EXACT", 60)
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
def test_what_has_no_rank_is_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        signed_rank([1.0, wrong])


def test_it_is_not_a_test_of_the_mean() -> None:
    values = [0.1] * 18 + [-1.0, -1.0]
    p = signed_rank(values)
    assert sum(values) < 0 and p is not None and p < 0.05


PAIR = st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4), st.integers(0, 4)).map(
    lambda drawn: ((min(drawn[:2]), max(drawn[:2])), (min(drawn[2:]), max(drawn[2:])))
)


def enumerated(pairs: list[tuple[Counts, Counts]]) -> float:
    """The same by laying out every exchange of trials within every stratum."""
    sums = []
    for (hits, trials), (others, more) in pairs:
        pooled = [1] * (hits + others) + [0] * (trials + more - hits - others)
        sums.append([sum(pooled[at] for at in chosen) for chosen in combinations(range(trials + more), trials)])
    totals = np.array([sum(each) for each in product(*sums)], dtype=float)
    far = np.abs(totals - totals.mean())
    seen = abs(sum(hits for (hits, _), _ in pairs) - totals.mean())
    return float((far > seen + 1e-9).mean() + 0.5 * (np.abs(far - seen) <= 1e-9).mean())


@pytest.mark.parametrize("seed", range(20))
def test_it_is_what_enumeration_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(int(rng.integers(1, 4))):
        sizes = rng.integers(1, 4, 2)
        hits = rng.integers(0, sizes + 1)
        pairs.append(((int(hits[0]), int(sizes[0])), (int(hits[1]), int(sizes[1]))))
    found, expected = exact_mantel_haenszel(pairs), enumerated(pairs)
    assert found == pytest.approx(expected) if found is not None else expected == pytest.approx(0.5)


def test_one_stratum_is_a_hypergeometric_variable() -> None:
    law = stats.hypergeom(20, 9, 10)
    assert exact_mantel_haenszel([((8, 10), (1, 10))]) == pytest.approx(2 * (law.sf(8) + law.pmf(8) / 2))


def test_many_trials_come_near_the_mantel_haenszel_test() -> None:
    rng = np.random.default_rng(3)
    pairs = [((int(rng.binomial(40, 0.45)), 40), (int(rng.binomial(40, 0.4)), 40)) for _ in range(12)]
    tables = [np.array([[a, n - a], [b, m - b]]) for (a, n), (b, m) in pairs]
    assert exact_mantel_haenszel(pairs) == pytest.approx(StratifiedTable(tables).test_null_odds().pvalue, rel=0.03)


@pytest.mark.parametrize("pairs", [[], [((0, 3), (0, 3))], [((3, 3), (2, 2))], [((0, 0), (2, 3))]])
def test_where_no_exchange_changes_anything_it_is_not_testable(pairs: list[tuple[Counts, Counts]]) -> None:
    assert exact_mantel_haenszel(pairs) is None


@pytest.mark.parametrize("wrong", [((4, 3), (0, 3)), ((-1, 3), (0, 3)), ((0, 3), (9, 3))])
def test_what_cannot_be_is_refused(wrong: tuple[Counts, Counts]) -> None:
    with pytest.raises(ValueError, match="between 0 and the trials"):
        exact_mantel_haenszel([wrong])


@given(st.lists(PAIR, max_size=8))
def test_sides_order_and_strata_without_a_choice_do_not_matter(pairs: list[tuple[Counts, Counts]]) -> None:
    p = exact_mantel_haenszel(pairs)
    more = [((0, 3), (0, 3)), *reversed(pairs), ((2, 2), (3, 3)), ((0, 0), (0, 0)), ((0, 0), (1, 2))]
    for same in (exact_mantel_haenszel([(other, one) for one, other in pairs]), exact_mantel_haenszel(more)):
        assert same == (None if p is None else pytest.approx(p))
    assert p is None or 0 < p <= 1


@pytest.mark.parametrize("spread", [0.3, 2.0])
def test_it_errs_about_as_often_as_it_says(spread: float) -> None:
    rng, wrong = np.random.default_rng(1), 0
    for _ in range(500):
        chance = 1 / (1 + np.exp(-spread * rng.standard_normal(10)))
        one, other = rng.binomial(3, chance).tolist(), rng.binomial(3, chance).tolist()
        p = exact_mantel_haenszel([((a, 3), (b, 3)) for a, b in zip(one, other, strict=True)])
        wrong += p is not None and p < 0.05
    assert 8 <= wrong <= 35


@given(st.lists(st.integers(-3, 3), min_size=3, max_size=30))
def test_students_test_over_strata_is_that_of_statsmodels(thirds: list[int]) -> None:
    values = [each / 3 for each in thirds]
    found = t_test_over_strata(values)
    if len(set(thirds)) > 1:
        assert found == pytest.approx(DescrStatsW(values).ttest_mean(0)[1], rel=1e-6)
    else:
        assert found == (1.0 if thirds[0] == 0 else pytest.approx(0, abs=1e-9))
    assert found == t_test_over_strata([-each for each in reversed(values)])


def test_fewer_than_three_strata_have_no_spread() -> None:
    assert t_test_over_strata([1.0, 1.0]) is None and t_test_over_strata([]) is None
    with pytest.raises(ValueError, match="finite"):
        t_test_over_strata([1.0, float("nan"), 0.0])


@pytest.mark.slow
def test_an_agent_that_repeats_itself_misleads_the_exchange_of_trials_alone() -> None:
    """Each cell is one draw, three times: nothing differs but by chance."""
    rng, alone, both = np.random.default_rng(2), 0, 0
    for _ in range(300):
        one, other = 3 * rng.integers(0, 2, 20), 3 * rng.integers(0, 2, 20)
        within = exact_mantel_haenszel([((int(a), 3), (int(b), 3)) for a, b in zip(one, other, strict=True)]) or 1
        over = t_test_over_strata(((one - other) / 3).tolist()) or 1
        alone += within < 0.05
        both += max(within, over) < 0.05
    assert alone > 0.25 * 300 and both <= 0.08 * 300


SOME_THIRDS = st.lists(st.integers(-3, 3), min_size=2, max_size=60).map(lambda whole: [each / 3 for each in whole])


@pytest.mark.parametrize("seed", range(6))
def test_two_one_sided_tests_are_those_of_statsmodels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(0.04 * seed - 0.1, 0.2, int(rng.integers(5, 60)))
    expected = DescrStatsW(values).ttost_mean(-0.15, 0.15)[0]
    error = float(stats.sem(values))
    found = tost(float(values.mean()), (error, error), len(values) - 1, 0.15)
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_interval_is_students_and_a_little_wider(seed: int) -> None:
    values = np.random.default_rng(seed).choice([-1, -1 / 3, 0, 1 / 3, 2 / 3], 40)
    found = equivalence(values.tolist(), 0.1)
    low, high = stats.t.interval(0.9, 39, values.mean(), stats.sem(values))
    assert found.low is not None and found.high is not None
    assert found.low < low < high < found.high
    assert (found.high - found.low) / (high - low) < 1.25


@pytest.mark.parametrize(("clusters", "half"), [(2, 0.776), (5, 0.451), (20, 0.139), (28, 0.101), (29, 0.098)])
def test_nothing_seen_bounds_what_there_may_be(clusters: int, half: float) -> None:
    # The share of clusters that would have been missed by all of them with a chance of 5 %.
    assert (1 - least_half_width(clusters)) ** clusters == pytest.approx(0.05)
    assert least_half_width(clusters) == pytest.approx(half, abs=5e-4)
    found = equivalence([0.0] * clusters, 0.1)
    assert (found.low, found.high) == (pytest.approx(-half, abs=5e-4), pytest.approx(half, abs=5e-4))
    assert found.equivalent is (True if half < 0.1 else None)
    assert half < 0.1 or re.fullmatch(rf"\D*{100 * least_half_width(clusters):.1f} pp\D*10\.0 pp", found.note)


BEYOND = "the difference is beyond the margin"


@pytest.mark.parametrize(
    ("differences", "margin", "equivalent", "note"),
    [
        ([], 0.1, None, r"\D+ 0 tasks\D+"),
        ([0.0], 0.1, None, r"\D+ 1 tasks\D+"),
        ([0.0] * 5, 0.1, None, r"\D+45\.1 pp\D+10\.0 pp"),
        ([0.0] * 5, 0.5, True, ""),
        ([1.0] * 20, 0.1, False, BEYOND),
        ([-1.0] * 20, 0.1, False, BEYOND),
        ([1 / 3, -1 / 3] * 40, 0.1, True, ""),
        ([1 / 3, 0.0] * 100, 0.18, None, r"not shown: \+16\.7 \+- 2\.1 pp is not within the margin of 18\.0 pp"),
    ],
)
def test_what_is_shown(differences: list[float], margin: float, equivalent: bool | None, note: str) -> None:
    found = equivalence(differences, margin)
    assert found.equivalent is equivalent and re.fullmatch(note, found.note)


@given(SOME_THIRDS, st.sampled_from([0.05, 0.1, 0.3, 0.6]))
def test_the_p_value_and_the_interval_agree(values: list[float], margin: float) -> None:
    found = equivalence(values, margin)
    assert found.p is not None and found.low is not None and found.high is not None
    inside = -margin < found.low and found.high < margin
    assert (found.p < 0.05) == inside or abs(found.p - 0.05) < 1e-6
    assert (found.equivalent is True) == (found.p < 0.05)
    turned = equivalence([-each for each in values], margin)
    assert (turned.p, turned.equivalent) == (pytest.approx(found.p), found.equivalent)
    assert (found.high - found.low) / 2 >= least_half_width(len(values)) - 1e-9
    plain = stats.t.ppf(0.95, len(values) - 1) * stats.sem(values)
    assert all(
        half_width(np.asarray(values), side, stats.t.ppf(0.95, len(values) - 1)) >= plain - 1e-9 for side in (-1, 1)
    )


@pytest.mark.parametrize(("differences", "margin"), [([1.5, 0.0], 0.1), ([float("nan")], 0.1), ([0.0, 0.0], 0.0)])
def test_what_cannot_be_equivalent_is_refused(differences: list[float], margin: float) -> None:
    with pytest.raises(ValueError, match="between -1 and 1"):
        equivalence(differences, margin)


@pytest.mark.parametrize("tasks", [20, 40, 80])
@pytest.mark.parametrize("kind", ["noise", "a few that break"])
def test_a_difference_at_the_margin_is_seldom_called_none(tasks: int, kind: str) -> None:
    rng, margin, wrong = np.random.default_rng(tasks), 0.1, 0
    for _ in range(200):
        if kind == "noise":
            chance = rng.beta(2, 3, tasks) * 0.9
            differences = (rng.binomial(3, chance + margin) - rng.binomial(3, chance)) / 3
        else:
            differences = -(rng.random(tasks) < margin).astype(float)
        wrong += equivalence(differences.tolist(), margin).equivalent is True
    # 5 % of 200, and what chance may add to it.
    assert wrong <= 16
