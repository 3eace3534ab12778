"""Normalised gains, macro means and stratified differences: against statsmodels and scipy, and their coverage."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind
from statsmodels.stats.contingency_tables import StratifiedTable
from statsmodels.stats.proportion import confint_proportions_2indep
from thinned import EXHAUSTIVE, SLOW, thinned

from skill_health.stats.hypothesis_tests import stratified_difference
from skill_health.stats.resampling import mean_of_groups, normalised_gain, paired_t

RNG = np.random.Generator(np.random.PCG64(5))
N = 80
WITHOUT = RNG.binomial(3, RNG.beta(2, 2, N)) / 3
WITH = np.clip(WITHOUT + RNG.choice([-1 / 3, 0.0, 1 / 3, 2 / 3], N, p=[0.1, 0.3, 0.4, 0.2]), 0, 1)


def test_the_gain_and_its_error_are_those_of_a_poisson_regression_on_failures() -> None:
    # The coefficient of the arm is the logarithm of the share of failures that is left, clustered by task.
    failed = np.concatenate([1 - WITH, 1 - WITHOUT]) * 3
    arm = np.repeat([1.0, 0.0], N)
    fit = sm.GEE(
        failed, sm.add_constant(arm), groups=np.tile(np.arange(N), 2), family=sm.families.Poisson(),
        cov_struct=sm.cov_struct.Independence(),
    ).fit(cov_type="bias_reduced")  # fmt: skip
    found = normalised_gain([(WITH.tolist(), WITHOUT.tolist())])
    assert found.value == pytest.approx(1 - math.exp(fit.params[1]), abs=1e-9)
    assert found.low is not None and found.high is not None
    width = math.log(1 - found.low) - math.log(1 - found.high)
    assert width / (2 * 1.99) == pytest.approx(fit.bse[1], rel=0.04)


def test_the_mean_gain_weighs_groups_alike_and_not_the_pooled_rates() -> None:
    easy, hard = ([0.9] * 5 + [1.0] * 7, [0.8] * 12), ([0.2] * 6 + [0.4] * 6, [0.1] * 12)
    each = [normalised_gain([group]).value or 0 for group in (easy, hard)]
    assert normalised_gain([easy, hard]).value == pytest.approx(sum(each) / 2)


def test_a_group_may_lack_clusters() -> None:
    some: list[float | None] = [*WITH[:40].tolist(), *[None] * (N - 40)]
    same: list[float | None] = [*WITHOUT[:40].tolist(), *[None] * (N - 40)]
    alone = normalised_gain([(some, same)])
    assert alone == normalised_gain([(WITH[:40].tolist(), WITHOUT[:40].tolist())])
    assert normalised_gain([(some, same), (WITH.tolist(), WITHOUT.tolist())]).n == 120


@pytest.mark.parametrize(
    ("with_", "without", "note"),
    [
        ([1.0] * 20, [0.95] * 20, r"not testable\D*95\.0 %"),
        ([], [], f"not testable: {paired_t([]).note}$"),
        ([0.5, 0.6] * 3, [0.2] * 6, "no interval: only 6 clusters leave something to gain, 10 are needed"),
        ([0.5] * 5 + [0.2] * 7, [0.2] * 12, r"no interval\D* 5 of 12 clusters"),
        ([1.0] * 12, [0.2] * 12, "no interval: next to no failure is left with the skill"),
        ([0.6] * 12, [0.2] * 12, "no interval: all clusters gain alike"),
    ],
)
def test_what_a_gain_cannot_say_has_a_reason(with_: list[float], without: list[float], note: str) -> None:
    found = normalised_gain([(with_, without)])
    assert re.match(note, found.note) and found.low is None and found.high is None
    assert (found.value is None) == note.startswith("not testable")


def test_without_a_group_there_is_no_gain() -> None:
    assert normalised_gain([]).value is None


@pytest.mark.parametrize("groups", [[([0.1], [0.2, 0.3])], [([None], [0.1])], [([1.1], [0.1])], [([0.1], [math.inf])]])
def test_a_gain_of_what_is_no_share_is_refused(groups: list[tuple[list[float], list[float]]]) -> None:
    with pytest.raises(ValueError, match=r"mean|lists|inhomogeneous|shape"):
        normalised_gain(groups)


@pytest.mark.parametrize(
    ("tasks", "base", "lift", "groups"),
    thinned(
        [
            (tasks, *effect, groups)
            for groups in (1, 3)
            for effect in ((0.0, 1.0), (1.5, 1.0), (0.0, 0.0), (-1.0, 0.5), (0.0, 3.0))
            for tasks in (20, 40)
        ],
        7, SLOW, EXHAUSTIVE,
    ),
)  # fmt: skip
def test_the_interval_of_a_gain_covers_it(tasks: int, base: float, lift: float, groups: int) -> None:
    rng = np.random.Generator(np.random.PCG64(3))
    apart = np.linspace(-0.5, 0.5, groups)[:, None] if groups > 1 else np.zeros((1, 1))
    many = rng.normal(0, 1, (1, 200_000))

    def rate(hard: Any, side: int) -> Any:
        return 1 / (1 + np.exp(-(hard + base + apart + side * lift)))

    true = float(((rate(many, 1) - rate(many, 0)).mean(axis=1) / (1 - rate(many, 0)).mean(axis=1)).mean())
    hits = tried = 0
    for _ in range(400):
        hard = rng.normal(0, 1, (1, tasks))
        one, other = (rng.binomial(3, rate(hard, side)) / 3 for side in (1, 0))
        found = normalised_gain(list(zip(one.tolist(), other.tolist(), strict=True)))
        if found.low is not None and found.high is not None:
            tried += 1
            hits += found.low <= true <= found.high
    assert tried < 30 or hits / tried > 0.95 - 3.1 * (0.95 * 0.05 / tried) ** 0.5


def test_a_mean_of_two_groups_is_that_of_welch() -> None:
    one, other = RNG.normal(0.3, 0.2, 9), RNG.normal(0.1, 0.5, 14)
    found, welch = mean_of_groups([one.tolist(), other.tolist()]), ttest_ind(one, -other, equal_var=False)
    ends = welch.confidence_interval(0.95)
    assert found.value == pytest.approx((one.mean() + other.mean()) / 2)
    assert (found.low, found.high) == pytest.approx((ends.low / 2, ends.high / 2))
    assert found.clusters == 23


@pytest.mark.parametrize(
    ("groups", "note"),
    [
        ([], "no group"),
        ([[0.1], [0.2] * 9], "no interval: 1 of 2 groups have one cluster only"),
        ([[0.0, 0.1, 0.3], [0.0, 0.2, 0.0]], paired_t([0.1, 0.3, 0.2, 0.0, 0.0, 0.0]).note),
        ([[0.1] * 4, [0.3] * 4], paired_t([0.1] * 8).note),
    ],
)
def test_what_a_mean_of_groups_cannot_say_has_a_reason(groups: list[list[float]], note: str) -> None:
    assert mean_of_groups(groups).note == note


def test_an_empty_group_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        mean_of_groups([[0.1, 0.2], []])


@pytest.mark.parametrize(
    "counts", [((3, 3), (0, 3)), ((5, 9), (2, 8)), ((0, 4), (0, 5)), ((12, 12), (11, 12)), ((1, 1), (0, 1))]
)
def test_one_stratum_is_newcombes_interval(counts: tuple[tuple[int, int], tuple[int, int]]) -> None:
    (hits, trials), (others, more) = counts
    found = stratified_difference([counts])
    ends = confint_proportions_2indep(hits, trials, others, more, compare="diff", method="newcomb")
    assert (found.low, found.high) == pytest.approx(ends, abs=1e-9)
    assert found.value == pytest.approx(hits / trials - others / more)


def test_several_strata_weigh_as_mantel_and_haenszel_have_it() -> None:
    strata = [((9, 20), (4, 20)), ((15, 30), (7, 20)), ((3, 12), (3, 24))]
    found = stratified_difference(strata)
    tables = [np.array([[a, n - a], [b, m - b]]) for (a, n), (b, m) in strata]
    pooled = sum(t[0, 0] * t[1].sum() / t.sum() - t[1, 0] * t[0].sum() / t.sum() for t in tables)
    weights = sum(t[0].sum() * t[1].sum() / t.sum() for t in tables)
    assert found.value == pytest.approx(pooled / weights)
    assert found.p == pytest.approx(StratifiedTable(tables).test_null_odds().pvalue, abs=0.01)


COUNTS = st.integers(0, 9).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(st.lists(st.tuples(COUNTS, COUNTS), max_size=6))
def test_a_difference_lies_in_its_interval_and_turns_with_its_sides(
    strata: list[tuple[tuple[int, int], tuple[int, int]]],
) -> None:
    found, turned = stratified_difference(strata), stratified_difference([(b, a) for a, b in strata])
    if found.value is None:
        assert found.note
        return
    assert found.low is not None and found.high is not None and turned.value is not None
    assert -1 <= found.low <= found.value <= found.high <= 1
    assert turned.value == pytest.approx(-found.value) and turned.low == pytest.approx(-found.high)


@pytest.mark.parametrize(
    ("p", "q", "strata", "trials"),
    thinned(
        [
            (*chances, *sizes)
            for sizes in ((1, 3), (3, 3), (5, 3), (2, 10))
            for chances in ((0.9, 0.5), (0.5, 0.5), (1.0, 0.1), (0.95, 0.9))
        ],
        5, SLOW, EXHAUSTIVE,
    ),
)  # fmt: skip
def test_the_interval_over_strata_covers_the_difference(p: float, q: float, strata: int, trials: int) -> None:
    rng = np.random.Generator(np.random.PCG64(6))
    hits, runs = 0, 600
    for _ in range(runs):
        drawn = [
            ((int(rng.binomial(trials, p)), trials), (int(rng.binomial(trials, q)), trials)) for _ in range(strata)
        ]
        found = stratified_difference(drawn)
        assert found.low is not None and found.high is not None
        hits += found.low - 1e-9 <= p - q <= found.high + 1e-9
    assert hits / runs > 0.95 - 3.1 * (0.95 * 0.05 / runs) ** 0.5


def test_more_successes_than_trials_are_refused() -> None:
    with pytest.raises(ValueError, match="trials"):
        stratified_difference([((2, 1), (0, 1))])
