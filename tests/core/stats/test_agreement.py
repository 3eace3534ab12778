"""Agreement and calibration: against statsmodels, pairs counted by hand, and plain loops."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats import inter_rater
from thinned import EXHAUSTIVE, SLOW, thinned

from skill_health.stats.agreement import brier_score, cohen_kappa, expected_calibration_error, fleiss_kappa
from skill_health.stats.intervals import clustered_mean


def ratings(prompts: int, models: int, classes: int, agree: float, seed: int = 1) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, (prompts, 1))
    picked = np.where(rng.random((prompts, models)) < agree, truth, rng.integers(0, classes, (prompts, models)))
    return [[int((row == one).sum()) for one in range(classes)] for row in picked]


@pytest.mark.parametrize(("models", "classes", "agree"), [(2, 3, 0.5), (4, 16, 0.8), (4, 16, 0.97), (7, 2, 0.1)])
def test_kappa_is_that_of_statsmodels(models: int, classes: int, agree: float) -> None:
    counts = ratings(60, models, classes, agree)
    found = fleiss_kappa(counts)
    assert found.value == pytest.approx(inter_rater.fleiss_kappa(counts, method="fleiss"))
    assert -1 / (models - 1) <= found.low < found.value < found.high <= 1
    assert (found.n, found.clusters) == (60 * models, 60)


def by_hand(counts: list[list[int]]) -> float:
    """One less observed over expected disagreement; a prompt weighs by its ratings."""
    kept = [row for row in counts if sum(row) >= 2]
    every = [[one for one, n in enumerate(row) for _ in range(n)] for row in kept]
    agreeing = sum(
        len(row) * np.mean([one == other for one, other in itertools.permutations(row, 2)]) for row in every
    ) / sum(map(len, every))
    flat = [one for row in every for one in row]
    chance = sum((flat.count(one) / len(flat)) ** 2 for one in set(flat))
    return float((agreeing - chance) / (1 - chance))


def test_prompts_with_different_numbers_of_ratings() -> None:
    counts = [[4, 0, 0], [2, 1, 0], [0, 2, 2], [0, 0, 2], [1, 0, 0], [0, 3, 1], [0, 0, 0], *ratings(20, 4, 3, 0.7)]
    found = fleiss_kappa(counts)
    assert found.value == pytest.approx(by_hand(counts))
    assert (found.n, found.clusters) == (17 + 80, 25)


def pairs(count: int, classes: int, agree: float, seed: int = 1) -> list[tuple[int, int]]:
    """Ratings of two raters, of whom the second follows the first in a share of the cases."""
    rng = np.random.default_rng(seed)
    first, other = rng.integers(0, classes, count), rng.integers(0, classes, count)
    return list(zip(first.tolist(), np.where(rng.random(count) < agree, first, other).tolist(), strict=True))


@pytest.mark.parametrize(("classes", "agree"), [(2, 0.8), (3, 0.5), (3, 0.95), (5, 0.0)])
def test_kappa_of_two_raters_is_that_of_statsmodels(classes: int, agree: float) -> None:
    rated = pairs(80, classes, agree)
    table = np.zeros((classes, classes))
    for one, other in rated:
        table[one, other] += 1
    theirs = inter_rater.cohens_kappa(table)
    found = cohen_kappa(rated)
    assert found.value == pytest.approx(theirs.kappa)
    assert (found.n, found.clusters) == (80, 80)
    assert found.low is not None and found.high is not None
    assert found.high - found.low == pytest.approx(theirs.kappa_upp - theirs.kappa_low, rel=0.25)
    assert cohen_kappa([(other, one) for one, other in rated]).value == pytest.approx(theirs.kappa)


ALIKE = "not testable: all ratings are in one class"
UNREPEATED = "not testable: no prompt has two ratings"


def test_kappa_of_two_raters_that_cannot_be_had() -> None:
    assert cohen_kappa([]).note == "not testable: nothing was rated by both"
    assert cohen_kappa([("a", "a")] * 20).note == ALIKE
    assert cohen_kappa([("a", "b")] * 20).value == 0
    assert cohen_kappa([("a", "b"), ("b", "a")] * 20).value == -1
    with pytest.raises(ValueError, match="1 clusters for 2 pairs"):
        cohen_kappa([("a", "a"), ("b", "b")], clusters=["x"])


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), max_size=30))
def test_kappa_of_two_raters_is_never_out_of_range(rated: list[tuple[str, str]]) -> None:
    found = cohen_kappa(rated, resamples=200)
    assert (found.low is None) == (found.high is None) == bool(found.note)
    if found.low is not None and found.value is not None and found.high is not None:
        assert -1 <= found.low <= found.value <= found.high <= 1


@pytest.mark.parametrize(
    ("tasks", "each", "same", "agree"),
    thinned(
        [(*clusters, agree) for clusters in ((20, 3, 0.0), (30, 3, 0.5), (15, 6, 0.5)) for agree in (0.3, 0.7, 0.9)],
        4, SLOW, EXHAUSTIVE,
    ),
)  # fmt: skip
def test_the_interval_of_kappa_contains_the_truth(tasks: int, each: int, same: float, agree: float) -> None:
    """Two raters see a truth and err; the criteria of a task share some of how often they do."""
    rng = np.random.default_rng(5)
    runs, inside, truth = 500, 0, []
    found = []
    for _ in range(runs):
        hard = rng.random(tasks) < 0.5
        rate = np.where(hard, agree - same * agree / 2, agree + same * (1 - agree) / 2).repeat(each)
        first = rng.integers(0, 2, tasks * each)
        follows = rng.random(tasks * each) < rate
        second = np.where(follows, first, rng.integers(0, 2, tasks * each))
        # Both raters use the two classes equally often: kappa is the share of cases in which one follows the other.
        truth.append(float(rate.mean()))
        labels = np.arange(tasks).repeat(each).tolist()
        found.append(cohen_kappa(list(zip(first.tolist(), second.tolist(), strict=True)), labels, resamples=500))
    kappa = float(np.mean(truth))
    inside = sum(one.low is not None and one.high is not None and one.low <= kappa <= one.high for one in found)
    assert 0.925 <= inside / runs <= 0.985, inside / runs


@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), max_size=25))
def test_kappa_is_never_out_of_range_and_never_half(counts: list[list[int]]) -> None:
    found = fleiss_kappa(counts, 200)
    assert (found.low is None) == (found.high is None) == bool(found.note)
    if found.low is not None:
        assert -1 <= found.low <= found.value <= found.high <= 1


def test_families_are_resampled_whole() -> None:
    counts = ratings(30, 4, 3, 0.7)
    once = fleiss_kappa(counts)
    doubled = fleiss_kappa([row for row in counts for _ in (0, 1)], clusters=[at // 2 for at in range(60)])
    taken_apart = fleiss_kappa([row for row in counts for _ in (0, 1)])
    assert doubled.clusters == 30
    assert (doubled.value, doubled.low, doubled.high) == pytest.approx((once.value, once.low, once.high))
    assert taken_apart.high - taken_apart.low < 0.8 * (once.high - once.low)


@pytest.mark.parametrize(
    ("counts", "note"),
    [
        ([], UNREPEATED),
        ([[1, 0], [0, 1]], UNREPEATED),
        ([[4, 0]] * 30, ALIKE),
    ],
)
def test_what_has_no_kappa_is_said(counts: Any, note: str) -> None:
    found = fleiss_kappa(counts)
    assert (found.value, found.low, found.high, found.note) == (None, None, None, note)


def test_full_agreement_is_not_certain() -> None:
    found = fleiss_kappa([[4, 0], [0, 4]] * 20)
    assert (found.value, found.high) == (1.0, 1.0)
    assert 0.8 < found.low < 0.95


@pytest.mark.parametrize(
    ("counts", "clusters"), [([[1.5, 1]], None), ([[-1, 3]], None), ([[1, 1]], [1, 2]), ([[1, 2], [3]], None)]
)
def test_what_are_no_counts_is_refused(counts: Any, clusters: Any) -> None:
    with pytest.raises(ValueError, match=r"counts|clusters|shape"):
        fleiss_kappa(counts, clusters=clusters)


def stated(calls: int = 300, seed: int = 1) -> tuple[list[float], list[int]]:
    rng = np.random.default_rng(seed)
    confidence = rng.choice([0.0, 0.3, 0.5, 0.6, 0.7, 0.9, 1.0, 0.123], calls)
    return confidence.tolist(), (rng.random(calls) < 0.2 + 0.6 * confidence).astype(int).tolist()


def test_brier_is_the_mean_squared_error_with_the_interval_of_a_mean() -> None:
    confidence, correct = stated()
    errors = [(c - y) ** 2 for c, y in zip(confidence, correct, strict=True)]
    labels = [f"prompt {at // 3}" for at in range(300)]
    found = brier_score(confidence, correct, labels)
    assert found.value == pytest.approx(np.mean(errors))
    expected = clustered_mean([sum(errors[at : at + 3]) for at in range(0, 300, 3)], [3] * 100)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert (found.n, found.clusters) == (300, 100)
    assert brier_score(confidence, correct).clusters == 300


def test_brier_without_wrong_answers_has_no_interval() -> None:
    found = brier_score([0.9] * 40, [1] * 38 + [0] * 2)
    assert found.value == pytest.approx((38 * 0.01 + 2 * 0.81) / 40)
    assert (found.low, found.high) == (None, None) and re.fullmatch(r"no interval\D*2\D*", found.note)
    assert brier_score([], []).note == "not testable: no confidence was stated"


@pytest.mark.parametrize("bins", [1, 4, 10, 15])
def test_ece_is_the_mean_gap_of_the_bins(bins: int) -> None:
    confidence, correct = stated()
    value, table = expected_calibration_error(confidence, correct, bins)
    assert len(table) == bins
    assert [row.low for row in table[1:]] == [row.high for row in table[:-1]]
    gap = 0.0
    for at, row in enumerate(table):
        inside = [
            (c, y)
            for c, y in zip(confidence, correct, strict=True)
            if row.low - 1e-9 <= c and (c < row.high - 1e-9 or at == bins - 1)
        ]
        assert row.n == len(inside)
        if inside:
            assert row.confidence == pytest.approx(np.mean([c for c, _ in inside]))
            assert row.accuracy == pytest.approx(np.mean([y for _, y in inside]))
            gap += abs(row.confidence - row.accuracy) * len(inside) / 300
        else:
            assert (row.confidence, row.accuracy) == (None, None)
    assert value == pytest.approx(gap)


@pytest.mark.parametrize(("confidence", "at"), [(0.0, 0), (0.1, 1), (0.3, 3), (0.6, 6), (0.7, 7), (0.29, 2), (1.0, 9)])
def test_a_lower_edge_belongs_to_its_bin(confidence: float, at: int) -> None:
    _, table = expected_calibration_error([confidence], [1])
    assert [row.n for row in table].index(1) == at


def test_no_confidence_is_not_perfect_calibration() -> None:
    value, table = expected_calibration_error([], [])
    assert value is None
    assert [row.n for row in table] == [0] * 10


@pytest.mark.parametrize(
    ("confidence", "correct"), [([1.1], [1]), ([-0.1], [1]), ([float("nan")], [1]), ([0.5], [0.5]), ([0.5], [1, 0])]
)
@pytest.mark.parametrize("function", [brier_score, expected_calibration_error])
def test_what_is_no_confidence_is_refused(function: Any, confidence: Any, correct: Any) -> None:
    with pytest.raises(ValueError, match="confidences"):
        function(confidence, correct)


def test_no_bins_and_too_few_names_are_refused() -> None:
    with pytest.raises(ValueError, match="0 bins"):
        expected_calibration_error([0.5], [1], 0)
    with pytest.raises(ValueError, match="2 clusters"):
        brier_score([0.5], [1], [1, 2])


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=4, max_size=40))
def test_kappa_of_ordered_ratings_is_that_of_statsmodels(rated: list[tuple[int, int]]) -> None:
    table = np.zeros((4, 4))
    for one, other in rated:
        table[one, other] += 1
    found = cohen_kappa(rated, ordered=True)
    if len({each for pair in rated for each in pair}) == 1:
        assert found.value is None and "one class" in found.note
        return
    with np.errstate(all="ignore"):
        theirs = inter_rater.cohens_kappa(table, wt="quadratic", return_results=False)
    assert found.value == pytest.approx(theirs, abs=1e-5)
    assert found.low is None or found.low <= found.value <= (found.high or 1)


def test_ordered_ratings_are_numbers() -> None:
    with pytest.raises(ValueError, match="must be numbers"):
        cohen_kappa([("good", "bad")], ordered=True)
