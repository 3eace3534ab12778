"""The joined record as JSON (core/schemas/skill-record.schema.json), for other programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from skill_health.effect_history import estimate_json
from skill_health.effect_section import line_record
from skill_health.record_cells import CollectionStatus
from skill_health.record_next import NextStep, grouped, steps
from skill_health.record_routing import SkillRouted
from skill_health.router_history import ModelRouting
from skill_health.skill_record import SkillRecord
from skill_health.today import plain_values

SCHEMA = "skill-health/skill-record/1"


def render(status: CollectionStatus, digests: Mapping[str, str | None]) -> str:
    """The document as text: keys in a fixed order, ASCII only, no absolute path."""
    return json.dumps(plain_values(document(status, digests)), indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def document(status: CollectionStatus, digests: Mapping[str, str | None]) -> dict[str, Any]:
    """The document as JSON values."""
    routed, effects = status.routed, status.effects
    whole = effects.of(None) if effects else ()
    return {
        "schema": SCHEMA,
        "version": status.version,
        "profile": status.profile,
        "skills": [_skill(each, status, digests) for each in status.records],
        "routing": [_run(run) for run in routed.models] if routed else [],
        "effect": [line_record(each) for each in whole],
        "next": [_step(step) | {"skills": names} for step, names in grouped(status.records, status.place)],
        "notes": list(status.notes),
    }


def _skill(record: SkillRecord, status: CollectionStatus, digests: Mapping[str, str | None]) -> dict[str, Any]:
    health, routing, effect = record.health, record.routing, record.effect
    return {
        "name": record.name,
        "path": record.path,
        "digest": digests.get(record.name),
        "health": {
            "state": health.state, "score": health.score, "flags": list(health.flags), "errors": health.errors,
            "warnings": health.warnings, "infos": health.infos,
        },
        "routing": {
            "state": routing.state, "prompts": routing.prompts, "models": [_routed(each) for each in routing.models],
        },
        "effect": {
            "state": effect.state, "tasks": list(effect.tasks),
            "models": [line_record(each) for each in effect.models],
        },
        "next": [_step(step) for step in steps(record, status.place)],
    }  # fmt: skip


def _routed(each: SkillRouted) -> dict[str, Any]:
    return {
        "model": each.run.model, "run_id": each.run.run_id, "time": each.run.time, "local": each.local,
        "simulated": each.run.simulated, "trusted": each.run.trusted, "selection": each.run.selection,
        "recall": estimate_json(each.recall), "precision": estimate_json(each.precision), "changed": each.changed, "listed": each.listed,
    }  # fmt: skip


def _run(run: ModelRouting) -> dict[str, Any]:
    own = ("model", "run_id", "time", "n", "planned", "selection", "simulated", "trusted")
    return {name: getattr(run, name) for name in own} | {
        "top1": {"value": run.top1, "low": run.low, "high": run.high},
        "changed": None if run.changed is None else list(run.changed),
    }


def _step(step: NextStep) -> dict[str, Any]:
    return {"gap": step.gap, "advice": step.advice, "command": step.command}
