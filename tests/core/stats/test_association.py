"""Rank correlation and AUC over clusters, against scipy and against a jackknife that is written down anew."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu, spearmanr
from scipy.stats import t as student

from skill_health.stats.association import clustered_auc, clustered_rank_correlation
from skill_health.stats.intervals import auc


def drawn(seed: int, clusters: int = 12, each: int = 4) -> tuple[list[float], list[float], list[str]]:
    rng = np.random.default_rng(seed)
    own = np.repeat(rng.normal(size=clusters), each)
    scores = np.round(own + rng.normal(size=clusters * each), 1)
    hits = (rng.random(clusters * each) < 1 / (1 + np.exp(-scores))).astype(float)
    return scores.tolist(), hits.tolist(), [f"s{nth}" for nth in np.repeat(np.arange(clusters), each)]


@pytest.mark.parametrize("seed", range(6))
def test_values_are_those_of_scipy(seed: int) -> None:
    scores, hits, clusters = drawn(seed)
    found = clustered_rank_correlation(scores, hits, clusters)
    assert found.value == pytest.approx(spearmanr(scores, hits).statistic)
    area = clustered_auc(scores, hits, [1.0] * len(hits), clusters)
    x, y = np.asarray(scores), np.asarray(hits)
    assert area.value == pytest.approx(mannwhitneyu(x[y == 1], x[y == 0]).statistic / ((y == 1).sum() * (y == 0).sum()))
    assert (found.n, found.clusters, area.n, area.clusters) == (48, 12, 48, 12)


@pytest.mark.parametrize("seed", range(4))
def test_intervals_are_those_of_a_jackknife_written_down_anew(seed: int) -> None:
    scores, hits, clusters = drawn(seed)
    x, y, groups = np.asarray(scores), np.asarray(hits), np.asarray(clusters)
    names = sorted(set(clusters))
    reach = student.ppf(0.975, len(names) - 1)
    for found, of, into, back in (
        (clustered_rank_correlation(scores, hits, clusters), lambda keep: spearmanr(x[keep], y[keep]).statistic, np.arctanh, np.tanh),
        (
            clustered_auc(scores, hits, [1.0] * len(hits), clusters),
            lambda keep: auc(x[keep & (y == 1)].tolist(), x[keep & (y == 0)].tolist()).value,
            lambda share: math.log(share / (1 - share)),
            lambda logit: 1 / (1 + math.exp(-logit)),
        ),
    ):  # fmt: skip
        left = np.array([into(of(groups != name)) for name in names])
        error = math.sqrt((len(names) - 1) / len(names) * ((left - left.mean()) ** 2).sum())
        middle = into(of(np.ones(len(x), dtype=bool)))
        ends = (back(middle - reach * error), back(middle + reach * error))
        assert (found.low, found.high) == pytest.approx(ends)


def test_hits_of_several_calls_count_each() -> None:
    once = clustered_auc([1, 2, 2, 3], [0, 1, 0, 1], [1, 1, 1, 1], list("abcd"))
    twice = clustered_auc([1, 2, 3], [0, 1, 1], [1, 2, 1], list("abc"))
    assert once.value == twice.value == 0.875 and twice.n == 4


@pytest.mark.parametrize(
    ("scores", "hits", "note"),
    [
        ([1.0] * 8, [0, 1] * 4, "all scores are equal"),
        ([1, 2, 3, 4, 5, 6, 7, 8], [1] * 8, "all outcomes are alike"),
        ([1, 2], [0, 1], "only 2 pairs"),
    ],
)
def test_without_variation_it_is_not_testable(scores: list[float], hits: list[float], note: str) -> None:
    found = clustered_rank_correlation(scores, hits, list(range(len(scores))))
    assert (found.value, found.low, found.note) == (None, None, f"not testable: {note}")


def test_without_a_hit_or_a_miss_there_is_no_area() -> None:
    clusters = list(range(8))
    assert clustered_auc([1.0] * 8, [0.0] * 8, [1.0] * 8, clusters).note == "not testable: no hit"
    assert clustered_auc([1.0] * 8, [1.0] * 8, [1.0] * 8, clusters).note == "not testable: no miss"


def test_what_is_wholly_apart_has_newcombes_interval_and_few_clusters_have_none() -> None:
    scores, hits = [float(n) for n in range(12)], [0.0] * 6 + [1.0] * 6
    apart = clustered_auc(scores, hits, [1.0] * 12, list(range(12)))
    assert (apart.value, apart.high) == (1.0, 1.0)
    assert apart.low == auc(scores[6:], scores[:6]).low
    few = clustered_auc(scores, hits, [1.0] * 12, [n % 4 for n in range(12)])
    assert (few.low, few.note) == (None, "no interval: only 4 clusters")


def test_numbers_that_are_none_are_refused() -> None:
    for scores, hits, totals in (([math.nan], [0.0], [1.0]), ([1.0], [2.0], [1.0]), ([1.0, 2.0], [0.0], [1.0])):
        with pytest.raises(ValueError):
            clustered_auc(scores, hits, totals, ["a"])


@given(st.permutations(range(48)))
def test_the_order_of_the_pairs_does_not_matter(order: list[int]) -> None:
    scores, hits, clusters = drawn(3)
    plain = clustered_auc(scores, hits, [1.0] * 48, clusters)
    mixed = clustered_auc(
        [scores[n] for n in order], [hits[n] for n in order], [1.0] * 48, [clusters[n] for n in order]
    )
    assert mixed == plain
    one = clustered_rank_correlation(scores, hits, clusters)
    mixed = clustered_rank_correlation(*([each[n] for n in order] for each in (scores, hits, clusters)))
    assert mixed == one
