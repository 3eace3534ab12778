"""Inputs and choices -> everything that is settled before the first call: plan, manifest, place and forecast."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, cast

from msgspec import structs

from skill_health.bench.budget import add_known, beyond_caps
from skill_health.bench.prices import PriceTable, Rates, TieredPrice, price_table
from skill_health.bench.run_folder import RunLocation, find_place, find_run, revision_of
from skill_health.discovery.hosts import hosts
from skill_health.documents._record import convert_record, record_values
from skill_health.documents.router_manifest import FrozenSelection, LabelGap, MissedPrompt, RouterManifest
from skill_health.documents.router_result import RoutingResult
from skill_health.executors._api import Executor
from skill_health.executors.shards import Shard
from skill_health.router.inputs import RouterInputs, load_inputs
from skill_health.router.instrument.planted import plant
from skill_health.router.plan.context import check_contexts
from skill_health.router.plan.forecast import (
    CallForecast,
    EarlierCalls,
    forecast_plan,
    read_earlier,
    reservations,
    study_notes,
)
from skill_health.router.plan.opening import open_models, secrets_of, with_prices_of
from skill_health.router.plan.plan import Key, RouterPlan, to_manifest
from skill_health.router.plan.retrieval import retrieve
from skill_health.router.records import Catalogue, Prompt
from skill_health.router.routers import lexical_tfidf
from skill_health.router.routers._api import Setup
from skill_health.router.routers._local import LocalRouter, in_order, indexed
from skill_health.router.run.run import Reserve
from skill_health.router.runs import OF_ROUTER, ROUTER, load_run
from skill_health.router.splits import TEST, TRAIN
from skill_health.router.template import load_template
from skill_health.text.similarity import STOP, terms, vectors
from skill_health.text.terminal import clean

if TYPE_CHECKING:
    from skill_health.router.plan.choices import RouterChoices, RouterOptions

MOST_WORDS = 12
"""How many words a gap names at most."""


def description_gap(catalogue: Catalogue, prompts: Sequence[Prompt]) -> tuple[LabelGap, ...]:
    """The skills with a gap, in the order of their names. Prompts that expect no skill of the catalogue do not count.

    The words come from the prompts: pass those that authors may look at. A description that takes up the words of a
    sealed test prompt has been tuned on it.
    """
    names = set(catalogue.names)
    asked = [prompt for prompt in prompts if prompt.known and prompt.expected in names]
    asked.sort(key=lambda prompt: prompt.prompt_id)
    narrow, wide = _firsts(catalogue, asked, "description"), _firsts(catalogue, asked, "body")
    found: dict[str, list[_Found]] = {name: [] for name in sorted(names)}
    for prompt, first, whole in zip(asked, narrow, wide, strict=True):
        found[str(prompt.expected)].append(_Found(prompt, first, whole))
    lacking = _lacking(catalogue)
    gaps = (_gap(name, one, lacking[name]) for name, one in found.items())
    return tuple(gap for gap in gaps if gap.missed)


class _Found(NamedTuple):
    """A prompt, and what the two searches put first for it."""

    prompt: Prompt
    narrow: str | None
    wide: str | None


def _gap(name: str, found: Sequence[_Found], lacking: dict[str, float]) -> LabelGap:
    lost = [one for one in found if one.wide == name != one.narrow]
    return LabelGap(
        skill=name,
        prompts=len(found),
        by_description=sum(one.narrow == name for one in found),
        by_body=sum(one.wide == name for one in found),
        missed=tuple(MissedPrompt(prompt_id=one.prompt.prompt_id, instead=one.narrow) for one in lost),
        words=_weightiest(lacking, (one.prompt.text for one in lost)),
    )


def _lacking(catalogue: Catalogue) -> dict[str, dict[str, float]]:
    """Per skill the terms of the whole file that what is listed does not have, with their weights."""
    skills = in_order(catalogue)
    weighed = vectors([terms(indexed(skill, "body"), STOP) for skill in skills])
    found = {}
    for skill, vector in zip(skills, weighed, strict=True):
        listed = frozenset(terms(indexed(skill, "description")))
        found[skill.name] = {term: weight for term, weight in vector.items() if term not in listed}
    return found


def _firsts(catalogue: Catalogue, prompts: Sequence[Prompt], index: str) -> list[str | None]:
    """What the search puts first for each prompt, None where no word is shared."""
    router = cast(LocalRouter, lexical_tfidf.open_router(Setup("lexical:tfidf", "", catalogue, index=index)))
    ranked = (router.rank(prompt.text) for prompt in prompts)
    return [found[0][0] if found else None for found in ranked]


def _weightiest(lacking: dict[str, float], texts: Iterable[str]) -> tuple[str, ...]:
    """The terms of the texts by their weight in the body, once for each text that has them; equal ones by alphabet."""
    sums: dict[str, list[float]] = {}
    for text in texts:
        for term in set(terms(text, STOP)) & lacking.keys():
            if not term.isnumeric():
                sums.setdefault(term, []).append(lacking[term])
    order = sorted(sums, key=lambda term: (-round(math.fsum(sums[term]), 9), term))
    return tuple(order[:MOST_WORDS])


@dataclass(frozen=True, slots=True)
class PreparedSweep:
    """A run that can begin. `train` are the prompts that thresholds were chosen on; `keys` are kept out of files.

    `reused` are answers of another run.
    """

    plan: RouterPlan
    place: RunLocation
    train: tuple[Prompt, ...]
    prices: PriceTable
    forecast: CallForecast
    reserve: Reserve
    keys: tuple[str, ...]
    reports: str
    reused: Mapping[Key, RoutingResult] = field(default_factory=dict)


def prepare(
    inputs: RouterInputs,
    choices: RouterChoices,
    reports: str,
    time: datetime,
    *,
    train: tuple[Prompt, ...],
    selection: FrozenSelection,
    named: str = "",
    anew: bool = False,
    keyless: bool = False,
    concurrency: int | None = None,
    shard: Shard | None = None,
    executor: Executor | None = None,
    reuse: str = "",
) -> PreparedSweep:
    """Open the models, freeze what is asked, and find its folder.

    That is the run that is `named`, else an unfinished one of the same identity (not when `anew`), else a new one.
    Nothing is written and nobody is asked; `keyless` models never can be. An `executor` computes what is local. Answers
    of the run `reuse` to the same questions are taken over. Raises UsageError for everything that the user can fix.
    """
    routing = inputs.config.router
    template, prices = load_template(choices.template), price_table(routing)
    models = open_models(choices, routing, inputs.catalogue, template, train, prices, keyless, executor)
    retrieval = retrieve(inputs.catalogue, inputs.prompts, choices)
    plan = RouterPlan(inputs.catalogue, inputs.prompts, models, choices, template, retrieval)
    keys = secrets_of(models)
    manifest = to_manifest(plan, routing, prices, selection, revision_of(inputs.root, reports), _gaps(plan))
    donor = load_run(find_run(reuse, reports, ROUTER)) if reuse else None
    if donor:
        manifest = structs.replace(manifest, reuses=donor.run_id)
    place = find_place(reports, record_values(manifest), time, OF_ROUTER, named, anew, keys, shard)
    if place.stored is not None:
        plan = replace(plan, models=with_prices_of(models, convert_record(place.stored, RouterManifest)))
    earlier = read_earlier(reports, [model.spec for model in plan.models if model.wired], choices.mode)
    done = {(str(name), str(spec), int(number)) for name, spec, number in place.settled}
    reused: Mapping[Key, RoutingResult] = {}
    taken: tuple[str, ...] = ()
    if donor:
        from skill_health.router.plan.reuse import find_reusable

        reused, taken = find_reusable(donor, plan, manifest)
        done |= reused.keys()
    known = hosts(inputs.config.listing)
    notes = [
        *taken,
        *check_contexts(plan, prices, earlier, known),
        *study_notes(plan, train),
        *_retrieval_note(plan),
        *_check_note(plan),
        *_batch_note(plan),
        *_savings_notes(plan, prices, earlier, done),
    ]
    told = forecast_plan(plan, prices.version, earlier, notes, done, concurrency)
    return PreparedSweep(plan, place, train, prices, told, reservations(earlier), keys, reports, reused)


def _gaps(plan: RouterPlan) -> tuple[LabelGap, ...]:
    """What descriptions lack, where routers took part that may read bodies; sealed prompts give nothing away."""
    if all(model.wired for model in plan.models):
        return ()
    return description_gap(plan.catalogue, [prompt for prompt in plan.prompts if prompt.split != TEST])


def _retrieval_note(plan: RouterPlan) -> list[str]:
    """How many right skills the first stage leaves, which bounds what any model can reach."""
    if plan.retrieval is None:
        return []
    there = set(plan.catalogue.names)
    asked = [prompt for prompt in plan.prompts if prompt.known and prompt.expected in there]
    found = sum(prompt.expected in plan.retrieval.shortlists[prompt.prompt_id] for prompt in asked)
    return [
        f"two stages: {plan.retrieval.router} ({plan.retrieval.index}) leaves {plan.retrieval.k} of {len(there):,} skills "
        f"for each prompt; the right one is among them for {found} of {len(asked)} prompts with a skill"
    ]


def _check_note(plan: RouterPlan) -> list[str]:
    wired = sum(model.wired for model in plan.models)
    if not wired:
        return []
    calls = wired * len(plant(plan.catalogue, plan.template.none_allowed).prompts)
    return [f"instrument check: {calls} calls more, before all others; caps count them"]


def _batch_note(plan: RouterPlan) -> list[str]:
    """What batches cost beside calls one by one."""
    found = []
    for model in plan.models:
        if model.batched:
            now, alone = (
                [rate.input, rate.output] for rate in (_first_rate(model.price), _first_rate(model.list_price))
            )
            share = [f"{100 * part / whole:.0f} %" for part, whole in zip(now, alone, strict=True) if whole]
            rates = f" at {' and '.join(dict.fromkeys(share))} of the price of single calls" if share else ""
            found.append(f"batches: {model.spec} is asked in batches{rates}, within a day")
    return found


def _savings_notes(
    plan: RouterPlan, prices: PriceTable, earlier: Mapping[str, EarlierCalls], done: Collection[Key]
) -> Iterator[str]:
    """What cheaper ways of asking would cost, where anything is paid."""
    if any(model.price and not model.price.free for model in plan.models):
        from skill_health.router.plan.savings import find_savings

        yield from find_savings(plan, prices, earlier, done).notes(plan.choices.orders)


def _first_rate(price: TieredPrice | None) -> Rates:
    return price.rates[0] if price else Rates(0.0, 0.0, 0.0, 0.0)


def short_caps(prepared: PreparedSweep, max_runs: int | None, max_usd: float | None) -> list[str]:
    """One line for each cap that the forecast passes."""
    return short_totals([prepared], max_runs, max_usd)


def short_totals(runs: Sequence[PreparedSweep], max_runs: int | None, max_usd: float | None) -> list[str]:
    """One line for each cap that the forecasts of several runs pass together."""
    calls = sum(
        each.load.calls
        for run in runs
        for each, model in zip(run.forecast.models, run.plan.models, strict=True)
        if model.wired
    )
    return beyond_caps(calls, add_known((run.forecast.usd_low for run in runs), 9), max_runs, max_usd)


def read_inputs(given: RouterOptions) -> tuple[RouterInputs, tuple[Prompt, ...]]:
    """The inputs that a command line asks for, and the prompts that thresholds of local routers are chosen on.

    These are those of the split train, whatever the filters leave, or all of them where no prompt has a split.

    Raises UsageError as `load_inputs` does.
    """
    where = (given.paths, given.config_file, given.prompt_files, given.listing)
    inputs = everything = load_inputs(
        *where, prompt_ids=given.prompt_ids, skills=given.skills, splits=given.split, namesakes=given.namesakes,
        field_map=given.field_map, index=given.index, retrieve=given.retrieve,
    )  # fmt: skip
    if given.prompt_ids or given.skills or given.split:
        everything = load_inputs(*where, namesakes=given.namesakes, field_map=given.field_map)
    if not any(prompt.split for prompt in everything.prompts):
        return inputs, everything.prompts
    return inputs, tuple(prompt for prompt in everything.prompts if prompt.split == TRAIN)


def selection_of(inputs: RouterInputs, given: RouterOptions) -> FrozenSelection:
    """Which of the collection's prompts a run asks, as its manifest says it."""
    prompt_ids, skills, split = (tuple(map(clean, each)) for each in (given.prompt_ids, given.skills, given.split))
    if not (prompt_ids or skills or split):
        return FrozenSelection(kind="all")
    return FrozenSelection(
        kind="filter", of=inputs.total, prompt_ids=prompt_ids or None, skills=skills or None, split=split or None
    )
