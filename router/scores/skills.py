"""Each skill by itself: how often it is found, what is picked instead of it, and what it takes that is not its own."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from skill_health import stats
from skill_health.documents._record import Figure
from skill_health.documents.router_report import (
    ConfusedPair,
    ConfusionCell,
    RoutingCalls,
    SkillModelRouting,
    SkillRoutingReport,
    SkillThief,
    StealCounts,
    StolenFrom,
)
from skill_health.router.records import NONE
from skill_health.router.scores.judge import Judged, RoutingRunFacts, RunScores
from skill_health.router.scores.numbers import number, share
from skill_health.stats.estimates import Estimate
from skill_health.stats.multiplicity import benjamini_hochberg
from skill_health.text.numbers import count
from skill_health.text.similarity import STOP, cosine, frequencies, terms, vectors

FEW = 5
"""Fewer independent prompts than this say little about one skill; a report says so."""


@dataclass(slots=True)
class _Tally:
    """Calls of one skill: where it is expected, by what came first; where it is picked, by whether that was right."""

    expected: list[Judged] = field(default_factory=list)
    picked: list[Judged] = field(default_factory=list)


def skills(sheet: RunScores) -> tuple[SkillRoutingReport, ...]:
    """Every skill of the collection that is listed, expected or picked, in the catalogue's order."""
    facts = sheet.facts
    prompts = Counter(prompt.expected for prompt in facts.tested if prompt.expected is not None)
    tallies = {column.model.spec: _tallies(column.scored) for column in sheet.columns}
    pooled = _tallies(sheet.scored)
    tests = _tests(pooled, facts)
    found = []
    for name, skill in {**facts.shown, **facts.omitted}.items():
        planned = {column.model.spec: prompts[name] * column.model.replications for column in sheet.columns}
        calls = _count(pooled.get(name, _Tally()), sum(planned.values()), tests.get(name))
        found.append(
            SkillRoutingReport(
                name=name,
                path=skill.path,
                state=skill.state,
                prompts=prompts[name],
                length=len(skill.text),
                notes=tuple(_notes(prompts[name], calls)),
                models=tuple(
                    SkillModelRouting(model=spec, **msgspec.structs.asdict(_count(tally[name], planned[spec])))
                    for spec, tally in tallies.items()
                    if name in tally
                ),
                **msgspec.structs.asdict(calls),
            )
        )
    return tuple(found)


def _tallies(rows: Iterable[Judged]) -> Mapping[str, _Tally]:
    found: defaultdict[str, _Tally] = defaultdict(_Tally)
    for row in rows:
        if row.tested:
            if row.prompt.expected is not None:
                found[row.prompt.expected].expected.append(row)
            if row.picked is not None and row.picked != NONE:
                found[row.picked].picked.append(row)
    return dict(found)


def _count(tally: _Tally, planned: int, test: tuple[float | None, float | None] | None = None) -> RoutingCalls:
    """Recall, precision, and what both are made of."""
    recall = _share(tally.expected, "no prompt expects it" if not planned else "no call is scored")
    if test and recall.value is not None:
        recall = replace(recall, p=test[0], p_adjusted=test[1])
    wrong = [row for row in tally.expected if not row.right]
    return RoutingCalls(
        recall=number(recall, planned),
        precision=number(_share(tally.picked, "it was never picked")),
        planned=planned,
        missing=planned - len(tally.expected),
        right=len(tally.expected) - len(wrong),
        other_skill=sum(row.fired for row in wrong),
        abstained=sum(row.picked == NONE for row in wrong),
        no_answer=sum(row.picked is None for row in wrong),
        picked=len(tally.picked),
        picked_right=sum(row.right for row in tally.picked),
        picked_acceptable=sum(row.accepted and not row.right for row in tally.picked),
    )


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


def _notes(prompts: int, calls: RoutingCalls) -> Iterator[str]:
    independent = calls.recall.clusters
    if not prompts:
        yield "no prompt expects it, so its recall is not testable"
    elif independent < FEW:
        yield f"only {count(independent, 'independent prompt')}: far from a verdict"
    if calls.precision.value is None and prompts:
        yield "never picked, so its precision is not testable"


PAIRS = 200
WORDS = 8
_FEW = 2
"""A word in so many texts may tell two of them apart from the rest; in more, only if most do not have it."""


def matrix(rows: Iterable[Judged]) -> tuple[ConfusionCell, ...]:
    """The cells that are not 0, by the expected class and then the picked one.

    Both may be "none"; a picked null stands for an answer without a valid ranking. `prompts` counts distinct ones.
    """
    calls: Counter[tuple[str, str | None]] = Counter()
    prompts: defaultdict[tuple[str, str | None], set[str]] = defaultdict(set)
    for row in rows:
        if row.tested:
            cell = (row.prompt.target or NONE, row.picked)
            calls[cell] += 1
            prompts[cell].add(row.prompt.prompt_id)
    order = sorted(calls, key=lambda cell: (cell[0], cell[1] is None, cell[1] or ""))
    return tuple(
        ConfusionCell(expected=cell[0], picked=cell[1], calls=calls[cell], prompts=len(prompts[cell])) for cell in order
    )


