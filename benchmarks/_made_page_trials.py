"""Effectiveness runs for a made-up page: two agents, effects, timeouts, retries, and what failing trials leave."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks._made_page import Known, Texts, append, write_json
from simulators.agents.scripted import draw, parse_plan
from skill_health.bench.manifest import digest
from skill_health.documents._record import TokenUsage, convert_record, record_values
from skill_health.documents._targets import read_targets
from skill_health.documents.effect_manifest import EffectManifest
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.effects.build import build_report
from skill_health.effectiveness.records import CONDITIONS, CONTROL, FULL, NEGATIVE
from skill_health.effectiveness.run.history import history_lines
from skill_health.effectiveness.workspace.staging import parse_arm

MODELS, REPLICATIONS, CONTROLS = 2, 5, 2
_TESTED, _THOROUGH = 6, 3
_ALWAYS = (CONTROL, NEGATIVE, FULL)
_LIMITS = {
    "timeout_sec": None,
    "output_bytes": 1,
    "disk_bytes": 1,
    "files": 1,
    "processes": 1,
    "max_usd_per_trial": None,
}
_STEPS = 4


def write_trials(reports: Path, skills: Sequence[Known], trials: int, day: date, seed: int, texts: Texts) -> None:
    """Write a run of at least this many trials, as `effectiveness run` leaves it, and its history lines."""
    rng = random.Random(f"trials {seed}")
    told = [skill for skill in skills if skill.digest]
    tasks = [_task(nth, told, texts) for nth in range(-(-trials // (MODELS * REPLICATIONS * len(CONDITIONS))))]
    tasks += [_task(len(tasks) + nth, told, texts) | {"target_skill": None} for nth in range(CONTROLS)]
    specs = [texts("model", 100 + nth) for nth in range(MODELS)]
    manifest = _manifest(f"{day:%Y%m%d}T060000Z-{seed:08x}", f"{day}T06:00:00Z", told, tasks, specs, seed)
    results = [
        _result(rng, task, spec, arm, replication, seed + nth, texts)
        for task in tasks
        for nth, spec in enumerate(specs)
        for arm in manifest["staged"][task["id"]]
        for replication in range(REPLICATIONS)
    ]
    folder = reports / "effectiveness" / manifest["run_id"]
    frozen = convert_record(manifest, EffectManifest)
    report = build_report(frozen, results)
    write_json(folder / "manifest.json", manifest)
    write_json(folder / "report.json", record_values(report))
    lines = (json.dumps(record_values(result), sort_keys=True) + "\n" for result in results)
    (folder / "results.jsonl").write_text("".join(lines), encoding="utf-8")
    append(reports / "effectiveness-history.jsonl", map(record_values, history_lines(frozen, report, results)))
    for nth, result in enumerate(results):
        if result.outcome in ("fail", "timeout"):
            _write_trial(folder / result.folder, result, nth, texts)


def _task(number: int, skills: Sequence[Known], texts: Texts) -> dict[str, Any]:
    # Six tasks for each of the first skills, so that there is something to test; then one for every second skill.
    at = number // _TESTED if number < _THOROUGH * _TESTED else 2 * number
    named = [skills[(at + step) % len(skills)].name for step in range(4)]
    keys = ("target_skill", "irrelevant_skill", "related_skill", "unrelated_skill")
    return {
        "id": f"t{number:03}", "slug": texts("task", number), **dict(zip(keys, named, strict=True)),
        "category": texts("category", number % 5), "difficulty": "hard", "digest": "0", "verifier_digest": "0",
        "format": "plan_directory",
    }  # fmt: skip


def _manifest(
    run: str, created: str, skills: Sequence[Known], tasks: Sequence[Mapping[str, Any]], specs: Sequence[str], seed: int
) -> dict[str, Any]:
    arms = {task["id"]: CONDITIONS if task["target_skill"] else _ALWAYS for task in tasks}
    return {
        "version": 1, "kind": "effectiveness", "run_id": run, "created": created, "tool_version": "0", "python": "3",
        "commit": None, "dirty": None, "seed": seed, "replications": REPLICATIONS, "margin": 0.1, "arms": list(CONDITIONS),
        "sandbox": {"name": "bubblewrap", "version": "1", "isolates": ["files"], "image": ""}, "limits": _LIMITS,
        "hashes": dict.fromkeys(("tasks", "skills", "staged", "config", "prices"), digest(run)),
        "models": [
            {
                "spec": spec, "agent": "maker", "version": "1", "model": "m", "protocol": "openai", "base_url": None,
                "simulated": False, "flags": [], "price": None, "max_usd": None,
            }
            for spec in specs
        ],
        "price_table": "0", "tasks": [*tasks], "skipped": [],
        "left_out": [
            {"task": task, "arm": arm, "reason": "a negative control has no target"}
            for task, staged in arms.items() for arm in CONDITIONS if arm not in staged
        ],
        "skills": [{"name": each.name, "digest": each.digest, "description": each.description} for each in skills],
        "staged": {task: {arm: [] for arm in staged} for task, staged in arms.items()},
    }  # fmt: skip


def _result(
    rng: random.Random, task: Mapping[str, Any], spec: str, arm: str, replication: int, seed: int, texts: Texts
) -> TrialResult:
    number = int(task["id"][1:])
    # Skills help, do nothing, or harm.
    effect = (0.5, 0.25, -0.25, 0.0)[number // _TESTED % 4]
    plan = parse_plan(f"base=0.4,target={effect},seed={seed}")
    drawn = draw(
        plan, task["id"], read_targets(task["target_skill"]), parse_arm(arm), replication, task["target_skill"] is None
    )
    lost, late = rng.random() < 0.01, rng.random() < 0.02
    outcome: Any = "infrastructure" if lost else "timeout" if late else "pass" if drawn.success else "fail"
    return TrialResult(
        task["id"], spec, arm, replication, outcome, reward=None if lost else float(drawn.success),
        rewards={} if lost else {"reward": float(drawn.success)}, exit_code=None if late else 0, stop_reason="finished",
        resolved_model=spec, usage=TokenUsage(**asdict(drawn.usage)), usage_source="gateway", cost_usd=drawn.cost_usd, cost_source="gateway",
        turns=drawn.turns, tool_calls=drawn.tool_calls, duration_ms=drawn.duration_ms,
        invoked="yes" if drawn.invoked else "no", changed=1, attempts=3 if lost else 1,
        folder=f"trials/{task['id']}--{digest(spec)[:6]}--{arm}--{texts('folder', replication)}", error=texts("error", number) if lost else "",
    )  # fmt: skip


def _write_trial(folder: Path, result: TrialResult, number: int, texts: Texts) -> None:
    """Write what a trial leaves behind."""
    name = texts("file", number)
    steps: list[dict[str, Any]] = [{"step_id": 1, "source": "user", "message": texts("message", number)}]
    for nth in range(_STEPS):
        call, path = f"call-{nth}", f"{name}.{nth}.csv"
        steps.append({
            "step_id": nth + 2, "source": "agent", "message": texts("message", number + nth), "model_name": result.model,
            "tool_calls": [{"tool_call_id": call, "function_name": "write_file", "arguments": {"path": path}}],
            "observation": {"results": [{"source_call_id": call, "content": texts("message", number + nth + 7)}]},
            "metrics": {"prompt_tokens": 2000, "completion_tokens": 120},
        })  # fmt: skip
    steps.append({"step_id": _STEPS + 2, "source": "agent", "message": texts("message", number)})
    write_json(folder / "trajectory.json", {
        "schema_version": "ATIF-v1.7", "agent": {"name": "maker", "version": "1", "model_name": result.model}, "steps": steps,
        "extra": {"stop_reason": "finished", "turns": _STEPS + 1},
    })  # fmt: skip
    write_json(folder / "verdict.json", {
        "error": result.error, "imposed": "", "notes": [], "outcome": result.outcome, "problem": "", "reward": result.reward,
        "rewards": dict(result.rewards), "source": "reward.json", "verdict": "fail", "verifier_digest": "0",
    })  # fmt: skip
    write_json(folder / "usage.json", {"agent": None, "agent_cost_usd": result.cost_usd, "gateway": None})
    write_json(folder / "trial.json", {
        "kind": "trial", "arm": result.arm, "attempt": 1, "model": result.model, "prompt": texts("message", number),
        "agent": {"name": "maker", "model": "m", "protocol": "openai", "version": "1"}, "limits": _LIMITS,
    })  # fmt: skip
    verifier = folder / "verifier"
    verifier.mkdir()
    for path, text in {
        folder / "final.txt": texts("message", number + 3), folder / "diff.patch": texts("diff", number),
        verifier / "stdout": texts("verifier", number), verifier / "stderr": "",
        verifier / "reward.json": json.dumps({"reward": result.reward}),
    }.items():  # fmt: skip
        path.write_text(text, encoding="utf-8")
