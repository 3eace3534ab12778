"""A sweep that stops when it knows whether an edit has cost more than so much: prompts in blocks, a test after each.

The test is one that may be looked at as often as one likes (`skill_health.stats.hypothesis_tests.anytime_p`), so the
error that it promises holds at whatever block is the last. What was not asked can be asked later: the run is one that
was stopped, and the same command without the question goes on with it.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TextIO

from skill_health.bench.manifest import digest
from skill_health.bench.run.conduct import RunOutcome
from skill_health.documents._record import convert_record
from skill_health.documents.router_manifest import RouterManifest
from skill_health.documents.router_settlement import RouterSettlement, SettledRouter, SettledVerdict
from skill_health.router.compare.comparable import agreeing
from skill_health.router.compare.compare import ALPHA, COMPARED, pair, side_of
from skill_health.router.plan.plan import Key
from skill_health.router.plan.prepare import PreparedSweep
from skill_health.router.routers._load import LOCAL
from skill_health.router.run.conduct import RouterRunOptions, answer_prompts
from skill_health.router.runs import RouterRun, load_run
from skill_health.router.scores.judge import ModelScores, RoutingRunFacts, judge, read_facts
from skill_health.router.scores.metrics import PRIMARY
from skill_health.stats.hypothesis_tests import anytime_interval, anytime_p
from skill_health.text.blocks import Block, Sentence, Table, TitleBlock
from skill_health.text.numbers import count

LOOKS = 20
"""Into so many blocks the prompts are divided, unless these would be smaller than `FEWEST`."""
FEWEST = 5
_DIGITS = 9


@dataclass(frozen=True, slots=True)
class SettledSweep:
    """How far a sweep went: `settled`; or `ended` for another reason; or neither, so that all of it is to be asked.

    `prepared` is that of the run as it is on the disk now; `untrusted` are the models that failed the instrument check.
    """

    prepared: PreparedSweep
    settled: RouterSettlement | None = None
    ended: RunOutcome | None = None
    untrusted: tuple[str, ...] = ()


def settle_sweep(
    prepared: PreparedSweep, terms: RouterRunOptions, stream: TextIO | None, before: RouterRun, margin: float
) -> SettledSweep:
    """Ask in blocks until it is settled for each model whether top-1 has fallen by more than `margin`, or all is asked.

    Local routers are asked everything at once. Raises as `answer_prompts` does.
    """
    facts = read_facts(convert_record(prepared.place.manifest, RouterManifest))
    planned = sum(model.replications for model in facts.models) * len(facts.prompts)
    blocks = blocks_of(facts, before.facts)
    question = _Question(facts, before, margin, [name for block in blocks for name in block])
    unsettled = list(question.models)
    beyond: dict[str, frozenset[str]] = {}
    """The prompts that a model is not asked."""
    for number in range(1, len(blocks) + 1):
        beyond |= dict.fromkeys(unsettled, frozenset(name for block in blocks[number:] for name in block))
        if not any(beyond.values()):
            return SettledSweep(prepared)
        place = replace(prepared.place, others=frozenset(_keys_beyond(facts, beyond)))
        answered = answer_prompts(replace(prepared, place=place), terms, stream)
        if answered.left or answered.reason:
            left = planned - len(answered.results)
            ended = RunOutcome(prepared.place.folder, left, answered.reason, answered.capped)
            return SettledSweep(prepared, ended=ended)
        prepared = replace(prepared, place=replace(prepared.place, stored=prepared.place.manifest))
        columns = [each for each in judge(facts, answered.results).columns if each.model.spec in question.models]
        unsettled = [each.model.spec for each in columns if question.verdict_on(each) == "open"]
        if not unsettled:
            break
    return SettledSweep(
        prepared,
        RouterSettlement(
            schema="skill-health/router-settlement/1",
            run=side_of(load_run(prepared.place.folder)),
            baseline=side_of(before),
            margin=margin,
            alpha=ALPHA,
            calls=len(answered.results),
            planned=planned,
            models=tuple(map(question.settle, columns)),
        ),
        untrusted=tuple(each.model for each in answered.verdicts if each.failed),
    )


def blocks_of(facts: RoutingRunFacts, before: RoutingRunFacts) -> list[list[str]]:
    """The prompts in the order in which they are asked: whole clusters, shuffled by the seed.

    Those that tell nothing about the question come last, in the last block.
    """
    telling = telling_prompts(facts, before)
    clusters: defaultdict[int, list[str]] = defaultdict(list)
    for name in facts.prompts:
        clusters[facts.clusters[name]].append(name)
    of_use = [names for names in clusters.values() if telling.intersection(names)]
    shuffled = sorted(of_use, key=lambda names: digest([facts.seed, sorted(names)]))
    size = max(FEWEST, math.ceil(len(shuffled) / LOOKS))
    blocks = [
        [name for names in shuffled[start : start + size] for name in names] for start in range(0, len(shuffled), size)
    ] or [[]]
    blocks[-1] += [name for names in clusters.values() if not telling.intersection(names) for name in names]
    return blocks


def telling_prompts(facts: RoutingRunFacts, before: RoutingRunFacts) -> set[str]:
    """The prompts that ask and expect the same in both runs, and have a right answer to count."""
    return set(agreeing(facts, before)) - facts.untested.keys() - before.untested.keys()


def _keys_beyond(facts: RoutingRunFacts, beyond: Mapping[str, frozenset[str]]) -> Iterator[Key]:
    for model in facts.models:
        for name in beyond.get(model.spec, ()):
            for replication in range(model.replications):
                yield name, model.spec, replication


class _Question:
    """Has top-1 fallen by more than `margin`? With what of the baseline tells; prompts are looked at in an order.

    It is put of `models`: those that both runs ask, but for local routers.
    """

    def __init__(self, facts: RoutingRunFacts, before: RouterRun, margin: float, order: Sequence[str]) -> None:
        self._old = {column.model.spec: column for column in before.sheet.columns}
        self.models = tuple(each.spec for each in facts.models if each.kind != LOCAL and each.spec in self._old)
        self._margin, self._alpha = margin, ALPHA / max(1, len(self.models))
        self._places = {name: at for at, name in enumerate(order)}
        self._common = telling_prompts(facts, before.facts)
        self._of = len({facts.clusters[name] for name in self._common})

    def verdict_on(self, column: ModelScores) -> SettledVerdict:
        """What is settled of a model."""
        return self._verdict(self._differences(column)[1])

    def settle(self, column: ModelScores) -> SettledRouter:
        """What is settled of a model, and on what it rests."""
        prompts, values = self._differences(column)
        low = high = None
        if values:
            low, high = (round(end, _DIGITS) for end in anytime_interval(values, self._alpha, -1.0, 1.0))
        return SettledRouter(
            model=column.model.spec,
            verdict=self._verdict(values),
            prompts=prompts,
            clusters=len(values),
            moved=sum(round(value, _DIGITS) != 0 for value in values),
            of=self._of,
            difference=round(fmean(values), _DIGITS) if values else None,
            low=low,
            high=high,
        )

    def _verdict(self, values: Sequence[float]) -> SettledVerdict:
        above, below = anytime_p(values, -self._margin, -1.0, 1.0)
        return "kept" if above <= self._alpha / 2 else "lost" if below <= self._alpha / 2 else "open"

    def _differences(self, after: ModelScores) -> tuple[int, list[float]]:
        """How many prompts both runs asked to the end, and the differences of their clusters in their order."""
        there = Counter(result.prompt_id for result in after.results)
        pairs = [
            each
            for each in pair(self._old[after.model.spec], after, self._common)
            # A prompt of which some calls are there yet would count by those that came first.
            if there[each.prompt.prompt_id] >= after.model.replications
        ]
        units: dict[int, list[float]] = {}
        for each in sorted(pairs, key=lambda each: self._places[each.prompt.prompt_id]):
            units.setdefault(each.cluster, []).append(each.by(COMPARED[PRIMARY][1]))
        return len(pairs), [fmean(differences) for differences in units.values()]


def settlement_blocks(found: RouterSettlement) -> Iterator[Block]:
    """What was settled, for people."""
    yield TitleBlock(f"Settled: {found.run.run_id} against {found.baseline.run_id}")
    yield Sentence(
        f"The question: has top-1 fallen by more than {found.margin:.3f}? Asked {found.calls:,} of {count(found.planned, 'call')}."
    )
    rows = [
        [
            each.model, _VERDICTS[each.verdict], _signed(each.difference), f"{_signed(each.low)} to {_signed(each.high)}",
            f"{each.clusters:,} of {each.of:,}", f"{each.moved:,}",
        ]
        for each in found.models
    ]  # fmt: skip
    head = ("model", "top-1", "difference", "interval", "independent prompts", "of these moved")
    yield Table(head, tuple(tuple(row) for row in rows))
    yield Sentence(
        f"A verdict is wrong with a chance of at most {found.alpha:.0%} over all models, at whatever prompt was stopped; "
        "the interval holds at every moment, and is wider than one of a run whose size was fixed. Other figures of a run "
        "that stopped early would be biased by its stopping, so there are none."
    )
    yield Sentence("The same command without --settle asks the rest, and compares as usual.")


_VERDICTS: Mapping[SettledVerdict, str] = {
    "kept": "has not fallen by more",
    "lost": "has fallen by more",
    "open": "not settled",
}


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.3f}"
