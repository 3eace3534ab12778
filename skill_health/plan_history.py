"""Histories of the plan's published checker: lines of `{ok, summary}` without a time or a commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_MOST = 10**12


@dataclass(frozen=True, slots=True)
class PlanLine:
    """What such a line says of the collection, scored as the profile plan-v2.3.0 scores it. It is undated."""

    skills: int
    mean: float
    min: float
    max: float
    flagged: int


def plan_line(record: Mapping[str, Any]) -> PlanLine | None:
    """The line that a JSON object is; None where it is none.

    The checker writes 0.0 for a collection without skills; such a line measures nothing, and is none.
    """
    summary = record.get("summary")
    if "schema" in record or not isinstance(record.get("ok"), bool) or not isinstance(summary, dict):
        return None
    counts = [summary.get(key) for key in ("skill_count", "flagged")]
    scores = [summary.get(key) for key in ("corpus_score", "min_score", "max_score")]
    if not all(isinstance(n, int) and not isinstance(n, bool) and 0 <= n <= _MOST for n in counts) or not counts[0]:
        return None
    # Its ratio of claims is not clamped, so a score may lie above 1.
    if not all(isinstance(n, (int, float)) and not isinstance(n, bool) and 0 <= n <= _MOST for n in scores):
        return None
    mean, low, high = (float(n) for n in scores if n is not None)
    return PlanLine(int(counts[0]), mean, low, high, int(counts[1] or 0))
