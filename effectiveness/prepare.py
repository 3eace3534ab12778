"""Inputs and choices -> everything that is settled before the first trial: plan, manifest, place and forecast."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from skill_health.bench.prices import PriceTable, price_table
from skill_health.bench.run_folder import RunLocation, find_place, revision_of
from skill_health.core.errors import UsageError
from skill_health.documents.effect_history import HISTORY
from skill_health.effectiveness.choices import TrialChoices
from skill_health.effectiveness.conditions import refuse_unknown
from skill_health.effectiveness.forecast import TrialForecast, forecast
from skill_health.effectiveness.forecast_earlier import read_controls, read_earlier
from skill_health.effectiveness.manifest import OF_TRIALS
from skill_health.effectiveness.opening import open_models, secrets_of, with_terms_of
from skill_health.effectiveness.plan import LeftOut, Sandbox, TrialPlan, stage
from skill_health.effectiveness.power import study_notes
from skill_health.effectiveness.prepare_inputs import TrialInputs
from skill_health.effectiveness.prepare_manifest import to_manifest
from skill_health.effectiveness.sandbox._load import back_end, pick
from skill_health.effectiveness.tasks._api import Task

AT_ONCE = 4
"""Trials under way at once, unless somebody says otherwise: each is an agent with all its processes."""


@dataclass(frozen=True, slots=True)
class PreparedTrials:
    """A run that can begin."""

    plan: TrialPlan
    place: RunLocation
    prices: PriceTable
    forecast: TrialForecast
    reports: str


def prepare(
    inputs: TrialInputs,
    tasks: Sequence[Task],
    choices: TrialChoices,
    reports: str,
    time: datetime,
    *,
    skipped: Sequence[Mapping[str, Any]] = (),
    named: str = "",
    anew: bool = False,
    keyless: bool = False,
    concurrency: int = AT_ONCE,
) -> PreparedTrials:
    """Find the agents and the sandbox, freeze what is tried, and find the folder of the run.

    That is the run that is `named`, else an unfinished one of the same identity (not when `anew`), else a new one.
    `skipped` are tasks that are left out as a manifest holds them. Nothing is written and nobody is asked; `keyless`
    models never can be. Raises UsageError for everything that the user can mend.
    """
    routing = inputs.config.router
    prices = price_table(routing)
    models = open_models(choices, routing, prices, keyless)
    copies = {task.id: inputs.copies_of(task) for task in tasks}
    refuse_unknown(choices.arms, {name for own in copies.values() for name in own})
    staged, left_out = stage(tasks, choices.arms, copies)
    if not staged:
        raise UsageError(f"there is nothing to try: {left_out[0].reason}" if left_out else "there is no task to try")
    plan = TrialPlan(
        tasks=tuple(sorted(tasks, key=lambda task: task.id)),
        models=models,
        skills=tuple(inputs.everything.values()),
        staged=staged,
        left_out=left_out,
        choices=choices,
        sandbox=_sandbox(choices),
        secrets=secrets_of(models),
    )
    manifest = to_manifest(plan, routing, prices, skipped, revision_of(inputs.root, reports))
    place = find_place(reports, manifest, time, OF_TRIALS, named, anew, plan.secrets)
    if place.stored is not None:
        plan = replace(plan, models=with_terms_of(models, place.stored))
    specs = [model.spec for model in models]
    done = {(str(task), str(spec), str(arm), int(number)) for task, spec, arm, number in place.done}
    rates = read_controls(os.path.join(reports, HISTORY), specs)
    notes = [*study_notes(plan, rates), *_left_out(left_out)]
    told = forecast(plan, prices.version, read_earlier(reports, specs), notes, done, concurrency)
    return PreparedTrials(plan, place, prices, told, reports)


def _sandbox(choices: TrialChoices) -> Sandbox:
    name = pick(choices.sandbox or None, choices.image)
    found = back_end(name)
    return Sandbox(name, found.found(), tuple(found.ISOLATES), choices.image)


def _left_out(pairs: Sequence[LeftOut]) -> list[str]:
    """One line for each reason, with the pairs of task and arm that it keeps from being tried."""
    reasons: dict[str, list[LeftOut]] = {}
    for pair in pairs:
        reasons.setdefault(pair.reason, []).append(pair)
    return [
        f"left out: {len(found)} pair{'s' * (len(found) != 1)} of task and arm, such as {found[0].task} {found[0].arm}: {why}"
        for why, found in reasons.items()
    ]
