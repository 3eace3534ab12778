"""Inputs and choices -> everything that is settled before the first call: plan, manifest, place and forecast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from skill_health.bench.budget import beyond_caps
from skill_health.bench.prices import PriceTable, price_table
from skill_health.bench.run_folder import RunLocation, find_place, revision_of
from skill_health.router.earlier import read_earlier
from skill_health.router.forecast import CallForecast
from skill_health.router.forecast_plan import forecast_plan, reservations, study_notes
from skill_health.router.gap import description_gap
from skill_health.router.inputs import RouterInputs, load_inputs
from skill_health.router.opening import open_models, secrets_of, with_prices_of
from skill_health.router.plan import RouterPlan, to_manifest
from skill_health.router.records import Prompt
from skill_health.router.run import Reserve
from skill_health.router.runs import OF_ROUTER
from skill_health.router.sentinel import plant
from skill_health.router.splits import TEST, TRAIN
from skill_health.router.template import load_template
from skill_health.text.terminal import clean

if TYPE_CHECKING:
    from skill_health.router.choices import RouterChoices


@dataclass(frozen=True, slots=True)
class PreparedSweep:
    """A run that can begin. `train` are the prompts that thresholds were chosen on; `keys` are kept out of files."""

    plan: RouterPlan
    place: RunLocation
    train: tuple[Prompt, ...]
    prices: PriceTable
    forecast: CallForecast
    reserve: Reserve
    keys: tuple[str, ...]
    reports: str


def prepare(
    inputs: RouterInputs,
    choices: RouterChoices,
    reports: str,
    time: datetime,
    *,
    train: tuple[Prompt, ...],
    selection: Mapping[str, Any],
    named: str = "",
    anew: bool = False,
    keyless: bool = False,
    concurrency: int | None = None,
) -> PreparedSweep:
    """Open the models, freeze what is asked, and find its folder.

    That is the run that is `named`, else an unfinished one of the same identity (not when `anew`), else a new one.
    Nothing is written and nobody is asked; `keyless` models never can be. Raises UsageError for everything that the
    user can mend.
    """
    routing = inputs.config.router
    template, prices = load_template(choices.template), price_table(routing)
    models = open_models(choices, routing, inputs.catalogue, template, train, prices, keyless)
    plan = RouterPlan(inputs.catalogue, inputs.prompts, models, choices, template)
    keys = secrets_of(models)
    manifest = {**to_manifest(plan, routing, prices, selection, revision_of(inputs.root, reports)), "gaps": _gaps(plan)}
    place = find_place(reports, manifest, time, OF_ROUTER, named, anew, keys)
    if place.stored is not None:
        plan = replace(plan, models=with_prices_of(models, place.stored))
    earlier = read_earlier(reports, [model.spec for model in plan.models if model.wired], choices.mode)
    done = {(str(name), str(spec), int(number)) for name, spec, number in place.done}
    notes = [*study_notes(plan, train), *_check_note(plan)]
    told = forecast_plan(plan, prices.version, earlier, notes, done, concurrency)
    return PreparedSweep(plan, place, train, prices, told, reservations(earlier), keys, reports)


def _gaps(plan: RouterPlan) -> list[dict[str, Any]]:
    """What descriptions lack, where routers took part that may read bodies; sealed prompts give nothing away."""
    if all(model.wired for model in plan.models):
        return []
    return [asdict(gap) for gap in description_gap(plan.catalogue, [p for p in plan.prompts if p.split != TEST])]


def _check_note(plan: RouterPlan) -> list[str]:
    wired = sum(model.wired for model in plan.models)
    if not wired:
        return []
    calls = wired * len(plant(plan.catalogue, plan.template.none_allowed).prompts)
    return [f"instrument check: {calls} calls more, before all others; caps count them"]


def short_caps(prepared: PreparedSweep, max_runs: int | None, max_usd: float | None) -> list[str]:
    """One line for each cap that the forecast passes."""
    told = prepared.forecast
    calls = sum(each.load.calls for each, model in zip(told.models, prepared.plan.models, strict=True) if model.wired)
    return beyond_caps(calls, told.usd_low, max_runs, max_usd)


def read_inputs(
    paths: Sequence[str], options: Mapping[str, Any], listing: str | None
) -> tuple[RouterInputs, tuple[Prompt, ...]]:
    """The inputs that a command line asks for, and the prompts of the split train, whatever the filters leave.

    Raises UsageError as `load_inputs` does.
    """
    where = (paths, options["config_file"], options["prompt_files"], listing)
    filters = {"prompt_ids": options["prompt_ids"], "skills": options["skills"], "splits": options["split"]}
    skip = options["skip_namesakes"]
    inputs = load_inputs(*where, **filters, skip_namesakes=skip)
    everything = load_inputs(*where, skip_namesakes=skip) if any(filters.values()) else inputs
    return inputs, tuple(prompt for prompt in everything.prompts if prompt.split == TRAIN)


def selection_of(inputs: RouterInputs, options: Mapping[str, Any]) -> dict[str, Any]:
    """Which of the collection's prompts a run asks, as its manifest says it."""
    filters = {name: list(options[name]) for name in ("prompt_ids", "skills", "split") if options.get(name)}
    if not filters:
        return {"kind": "all"}
    return {
        "kind": "filter",
        "of": inputs.total,
        **{name: [clean(each) for each in given] for name, given in filters.items()},
    }
