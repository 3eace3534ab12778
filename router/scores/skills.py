"""Each skill by itself: how often it is found where it is expected, and how often it is right where it is picked.

Abstentions and answers without a valid ranking stay in the denominator of recall; missing calls are shown beside it.
`p` asks whether a skill's recall differs from that of all other skills: its clusters' recalls, averaged over the
models, against random sets of as many clusters. It is corrected by Benjamini and Hochberg (1995) over the skills.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from skill_health import stats
from skill_health.router.records import NONE
from skill_health.router.scores.facts import RoutingRunFacts
from skill_health.router.scores.judge import Judged, RunScores
from skill_health.router.scores.numbers import Number, number, share
from skill_health.stats.estimates import Estimate
from skill_health.stats.multiplicity import benjamini_hochberg

FEW = 5
"""Fewer independent prompts than this say little about one skill; a report says so."""


@dataclass(slots=True)
class _Tally:
    """Calls of one skill: where it is expected, by what came first; where it is picked, by whether that was right."""

    expected: list[Judged] = field(default_factory=list)
    picked: list[Judged] = field(default_factory=list)


def skills(sheet: RunScores) -> list[dict[str, Any]]:
    """Every skill of the collection that is listed, expected or picked, in the catalogue's order."""
    facts = sheet.facts
    prompts = Counter(prompt.expected for prompt in facts.tested if prompt.expected is not None)
    tallies = {column.model.spec: _tallies(column.scored) for column in sheet.columns}
    pooled = _tallies(sheet.scored)
    tests = _tests(pooled, facts)
    found = []
    for name, skill in {**facts.shown, **facts.omitted}.items():
        planned = {column.model.spec: prompts[name] * column.model.replications for column in sheet.columns}
        recall, precision, counts = _numbers(pooled.get(name, _Tally()), sum(planned.values()), tests.get(name))
        found.append({
            "name": name, "path": skill.path, "state": skill.state,
            "prompts": prompts[name], "length": len(skill.text),
            "recall": recall, "precision": precision, **counts, "notes": _notes(prompts[name], recall, precision),
            "models": [
                _of_model(spec, tally[name], planned[spec]) for spec, tally in tallies.items() if name in tally
            ],
        })  # fmt: skip
    return found


def _tallies(rows: Iterable[Judged]) -> Mapping[str, _Tally]:
    found: defaultdict[str, _Tally] = defaultdict(_Tally)
    for row in rows:
        if row.tested:
            if row.prompt.expected is not None:
                found[row.prompt.expected].expected.append(row)
            if row.picked is not None and row.picked != NONE:
                found[row.picked].picked.append(row)
    return dict(found)


def _of_model(spec: str, tally: _Tally, planned: int) -> dict[str, Any]:
    recall, precision, counts = _numbers(tally, planned, None)
    return {"model": spec, "recall": recall, "precision": precision, **counts}


def _numbers(
    tally: _Tally, planned: int, test: tuple[float | None, float | None] | None
) -> tuple[Number, Number, dict[str, int]]:
    """Recall, precision, and what both are made of."""
    recall = _share(tally.expected, "no prompt expects it" if not planned else "no call is scored")
    if test and recall.value is not None:
        recall = Estimate(
            recall.value, recall.low, recall.high, recall.n, recall.clusters, *test, recall.method, recall.note
        )
    precision = _share(tally.picked, "it was never picked")
    outcomes = Counter(_outcome(row) for row in tally.expected)
    return (
        number(recall, planned),
        number(precision),
        {
            "planned": planned,
            "missing": planned - len(tally.expected),
            **{name: outcomes[name] for name in ("right", "other_skill", "abstained", "no_answer")},
            "picked": len(tally.picked),
            "picked_right": sum(row.right for row in tally.picked),
            "picked_acceptable": sum(row.accepted and not row.right for row in tally.picked),
        },
    )


def _outcome(row: Judged) -> str:
    if row.picked is None:
        return "no_answer"
    return "right" if row.right else "abstained" if row.picked == NONE else "other_skill"


def _share(rows: Sequence[Judged], why: str) -> Estimate:
    sums: dict[int, list[float]] = {}
    for row in rows:
        total = sums.setdefault(row.cluster, [0.0, 0.0])
        total[0] += row.right
        total[1] += 1
    return share([sums[cluster] for cluster in sorted(sums)], why)


def _tests(pooled: Mapping[str, _Tally], facts: RoutingRunFacts) -> dict[str, tuple[float | None, float | None]]:
    """For each skill that prompts expect, p and p corrected."""
    if not stats.installed():
        return {}
    from skill_health.stats.hypothesis_tests import group_permutation_test

    values: list[float] = []
    groups: list[str] = []
    for name in sorted(pooled):
        by_cluster: defaultdict[int, list[float]] = defaultdict(list)
        for value, cluster in _by_model(pooled[name].expected):
            by_cluster[cluster].append(value)
        values += [sum(of_models) / len(of_models) for _, of_models in sorted(by_cluster.items())]
        groups += [name] * len(by_cluster)
    ps = group_permutation_test(values, groups, seed=facts.seed)
    adjusted = benjamini_hochberg(list(ps.values()))
    return {name: (p, q) for (name, p), q in zip(ps.items(), adjusted, strict=True)}


def _by_model(rows: Sequence[Judged]) -> list[tuple[float, int]]:
    """Each model's share of right answers in each cluster: models count alike, whatever their replications."""
    totals: defaultdict[tuple[int, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for row in rows:
        total = totals[row.cluster, row.result.model]
        total[0] += row.right
        total[1] += 1
    return [(right / calls, cluster) for (cluster, _), (right, calls) in totals.items()]


def _notes(prompts: int, recall: Number, precision: Number) -> list[str]:
    notes = []
    if not prompts:
        notes.append("no prompt expects it, so its recall is not testable")
    elif recall["clusters"] < FEW:
        plural = "s" * (recall["clusters"] != 1)
        notes.append(f"only {recall['clusters']} independent prompt{plural}: far from a verdict")
    if precision["value"] is None and prompts:
        notes.append("never picked, so its precision is not testable")
    return notes
