"""What a sweep is compared with: an earlier run, or answers of routers that cost nothing, computed at once."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from skill_health.bench.budget import Budget
from skill_health.bench.prices import price_table
from skill_health.bench.run_folder import earlier_runs
from skill_health.core.errors import SkillHealthError, UsageError
from skill_health.core.git import Revision
from skill_health.router.comparable import COMPUTED_AT, Relisted, named
from skill_health.router.instrument_run import DirectAsker
from skill_health.router.opening import open_models
from skill_health.router.outcome import not_asked, to_result
from skill_health.router.plan import PlannedCall, Questions, RouterPlan, to_manifest
from skill_health.router.records import Catalogue, ListedSkill, Prompt, RoutingResult
from skill_health.router.routers._load import PROVIDER, resolve
from skill_health.router.runs import ROUTER, RouterRun, load_run
from skill_health.router.scores.facts import read_facts
from skill_health.router.sweep import agrees, mismatch
from skill_health.router.template import load_template

if TYPE_CHECKING:
    from skill_health.router.choices import RouterChoices
    from skill_health.router.inputs import RouterInputs

_TOLD = 3


@dataclass(frozen=True, slots=True)
class SweepBasis:
    """What a sweep asks, as far as a baseline must agree with it: see `skill_health.router.sweep.mismatch`."""

    choices: RouterChoices
    template: str
    selection: Mapping[str, Any]

    def settings(self) -> dict[str, Any]:
        """The same as a manifest would have it."""
        found = {name: getattr(self.choices, name) for name in ("mode", "listing", "orders", "index", "seed")}
        return found | {"template": self.template, "selection": self.selection}


def last_run(reports: str, asked: SweepBasis, models: Collection[str], reasons: list[str]) -> RouterRun | None:
    """The last finished run that is comparable with what is asked, None where there is none.

    `reasons` is given one line for each of the latest runs that are not.
    """
    return next(_comparable(reports, asked, models, reasons), None)


def _comparable(reports: str, asked: SweepBasis, models: Collection[str], reasons: list[str]) -> Iterator[RouterRun]:
    for folder, manifest in earlier_runs(reports, ROUTER):
        why = mismatch(manifest, asked.settings(), models)
        if not why:
            try:
                run = load_run(folder)
            except SkillHealthError:
                why = "it cannot be read"
            else:
                if is_finished(run):
                    yield run
                    continue
                why = "it is not finished"
        if len(reasons) < _TOLD:
            reasons.append(f"{manifest['run_id']}: {why}")


def is_finished(run: RouterRun) -> bool:
    """Whether every planned call has a result."""
    planned = sum(model.replications for model in run.facts.models) * len(run.facts.prompts)
    return len({result.key for result in run.results}) >= planned


def run_before(reports: str, inputs: RouterInputs, asked: SweepBasis) -> RouterRun:
    """The last comparable run. Raises UsageError, with what is wrong with the latest ones, where there is none."""
    reasons: list[str] = []
    found = last_run(reports, asked, asked.choices.models, reasons)
    if found is None:
        latest = f" ({'; '.join(reasons)})" if reasons else ""
        raise UsageError(
            f"no finished run in {reports} to compare with{latest}: run `skill-health router run` first, or say since "
            "when by --since REV"
        )
    return found


def run_at(
    reports: str,
    inputs: RouterInputs,
    asked: SweepBasis,
    old: Catalogue,
    changed: Sequence[Relisted],
    train: tuple[Prompt, ...],
    revision: str,
) -> RouterRun:
    """The answers of before: computed over the old catalogue where that costs nothing, else those of a run that saw it.

    Raises UsageError where a provider's model has no such run.
    """
    routing = inputs.config.router
    kinds = {spec: resolve(spec, routing).kind for spec in asked.choices.models}
    paid = [spec for spec, kind in kinds.items() if kind == PROVIDER]
    free = [spec for spec in kinds if spec not in paid]
    if not paid:
        return _computed(inputs, asked, old, free, train, revision)
    reasons: list[str] = []
    runs = _comparable(reports, asked, paid, reasons)
    found = next((run for run in runs if agrees(old.shown, run.facts.shown.values(), changed)), None)
    if found is None:
        latest = f" ({'; '.join(reasons)})" if reasons else ""
        raise UsageError(
            f"no finished run in {reports} asked {named(paid)} when {named([skill.name for skill in changed])} "
            f"read as at {revision}{latest}: check {revision} out, run `skill-health router run --models "
            f"{','.join(paid)}` there with the same options and --out at these reports, and sweep again"
        )
    return _merged(found, paid, _computed(inputs, asked, old, free, train, revision)) if free else found


def _computed(
    inputs: RouterInputs,
    asked: SweepBasis,
    old: Catalogue,
    specs: Sequence[str],
    train: tuple[Prompt, ...],
    revision: str,
) -> RouterRun:
    """Routers that cost nothing over an old catalogue, asked in memory."""
    routing, choices = inputs.config.router, replace(asked.choices, models=tuple(specs))
    template, prices = load_template(choices.template), price_table(routing)
    models = open_models(choices, routing, old, template, train, prices)
    plan = RouterPlan(old, inputs.prompts, models, choices, template)
    results = asyncio.run(_ask(plan))
    manifest = to_manifest(plan, routing, prices, {"kind": "all"}, Revision()) | {
        "run_id": f"{COMPUTED_AT}{revision}", "created": None,
    }  # fmt: skip
    return RouterRun("", manifest, read_facts(manifest), tuple(results))


async def _ask(plan: RouterPlan) -> list[RoutingResult]:
    questions, direct = Questions(plan), DirectAsker(plan, Budget(None, None), lambda model, request: 0.0)
    try:
        return [await _result(questions, direct, call) for call in plan.calls()]
    finally:
        for model in plan.models:
            await model.router.close()


async def _result(questions: Questions, direct: DirectAsker, call: PlannedCall) -> RoutingResult:
    order = questions.order(call)
    attempts = await direct.ask(call.key, call.model, lambda number: questions.request(call, number), order)
    if attempts[-1].status == "model_unavailable":
        return not_asked(call.prompt, call.model.spec, call.replication, attempts[-1].reply.error)
    return to_result(call.prompt, call.model.spec, call.replication, order, attempts)


def _merged(run: RouterRun, paid: Collection[str], computed: RouterRun) -> RouterRun:
    """The run's own answers for what is paid, and the computed ones for the rest."""
    models = [model for model in run.manifest["models"] if model["spec"] in paid] + computed.manifest["models"]
    manifest = {**run.manifest, "models": models}
    results = [result for result in run.results if result.model in paid]
    return RouterRun(run.folder, manifest, read_facts(manifest), (*results, *computed.results), run.check)


def other_changes(run: RouterRun, now: Iterable[ListedSkill], changed: Iterable[Relisted]) -> list[str]:
    """The skills beside the changed ones that the baseline saw otherwise than they are listed now."""
    from skill_health.router.comparable import changed_skills

    known = {skill.name for skill in changed}
    return [skill.name for skill in changed_skills(run.facts.shown.values(), now) if skill.name not in known]
