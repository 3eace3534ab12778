"""The complier effect: against statsmodels' instrumental variables, scipy's t test, and what must hold of any data."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from skill_health.stats.resampling import complier_effect, paired_t, widening

THIRDS = st.integers(0, 3).map(lambda n: n / 3)
TASKS = st.lists(st.tuples(st.integers(-3, 3).map(lambda n: n / 3), THIRDS), min_size=1, max_size=30)


def drawn(clusters: int, uptake: float, effect: float, seed: int = 1) -> tuple[Any, Any]:
    """Differences and uptakes of clusters with three trials on either side."""
    rng = np.random.default_rng(seed)
    easy = rng.beta(2, 3, clusters)
    willing = rng.beta(3 * uptake, 3 * (1 - uptake), clusters) if uptake < 1 else np.ones(clusters)
    taken = rng.random((clusters, 3)) < willing[:, None]
    chance = np.clip(easy[:, None] + effect * taken, 0, 1)
    passed = rng.random((clusters, 3)) < chance
    without = rng.random((clusters, 3)) < easy[:, None]
    return passed.mean(axis=1) - without.mean(axis=1), taken.mean(axis=1)


SETTINGS = itertools.product((12, 40), (0.4, 0.8), (0.0, 0.4), (1, 2))
SETS = [pytest.param(*drawn(*each), marks=pytest.mark.slow if at else ()) for at, each in enumerate(SETTINGS)]


@pytest.mark.parametrize(("differences", "uptakes"), SETS)
def test_the_value_is_that_of_two_stage_least_squares(differences: Any, uptakes: Any) -> None:
    from statsmodels.sandbox.regression.gmm import IV2SLS

    # Differenced within clusters the offer is a column of ones.
    fitted = IV2SLS(differences, uptakes[:, None], np.ones((len(differences), 1))).fit()
    assert complier_effect(differences, uptakes).value == pytest.approx(float(fitted.params[0]), rel=1e-9)


@pytest.mark.parametrize(("differences", "uptakes"), SETS)
def test_the_interval_holds_the_effects_that_a_t_test_does_not_refuse(differences: Any, uptakes: Any) -> None:
    """Anderson's and Rubin's test inverted by root finding; its variance is that of the widened interval."""
    found = complier_effect(differences, uptakes)
    if found.low is None:
        pytest.skip("without bounds")
    clusters = len(differences)
    around = ((differences - differences.mean()) ** 2).sum()
    more = (float(widening(differences)) ** 2 - 1) * around

    def p(effect: float) -> float:
        left = differences - effect * uptakes
        squares = ((left - left.mean()) ** 2).sum()
        plain = stats.ttest_1samp(left, 0)
        # Clusters that are alike add to the sum of squares.
        return float(2 * stats.t.sf(abs(plain.statistic) * np.sqrt(squares / (squares + more)), clusters - 1))

    assert found.value is not None and found.high is not None
    ends = [optimize.brentq(lambda b: p(b) - 0.05, found.value, found.value + way, xtol=1e-12) for way in (-20, 20)]
    assert (found.low, found.high) == pytest.approx(tuple(ends), abs=1e-6)
    assert p(found.value) > 0.999


@given(TASKS)
def test_what_holds_of_any_data(data: list[tuple[float, float]]) -> None:
    differences, uptakes = [each[0] for each in data], [each[1] for each in data]
    found, offered = complier_effect(differences, uptakes), paired_t(differences)
    assert found == complier_effect(*zip(*reversed(data), strict=True))
    assert (found.low is None) == (found.high is None) and (found.low is None) == bool(found.note)
    if found.low is not None and found.high is not None and offered.low is not None and offered.high is not None:
        assert found.value is not None and found.low <= found.value <= found.high
        # No effect is ruled out by loading unless the offer rules it out, and the other way round.
        if min(abs(end) for end in (found.low, found.high, offered.low, offered.high)) > 1e-6:
            assert (found.low <= 0 <= found.high) == (offered.low <= 0 <= offered.high)


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_where_all_take_up_alike_it_is_the_difference_over_the_uptake(share: float) -> None:
    differences, _ = drawn(20, 1.0, 0.3)
    found, plain = complier_effect(differences, [share] * 20), paired_t(differences)
    assert plain.value is not None and plain.low is not None and plain.high is not None
    expected = [each / share for each in (plain.value, plain.low, plain.high)]
    assert [found.value, found.low, found.high] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(
    ("differences", "uptakes", "value", "note"),
    [
        ([], [], None, paired_t([]).note),
        ([0.5] * 3 + [-0.5] * 5, [0.0] * 8, None, "not testable: nobody took it up"),
        ([1 / 3, -1 / 3] * 4, [0.0] * 7 + [1 / 3], None, "not testable: the uptake cannot be told from zero"),
        ([1 / 3] * 5 + [0.0] * 5, [1 / 3] * 10, 0.5, paired_t([1.0] * 5 + [0.0] * 5).note),
        ([1 / 3] * 8, [2 / 3] * 8, 0.5, paired_t([1 / 3] * 8).note),
        ([1.0], [1.0], 1.0, paired_t([1.0]).note),
    ],
    ids=["nothing", "no uptake", "weak", "few", "ties", "one"],
)
def test_what_cannot_be_had_is_said(differences: Any, uptakes: Any, value: float | None, note: str) -> None:
    found = complier_effect(differences, uptakes)
    assert found.value == (None if value is None else pytest.approx(value))
    assert (found.low, found.high, found.clusters) == (None, None, len(differences))
    assert found.note.startswith(note)


@pytest.mark.parametrize(
    ("differences", "uptakes"),
    [([0.1], []), ([0.1], [1.5]), ([0.1], [-0.1]), ([float("nan")], [0.5]), ([0.1], [float("nan")])],
)
def test_what_is_no_uptake_is_refused(differences: Any, uptakes: Any) -> None:
    with pytest.raises(ValueError, match=r"uptake|finite"):
        complier_effect(differences, uptakes)
