"""Manifests of runs made up for tests, and their results as the scripted agent draws them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from simulators.agents.scripted import draw, parse_plan
from skill_health.documents._record import TokenUsage, convert_record, record_values
from skill_health.documents._targets import read_targets
from skill_health.documents.effect_manifest import EffectManifest
from skill_health.documents.effect_result import Outcome, TrialResult
from skill_health.effectiveness.effects.build import build_report
from skill_health.effectiveness.records import CONDITIONS, CONTROL, Arm
from skill_health.effectiveness.workspace.staging import OF_CONTROLS, parse_arm

MODEL = "scripted"
MORE_OF_TASK = {
    "irrelevant_skill": "skill-11", "related_skill": None, "unrelated_skill": None, "digest": "d", "verifier_digest": "v",
    "format": "plan",
}  # fmt: skip


def task(task_id: str, skill: str | None, category: str = "data") -> dict[str, Any]:
    slug = f"slug-{task_id}"
    return {"id": task_id, "slug": slug, "target_skill": skill, "category": category, "difficulty": "hard"}


def fixture_like(targets: int = 15, controls: int = 5, skills: int = 12) -> list[dict[str, Any]]:
    """Tasks with targets, as many for each skill as there are, and negative controls."""
    found = [task(f"{n:03}", f"skill-{n % skills}", f"category-{n % 4}") for n in range(targets)]
    return found + [task(f"{n:03}", "none", "negative-control") for n in range(targets, targets + controls)]


def has(record: Mapping[str, Any], arm: Arm) -> bool:
    return record["target_skill"] not in ("none", None) or arm.condition in OF_CONTROLS


def manifest(
    tasks: Sequence[Mapping[str, Any]] | None = None,
    arms: Sequence[str] = CONDITIONS,
    models: Sequence[str] = (MODEL,),
    replications: int = 3,
    **more: Any,
) -> dict[str, Any]:
    """A manifest as JSON values; `more` replaces any of its keys."""
    found = fixture_like() if tasks is None else tasks
    return {
        "version": 1, "kind": "effectiveness", "run_id": "20261121T050000Z-ab12cd34", "created": "2026-11-21T05:00:00Z",
        "tool_version": "0.1", "seed": 1, "replications": replications, "margin": 0.1, "arms": list(arms),
        "sandbox": {"name": "bubblewrap", "version": "0.8", "isolates": ["files", "network"], "image": ""},
        "tasks": [MORE_OF_TASK | each for each in found], "python": "3.11.9", "commit": None, "dirty": None, "price_table": None,
        "limits": dict.fromkeys(("timeout_sec", "max_usd_per_trial"))
        | dict.fromkeys(("output_bytes", "disk_bytes", "files", "processes"), 1),
        "hashes": dict.fromkeys(("tasks", "skills", "staged", "config", "prices"), "h"), "skills": [], "left_out": [],
        "skipped": [],
        "models": [{
            "spec": spec, "agent": spec.partition(":")[0], "version": "1.0", "model": "m", "protocol": "", "base_url": None,
            "simulated": spec.startswith(MODEL), "flags": [], "price": None, "max_usd": None,
        } for spec in models],
        "staged": {each["id"]: {arm: [] for arm in arms if has(each, parse_arm(arm))} for each in found},
    } | more  # fmt: skip


def replace(value: Any, **changes: Any) -> Any:
    """A record or a dataclass with some fields changed."""
    return (structs.replace if isinstance(value, Struct) else dataclasses.replace)(value, **changes)


def typed(values: Mapping[str, Any]) -> EffectManifest:
    return convert_record(values, EffectManifest)


def reported(values: Mapping[str, Any], results: Sequence[TrialResult]) -> dict[str, Any]:
    """The report of a run, as JSON values."""
    found: dict[str, Any] = json.loads(json.dumps(record_values(build_report(typed(values), results)), allow_nan=False))
    return found


def trial(
    task_id: str, arm: str, replication: int, success: bool | str, model: str = MODEL, **more: Any
) -> TrialResult:
    """One result; `success` is a flag or an outcome."""
    outcome: Any = success if isinstance(success, str) else "pass" if success else "fail"
    return TrialResult(task_id, model, arm, replication, outcome, **more)


def scripted(made: Mapping[str, Any], script: str, seed: int, model: str = MODEL) -> list[TrialResult]:
    """Every trial that a manifest plans for one model, as the scripted agent draws it."""
    plan = parse_plan(f"scripted:{script},seed={seed},difficulty={seed}")
    found = []
    for record in made["tasks"]:
        control = record["target_skill"] == "none"
        for name in made["staged"][record["id"]]:
            arm = parse_arm(name)
            for replication in range(made["replications"]):
                drawn = draw(plan, record["id"], read_targets(record["target_skill"]), arm, replication, control)
                outcome: Outcome = drawn.failure or ("pass" if drawn.success else "fail")  # type: ignore[assignment]
                found.append(
                    TrialResult(
                        record["id"], model, name, replication, outcome,
                        reward=float(drawn.success) if outcome in ("pass", "fail") else None, usage=TokenUsage(**dataclasses.asdict(drawn.usage)),
                        cost_usd=drawn.cost_usd, turns=drawn.turns, tool_calls=drawn.tool_calls,
                        duration_ms=drawn.duration_ms, resolved_model="none",
                        invoked="no" if arm.condition == CONTROL or not drawn.invoked else "yes",
                    )
                )  # fmt: skip
    return found
