"""Whether a model says the same when a prompt is asked again, with the skills in another order."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from skill_health.router.scores.judge import ModelScores
from skill_health.router.scores.numbers import Number, mean, not_testable, number

_ONCE = "each prompt was asked once"


def stability(column: ModelScores) -> dict[str, Any]:
    """Modal share and flip rate of the first answer, over all prompts that were answered more than once.

    The modal share of a prompt is that of its most frequent first answer; the flip rate is the share of pairs of its
    replications whose first answers differ. Having no valid answer is an answer here. Both measure order and chance
    together. `changed` counts the prompts whose first answers are not all the same.
    """
    if column.model.replications < 2:
        return {"modal_share": not_testable(_ONCE), "flip_rate": not_testable(_ONCE), "prompts": 0, "changed": 0}
    answers: defaultdict[str, list[str | None]] = defaultdict(list)
    clusters: dict[str, int] = {}
    for row in column.scored:
        answers[row.prompt.prompt_id].append(row.picked)
        clusters[row.prompt.prompt_id] = row.cluster
    modal: defaultdict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    flips: defaultdict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    repeated = {prompt: each for prompt, each in answers.items() if len(each) > 1}
    for prompt, each in repeated.items():
        counts = Counter(each)
        cluster = clusters[prompt]
        modal[cluster][0] += max(counts.values()) / len(each)
        modal[cluster][1] += 1
        pairs = len(each) * (len(each) - 1) / 2
        flips[cluster][0] += 1 - sum(n * (n - 1) / 2 for n in counts.values()) / pairs
        flips[cluster][1] += 1
    calls = sum(map(len, repeated.values()))
    return {
        "modal_share": _mean(modal, calls),
        "flip_rate": _mean(flips, calls),
        "prompts": len(repeated),
        "changed": sum(len(set(each)) > 1 for each in repeated.values()),
    }


def _mean(sums: Mapping[int, Sequence[float]], calls: int) -> Number:
    return number(mean([sums[cluster] for cluster in sorted(sums)], calls, "no prompt was answered twice"))
