"""Ratios of amounts, and the correction of two endpoints together."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from skill_health.stats.amounts import geometric_ratio, lower_amounts, mean_change
from skill_health.stats.estimates import Estimate
from skill_health.stats.multiplicity import FIRST_WEIGHT, SECOND_WEIGHT, Endpoints, holm, two_endpoints, weight_of_tests
from skill_health.stats.power import chance_to_be_cheaper, chance_to_pass_controls

P = st.none() | st.floats(1e-6, 1)
UNITS = st.lists(st.builds(Endpoints, P, P, P), min_size=1, max_size=3)


def closed(units: list[Endpoints]) -> dict[tuple[int, bool], float]:
    """The closed test by hand: every set of hypotheses."""
    wanted = [(at, True) for at, unit in enumerate(units) if unit.success is not None]
    wanted += [
        (at, False) for at, unit in enumerate(units) if unit.efficiency is not None and unit.no_worse is not None
    ]
    found = dict.fromkeys(wanted, 0.0)
    for size in range(1, len(wanted) + 1):
        for chosen in itertools.combinations(wanted, size):
            whole = sum(FIRST_WEIGHT if first else SECOND_WEIGHT for _, first in chosen)
            scaled = []
            for at, first in chosen:
                success, efficiency, no_worse = units[at]
                if first:
                    scaled.append((success or 0) / FIRST_WEIGHT)
                else:
                    alone = (at, True) not in chosen
                    scaled.append(max(efficiency or 0, (no_worse or 0) if alone else 0) / SECOND_WEIGHT)
            p = min(1.0, min(scaled) * whole)
            found |= {each: max(found[each], p) for each in chosen}
    return found


@given(UNITS)
def test_two_endpoints_are_a_closed_test(units: list[Endpoints]) -> None:
    whole = closed(units)
    for at, pair in enumerate(two_endpoints(units)):
        for p, first in zip(pair, (True, False), strict=True):
            expected = whole.get((at, first))
            assert p == (None if expected is None else pytest.approx(expected, rel=1e-6))


@given(st.lists(P, min_size=1, max_size=6))
def test_with_one_endpoint_it_is_holms(ps: list[float | None]) -> None:
    found = [first for first, _ in two_endpoints([Endpoints(p, None, None) for p in ps])]
    assert found == [None if p is None else pytest.approx(p) for p in holm(ps)]


def test_success_at_the_ceiling_leaves_the_whole_level_to_efficiency() -> None:
    assert two_endpoints([Endpoints(None, 1e-6, 0.04)]) == [(None, 0.04)]
    assert two_endpoints([Endpoints(0.9, 1e-6, 0.04)]) == [(pytest.approx(0.9), 0.04)]
    assert two_endpoints([Endpoints(0.9, 0.02, 0.001)])[0][1] == pytest.approx(0.1)
    assert weight_of_tests([Endpoints(0.1, 0.1, 0.1), Endpoints(0.1, None, 0.1)]) == 2.25


@pytest.mark.parametrize("tasks", [7, 30, 60])
def test_a_ratio_is_students_interval_on_logarithms(tasks: int) -> None:
    rng = np.random.default_rng(tasks)
    one, other = rng.lognormal(8, 0.5, tasks), rng.lognormal(9, 0.5, tasks)
    logs = np.log(one / other)
    found = geometric_ratio(one.tolist(), other.tolist())
    low, high = (math.exp(end) for end in stats.ttest_1samp(logs, 0).confidence_interval())
    assert found.value == pytest.approx(stats.gmean(one / other))
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))


def test_a_ratio_that_cannot_be_tested_says_so() -> None:
    assert geometric_ratio([], []).note == lower_amounts([], []).note != ""
    same, halves = geometric_ratio([1.0] * 9, [1.0] * 9), geometric_ratio([1.0] * 9, [2.0] * 9)
    assert same.note == lower_amounts([[1.0]] * 9, [[1.0]] * 9).note and "0 of 9" in same.note
    assert halves == Estimate(0.5, n=9, clusters=9, p=2**-8, note=mean_change([1.0] * 9).note)
    for one, other in (([1.0], []), ([0.0], [1.0]), ([1.0], [math.inf]), ([math.nan], [1.0])):
        with pytest.raises(ValueError, match="amounts"):
            geometric_ratio(one, other)


@pytest.mark.slow
def test_planning_knows_what_few_tasks_cannot_show() -> None:
    assert chance_to_pass_controls(5, 0, 3, 0.1) == 0.0
    assert chance_to_be_cheaper(5, 3, 0.1, 2) == chance_to_be_cheaper(20, 3, 0.1, 0, success=1.0) == 0.0
    assert chance_to_be_cheaper(30, 3, 0.1, 0, success=1.0) > 0.98
    assert chance_to_be_cheaper(6, 1, 0.1, 0) >= 0.0


@pytest.mark.parametrize(
    "odd",
    [{"tasks": 0}, {"replications": 0}, {"tests": 0}, {"margin": 0.0}, {"margin": 1.0}, {"ratio": 0.0}, {"ratio": 1.0},
     {"success": 0.0}, {"success": 1.1}],
)  # fmt: skip
def test_nothing_is_planned_where_nothing_can_be_shown(odd: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="nothing can be shown"):
        chance_to_be_cheaper(**({"tasks": 10, "replications": 3, "margin": 0.1, "texts": 0} | odd))
    if set(odd) <= {"tasks", "replications", "margin"}:
        controls = {("controls" if name == "tasks" else name): value for name, value in odd.items()}
        with pytest.raises(ValueError, match="nothing can be shown"):
            chance_to_pass_controls(**({"controls": 10, "others": 0, "replications": 3, "margin": 0.1} | controls))
