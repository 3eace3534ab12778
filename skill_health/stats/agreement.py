"""Agreement between raters beyond chance, and calibration of stated confidences; scipy has neither."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from skill_health.stats.distributions import round_figure
from skill_health.stats.estimates import Estimate
from skill_health.stats.intervals import clustered_mean
from skill_health.stats.resampling import RESAMPLES, Floats, cluster_bootstrap

_RARE = 3
"""The least number of clusters with the rarer outcome for an interval of the Brier score."""


def fleiss_kappa(
    counts: Sequence[Sequence[float]],
    resamples: int = RESAMPLES,
    seed: int = 1,
    clusters: Sequence[Hashable] | None = None,
) -> Estimate:
    """Fleiss' kappa (1971) of N prompts x K classes, each cell the number of models that chose the class.

    Give each model one rating for a prompt (its modal answer, or one replication), else its agreement with itself
    counts, too. Prompts may have different numbers of ratings (each is weighted by its ratings); those with fewer than
    two are left out. The interval resamples prompts, or the clusters given by `clusters` (one label for each prompt);
    kappa lies between -1 / (m - 1) and 1 for m ratings. `n` counts ratings. Undefined if all ratings are in one class.

    Raises:
        ValueError: if a count is negative or not whole, or the rows differ in length.
    """
    table = np.asarray(counts, dtype=np.float64).reshape(len(counts), -1 if len(counts) else 0)
    if not (np.isfinite(table).all() and (table >= 0).all() and (table == np.rint(table)).all()):
        raise ValueError("counts must be whole numbers from 0")
    ratings = table.sum(axis=1)
    kept = ratings >= 2
    labels = list(range(len(table))) if clusters is None else list(clusters)
    if len(labels) != len(table):
        raise ValueError(f"{len(labels)} clusters for {len(table)} prompts")
    if not kept.any():
        return Estimate(None, note="not testable: no prompt has two ratings")
    table, ratings = table[kept], ratings[kept]
    # A prompt's share of agreeing pairs, times its ratings.
    agreeing = ((table**2).sum(axis=1) - ratings) / (ratings - 1)
    sums = _by_cluster(
        np.column_stack([table, agreeing]), [label for label, keep in zip(labels, kept, strict=True) if keep]
    )
    found = cluster_bootstrap(sums, _kappa, resamples, seed, bounds=(-1 / (float(ratings.min()) - 1), 1.0))
    note = "not testable: all ratings are in one class" if found.value is None else found.note
    return Estimate(found.value, found.low, found.high, int(ratings.sum()), len(sums), method=found.method, note=note)


def _kappa(sums: Floats) -> Floats:
    classes = sums[..., :-1]
    ratings = classes.sum(axis=-1)
    chance = ((classes / ratings[..., None]) ** 2).sum(axis=-1)
    # With one class left, chance is 1 up to rounding.
    chance = np.where(chance > 1 - 1e-12, np.nan, chance)
    return np.asarray((sums[..., -1] / ratings - chance) / (1 - chance))


def cohen_kappa(
    pairs: Sequence[tuple[Hashable, Hashable]],
    clusters: Sequence[Hashable] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 1,
    ordered: bool = False,
) -> Estimate:
    """Cohen's kappa (1960) of pairs of ratings, the first of each by one rater and the second by the other.

    It is (agreement - chance) / (1 - chance), where chance is the agreement of two raters with the same shares of
    classes who know nothing of each other. The interval resamples pairs, or the clusters given by `clusters` (one label
    for each pair). `n` counts pairs. Undefined if both raters put everything into one and the same class.

    Where ratings are `ordered` they are numbers, and two of them disagree as much as the square of their distance
    (weighted kappa: Cohen, 1968).

    Raises:
        ValueError: if the labels are not as many as the pairs, or ordered ratings are no numbers.
    """
    labels = list(range(len(pairs))) if clusters is None else list(clusters)
    if len(labels) != len(pairs):
        raise ValueError(f"{len(labels)} clusters for {len(pairs)} pairs")
    if not pairs:
        return Estimate(None, note="not testable: nothing was rated by both")
    classes = {name: at for at, name in enumerate(sorted({each for pair in pairs for each in pair}, key=repr))}
    rows = np.zeros((len(pairs), len(classes) ** 2))
    at = [classes[one] * len(classes) + classes[other] for one, other in pairs]
    rows[np.arange(len(pairs)), at] = 1
    sums = _by_cluster(rows, labels)
    apart = _distances(list(classes)) if ordered else 1 - np.eye(len(classes))
    found = cluster_bootstrap(sums, lambda table: _cohen(table, apart), resamples, seed, bounds=(-1.0, 1.0))
    note = "not testable: all ratings are in one class" if found.value is None else found.note
    return Estimate(found.value, found.low, found.high, len(pairs), len(sums), method=found.method, note=note)


def _distances(classes: Sequence[Hashable]) -> Floats:
    """The square of the distance of every two classes, as a share of the largest."""
    try:
        values = np.asarray([float(str(each)) for each in classes])
    except ValueError:
        raise ValueError("ordered ratings must be numbers") from None
    squares = (values[:, None] - values[None, :]) ** 2
    return np.asarray(squares / max(float(squares.max()), 1e-300))


def _cohen(sums: Floats, apart: Floats) -> Floats:
    """One less the disagreement that is seen, as a share of that by chance; `apart` is how much classes disagree."""
    size = round(sums.shape[-1] ** 0.5)
    table = sums.reshape(*sums.shape[:-1], size, size) / sums.sum(axis=-1)[..., None, None]
    seen = (table * apart).sum(axis=(-2, -1))
    chance = (table.sum(axis=-1)[..., :, None] * table.sum(axis=-2)[..., None, :] * apart).sum(axis=(-2, -1))
    return np.asarray(1 - seen / np.where(chance < 1e-12, np.nan, chance))


def _by_cluster(rows: Floats, labels: Sequence[Hashable]) -> Floats:
    numbers: dict[Hashable, int] = {}
    at = np.asarray([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)
    sums = np.zeros((len(numbers), rows.shape[1]))
    np.add.at(sums, at, rows)
    return sums


class CalibrationBin(NamedTuple):
    """One bin of confidences: from `low` (included) to `high` (included in the last only); None if it is empty."""

    low: float
    high: float
    n: int
    confidence: float | None
    accuracy: float | None


def brier_score(
    confidence: Sequence[float], correct: Sequence[float], clusters: Sequence[Hashable] | None = None
) -> Estimate:
    """The Brier score: the mean squared difference between confidence and outcome (0 or 1); 0 is perfect.

    `clusters` names the prompt or family of each call; without it each call is independent. The interval is that of
    `clustered_mean`, and there is none if fewer than 3 clusters have the rarer outcome: most of the score comes from a
    few confident wrong answers, and without them nothing shows how large it might be.

    Raises:
        ValueError: if the lists differ in length, a confidence is not in [0, 1] or an outcome neither 0 nor 1.
    """
    stated, true = _checked(confidence, correct)
    if not len(stated):
        return Estimate(None, note="not testable: no confidence was stated")
    labels = list(range(len(stated))) if clusters is None else list(clusters)
    if len(labels) != len(stated):
        raise ValueError(f"{len(labels)} clusters for {len(stated)} confidences")
    sums = _by_cluster(np.column_stack([(stated - true) ** 2, np.ones_like(stated)]), labels)
    found = clustered_mean(sums[:, 0].tolist(), sums[:, 1].tolist())
    holding = min(len({label for label, one in zip(labels, true, strict=True) if one == side}) for side in (0, 1))
    if found.low is None or holding >= _RARE:
        return found
    note = f"no interval: only {holding} clusters hold the rarer outcome"
    return replace(found, low=None, high=None, method="", note=note)


def expected_calibration_error(
    confidence: Sequence[float], correct: Sequence[float], bins: int = 10
) -> tuple[float | None, list[CalibrationBin]]:
    """The expected calibration error over bins of equal width, and the bins.

    It is the mean over calls of a bin's |confidence - accuracy|. It has no interval: it can only err upwards, by about
    sqrt(bins / n) / 3 for a calibrated model, and no resampling corrects that. None without calls.

    Raises:
        ValueError: as `brier_score` does, and for fewer than one bin.
    """
    stated, true = _checked(confidence, correct)
    if bins < 1:
        raise ValueError(f"{bins} bins")
    at = np.minimum((stated * bins + 1e-9).astype(np.int64), bins - 1)
    calls = np.bincount(at, minlength=bins)
    said, came = np.bincount(at, stated, bins), np.bincount(at, true, bins)
    table = [
        CalibrationBin(
            round_figure(one / bins), round_figure((one + 1) / bins), int(n),
            round_figure(said[one] / n) if n else None, round_figure(came[one] / n) if n else None,
        )
        for one, n in enumerate(calls)
    ]  # fmt: skip
    return (round_figure(np.abs(said - came).sum() / len(stated)) if len(stated) else None), table


def _checked(confidence: Sequence[float], correct: Sequence[float]) -> tuple[Floats, Floats]:
    stated, true = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    if stated.shape != true.shape or stated.ndim != 1:
        raise ValueError(f"{stated.size} confidences for {true.size} outcomes")
    if not (((stated >= 0) & (stated <= 1)).all() and np.isin(true, (0, 1)).all()):
        raise ValueError("confidences must be in [0, 1] and outcomes 0 or 1")
    return stated, true
