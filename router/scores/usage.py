"""What the calls took: dollars, milliseconds and tokens, where they are known. What is not known is not zero."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from skill_health.router.records import RoutingResult
from skill_health.router.scores.facts import RoutingRunFacts
from skill_health.router.scores.judge import ModelScores
from skill_health.router.scores.numbers import Number, number
from skill_health.stats.estimates import Estimate
from skill_health.stats.intervals import clustered_quantile

_TOKENS = ("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens")
_Points = Sequence[tuple[float, int]]


def usage(column: ModelScores, facts: RoutingRunFacts) -> dict[str, Any]:
    """Cost and latency as median and 95th percentile of the calls, cost and tokens as totals."""
    # What a failed call took says nothing about an answer, but its dollars are spent.
    cost = _points(column, facts, lambda result: result.cost_usd if result.scored else None)
    latency = _points(column, facts, lambda result: result.duration_ms if result.scored else None)
    spent = [result.cost_usd for result in column.results if result.cost_usd is not None]
    return {
        "cost_usd": {
            "total": math.fsum(spent) if spent else None, "known": len(spent),
            "calls": len(column.results), "median": quantile(cost, 0.5), "p95": quantile(cost, 0.95),
        },
        "latency_ms": {"median": quantile(latency, 0.5), "p95": quantile(latency, 0.95)},
        "tokens": {name: _tokens(column, name) for name in _TOKENS},
        "attempts": sum(result.attempts for result in column.results),
    }  # fmt: skip


def _points(column: ModelScores, facts: RoutingRunFacts, of: Callable[[RoutingResult], float | None]) -> _Points:
    return [(value, facts.clusters[each.prompt_id]) for each in column.results if (value := of(each)) is not None]


def _tokens(column: ModelScores, name: str) -> dict[str, Any]:
    known = [value for each in column.results if (value := getattr(each.usage, name)) is not None]
    return {"total": sum(known) if known else None, "known": len(known)}


def quantile(points: _Points, share: float) -> Number:
    """A quantile of values with their clusters, and its interval."""
    if not points:
        return number(Estimate(None, note="not known"))
    return number(clustered_quantile([value for value, _ in points], [cluster for _, cluster in points], share))