def pairs(sheet: RunScores) -> tuple[ConfusedPair, ...]:
    """Two skills of which one was picked where the other was expected, over all models, the most frequent first.

    `rate` is over the calls that expect `expected`; `similarity` is the cosine of the two texts as they are listed.
    """
    wrong: defaultdict[tuple[str, str], list[Judged]] = defaultdict(list)
    calls: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for row in sheet.scored:
        if row.tested and row.prompt.expected is not None:
            calls[row.prompt.expected][row.cluster] += 1
            if row.picked is not None and row.picked not in (NONE, row.prompt.expected):
                wrong[row.prompt.expected, row.picked].append(row)
    texts = _Texts(sheet.facts)
    order = sorted(wrong, key=lambda pair: (-len(wrong[pair]), pair))
    found = []
    for expected, picked in order[:PAIRS]:
        rows = wrong[expected, picked]
        similarity, shared = texts.compare(expected, picked)
        found.append(
            ConfusedPair(
                expected=expected,
                picked=picked,
                calls=len(rows),
                prompts=len({row.prompt.prompt_id for row in rows}),
                acceptable=sum(row.accepted for row in rows),
                rate=_rate(rows, calls[expected]),
                similarity=similarity,
                shared_words=shared,
            )
        )
    return tuple(found)


def _rate(rows: Iterable[Judged], calls: Mapping[int, int]) -> Figure:
    hits = Counter(row.cluster for row in rows)
    return number(share([(hits[cluster], calls[cluster]) for cluster in sorted(calls)]))


class _Texts:
    """The listed texts as vectors, so that two of them can be compared."""

    def __init__(self, facts: RoutingRunFacts) -> None:
        texts = [terms(skill.text, STOP) for skill in facts.shown.values()]
        self._vectors = dict(zip(facts.shown, vectors(texts), strict=True))
        self._usual = {word for word, n in frequencies(texts).items() if n > max(_FEW, len(texts) / 2)}

    def compare(self, one: str, other: str) -> tuple[float | None, tuple[str, ...]]:
        """Similarity and the words that weigh most in it; None where a text is not listed or has no words.

        Words that most of the texts have, such as "use", are no reason to take one skill for another.
        """
        a, b = self._vectors.get(one) or {}, self._vectors.get(other) or {}
        if not a or not b:
            return None, ()
        shared = sorted((-a[word] * b[word], word) for word in a.keys() & b.keys() - self._usual)
        return cosine(a, b), tuple(word for _, word in shared[:WORDS])


MOST = 20


def thieves(rows: Iterable[Judged]) -> StealCounts:
    """Who steals how often, the worst first.

    A skill's rate is over the calls in which it is neither expected nor acceptable, on prompts with a known answer.
    """
    rows = [row for row in rows if row.tested]
    taken: defaultdict[str, list[Judged]] = defaultdict(list)
    for row in rows:
        if row.picked is not None and row.fired and not (row.accepted or row.ambiguous):
            taken[row.picked].append(row)
    calls = Counter(row.cluster for row in rows)
    own = _own(rows)
    order = sorted(taken, key=lambda skill: (-len(taken[skill]), skill))
    found = (_thief(skill, taken[skill], calls, own.get(skill, {})) for skill in order[:MOST])
    return StealCounts(skills=len(taken), thieves=tuple(found))


def _own(rows: Sequence[Judged]) -> Mapping[str, Counter[int]]:
    """In how many calls of each cluster a skill is expected or acceptable."""
    found: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for row in rows:
        for skill in {row.prompt.target or NONE, *row.prompt.acceptable}:
            found[skill][row.cluster] += 1
    return found


def _thief(skill: str, taken: Sequence[Judged], calls: Mapping[int, int], own: Mapping[int, int]) -> SkillThief:
    hits = Counter(row.cluster for row in taken)
    sums = [(hits[at], chances) for at in sorted(calls) if (chances := calls[at] - own.get(at, 0)) > 0]
    expected = Counter(row.prompt.target or NONE for row in taken)
    return SkillThief(
        skill=skill,
        calls=len(taken),
        prompts=len({row.prompt.prompt_id for row in taken}),
        rate=number(share(sums)),
        from_=tuple(
            StolenFrom(expected=name, calls=n)
            for name, n in sorted(expected.items(), key=lambda item: (-item[1], item[0]))[:5]
        ),
    )
