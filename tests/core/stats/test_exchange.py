"""The exact test of exchanging trials within tasks, against enumeration, scipy, statsmodels and simulation."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import StratifiedTable
from statsmodels.stats.weightstats import DescrStatsW

from skill_health.core.stats.exchange import Counts, exchange, over_strata

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
    found, expected = exchange(pairs), enumerated(pairs)
    assert found == pytest.approx(expected) if found is not None else expected == pytest.approx(0.5)


def test_one_stratum_is_a_hypergeometric_variable() -> None:
    law = stats.hypergeom(20, 9, 10)
    assert exchange([((8, 10), (1, 10))]) == pytest.approx(2 * (law.sf(8) + law.pmf(8) / 2))


def test_many_trials_come_near_the_mantel_haenszel_test() -> None:
    rng = np.random.default_rng(3)
    pairs = [((int(rng.binomial(40, 0.45)), 40), (int(rng.binomial(40, 0.4)), 40)) for _ in range(12)]
    tables = [np.array([[a, n - a], [b, m - b]]) for (a, n), (b, m) in pairs]
    assert exchange(pairs) == pytest.approx(StratifiedTable(tables).test_null_odds().pvalue, rel=0.03)


@pytest.mark.parametrize("pairs", [[], [((0, 3), (0, 3))], [((3, 3), (2, 2))], [((0, 0), (2, 3))]])
def test_where_no_exchange_changes_anything_it_is_not_testable(pairs: list[tuple[Counts, Counts]]) -> None:
    assert exchange(pairs) is None


@pytest.mark.parametrize("wrong", [((4, 3), (0, 3)), ((-1, 3), (0, 3)), ((0, 3), (9, 3))])
def test_what_cannot_be_is_refused(wrong: tuple[Counts, Counts]) -> None:
    with pytest.raises(ValueError, match="between 0 and the trials"):
        exchange([wrong])


@given(st.lists(PAIR, max_size=8))
def test_sides_order_and_strata_without_a_choice_do_not_matter(pairs: list[tuple[Counts, Counts]]) -> None:
    p = exchange(pairs)
    more = [((0, 3), (0, 3)), *reversed(pairs), ((2, 2), (3, 3)), ((0, 0), (0, 0)), ((0, 0), (1, 2))]
    for same in (exchange([(other, one) for one, other in pairs]), exchange(more)):
        assert same == (None if p is None else pytest.approx(p))
    assert p is None or 0 < p <= 1


@pytest.mark.parametrize("spread", [0.3, 2.0])
def test_it_errs_about_as_often_as_it_says(spread: float) -> None:
    rng, wrong = np.random.default_rng(1), 0
    for _ in range(500):
        chance = 1 / (1 + np.exp(-spread * rng.standard_normal(10)))
        one, other = rng.binomial(3, chance).tolist(), rng.binomial(3, chance).tolist()
        p = exchange([((a, 3), (b, 3)) for a, b in zip(one, other, strict=True)])
        wrong += p is not None and p < 0.05
    assert 8 <= wrong <= 35


@given(st.lists(st.integers(-3, 3), min_size=3, max_size=30))
def test_students_test_over_strata_is_that_of_statsmodels(thirds: list[int]) -> None:
    values = [each / 3 for each in thirds]
    found = over_strata(values)
    if len(set(thirds)) > 1:
        assert found == pytest.approx(DescrStatsW(values).ttest_mean(0)[1], rel=1e-6)
    else:
        assert found == (1.0 if thirds[0] == 0 else pytest.approx(0, abs=1e-9))
    assert found == over_strata([-each for each in reversed(values)])


def test_fewer_than_three_strata_have_no_spread() -> None:
    assert over_strata([1.0, 1.0]) is None and over_strata([]) is None
    with pytest.raises(ValueError, match="finite"):
        over_strata([1.0, float("nan"), 0.0])


@pytest.mark.slow
def test_an_agent_that_repeats_itself_misleads_the_exchange_of_trials_alone() -> None:
    """Each cell is one draw, three times: nothing differs but by chance."""
    rng, alone, both = np.random.default_rng(2), 0, 0
    for _ in range(300):
        one, other = 3 * rng.integers(0, 2, 20), 3 * rng.integers(0, 2, 20)
        within = exchange([((int(a), 3), (int(b), 3)) for a, b in zip(one, other, strict=True)]) or 1
        over = over_strata(((one - other) / 3).tolist()) or 1
        alone += within < 0.05
        both += max(within, over) < 0.05
    assert alone > 0.25 * 300 and both <= 0.08 * 300
