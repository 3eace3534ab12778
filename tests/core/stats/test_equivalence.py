"""Equivalence within a margin: the tests are those of statsmodels, and few or equal clusters are no proof."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.weightstats import DescrStatsW

from skill_health.core.stats.equivalence import equivalence, narrowest, reach, tost

THIRDS = st.lists(st.integers(-3, 3), min_size=2, max_size=60).map(lambda whole: [each / 3 for each in whole])


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
    assert (1 - narrowest(clusters)) ** clusters == pytest.approx(0.05)
    assert narrowest(clusters) == pytest.approx(half, abs=5e-4)
    found = equivalence([0.0] * clusters, 0.1)
    assert (found.low, found.high) == (pytest.approx(-half, abs=5e-4), pytest.approx(half, abs=5e-4))
    assert found.equivalent is (True if half < 0.1 else None)
    assert half < 0.1 or found.note == (
        f"cannot be shown: the half-width of {100 * narrowest(clusters):.1f} pp exceeds the margin of 10.0 pp"
    )


@pytest.mark.parametrize(
    ("differences", "margin", "equivalent", "note"),
    [
        ([], 0.1, None, "cannot be shown: only 0 tasks have both sides"),
        ([0.0], 0.1, None, "cannot be shown: only 1 tasks have both sides"),
        ([0.0] * 5, 0.1, None, "cannot be shown: the half-width of 45.1 pp exceeds the margin of 10.0 pp"),
        ([0.0] * 5, 0.5, True, ""),
        ([1.0] * 20, 0.1, False, "the difference is beyond the margin"),
        ([-1.0] * 20, 0.1, False, "the difference is beyond the margin"),
        ([1 / 3, -1 / 3] * 40, 0.1, True, ""),
        ([1 / 3, 0.0] * 100, 0.18, None, "not shown: +16.7 +- 2.1 pp is not within the margin of 18.0 pp"),
    ],
)
def test_what_is_shown(differences: list[float], margin: float, equivalent: bool | None, note: str) -> None:
    found = equivalence(differences, margin)
    assert (found.equivalent, found.note) == (equivalent, note)


@given(THIRDS, st.sampled_from([0.05, 0.1, 0.3, 0.6]))
def test_the_p_value_and_the_interval_agree(values: list[float], margin: float) -> None:
    found = equivalence(values, margin)
    assert found.p is not None and found.low is not None and found.high is not None
    inside = -margin < found.low and found.high < margin
    assert (found.p < 0.05) == inside or abs(found.p - 0.05) < 1e-6
    assert (found.equivalent is True) == (found.p < 0.05)
    turned = equivalence([-each for each in values], margin)
    assert (turned.p, turned.equivalent) == (pytest.approx(found.p), found.equivalent)
    assert (found.high - found.low) / 2 >= narrowest(len(values)) - 1e-9
    plain = stats.t.ppf(0.95, len(values) - 1) * stats.sem(values)
    assert all(reach(np.asarray(values), side, stats.t.ppf(0.95, len(values) - 1)) >= plain - 1e-9 for side in (-1, 1))


@pytest.mark.parametrize(("differences", "margin"), [([1.5, 0.0], 0.1), ([float("nan")], 0.1), ([0.0, 0.0], 0.0)])
def test_what_cannot_be_is_refused(differences: list[float], margin: float) -> None:
    with pytest.raises(ValueError, match="must be between"):
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
