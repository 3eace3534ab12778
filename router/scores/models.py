"""Models against each other: paired by prompt, how far they agree, and whether stated confidence fits."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

import msgspec

from skill_health import stats
from skill_health.documents._record import Figure
from skill_health.documents.router_report import ConfidenceBin, ConfidenceCalibration, ModelPair
from skill_health.router.scores.judge import Judged, ModelScores, RoutingRunFacts, RunScores
from skill_health.router.scores.numbers import difference, left_out, not_testable, number
from skill_health.stats.estimates import Estimate
from skill_health.stats.multiplicity import holm

_NOBODY = "not testable: no prompt was answered by both"
_Shares = Mapping[str, tuple[int, float]]


def compare_models(sheet: RunScores) -> tuple[ModelPair, ...]:
    """Every pair of models in the manifest's order, the difference being the first's less the second's."""
    shares = {column.model.spec: _shares(column) for column in sheet.columns}
    found = [_pair(one, other, shares, sheet.facts.seed) for one, other in combinations(shares, 2)]
    adjusted = holm([pair.difference.p for pair in found])
    return tuple(
        msgspec.structs.replace(pair, difference=msgspec.structs.replace(pair.difference, p_adjusted=p))
        for pair, p in zip(found, adjusted, strict=True)
    )


def _shares(column: ModelScores) -> _Shares:
    """For each prompt with a right answer that was answered: its cluster and the share of right first answers."""
    totals: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for row in column.tested():
        total = totals[row.prompt.prompt_id]
        total[0] = row.cluster
        total[1] += row.right
        total[2] += 1
    return {prompt: (cluster, right / calls) for prompt, (cluster, right, calls) in totals.items()}


def _pair(one: str, other: str, shares: Mapping[str, _Shares], seed: int) -> ModelPair:
    first, second = shares[one], shares[other]
    sums: defaultdict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for prompt, (cluster, value) in first.items():
        if prompt in second:
            sums[cluster][0] += value - second[prompt][1]
            sums[cluster][1] += 1
    # Sums of thirds that cancel must be 0, not a rounding error with a sign.
    rows = [(round(total, 9), n) for total, n in (sums[cluster] for cluster in sorted(sums))]
    estimate = difference(rows, seed, "Student's") if rows else Estimate(None, note=_NOBODY)
    return ModelPair(
        first=one,
        second=other,
        difference=number(replace(estimate, n=round(sum(n for _, n in rows)), clusters=len(rows))),
        better=sum(total > 0 for total, _ in rows),
        worse=sum(total < 0 for total, _ in rows),
    )


def agreement(sheet: RunScores) -> Figure:
    """Fleiss' kappa, a model's rating of a prompt being its most frequent first answer (of equals, the earliest).

    Models without any scored call are left out; an answer without a valid ranking is a class of its own.
    """
    ratings = [rating for column in sheet.columns if (rating := _ratings(column))]
    if len(ratings) < 2:
        return not_testable("there is only one model" if len(sheet.columns) < 2 else "fewer than two models answered")
    prompts = [prompt for prompt in sheet.facts.prompts if all(prompt in rating for rating in ratings)]
    if not prompts:
        return not_testable("no prompt was answered by all models")
    if not stats.installed():
        return left_out()
    from skill_health.stats.agreement import fleiss_kappa

    given = dict.fromkeys(rating[prompt] for prompt in prompts for rating in ratings)
    column_of = {name: at for at, name in enumerate(given)}
    counts = [[0] * len(given) for _ in prompts]
    for row, prompt in zip(counts, prompts, strict=True):
        for rating in ratings:
            row[column_of[rating[prompt]]] += 1
    clusters = [sheet.facts.clusters[prompt] for prompt in prompts]
    return number(fleiss_kappa(counts, seed=sheet.facts.seed, clusters=clusters))


def _ratings(column: ModelScores) -> dict[str, str | None]:
    answers: defaultdict[str, list[str | None]] = defaultdict(list)
    for row in column.scored:
        answers[row.prompt.prompt_id].append(row.picked)
    return {prompt: Counter(each).most_common(1)[0][0] for prompt, each in answers.items()}


BINS = 10
"""Of equal width from 0 to 1; a lower edge belongs to its bin."""


def calibration(column: ModelScores, facts: RoutingRunFacts) -> ConfidenceCalibration:
    """Brier, ECE and the table of bins, over the valid answers that state a confidence, where the right one is known.

    The ECE has no interval: it errs upwards on average, the more the fewer answers there are.
    """
    rows = column.tested(lambda row: row.result.confidence is not None and row.picked is not None)
    planned = column.planned(facts.tested)
    if not rows:
        why = not_testable("no scored answer states a confidence")
        return ConfidenceCalibration(brier=why, ece=why, bins=())
    if not stats.installed():
        return ConfidenceCalibration(brier=left_out(planned), ece=left_out(planned), bins=())
    from skill_health.stats.agreement import brier_score, expected_calibration_error

    stated, right = [_confidence(row) for row in rows], [row.right for row in rows]
    score = brier_score(stated, right, [row.cluster for row in rows])
    value, bins = expected_calibration_error(stated, right, BINS)
    error = Estimate(value, n=len(rows), clusters=score.clusters, note="no interval: it errs upwards on average")
    return ConfidenceCalibration(
        brier=number(score, planned),
        ece=number(error, planned),
        bins=tuple(ConfidenceBin(**row._asdict()) for row in bins),
    )


def _confidence(row: Judged) -> float:
    return row.result.confidence or 0.0
