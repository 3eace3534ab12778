"""The leaderboard's metrics. Each is one entry of METRICS: what it counts, over which calls.

Every scored call counts, so that a refusal, an answer that was cut off and one in the wrong format earn nothing. NONE
is a class like a skill: on a prompt for which no skill applies, abstaining is the right answer, in all metrics alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from skill_health.bench.http.messages import TOKENS
from skill_health.documents._record import Figure
from skill_health.documents.router_report import (
    CostFigures,
    LatencyFigures,
    RouterMetrics,
    TokenFigures,
    TokenUse,
    UsageFigures,
)
from skill_health.router.records import NONE, Prompt, RoutingResult
from skill_health.router.scores.judge import DEEP, Judged, ModelScores, RoutingRunFacts, ndcg
from skill_health.router.scores.numbers import clustered, mean, not_testable, number, share
from skill_health.stats.estimates import Estimate
from skill_health.stats.intervals import clustered_quantile

PRIMARY = "top1"
"""The one metric that models are compared by, declared beforehand."""


class Metric(NamedTuple):
    """One metric: the calls of the prompts that meet `of`, among them those that meet `among`, the mean of `value`.

    `binary` values are 0 or 1, others may lie between. `labels` counts prompts without a right answer as well. `why`
    says what is missing where there is no such call; `none` marks what makes sense only where an answer may be NONE,
    `null` what only does where some prompts expect it.
    """

    title: str
    meaning: str
    value: Callable[[Judged], float]
    of: Callable[[Prompt], bool] = lambda prompt: True
    among: Callable[[Judged], bool] = lambda row: True
    binary: bool = True
    labels: bool = False
    none: bool = False
    null: bool = False
    why: str = "no call is scored"


def _skilled(prompt: Prompt) -> bool:
    return prompt.expected is not None


def _null(prompt: Prompt) -> bool:
    return prompt.known and prompt.expected is None


def _abstained(row: Judged) -> bool:
    return row.picked == NONE


def _violates(row: Judged, deep: int) -> bool:
    return row.picked is not None and not set(row.prompt.rejected).isdisjoint(row.result.ranking[:deep])


def _stolen(row: Judged) -> bool:
    return row.fired and not row.accepted and not row.ambiguous


_NO_NULL = "no prompt is labelled with none"
METRICS: Mapping[str, Metric] = {
    "top1": Metric("top-1", "the right answer comes first", lambda row: row.right),
    "top1_skill": Metric("top-1, a skill applies", "the same, where a skill applies", lambda row: row.right, _skilled),
    "top3": Metric("top-3", "the right answer is among the first three", lambda row: (row.rank or DEEP + 1) <= DEEP),
    "acceptable": Metric("acceptable", "what comes first is right or acceptable", lambda row: row.accepted),
    "mrr": Metric("MRR", "mean of 1 / place of the right answer", lambda row: 1 / row.rank if row.rank else 0.0, binary=False),
    "ndcg3": Metric("nDCG@3", "right counts 2, acceptable 1, discounted by place", ndcg, binary=False),
    "abstention_precision": Metric(
        "abstention precision", "of the abstentions, those where no skill applies", lambda row: row.right,
        among=_abstained, none=True, null=True, why="it never abstained",
    ),
    "abstention_recall": Metric(
        "abstention recall", "where no skill applies, it abstains", _abstained, _null, none=True, why=_NO_NULL
    ),
    "false_fire": Metric(
        "false fire", "where no skill applies, it picks one that is not acceptable", _stolen, _null, none=True, why=_NO_NULL
    ),
    "false_abstention": Metric(
        "false abstention", "where a skill applies, it abstains", _abstained, _skilled, none=True,
        why="no prompt expects a skill",
    ),
    "rejected_at_1": Metric(
        "rejected at 1", "a skill that must not fire comes first", lambda row: _violates(row, 1),
        lambda prompt: bool(prompt.rejected), labels=True, why="no prompt names a rejected skill",
    ),
    "rejected_at_3": Metric(
        "rejected at 3", "a skill that must not fire is among the first three", lambda row: _violates(row, DEEP),
        lambda prompt: bool(prompt.rejected), labels=True, why="no prompt names a rejected skill",
    ),
    "steals": Metric("steals", "a skill comes first that is neither right nor acceptable", _stolen),
}  # fmt: skip
"""All metrics but F1, by their key in a report."""


def measure(column: ModelScores, facts: RoutingRunFacts) -> RouterMetrics:
    """Every metric of one model."""
    found = {key: _measure(column, facts, metric) for key, metric in METRICS.items()}
    return RouterMetrics(**found, abstention_f1=_f1(column, facts))


def _measure(column: ModelScores, facts: RoutingRunFacts, metric: Metric) -> Figure:
    if metric.none and not facts.none_allowed:
        return not_testable("the template does not let a model abstain")
    if metric.null and not any(map(_null, facts.tested)):
        return not_testable(_NO_NULL)
    prompts = [prompt for prompt in (facts.prompts.values() if metric.labels else facts.tested) if metric.of(prompt)]
    rows = [row for row in column.scored if (row.tested or metric.labels) and metric.of(row.prompt)]
    why = metric.why if rows or not prompts else "no call is scored"
    counted = [row for row in rows if metric.among(row)]
    sums = clustered(counted, metric.value)
    estimate = share(sums, why) if metric.binary else mean(sums, len(counted), why)
    return number(estimate, column.planned(prompts), len(rows))


def _f1(column: ModelScores, facts: RoutingRunFacts) -> Figure:
    """F1 of abstaining, NONE being the positive class: 2 TP over (abstentions + prompts without a skill)."""
    if not facts.none_allowed:
        return not_testable("the template does not let a model abstain")
    if not any(map(_null, facts.tested)):
        return not_testable(_NO_NULL)
    rows = column.tested()
    sums = clustered(rows, lambda row: 2 * _hit(row), lambda row: _abstained(row) + _null(row.prompt))
    estimate = mean(sums, len(rows), "no call is scored" if not rows else "it never abstained, and no call should have")
    return number(estimate, column.planned(facts.tested))


def _hit(row: Judged) -> bool:
    return _abstained(row) and _null(row.prompt)


_Points = Sequence[tuple[float, int]]


def usage(column: ModelScores, facts: RoutingRunFacts) -> UsageFigures:
    """Cost and latency as median and 95th percentile of the calls, cost and tokens as totals."""
    # What a failed call took says nothing about an answer, but its dollars are spent.
    cost = _points(column, facts, lambda result: result.cost_usd if result.scored else None)
    latency = _points(column, facts, lambda result: result.duration_ms if result.scored else None)
    spent = [result.cost_usd for result in column.results if result.cost_usd is not None]
    return UsageFigures(
        cost_usd=CostFigures(
            total=math.fsum(spent) if spent else None,
            known=len(spent),
            calls=len(column.results),
            median=quantile(cost, 0.5),
            p95=quantile(cost, 0.95),
        ),
        latency_ms=LatencyFigures(median=quantile(latency, 0.5), p95=quantile(latency, 0.95)),
        tokens=TokenUse(**{name: _tokens(column, name) for name in TOKENS}),
        attempts=sum(result.attempts for result in column.results),
    )


def _points(column: ModelScores, facts: RoutingRunFacts, of: Callable[[RoutingResult], float | None]) -> _Points:
    return [(value, facts.clusters[each.prompt_id]) for each in column.results if (value := of(each)) is not None]


def _tokens(column: ModelScores, name: str) -> TokenFigures:
    known = [value for each in column.results if (value := getattr(each.usage, name)) is not None]
    return TokenFigures(total=sum(known) if known else None, known=len(known))


def quantile(points: _Points, share: float) -> Figure:
    """A quantile of values with their clusters, and its interval."""
    if not points:
        return number(Estimate(None, note="not known"))
    return number(clustered_quantile([value for value, _ in points], [cluster for _, cluster in points], share))
