"""Win rates at equal length: against statsmodels, and against arms and judges whose ways are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from thinned import EXHAUSTIVE, SLOW, thinned

from skill_health.stats.win_rates import length_adjusted


def pairs(
    rng: np.random.Generator,
    level: float,
    slope: float,
    tasks: int = 40,
    reps: int = 3,
    ties: float = 0.0,
    spread: float = 0.5,
) -> tuple[Any, Any, Any]:
    """Scores, differences in length and tasks: log odds of a win are level + slope x difference + the task's own."""
    groups = np.repeat(np.arange(tasks), reps)
    longer = rng.normal(0.7, 1.0, tasks * reps)
    logits = level + slope * longer + np.repeat(rng.normal(0, spread, tasks), reps)
    scores = (rng.random(tasks * reps) < 1 / (1 + np.exp(-logits))).astype(float)
    scores[rng.random(tasks * reps) < ties] = 0.5
    return scores, longer, groups


@pytest.mark.parametrize(("level", "slope", "ties"), [(0.0, 0.0, 0.0), (0.8, -0.5, 0.2), (-0.5, 1.0, 0.4)])
def test_it_is_the_regression_of_statsmodels(level: float, slope: float, ties: float) -> None:
    scores, longer, groups = pairs(np.random.default_rng(3), level, slope, ties=ties)
    found = length_adjusted(scores.tolist(), longer.tolist(), groups.tolist())
    model = sm.GLM(scores, sm.add_constant(longer), family=sm.families.Binomial())
    theirs = model.fit(tol=1e-14, cov_type="cluster", cov_kwds={"groups": groups})
    assert found.win_rate.value == pytest.approx(1 / (1 + np.exp(-theirs.params[0])), rel=1e-9)
    assert found.slope.value == pytest.approx(theirs.params[1], rel=1e-9)
    for ours, at, back in ((found.win_rate, 0, lambda end: 1 / (1 + np.exp(-end))), (found.slope, 1, lambda end: end)):
        freedom = float(ours.method.split("t with ")[1].split()[0])
        half = stats.t.ppf(0.975, freedom) * theirs.bse[at]
        ends = (back(theirs.params[at] - half), back(theirs.params[at] + half))
        assert (ours.low, ours.high) == pytest.approx(ends, rel=2e-3)
        assert ours.p == pytest.approx(2 * stats.t.sf(abs(theirs.tvalues[at]), freedom), abs=2e-3)
        assert (ours.n, ours.clusters) == (120, 40)


def test_a_judge_that_only_counts_words_has_no_preference_at_equal_length() -> None:
    """The arm is longer in most pairs and wins most of them, for its length alone."""
    scores, longer, groups = pairs(np.random.default_rng(8), 0.0, 1.5, tasks=200)
    found = length_adjusted(scores.tolist(), longer.tolist(), groups.tolist())
    assert scores.mean() > 0.62
    assert found.win_rate.low is not None and found.win_rate.low < 0.5 < (found.win_rate.high or 0)
    assert found.slope.low is not None and found.slope.low > 0.8


@pytest.mark.parametrize(("tasks", "slope"), thinned([(20, 1.0), (20, 0.0), (40, 1.0)], 3, SLOW, EXHAUSTIVE))
def test_the_interval_covers(tasks: int, slope: float) -> None:
    rng = np.random.default_rng(4)
    hits = known = 0
    for _ in range(800):
        scores, longer, groups = pairs(rng, 0.4, slope, tasks=tasks, spread=0.0)
        found = length_adjusted(scores.tolist(), longer.tolist(), groups.tolist()).win_rate
        if found.low is not None and found.high is not None:
            known += 1
            hits += found.low <= 1 / (1 + np.exp(-0.4)) <= found.high
    assert known > 700 and 0.93 <= hits / known <= 0.985


@pytest.mark.parametrize(
    ("scores", "longer", "why"),
    [
        ([], [], "only 0 clusters"),
        ([1.0] * 20, list(range(20)), "only 0 clusters"),
        ([1.0] * 17 + [0.0] * 3, list(range(20)), "only 3 clusters"),
        ([1.0, 0.0] * 10, [2.0] * 20, "lengths do not differ"),
        ([0.0] * 10 + [1.0] * 10, list(range(20)), "separates"),
    ],
)
def test_what_cannot_be_estimated_is_said(scores: list[float], longer: list[float], why: str) -> None:
    found = length_adjusted(scores, longer, list(range(len(scores))))
    assert found.win_rate.value is None and found.slope.value is None
    assert why in found.win_rate.note and found.win_rate.note.startswith("not testable: ")


@pytest.mark.parametrize(
    ("scores", "longer"), [([1.0], [1.0, 2.0]), ([1.5], [0.0]), ([float("nan")], [0.0]), ([1.0], [float("inf")])]
)
def test_nonsense_is_refused(scores: list[float], longer: list[float]) -> None:
    with pytest.raises(ValueError):
        length_adjusted(scores, longer, [0])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.floats(-5, 5).map(lambda x: round(x, 3)), st.integers(0, 9)),
        max_size=40,
    ),
    st.randoms(use_true_random=False),
)
def test_any_pairs_give_a_rate_or_a_reason_and_sides_can_be_changed(
    given_: list[tuple[float, float, int]], shuffle: Any
) -> None:
    one = length_adjusted(*map(list, zip(*given_, strict=True))) if given_ else length_adjusted([], [], [])  # type: ignore[arg-type]
    turned = [(1 - score, -longer, group) for score, longer, group in given_]
    shuffle.shuffle(turned)
    other = length_adjusted(*map(list, zip(*turned, strict=True))) if turned else length_adjusted([], [], [])  # type: ignore[arg-type]
    assert (one.win_rate.value is None) == bool(one.win_rate.note)
    if one.win_rate.value is not None and other.win_rate.value is not None:
        assert one.win_rate.low is not None and one.win_rate.high is not None
        assert 0 <= one.win_rate.low <= one.win_rate.value <= one.win_rate.high <= 1
        assert one.win_rate.value + other.win_rate.value == pytest.approx(1, abs=1e-5)
        assert one.slope.value == pytest.approx(other.slope.value, rel=1e-4, abs=1e-5)
