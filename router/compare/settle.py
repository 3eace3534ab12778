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
from skill_health.router.scores.judge import ModelScores, RoutingRunFacts, read_facts
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
    tested = [model.spec for model in facts.models if model.kind != LOCAL]
    blocks = blocks_of(facts, before.facts)
    beyond: dict[str, frozenset[str]] = dict.fromkeys(tested, frozenset())
    """The prompts that a model is not asked."""
    settled: Mapping[str, SettledRouter] = {}
    for number in range(1, len(blocks) + 1):
        later = frozenset(name for block in blocks[number:] for name in block)
        for spec in tested:
            if spec not in settled or settled[spec].verdict == "open":
                beyond[spec] = later
        if number == len(blocks) and not any(beyond.values()):
            return SettledSweep(prepared)
        place = replace(prepared.place, others=frozenset(_keys_beyond(facts, beyond)))
        answered = answer_prompts(replace(prepared, place=place), terms, stream)
        if answered.left or answered.reason:
            left = planned - len(answered.results)
            ended = RunOutcome(prepared.place.folder, left, answered.reason, answered.capped)
            return SettledSweep(prepared, ended=ended)
        prepared = replace(prepared, place=replace(prepared.place, stored=prepared.place.manifest))
        run = load_run(prepared.place.folder)
        settled = {each.model: each for each in settle_models(run, before, margin, [n for b in blocks for n in b])}
        if all(each.verdict != "open" for each in settled.values()):
            break
    return SettledSweep(
        prepared,
        RouterSettlement(
            schema="skill-health/router-settlement/1",
            run=side_of(run),
            baseline=side_of(before),
            margin=margin,
            alpha=ALPHA,
            calls=len(run.results),
            planned=planned,
            models=tuple(settled.values()),
        ),
        untrusted=tuple(each.model for each in answered.verdicts if each.failed),
    )


def blocks_of(facts: RoutingRunFacts, before: RoutingRunFacts) -> list[list[str]]:
    """The prompts in the order in which they are asked: whole clusters, shuffled by the seed.

    Those that tell nothing about the question come last, in the last block.
    """
    telling = set(agreeing(facts, before)) - facts.untested.keys() - before.untested.keys()
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


def _keys_beyond(facts: RoutingRunFacts, beyond: Mapping[str, frozenset[str]]) -> Iterator[Key]:
    for model in facts.models:
        for name in beyond.get(model.spec, ()):
            for replication in range(model.replications):
                yield name, model.spec, replication


def settle_models(run: RouterRun, before: RouterRun, margin: float, order: Sequence[str]) -> Iterator[SettledRouter]:
    """What is settled for each model that was asked, from the prompts that both runs have, in their order."""
    old = {column.model.spec: column for column in before.sheet.columns}
    tested = [column for column in run.sheet.columns if column.model.kind != LOCAL and column.model.spec in old]
    places = {name: at for at, name in enumerate(order)}
    common = set(agreeing(run.facts, before.facts))
    whole = {run.facts.clusters[name] for name in common - run.facts.untested.keys() - before.facts.untested.keys()}
    for column in tested:
        yield _settle(old[column.model.spec], column, common, places, margin, ALPHA / len(tested), len(whole))


def _settle(
    before: ModelScores, after: ModelScores, common: set[str], places: Mapping[str, int], margin: float, alpha: float,
    of: int,
) -> SettledRouter:  # fmt: skip
    there = Counter(result.prompt_id for result in after.results)
    pairs = [
        each
        for each in pair(before, after, common)
        # A prompt of which some calls are there yet would count by those that came first.
        if there[each.prompt.prompt_id] >= after.model.replications
    ]
    units: dict[int, list[float]] = {}
    for each in sorted(pairs, key=lambda each: places[each.prompt.prompt_id]):
        units.setdefault(each.cluster, []).append(each.by(COMPARED[PRIMARY][1]))
    values = [fmean(differences) for differences in units.values()]
    verdict: SettledVerdict = "open"
    low = high = None
    if values:
        above, below = anytime_p(values, -margin, -1.0, 1.0)
        verdict = "kept" if above <= alpha / 2 else "lost" if below <= alpha / 2 else "open"
        low, high = (round(end, _DIGITS) for end in anytime_interval(values, alpha, -1.0, 1.0))
    return SettledRouter(
        model=after.model.spec,
        verdict=verdict,
        prompts=len(pairs),
        clusters=len(values),
        moved=sum(round(value, _DIGITS) != 0 for value in values),
        of=of,
        difference=round(fmean(values), _DIGITS) if values else None,
        low=low,
        high=high,
    )


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
