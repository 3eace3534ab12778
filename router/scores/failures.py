"""Answers that could not be used, by kind: at the first attempt and after the second one that a format failure gets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from skill_health.documents.router_report import FailureKind, FailureShare, RouterCoverage, RouterFailures
from skill_health.router.records import ANSWERED, RoutingResult, Status
from skill_health.router.scores.judge import ModelScores, RoutingRunFacts, missing
from skill_health.router.scores.numbers import number, share

_FORMAT = "format_failure"


def failures(column: ModelScores, facts: RoutingRunFacts) -> RouterFailures:
    """The share of failed answers over all prompts, and how many of each kind; one answer may be of several."""
    first = [result for result in column.results if result.first_status in ANSWERED and result.status != "dry_run"]
    final = [row.result for row in column.scored]
    planned = column.planned(facts.prompts.values())
    return RouterFailures(
        first_attempt=_part(facts, planned, [(each, each.first_status, each.first_kinds) for each in first]),
        after_retry=_part(facts, planned, [(each, each.status, each.kinds) for each in final]),
        second_attempts=sum(result.attempts > 1 for result in column.results),
        tolerated=dict(sorted(Counter(note for each in final for note in each.notes).items())),
    )


def _part(
    facts: RoutingRunFacts, planned: int, rows: Sequence[tuple[RoutingResult, Status, Iterable[str]]]
) -> FailureShare:
    sums: dict[int, list[float]] = {}
    kinds: Counter[str] = Counter()
    for result, status, named in rows:
        total = sums.setdefault(facts.clusters[result.prompt_id], [0.0, 0.0])
        total[0] += status != "finished"
        total[1] += 1
        if status != "finished":
            kinds.update((named or (_FORMAT,)) if status == _FORMAT else (status,))
    rate = share([sums[cluster] for cluster in sorted(sums)], "no call was answered")
    calls = len(rows)
    return FailureShare(
        rate=number(rate, planned, calls),
        kinds=tuple(FailureKind(kind=kind, calls=n, rate=n / calls) for kind, n in sorted(kinds.items())),
    )


def coverage(column: ModelScores, facts: RoutingRunFacts) -> RouterCoverage:
    """How many calls were planned and scored, and what became of the others."""
    planned = column.planned(facts.prompts.values())
    return RouterCoverage(
        planned=planned,
        scored=len(column.scored),
        share=len(column.scored) / planned if planned else None,
        missing=missing(column, len(facts.prompts)),
    )
