"""Models against each other: paired by prompt, all pairs, with Holm's correction over the pairs.

The difference of two models on a prompt is that of their shares of right first answers over the replications; only
prompts that both answered count. Prompts of one family are one observation. The p-value is that of a sign-flip
test over those, the interval Student's over the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

from skill_health.router.scores.judge import ModelScores, RunScores
from skill_health.router.scores.numbers import difference, number
from skill_health.stats.estimates import Estimate
from skill_health.stats.multiplicity import holm

_NOBODY = "not testable: no prompt was answered by both"
_Shares = Mapping[str, tuple[int, float]]


def compare_models(sheet: RunScores) -> list[dict[str, Any]]:
    """Every pair of models in the manifest's order, the difference being the first's less the second's."""
    shares = {column.model.spec: _shares(column) for column in sheet.columns}
    found = [_pair(one, other, shares, sheet.facts.seed) for one, other in combinations(shares, 2)]
    adjusted = holm([pair["difference"].p for pair in found])
    return [
        pair | {"difference": number(replace(pair["difference"], p_adjusted=p))}
        for pair, p in zip(found, adjusted, strict=True)
    ]


def _shares(column: ModelScores) -> _Shares:
    """For each prompt with a right answer that was answered: its cluster and the share of right first answers."""
    totals: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for row in column.tested():
        total = totals[row.prompt.prompt_id]
        total[0] = row.cluster
        total[1] += row.right
        total[2] += 1
    return {prompt: (cluster, right / calls) for prompt, (cluster, right, calls) in totals.items()}


def _pair(one: str, other: str, shares: Mapping[str, _Shares], seed: int) -> dict[str, Any]:
    first, second = shares[one], shares[other]
    sums: defaultdict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for prompt, (cluster, value) in first.items():
        if prompt in second:
            sums[cluster][0] += value - second[prompt][1]
            sums[cluster][1] += 1
    # Sums of thirds that cancel must be 0, not a rounding error with a sign.
    rows = [(round(total, 9), n) for total, n in (sums[cluster] for cluster in sorted(sums))]
    estimate = difference(rows, seed, "Student's") if rows else Estimate(None, note=_NOBODY)
    return {
        "first": one,
        "second": other,
        "difference": replace(estimate, n=round(sum(n for _, n in rows)), clusters=len(rows)),
        "better": sum(total > 0 for total, _ in rows),
        "worse": sum(total < 0 for total, _ in rows),
    }
