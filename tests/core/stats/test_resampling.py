"""The cluster bootstrap: against plain loops, scipy, and the closed forms that it must agree with."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from skill_health.stats.intervals import clustered_mean
from skill_health.stats.resampling import (
    cluster_bootstrap,
    cluster_weights,
    expanded_percentiles,
    paired_bootstrap,
    paired_t,
    resample,
    widening,
)

FIRST, DIGEST = [2, 0, 2, 1, 0, 0, 2, 0, 1, 0, 1, 1], "4b5c22e6b52d1e95"


def ratio(sums: Any) -> Any:
    return sums[..., 0] / sums[..., 1]


def prompts(count: int, accuracy: float = 0.8, calls: int = 12, seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    chance = rng.beta(2 * accuracy, 2 * (1 - accuracy), count)
    return np.stack([rng.binomial(calls, chance), np.full(count, calls)], axis=1).astype(float)


@pytest.mark.slow
def test_each_resample_draws_as_many_clusters_as_there_are() -> None:
    weights = cluster_weights(37, 5_000, 3)
    assert weights.shape == (5_000, 37)
    assert (weights.sum(axis=1) == 37).all()
    # Of a multinomial with equal chances: mean 1, variance 1 - 1 / n.
    assert weights.mean(axis=0) == pytest.approx(np.ones(37), abs=0.06)
    assert weights.var() == pytest.approx(1 - 1 / 37, abs=0.02)
    correlation = np.corrcoef(weights, rowvar=False)[np.triu_indices(37, 1)]
    assert correlation.mean() == pytest.approx(-1 / 36, abs=0.002)


def test_the_resamples_are_the_same_on_any_machine_and_for_any_version_of_numpy() -> None:
    weights = cluster_weights(100, 10_000, 1)
    assert weights[0, :12].tolist() == FIRST
    assert hashlib.blake2b(weights.astype("<u2").tobytes(), digest_size=8).hexdigest() == DIGEST


def test_the_resamples_are_kept_and_cannot_be_changed() -> None:
    weights = cluster_weights(10, 100, 5)
    assert cluster_weights(10, 100, 5) is weights
    assert (cluster_weights(10, 100, 6) != weights).any()
    with pytest.raises(ValueError, match="read-only"):
        weights[0, 0] = 1


@pytest.mark.parametrize(("clusters", "resamples"), [(0, 10), (10, 0)])
def test_no_resamples_of_nothing(clusters: int, resamples: int) -> None:
    with pytest.raises(ValueError, match="no resamples"):
        cluster_weights(clusters, resamples)


def test_one_product_does_what_a_loop_does() -> None:
    table = prompts(15)
    draws = resample(table, ratio, 200, 1)
    for draw, weights in zip(draws, cluster_weights(15, 200, 1), strict=True):
        rows = np.repeat(table, weights, axis=0)
        assert draw == pytest.approx(rows[:, 0].sum() / rows[:, 1].sum())


def test_unbounded_percentiles_are_those_of_scipy_made_wider_for_few_clusters() -> None:
    values = np.random.default_rng(4).gamma(2.0, size=40)
    found = cluster_bootstrap(np.stack([values, np.ones(40)], axis=1), ratio, 20_000, bounds=None)
    reach = stats.norm.cdf(np.sqrt(40 / 39) * stats.t.ppf(0.975, 39))
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, confidence_level=2 * reach - 1, method="percentile",
        rng=np.random.default_rng(5),
    )  # fmt: skip
    assert found.value == pytest.approx(values.mean())
    assert (found.low, found.high) == pytest.approx(tuple(theirs.confidence_interval), abs=0.02)


def test_expanded_percentiles_of_a_normal_distribution_are_students_interval() -> None:
    n = 12
    draws = stats.norm.ppf((np.arange(200_000) + 0.5) / 200_000) * np.sqrt((n - 1) / n)
    assert expanded_percentiles(draws, n) == pytest.approx(stats.t.interval(0.95, n - 1), abs=0.01)


@pytest.mark.parametrize("accuracy", [0.5, 0.9, 0.97])
def test_a_bounded_ratio_has_the_interval_of_the_closed_form(accuracy: float) -> None:
    table = prompts(100, accuracy)
    found, closed = cluster_bootstrap(table, ratio), clustered_mean(table[:, 0].tolist(), table[:, 1].tolist())
    assert found.value == closed.value
    assert (found.low, found.high) == pytest.approx((closed.low, closed.high), abs=0.004)


def test_bounds_move_with_the_statistic() -> None:
    table = prompts(60)
    plain = cluster_bootstrap(table, ratio)
    moved = cluster_bootstrap(table, lambda sums: 3 * ratio(sums) - 5, bounds=(-5.0, -2.0))
    assert (moved.value, moved.low, moved.high) == pytest.approx(
        tuple(3 * x - 5 for x in (plain.value, plain.low, plain.high))
    )


def test_the_order_of_rows_does_not_matter_and_the_seed_does() -> None:
    table = prompts(30)
    found = cluster_bootstrap(table, ratio)
    assert cluster_bootstrap(table[::-1], ratio) == found
    assert cluster_bootstrap(table, ratio, seed=2) != found


def test_clusters_that_do_not_bear_on_a_statistic_do_not_make_it_certain() -> None:
    few = np.vstack([np.tile([1.0, 1.0], (12, 1)), np.zeros((188, 2))])
    found = cluster_bootstrap(few, ratio)
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low is not None
    assert found.low < 0.8


@pytest.mark.parametrize(
    ("table", "bounds", "value", "note"),
    [
        (np.zeros((0, 2)), (0.0, 1.0), None, "no calls"),
        (np.zeros((20, 2)), (0.0, 1.0), None, "not defined for these counts"),
        (np.ones((9, 2)), (0.0, 1.0), 1.0, r"no interval\D* 9 clusters\D*"),
        (np.ones((20, 2)), None, 1.0, "no interval: all clusters are alike"),
        (
            np.array([[1.0, 0.0]] * 19 + [[1.0, 30.0]]), (0.0, 1.0), 2 / 3,
            "no interval: not defined in too many resamples",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_had_is_said(table: Any, bounds: Any, value: float | None, note: str) -> None:
    found = cluster_bootstrap(table, ratio, 500, bounds=bounds)
    assert found.value == (None if value is None else pytest.approx(value))
    assert (found.low, found.high) == (None, None) and re.fullmatch(note, found.note)


def test_a_statistic_outside_its_bounds_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="between 0 and 1 took the value -0"):
        cluster_bootstrap(prompts(20), lambda sums: -ratio(sums))
    # The value itself is within, some resamples are not.
    differences = np.stack([np.tile([1.0, -1.0], 20), np.ones(40)], axis=1)
    with pytest.raises(ValueError, match="value"):
        cluster_bootstrap(differences, ratio)


@pytest.mark.parametrize("table", [[[1.0, float("nan")]], [1.0, 2.0], [[float("inf"), 1.0]]])
def test_what_is_no_table_is_refused(table: Any) -> None:
    with pytest.raises(ValueError, match="finite table"):
        cluster_bootstrap(table, ratio)


DIFFERENCES = [0.0] * 10 + [1 / 3, 1 / 3, -1 / 3, 2 / 3, 1.0, 1 / 3, -2 / 3, 1 / 3, 1.0, 1 / 3]


def test_student_is_that_of_scipy_and_wider_as_far_as_clusters_are_alike() -> None:
    values = np.array(DIFFERENCES)
    found = paired_t(DIFFERENCES)
    low, high = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert found.method.startswith("Student's t ")
    # Half of them are zero, the commonest value.
    wider = np.sqrt(1 + 0.5 * (values[values != 0] ** 2).mean() / ((values - values.mean()) ** 2).sum())
    assert found.value == pytest.approx(values.mean())
    assert found.high - found.value == pytest.approx((high - values.mean()) * wider)
    assert found.value - found.low == pytest.approx((values.mean() - low) * wider)


def test_where_no_two_are_alike_the_interval_is_that_of_scipy() -> None:
    values = [0.25, -0.5, 0.75, 1.0, 0.3, -0.25, 0.5, 0.125]
    found = paired_t(values)
    assert (found.low, found.high) == pytest.approx(tuple(stats.ttest_1samp(values, 0).confidence_interval(0.95)))
    bootstrap = paired_bootstrap(values)
    draws = np.sort(values)[(np.random.default_rng(1).random((100_000, 8)) * 8).astype(int)].mean(axis=1)
    tail = stats.norm.cdf(-stats.t.ppf(0.975, 7) * np.sqrt(8 / 7))
    assert (bootstrap.low, bootstrap.high) == pytest.approx(tuple(np.quantile(draws, [tail, 1 - tail])), abs=0.02)


@pytest.mark.parametrize(
    ("values", "factor"),
    [
        # All but two gain wholly: what the two lack decides, as two losses would among zeros.
        ([1.0] * 10 + [2 / 3, 1 / 3], 1 + 10 / 12 * (5 / 18) / (5 / 9 - 1 / 12)),
        ([0.0] * 10 + [-1 / 3, -2 / 3], 1 + 10 / 12 * (5 / 18) / (5 / 9 - 1 / 12)),
        # Two values are as common: the one that makes the interval wider counts, whatever the sign.
        ([0.0] * 4 + [1.0] * 4 + [3.0], 1 + 4 / 9 * max((4 + 9) / 5, (4 + 4) / 5) / (13 - 49 / 9)),
        ([0.0] * 4 + [-1.0] * 4 + [-3.0], 1 + 4 / 9 * max((4 + 9) / 5, (4 + 4) / 5) / (13 - 49 / 9)),
        ([0.1, 0.2, 0.3, 0.5], 1.0),
        ([0.5] * 6, 1.0),
    ],
)
def test_an_interval_is_wider_where_most_clusters_are_alike(values: list[float], factor: float) -> None:
    assert widening(np.array(values)) == pytest.approx(np.sqrt(factor))
    assert widening(1e-7 * np.array(values)) == pytest.approx(np.sqrt(factor))
    rows = np.array([values, values[::-1], [0.0] * len(values)])
    assert widening(rows) == pytest.approx([np.sqrt(factor), np.sqrt(factor), 1.0])
    assert widening(np.array(values), 2.0) == pytest.approx(np.sqrt(factor))


def test_the_paired_bootstrap_stands_close_to_student() -> None:
    values = np.random.default_rng(2).normal(0.1, 0.3, 60).tolist()
    bootstrap, student = paired_bootstrap(values), paired_t(values)
    assert bootstrap.value == student.value
    assert (bootstrap.low, bootstrap.high) == pytest.approx((student.low, student.high), abs=0.01)


@pytest.mark.parametrize("function", [paired_bootstrap, paired_t])
def test_weights_make_a_weighted_mean_whatever_their_scale_and_order(function: Any) -> None:
    weights = [1.0 + at % 4 for at in range(20)]
    found = function(DIFFERENCES, weights)
    assert found.value == pytest.approx(np.average(DIFFERENCES, weights=weights))
    assert function(DIFFERENCES[::-1], weights[::-1]) == found
    scaled = function(DIFFERENCES, [10 * one for one in weights])
    assert (scaled.low, scaled.high) == pytest.approx((found.low, found.high))
    assert (found.n, found.clusters) == (20, 20)


@pytest.mark.parametrize("function", [paired_bootstrap, paired_t])
@pytest.mark.parametrize(
    ("differences", "value", "note"),
    [
        ([], None, "no cluster has both sides"),
        ([0.0] * 50, 0.0, r"no interval\D* 0 of 50 clusters\D*"),
        ([1.0] * 5 + [0.0] * 95, 0.05, r"no interval\D* 5 of 100 clusters\D*"),
        ([0.1] * 30, 0.1, "no interval: all clusters differ by the same"),
    ],
)
def test_too_few_differences_give_no_interval(function: Any, differences: Any, value: Any, note: str) -> None:
    found = function(differences)
    assert found.value == (None if value is None else pytest.approx(value))
    assert (found.low, found.high) == (None, None) and re.fullmatch(note, found.note)


@pytest.mark.parametrize("function", [paired_bootstrap, paired_t])
@pytest.mark.parametrize(
    ("differences", "weights"), [([1.0], [1.0, 2.0]), ([1.0], [0.0]), ([float("nan")], None), ([1.0], [float("inf")])]
)
def test_what_is_no_difference_is_refused(function: Any, differences: Any, weights: Any) -> None:
    with pytest.raises(ValueError, match="differences"):
        function(differences, weights)


@given(st.lists(st.sampled_from([-1.0, -1 / 3, 0.0, 0.0, 1 / 3, 2 / 3, 1.0]), max_size=30))
def test_no_differences_ever_give_half_an_interval(differences: list[float]) -> None:
    for found in (paired_bootstrap(differences, None, 300), paired_t(differences)):
        assert (found.low is None) == (found.high is None) == bool(found.note)
        if found.low is not None:
            assert found.low < found.high
            assert found.low <= found.value <= found.high


@pytest.mark.slow
def test_numbers_are_the_same_with_any_number_of_threads() -> None:
    code = (
        "import numpy as np; from skill_health.stats import agreement, resampling; "
        "rng = np.random.default_rng(1); d = rng.random((300, 2)) + [[0, 1]]; "
        "print(resampling.cluster_bootstrap(d, lambda s: s[..., 0] / s[..., 1]), "
        "resampling.paired_bootstrap(d[:, 0] - 0.4, d[:, 1]), "
        "agreement.fleiss_kappa(rng.multinomial(4, [0.7, 0.1, 0.2], 300)))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code], env=os.environ | {"OPENBLAS_NUM_THREADS": threads}, check=True,
            capture_output=True, text=True,
        ).stdout
        for threads in ("1", "2")
    }  # fmt: skip
    assert len(printed) == 1
