"""Position bias: the distance against all permutations by hand, the slope against statsmodels."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from skill_health.stats.position import clustered_slope, tv_position_test

OFFERED = 5


def sweep(pick: Any, prompts: int = 60, calls: int = 3, offered: int = 15, seed: int = 1) -> list[list[list[int]]]:
    """Tables of positions where `pick(rng, target, order)` picks a skill; orders are rotations."""
    rng = np.random.default_rng(seed)
    tables = []
    for _ in range(prompts):
        first, target = rng.integers(0, offered, 2)
        orders = [[(first + 8 * call + at) % offered for at in range(offered)] for call in range(calls)]
        picked = [pick(rng, target, order) for order in orders]
        tables.append([[order.index(one) + 1 for order in orders] for one in picked])
    return tables


def confused(rng: Any, target: int, order: list[int]) -> int:
    return int(target) if rng.random() < 0.6 else int((target + rng.integers(1, 4)) % 15)


def lazy(rng: Any, target: int, order: list[int]) -> int:
    return int(target) if rng.random() < 0.6 else order[0]


def by_hand(tables: Any) -> tuple[float, float]:
    """The distance, and the share of all combinations of permutations that come as far."""
    calls = sum(len(table) for table in tables)
    expected = np.zeros(OFFERED)
    for table in tables:
        for row in table:
            for position in row:
                expected[position - 1] += 1 / len(table)

    def distance(orders: Any) -> float:
        counts = np.zeros(OFFERED)
        for table, order in zip(tables, orders, strict=True):
            for row, column in zip(table, order, strict=True):
                counts[row[column] - 1] += 1
        return float(np.abs(counts - expected).sum() / 2 / calls)

    observed = distance([range(len(table)) for table in tables])
    every = itertools.product(*(itertools.permutations(range(len(table))) for table in tables))
    return observed, float(np.mean([distance(orders) >= observed - 1e-9 for orders in every]))


@given(
    st.lists(
        st.integers(2, 3).flatmap(
            lambda n: st.lists(st.lists(st.integers(1, OFFERED), min_size=n, max_size=n), min_size=n, max_size=n)
        ),
        min_size=1,
        max_size=4,
    )
)
def test_distance_and_p_are_those_of_all_permutations(tables: list[list[list[int]]]) -> None:
    found = tv_position_test(tables, OFFERED)
    distance, p = by_hand(tables)
    assert found.value == pytest.approx(distance)
    assert found.p == pytest.approx(p, abs=0.05)
    assert (found.n, found.clusters) == (sum(map(len, tables)), len(tables))
    assert (found.low, found.high) == (None, None)
    assert re.match(r"no interval\D* 0\.\d", found.note)


def test_a_model_that_takes_the_first_when_in_doubt_is_found_out() -> None:
    found = tv_position_test(sweep(lazy), 15)
    assert found.p == pytest.approx(1 / 2001)
    assert found.value > 0.2


def test_a_model_that_errs_alike_in_every_order_has_no_bias() -> None:
    steady = tv_position_test(sweep(lambda rng, target, order: int(target) // 2), 15)
    assert (steady.value, steady.p) == (0.0, 1.0)


@pytest.mark.slow
def test_without_bias_few_sweeps_show_one() -> None:
    ps = [tv_position_test(sweep(confused, 40, seed=seed), 15, 300).p for seed in range(100)]
    assert sum(p < 0.05 for p in ps if p is not None) <= 10
    assert 0.4 < np.mean([p for p in ps if p is not None]) < 0.62


def test_prompts_in_any_order_and_the_same_seed_give_the_same_distance() -> None:
    tables = sweep(lazy, 20)
    found, turned = tv_position_test(tables, 15), tv_position_test(tables[::-1], 15)
    assert found == tv_position_test(tables, 15)
    assert turned.value == found.value


@pytest.mark.parametrize("tables", [[], [[]], [[[3]], [[1]], []]])
def test_single_calls_say_nothing_about_positions(tables: Any) -> None:
    found = tv_position_test(tables, OFFERED)
    assert (found.value, found.p) == (None, None)
    assert re.fullmatch(r"not testable: \D*\bcalls\b\D*", found.note)


@pytest.mark.parametrize("tables", [[[[1, 2]]], [[[1, 2], [3, 0]]], [[[1, 2], [3, 6]]], [[[1, 2, 3], [1, 2, 3]]]])
def test_what_is_no_table_of_positions_is_refused(tables: Any) -> None:
    with pytest.raises(ValueError, match="position"):
        tv_position_test(tables, OFFERED)


def clustered(
    slope: float, prompts: int = 80, calls: int = 3, accuracy: float = 0.5, seed: int = 1
) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    x = rng.integers(1, 16, (prompts, calls)).astype(float)
    odds = np.log(accuracy / (1 - accuracy)) + rng.normal(0, 1.5, (prompts, 1)) + slope * (x - 8)
    y = rng.random((prompts, calls)) < 1 / (1 + np.exp(-odds))
    return x.ravel(), y.ravel().astype(float), np.repeat(np.arange(prompts), calls)


@pytest.mark.parametrize(
    ("slope", "accuracy", "scale"), [(0.0, 0.5, 1.0), (-0.2, 0.8, 1.0), (0.4, 0.3, 1000.0), (-0.1, 0.9, 1e-3)]
)
def test_slope_and_error_are_those_of_statsmodels(slope: float, accuracy: float, scale: float) -> None:
    x, y, groups = clustered(slope, accuracy=accuracy)
    found = clustered_slope((scale * x).tolist(), y.tolist(), groups.tolist())
    model = sm.GLM(y, sm.add_constant(x), family=sm.families.Binomial())
    theirs = model.fit(tol=1e-14, cov_type="cluster", cov_kwds={"groups": groups})
    assert found.value == pytest.approx(theirs.params[1] / scale, rel=1e-11, abs=1e-12)
    freedom = float(found.method.split("t with ")[1].split()[0])
    assert 4 <= freedom <= 79
    half = stats.t.ppf(0.975, freedom) * theirs.bse[1] / scale
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half), rel=2e-3, abs=2e-3 * half)
    assert found.p == pytest.approx(2 * stats.t.sf(abs(theirs.tvalues[1]), freedom), abs=1e-3)
    assert (found.n, found.clusters) == (240, 80)


def test_order_and_names_do_not_matter() -> None:
    x, y, groups = clustered(-0.2)
    found = clustered_slope(x.tolist(), y.tolist(), groups.tolist())
    order = np.random.default_rng(2).permutation(len(x))
    again = clustered_slope(x[order].tolist(), y[order].astype(bool).tolist(), [f"prompt {groups[at]}" for at in order])
    assert again == found


def test_repeating_every_call_makes_nothing_more_certain() -> None:
    x, y, groups = clustered(-0.2)
    once = clustered_slope(x.tolist(), y.tolist(), groups.tolist())
    thrice = clustered_slope(np.tile(x, 3).tolist(), np.tile(y, 3).tolist(), np.tile(groups, 3).tolist())
    assert thrice.value == pytest.approx(once.value)
    assert thrice.high - thrice.low == pytest.approx(once.high - once.low, rel=0.01)


SEPARATED = "x separates the outcomes"


@pytest.mark.parametrize(
    ("x", "y", "why"),
    [
        ([], [], r"\D*\bsame"),
        ([1, 2, 3, 4] * 5, [1] * 20, r"\D*\bsame"),
        ([4] * 20, [0, 1] * 10, "x does not vary"),
        (list(range(20)), [0] * 3 + [1] * 17, r"\D* 3 clusters\D*"),
        (list(range(20)), [0] * 8 + [1] * 12, SEPARATED),
        (list(range(20)), [1] * 8 + [0] * 12, SEPARATED),
        ([0] * 8 + [1] * 4 + [2] * 8, [0] * 8 + [0, 1] * 2 + [1] * 8, SEPARATED),
    ],
)
def test_what_has_no_slope_is_said(x: list[float], y: list[int], why: str) -> None:
    found = clustered_slope(x, y, list(range(len(x))))
    assert (found.value, found.low, found.high, found.p) == (None, None, None, None)
    assert re.fullmatch(f"not testable: {why}", found.note)
    assert found.n == len(x)


def test_scores_that_cancel_in_each_cluster_are_no_variation() -> None:
    # Every cluster holds each combination once: nothing varies between clusters.
    x, y = [0, 0, 1, 1] * 6, [0, 1, 0, 1] * 6
    found = clustered_slope(x, y, [at // 4 for at in range(24)])
    assert (found.value, found.note) == (None, "not testable: no variation between clusters")


@given(
    st.lists(st.tuples(st.integers(1, 4), st.booleans(), st.integers(0, 9)), max_size=40),
    st.sampled_from([1e-6, 1, 1e6]),
)
def test_no_data_make_it_fail_or_guess(rows: list[tuple[int, bool, int]], scale: float) -> None:
    found = clustered_slope([scale * x for x, _, _ in rows], [y for _, y, _ in rows], [g for _, _, g in rows])
    numbers = (found.value, found.low, found.high, found.p)
    if found.value is None:
        assert found.note.startswith("not testable: ")
        assert numbers == (None, None, None, None)
    else:
        assert np.isfinite(np.array(numbers, dtype=float)).all()
        assert found.low <= found.value <= found.high


@pytest.mark.parametrize(
    ("x", "y", "groups"), [([1.0], [0, 1], [1]), ([1.0], [2], [1]), ([float("nan")], [1], [1]), ([1.0], [1], [1, 2])]
)
def test_what_is_no_regression_is_refused(x: Any, y: Any, groups: Any) -> None:
    with pytest.raises(ValueError, match="x"):
        clustered_slope(x, y, groups)
