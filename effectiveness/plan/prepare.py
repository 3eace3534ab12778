"""Inputs and choices -> everything that is settled before the first trial: plan, manifest, place and forecast."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec

from skill_health import __version__
from skill_health.bench.manifest import digest
from skill_health.bench.prices import PriceTable, price_table
from skill_health.bench.run_folder import RunLocation, find_place, revision_of
from skill_health.config.settings import RouterSettings
from skill_health.core.errors import UsageError
from skill_health.discovery.changes import Revision
from skill_health.documents._record import convert_record, record_values
from skill_health.documents.effect_history import HISTORY
from skill_health.documents.effect_manifest import (
    EffectManifest,
    FrozenSandbox,
    FrozenSkill,
    FrozenTrialLimits,
    LeftOutArm,
    SkippedTask,
)
from skill_health.effectiveness.plan.choices import TrialChoices
from skill_health.effectiveness.plan.extend import Extension, extend_run, open_donor
from skill_health.effectiveness.plan.forecast import TrialForecast, forecast, read_controls, read_earlier, study_notes
from skill_health.effectiveness.plan.inputs import TrialInputs
from skill_health.effectiveness.plan.opening import freeze_agent, open_models, open_sandbox, secrets_of, with_terms_of
from skill_health.effectiveness.plan.plan import (
    OF_TRIALS,
    TrialPlan,
    config_digest,
    freeze_authoring,
    freeze_skill,
    freeze_task,
    skills_digest,
    stage,
    staged_digest,
    staged_names,
)
from skill_health.effectiveness.records import CONTROL, SkillCopy
from skill_health.effectiveness.sandbox._load import back_end
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.workspace.staging import expand_arms, refuse_unknown
from skill_health.executors.shards import Shard


def to_manifest(
    plan: TrialPlan,
    routing: RouterSettings,
    prices: PriceTable,
    skipped: Sequence[SkippedTask],
    revision: Revision,
    time: datetime,
    extends: Sequence[str] = (),
) -> EffectManifest:
    """The manifest of a run, but that the name of its folder will have a mark, too."""
    choices, limits, sandbox = plan.choices, plan.limits, plan.sandbox
    tasks, skills = tuple(map(freeze_task, plan.tasks)), tuple(_frozen_skills(plan))
    return EffectManifest(
        version=1,
        kind="effectiveness",
        run_id=f"{time:%Y%m%dT%H%M%SZ}",
        created=f"{time:%Y-%m-%dT%H:%M:%SZ}",
        tool_version=__version__,
        python=platform.python_version(),
        commit=revision.commit,
        dirty=revision.dirty,
        seed=choices.seed,
        replications=choices.reps,
        margin=choices.margin,
        arms=tuple(arm.name for arm in choices.arms),
        sandbox=sandbox,
        limits=FrozenTrialLimits(
            timeout_sec=choices.timeout_sec,
            output_bytes=limits.output_bytes,
            disk_bytes=limits.disk_bytes,
            files=limits.files,
            processes=limits.processes,
            max_usd_per_trial=choices.max_usd,
        ),
        hashes={
            "tasks": digest(list(map(record_values, tasks))),
            "skills": skills_digest(skills),
            "staged": staged_digest(plan.staged),
            "config": config_digest(routing, [model.spec for model in plan.models], choices.settings),
            "prices": prices.digest,
        },
        models=tuple(freeze_agent(model, plan, CONTROL, routing) for model in plan.models),
        price_table=prices.version,
        tasks=tasks,
        skills=skills,
        staged=staged_names(plan.staged),
        left_out=plan.left_out,
        skipped=tuple(skipped),
        extends=tuple(extends),
        pairs=choices.pairs,
    )


def _frozen_skills(plan: TrialPlan) -> Iterator[FrozenSkill]:
    """The skills of a run by name, each of those that are not the same for all tasks with its task."""
    targets = {name for task in plan.tasks for name in task.target_skills or ()}

    def frozen(skill: SkillCopy, task: str = "") -> FrozenSkill:
        authoring = freeze_authoring(skill) if skill.name in targets else None
        return msgspec.structs.replace(freeze_skill(skill), authoring=authoring, task=task)

    for skill in plan.skills:
        if skill.name not in plan.different:
            yield frozen(skill)
        for task, own in sorted(plan.different.get(skill.name, {}).items()):
            yield frozen(own, task)


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
    extension: Extension | None = None


def prepare(
    inputs: TrialInputs,
    tasks: Sequence[Task],
    choices: TrialChoices,
    reports: str,
    time: datetime,
    *,
    skipped: Sequence[SkippedTask] = (),
    named: str = "",
    extend: str = "",
    anew: bool = False,
    keyless: bool = False,
    concurrency: int = AT_ONCE,
    shard: Shard | None = None,
) -> PreparedTrials:
    """Find the agents and the sandbox, freeze what is tried, and find the folder of the run.

    That is the run that is `named`, else an unfinished one of the same identity (not when `anew`), else a new one.
    `skipped` are tasks that are left out as a manifest holds them. What has not changed of the run `extend` is taken
    over; a run that goes on takes over what it began with. Nothing is written and nobody is asked; `keyless` models
    never can be. Raises UsageError for everything that the user can fix.
    """
    routing = inputs.config.router
    prices = price_table(routing)
    models = open_models(choices, routing, prices, keyless)
    copies = {task.id: inputs.copies_of(task) for task in tasks}
    names = {name for own in copies.values() for name in own}
    choices = replace(choices, arms=expand_arms(choices.arms, names, _bundled(tasks)))
    refuse_unknown(choices.arms, names)
    staged, left_out = stage(tasks, choices.arms, copies)
    if not staged:
        raise UsageError(f"there is nothing to try: {left_out[0].reason}" if left_out else "there is no task to try")
    own = any(task.recipe for task in tasks)
    sandbox = open_sandbox(models, choices.sandbox, choices.image, choices.network, own)
    _refuse_far_server(choices, sandbox)
    plan = TrialPlan(
        tasks=tuple(sorted(tasks, key=lambda task: task.id)),
        models=models,
        skills=tuple(inputs.everything.values()),
        different=inputs.different,
        staged=staged,
        left_out=left_out,
        choices=choices,
        sandbox=sandbox,
        secrets=secrets_of(models),
    )
    donor = open_donor(reports, extend, named)
    extends = (*donor.manifest.extends, donor.run_id) if donor else ()
    manifest = to_manifest(plan, routing, prices, skipped, revision_of(inputs.root, reports), time, extends)
    place = find_place(reports, record_values(manifest), time, OF_TRIALS, named, anew, plan.secrets, shard)
    if place.stored is not None:
        plan = replace(plan, models=with_terms_of(models, convert_record(place.stored, EffectManifest).models))
    specs = [model.spec for model in models]
    done = {(str(task), str(spec), str(arm), int(number)) for task, spec, arm, number in place.settled}
    extension = extend_run(donor, plan, manifest, done) if donor else None
    taken = extension.trials if extension else {}
    rates = read_controls(os.path.join(reports, HISTORY), specs)
    notes = [*study_notes(plan, rates), *_left_out(left_out), *(extension.lines() if extension else ())]
    told = forecast(plan, prices.version, read_earlier(reports, specs), notes, {*done, *taken}, concurrency)
    return PreparedTrials(plan, place, prices, told, reports, extension)


def _bundled(tasks: Sequence[Task]) -> set[str]:
    """The skills that are targets of a task together with others."""
    return {name for task in tasks if len(task.target_skills or ()) > 1 for name in task.target_skills or ()}


def _refuse_far_server(choices: TrialChoices, sandbox: FrozenSandbox) -> None:
    """Raise UsageError for an arm with a server of skills where all that it stands on would have to be carried."""
    served = next((arm.name for arm in choices.arms if arm.served), "")
    if served and hasattr(back_end(sandbox.name), "AROUND"):
        raise UsageError(
            f"no server of skills is carried to {sandbox.name}, so it can have no arm {served}: leave it out, or take a "
            "sandbox of this machine"
        )


def _left_out(pairs: Sequence[LeftOutArm]) -> list[str]:
    """One line for each reason, with the pairs of task and arm that it keeps from being tried."""
    reasons: dict[str, list[LeftOutArm]] = {}
    for pair in pairs:
        reasons.setdefault(pair.reason, []).append(pair)
    return [
        f"left out: {len(found)} pair{'s' * (len(found) != 1)} of task and arm, such as {found[0].task} {found[0].arm}: {why}"
        for why, found in reasons.items()
    ]
