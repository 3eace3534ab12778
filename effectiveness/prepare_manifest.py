"""A plan -> the manifest that freezes it."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from skill_health import __version__
from skill_health.bench.manifest import digest
from skill_health.bench.prices import PriceTable
from skill_health.config.settings import RouterSettings
from skill_health.core.git import Revision
from skill_health.effectiveness import manifest as frozen
from skill_health.effectiveness.agents._api import Job
from skill_health.effectiveness.plan import AgentModel, TrialPlan
from skill_health.effectiveness.records import CONTROL
from skill_health.effectiveness.runs import KIND


def to_manifest(
    plan: TrialPlan,
    routing: RouterSettings,
    prices: PriceTable,
    skipped: Sequence[Mapping[str, Any]],
    revision: Revision,
) -> dict[str, Any]:
    """The manifest of a run but for `run_id` and `created`."""
    choices, limits = plan.choices, asdict(plan.limits)
    del limits["timeout_sec"]
    tasks = [frozen.task_record(task) for task in plan.tasks]
    skills = [frozen.skill_record(skill) for skill in plan.skills]
    return {
        "version": 1,
        "kind": KIND,
        "tool_version": __version__,
        "python": platform.python_version(),
        "commit": revision.commit,
        "dirty": revision.dirty,
        "seed": choices.seed,
        "replications": choices.reps,
        "margin": choices.margin,
        "arms": [arm.name for arm in choices.arms],
        "sandbox": {
            "name": plan.sandbox.name, "version": plan.sandbox.version, "isolates": list(plan.sandbox.isolates),
            "image": plan.sandbox.image,
        },
        "limits": {"timeout_sec": choices.timeout_sec, **limits, "max_usd_per_trial": choices.max_usd},
        "hashes": {
            "tasks": digest(tasks),
            "skills": digest(skills),
            "staged": frozen.staged_digest(plan.staged),
            "config": frozen.config_digest(routing, [model.spec for model in plan.models], choices.settings),
            "prices": prices.digest,
        },
        "models": [_model_record(model, plan) for model in plan.models],
        "price_table": prices.version,
        "tasks": tasks,
        "skills": skills,
        "staged": frozen.staged_names(plan.staged),
        "left_out": [asdict(pair) for pair in plan.left_out],
        "skipped": [dict(each) for each in skipped],
    }  # fmt: skip


def _model_record(model: AgentModel, plan: TrialPlan) -> dict[str, Any]:
    choice = model.choice
    return {
        "spec": model.spec,
        "agent": choice.name,
        "version": model.version,
        "model": choice.model,
        "protocol": choice.protocol,
        "base_url": model.upstream.endpoint.base_url if model.upstream else None,
        "simulated": choice.agent.SIMULATED,
        "flags": _flags(model, plan),
        "price": model.price.to_json() if model.price else None,
        "max_usd": model.max_usd,
    }


def _flags(model: AgentModel, plan: TrialPlan) -> list[str]:
    """The options that an agent is started with, without values that are paths: the same in every arm."""
    choice = model.choice
    job = Job(
        spec=choice.spec, model=choice.model, prompt="prompt", workspace="/workspace", home="/home/agent",
        temporary="/tmp", skills=(), program=model.program, protocol=choice.protocol, base_url="http://127.0.0.1:1",
        key="key", seed=plan.choices.seed, settings=plan.choices.settings, arm=CONTROL, task=plan.tasks[0],
    )  # fmt: skip
    words = [word for word in choice.agent.command(job).argv if word.startswith("-")]
    return [name if "/" in value else word for word in words for name, _, value in [word.partition("=")]]
