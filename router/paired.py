"""Two runs, call by call: what each model answered to the same prompts in both, and by how much it got better or worse.

Replications are averaged first, and only prompts that both runs have a score for count. Prompts of one family are one
observation: their differences are summed, resampled and flipped together. Pooling replications instead would find
differences where there are none.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from skill_health.router.records import NONE, Prompt
from skill_health.router.scores.judge import Judged, ModelScores
from skill_health.router.scores.metrics import METRICS, PRIMARY
from skill_health.router.scores.numbers import difference, number
from skill_health.stats.estimates import Estimate
from skill_health.stats.multiplicity import benjamini_hochberg

ABSTAINED = "abstained"
COMPARED: Mapping[str, tuple[str, Callable[[Judged], float]]] = {
    PRIMARY: (METRICS[PRIMARY].title, METRICS[PRIMARY].value),
    "top3": (METRICS["top3"].title, METRICS["top3"].value),
    "mrr": (METRICS["mrr"].title, METRICS["mrr"].value),
    ABSTAINED: ("abstained", lambda row: row.picked == NONE),
}
"""What is compared: title and value of one call. The first is the primary one, declared beforehand."""


@dataclass(frozen=True, slots=True)
class PairedCalls:
    """The scored calls of one model to one prompt, in the baseline and in the run. `cluster` numbers the family."""

    prompt: Prompt
    cluster: int
    before: tuple[Judged, ...]
    after: tuple[Judged, ...]

    def sides(self, value: Callable[[Judged], float]) -> tuple[float, float]:
        """The mean of a value over the replications, in the baseline and in the run."""
        return fmean(map(value, self.before)), fmean(map(value, self.after))

    def by(self, value: Callable[[Judged], float]) -> float:
        """The difference. Sums of thirds that cancel are 0, not a rounding error with a sign."""
        before, after = self.sides(value)
        return round(after - before, 9)


def pair(before: ModelScores, after: ModelScores, prompts: Collection[str]) -> list[PairedCalls]:
    """The prompts that both runs have a score for, in the run's order; only those that are named."""
    old, new = _by_prompt(before.tested()), _by_prompt(after.tested())
    return [
        PairedCalls(rows[0].prompt, rows[0].cluster, tuple(old[prompt]), tuple(rows))
        for prompt, rows in new.items()
        if prompt in old and prompt in prompts
    ]


def _by_prompt(rows: Iterable[Judged]) -> Mapping[str, list[Judged]]:
    found: defaultdict[str, list[Judged]] = defaultdict(list)
    for row in rows:
        found[row.prompt.prompt_id].append(row)
    return found


def change(pairs: Sequence[PairedCalls], value: Callable[[Judged], float], seed: int) -> dict[str, Any]:
    """The mean before and after, and the difference with its interval and its p; each prompt counts once.

    `moved` counts the independent prompts whose difference is not 0: nothing else tells for or against a change.
    """
    sums: dict[int, list[float]] = {}
    for each in pairs:
        total = sums.setdefault(each.cluster, [0.0, 0.0])
        total[0] += each.by(value)
        total[1] += 1
    rows = [sums[cluster] for cluster in sorted(sums)]
    if not rows:
        why = Estimate(None, note="not testable: no prompt has a score in both runs")
        return {"before": None, "after": None, "difference": why, "moved": 0}
    before, after = zip(*(each.sides(value) for each in pairs), strict=True)
    return {
        "before": round(fmean(before), 9),
        "after": round(fmean(after), 9),
        "difference": replace(difference(rows, seed), n=len(pairs), clusters=len(rows)),
        "moved": sum(round(total, 9) != 0 for total, _ in rows),
    }


def by_skill(pairs: Sequence[PairedCalls], seed: int) -> list[dict[str, Any]]:
    """The change of the primary metric for each right answer by itself, corrected by Benjamini and Hochberg (1995)."""
    groups: defaultdict[str, list[PairedCalls]] = defaultdict(list)
    for each in pairs:
        groups[each.prompt.target or ""].append(each)
    found = [(skill, change(groups[skill], COMPARED[PRIMARY][1], seed)) for skill in sorted(groups)]
    adjusted = benjamini_hochberg([row["difference"].p for _, row in found])
    return [
        {"skill": skill, **row, "difference": number(replace(row["difference"], p_adjusted=p))}
        for (skill, row), p in zip(found, adjusted, strict=True)
    ]


def flips(pairs: Sequence[PairedCalls]) -> list[dict[str, Any]]:
    """The prompts whose most frequent answer is another one now: those lost first, then those won, then the rest."""
    found = []
    for each in pairs:
        old, new = _modal(each.before), _modal(each.after)
        if (old["answer"], old["valid"]) == (new["answer"], new["valid"]):
            continue
        target = each.prompt.target
        kind = "lost" if _is(old, target) else "won" if _is(new, target) else "moved"
        found.append(
            {"prompt_id": each.prompt.prompt_id, "expected": target, "kind": kind, "before": old, "after": new}
        )
    return sorted(found, key=lambda flip: ("lost", "won", "moved").index(flip["kind"]))


def _is(side: Mapping[str, Any], target: str | None) -> bool:
    return bool(side["valid"]) and side["answer"] == target


def _modal(rows: Sequence[Judged]) -> dict[str, Any]:
    """The most frequent answer, `calls` of `of`; the kind of failure where there is no valid one.

    Of equally frequent ones the right one is taken, then the first by name, so that noise makes few flips.
    """
    counts = Counter((row.picked or row.result.status, row.picked is not None) for row in rows)
    target = rows[0].prompt.target
    (answer, valid), calls = min(counts.items(), key=lambda item: (-item[1], item[0] != (target, True), item[0]))
    return {"answer": answer, "valid": valid, "calls": calls, "of": len(rows)}
