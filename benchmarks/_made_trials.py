"""A collection whose tasks take no time, and a run of 10,000 trials, both made up for measuring."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from simulators.agents.scripted import draw, parse_plan
from skill_health.documents._record import TokenUsage, record_values
from skill_health.documents._targets import read_targets
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.records import CONDITIONS
from skill_health.effectiveness.workspace.staging import parse_arm
from skill_health.skill.frontmatter import write

TASKS = 20
MODELS, REPORTED, REPLICATIONS = 2, 56, 15
_SKILLS = tuple(f"{name}-work" for name in ("crates", "ropes", "sails", "tides", "charts"))


def write_collection(root: Path) -> None:
    """Write five skills, and tasks that are judged in no time."""
    for name in _SKILLS:
        folder = root / "skills" / name
        folder.mkdir(parents=True)
        body = "\n".join(f"Count {name} by line {n} of the list." for n in range(40))
        matter = {"name": name, "description": f"Counts {name}. Use when {name} is wanted."}
        (folder / "SKILL.md").write_text(write(matter, f"# Work\n\n{body}"), encoding="utf-8")
    for number in range(TASKS):
        target, irrelevant, related, unrelated, _ = _SKILLS[number % 5 :] + _SKILLS[: number % 5]
        facts = {
            "id": f"t{number:02}", "slug": f"count-{number}", "target_skill": target, "irrelevant_skill": irrelevant,
            "related_skill": related, "unrelated_skill": unrelated, "category": "counting", "difficulty": "easy",
            "notes": "Made to be measured.", "agent_timeout_sec": 60, "verifier_timeout_sec": 10,
        }  # fmt: skip
        for path, text in {
            "metadata.json": json.dumps(facts),
            "task.md": f"Write how many crates ship {number} has to answer.txt.\n",
            "starting/crates.txt": "crate\n" * (number + 500),
            "verify.sh": f'#!/bin/sh\nread -r said < answer.txt && [ "$said" = {number + 500} ]\n',
            "oracle/solve.sh": f"#!/bin/sh\necho {number + 500} > answer.txt\n",
        }.items():
            place = root / "tasks" / f"t{number:02}" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
            place.chmod(0o755 if path.endswith(".sh") else 0o644)
    (root / "skill-health.toml").write_text("", encoding="utf-8")


def write_run(folder: Path, seed: int) -> int:
    """Write a run as `effectiveness run` leaves it, with effects, failures and retries; returns how many results."""
    folder.mkdir(parents=True)
    rng = random.Random(seed)
    tasks = [made_task(n) for n in range(REPORTED)]
    specs = [f"maker:model-{n}" for n in range(MODELS)]
    manifest = run_manifest(folder.name, tasks, specs, CONDITIONS, REPLICATIONS, seed)
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    count = 0
    with (folder / "results.jsonl").open("w", encoding="utf-8") as file:
        for task in tasks:
            for nth, spec in enumerate(specs):
                for arm in CONDITIONS:
                    for replication in range(REPLICATIONS):
                        result = _result(rng, task, spec, arm, replication, seed + nth)
                        file.write(json.dumps(record_values(result), sort_keys=True) + "\n")
                        count += 1
    return count


_NAMES = tuple(f"skill-{n:02}" for n in range(14))


def run_manifest(
    run_id: str,
    tasks: Sequence[dict[str, Any]],
    specs: Sequence[str],
    arms: Sequence[str],
    replications: int,
    seed: int,
) -> dict[str, Any]:
    """The manifest of a made-up run."""
    return {
        "version": 1, "kind": "effectiveness", "run_id": run_id, "created": "2026-01-01T00:00:00Z",
        "tool_version": "0", "python": "3", "commit": None, "dirty": None, "seed": seed, "replications": replications,
        "margin": 0.1, "arms": list(arms),
        "sandbox": {"name": "bubblewrap", "version": "1", "isolates": ["files"], "image": ""},
        "limits": {"timeout_sec": None, "output_bytes": 1, "disk_bytes": 1, "files": 1, "processes": 1, "max_usd_per_trial": None},
        "hashes": dict.fromkeys(("tasks", "skills", "staged", "config", "prices"), "0"),
        "models": [
            {
                "spec": spec, "agent": "maker", "version": "1", "model": "llama-3", "protocol": "openai", "base_url": None,
                "simulated": False, "flags": [], "price": None, "max_usd": None,
            }
            for spec in specs
        ],
        "price_table": "0", "tasks": tasks, "left_out": [], "skipped": [],
        "skills": [{"name": name, "digest": "0", "description": f"Does {name}."} for name in _NAMES],
        "staged": {task["id"]: {arm: [] for arm in arms} for task in tasks},
    }  # fmt: skip


def made_task(number: int) -> dict[str, Any]:
    """A task of such a manifest."""
    at = number % len(_NAMES)
    named = [_NAMES[(at + step) % len(_NAMES)] for step in range(4)]
    keys = ("target_skill", "irrelevant_skill", "related_skill", "unrelated_skill")
    return {
        "id": f"t{number:03}", "slug": f"task-{number}", **dict(zip(keys, named, strict=True)), "category": f"c{number % 6}",
        "difficulty": "hard", "digest": "0", "verifier_digest": "0", "format": "plan_directory",
    }  # fmt: skip


def _result(rng: random.Random, task: dict[str, Any], spec: str, arm: str, replication: int, seed: int) -> TrialResult:
    drawn = draw(
        parse_plan(f"base=0.4,target=0.25,seed={seed}"),
        task["id"],
        read_targets(task["target_skill"]),
        parse_arm(arm),
        replication,
    )
    lost = rng.random() < 0.01
    outcome: Any = (
        "infrastructure" if lost else "timeout" if rng.random() < 0.02 else "pass" if drawn.success else "fail"
    )
    return TrialResult(
        task["id"], spec, arm, replication, outcome, reward=None if lost else float(drawn.success),
        rewards={} if lost else {"reward": float(drawn.success)}, exit_code=0, stop_reason="finished", resolved_model="m-1",
        usage=TokenUsage(**asdict(drawn.usage)), usage_source="gateway", cost_usd=drawn.cost_usd, cost_source="gateway", turns=drawn.turns,
        tool_calls=drawn.tool_calls, duration_ms=drawn.duration_ms, invoked="yes" if drawn.invoked else "no",
        skills=(), changed=1, attempts=3 if lost else 1, folder=f"trials/{task['id']}--{arm}--r{replication}",
        error="the server is gone" if lost else "",
    )  # fmt: skip
