"""Whether a model is as often right as its confidence says: Brier score and expected calibration error."""

from __future__ import annotations

from typing import Any

from skill_health import stats
from skill_health.router.scores.facts import RoutingRunFacts
from skill_health.router.scores.judge import Judged, ModelScores
from skill_health.router.scores.numbers import left_out, not_testable, number
from skill_health.stats.estimates import Estimate

BINS = 10
"""Of equal width from 0 to 1; a lower edge belongs to its bin."""


def calibration(column: ModelScores, facts: RoutingRunFacts) -> dict[str, Any]:
    """Brier, ECE and the table of bins, over the valid answers that state a confidence, where the right one is known.

    The ECE has no interval: it errs upwards on average, the more the fewer answers there are.
    """
    rows = column.tested(lambda row: row.result.confidence is not None and row.picked is not None)
    planned = column.planned(facts.tested)
    if not rows:
        why = not_testable("no scored answer states a confidence")
        return {"brier": why, "ece": why, "bins": []}
    if not stats.installed():
        return {"brier": left_out(planned), "ece": left_out(planned), "bins": []}
    from skill_health.stats.agreement import brier_score, expected_calibration_error

    stated, right = [_confidence(row) for row in rows], [row.right for row in rows]
    score = brier_score(stated, right, [row.cluster for row in rows])
    value, bins = expected_calibration_error(stated, right, BINS)
    error = Estimate(value, n=len(rows), clusters=score.clusters, note="no interval: it errs upwards on average")
    return {
        "brier": number(score, planned),
        "ece": number(error, planned),
        "bins": [row._asdict() for row in bins],
    }


def _confidence(row: Judged) -> float:
    return row.result.confidence or 0.0
