"""One-sided questions: against scipy, and how often they err on the boundary."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest
from scipy.stats import ttest_1samp
from thinned import EXHAUSTIVE, SLOW, thinned

from skill_health.stats.hypothesis_tests import both, equivalence, least_half_width, no_worse, sample_skewness

RNG = np.random.Generator(np.random.PCG64(7))
SOME = [0.1, -0.2, 0.3, 0.0, 0.4, -0.1, 0.2, 0.25, -0.35, 0.15]


def test_no_worse_finds_no_more_than_the_lower_of_the_two_tests_of_equivalence() -> None:
    for margin in (0.05, 0.1, 0.3):
        found, whole = no_worse(SOME, margin), equivalence(SOME, margin)
        assert found.end is not None and whole.low is not None and found.end <= whole.low + 1e-12
        assert (found.p is not None and found.p < 0.05) == (found.end is not None and found.end > -margin)


def test_no_worse_is_students_test_where_many_clusters_differ() -> None:
    values = RNG.uniform(-0.4, 0.5, 400)
    found = no_worse(values.tolist(), 0.05)
    plain = ttest_1samp(values, -0.05, alternative="greater")
    assert found.p is not None and found.p == pytest.approx(plain.pvalue, rel=0.2)
    assert found.end == pytest.approx(plain.confidence_interval(0.95).low, abs=2e-3)


def test_few_clusters_rule_out_no_small_loss() -> None:
    assert no_worse([0.0] * 20, 0.1).end == pytest.approx(-least_half_width(20))
    assert (no_worse([0.0] * 20, 0.1).p or 0) > 0.05
    assert (no_worse([0.0] * 40, 0.1).p or 1) < 0.05
    *alone, note = no_worse([1.0], 0.1)
    assert alone == [None, None] and re.fullmatch(r"not testable\D* 1 clusters\D*", note)


def test_the_skewness_is_that_of_scipy() -> None:
    from scipy.stats import skew

    values = RNG.lognormal(0, 1, 30)
    standard = (values - values.mean()) / values.std(ddof=1)
    assert sample_skewness(standard) == pytest.approx(skew(values, bias=False))


@pytest.mark.parametrize("wrong", [[float("nan")] * 6, [float("inf")] * 6])
def test_what_is_no_number_is_refused(wrong: list[float]) -> None:
    with pytest.raises(ValueError, match="differences"):
        no_worse(wrong, 0.1)
    with pytest.raises(ValueError, match="margin"):
        no_worse(SOME, 0.0)


def test_both_hold_as_far_as_the_weaker_one_does() -> None:
    assert both(0.01, 0.2) == 0.2
    assert both(None, 0.01) is None


def errs(hits: int, runs: int) -> float:
    """The share of errors, less what chance adds to 5 % in 1 of 1,000 such simulations."""
    return hits / runs - 3.1 * (0.05 * 0.95 / runs) ** 0.5


@pytest.mark.parametrize(("tasks", "margin"), thinned(product((10, 20, 40, 100), (0.1, 0.2)), 3, SLOW, EXHAUSTIVE))
def test_a_loss_as_large_as_the_margin_is_called_none_in_1_of_20_runs_at_most(tasks: int, margin: float) -> None:
    runs, rng = 1500, np.random.Generator(np.random.PCG64(11))
    hits = dict.fromkeys(("few lose all", "all lose some"), 0)
    for _ in range(runs):
        chance = np.clip(rng.beta(4, 4, tasks), margin, 1)
        # The loss is the margin in every task, exactly, or a whole task in this share of them.
        even = rng.binomial(3, chance - margin) / 3 - rng.binomial(3, chance) / 3
        for name, drawn in (("all lose some", even), ("few lose all", -(rng.random(tasks) < margin).astype(float))):
            hits[name] += (no_worse(drawn.tolist(), margin).p or 1) < 0.05
    assert {name: n for name, n in hits.items() if errs(n, runs) > 0.05} == {}
