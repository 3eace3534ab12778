"""How long does a report of 60,000 results take, and how much memory: metrics, intervals, tests and rendering?"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks._measure import Command, Options, Sample, environment, interleave, skill_health
from benchmarks._table import say_met
from skill_health.documents._record import TokenUsage, record_values
from skill_health.router.plan.orders import presentation
from skill_health.router.records import NONE, RoutingResult

TITLE = "A report of 60,000 results"
ROUNDS = 3
PROMPTS, MODELS, REPLICATIONS, SKILLS = 1_000, 20, 3, 100
FORMATS = ("text", "markdown", "json", "csv")
SECONDS, MEMORY = 10.0, 400e6
_WORDS = [f"word{n}" for n in range(400)]


def run(options: Options) -> Iterator[str]:
    """Write one run, and report on it in each format in turn, each time in a process of its own."""
    folder = options.scratch / "reports" / "router" / "20260101T000000Z-bench"
    write_run(folder, options.seed)
    yield (
        f"{PROMPTS:,} prompts x {MODELS} models x {REPLICATIONS} replications, {SKILLS} skills; a whole process, reading "
        f"included; n = {options.rounds} rounds."
    )
    env = environment(options.scratch)
    commands = {
        name: Command(skill_health("router", "report", str(folder), "--format", name), options.scratch, env)
        for name in FORMATS
    }
    samples = interleave(commands, options.rounds)
    lines = [
        "| format | wall clock | min - max | CPU | target | met | peak memory | target | met |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    yield "\n".join([*lines, *(_line(name, runs) for name, runs in samples.items())])


def _line(name: str, runs: list[Sample]) -> str:
    walls = [run.wall for run in runs]
    middle, peak = median(walls), max(run.peak for run in runs)
    return (
        f"| {name} | **{middle:.1f} s** | {min(walls):.1f} - {max(walls):.1f} | {median(run.cpu for run in runs):.1f} s "
        f"| < {SECONDS:.0f} s | {say_met(middle < SECONDS)} | **{peak / 1e6:,.0f} MB** | < {MEMORY / 1e6:.0f} MB | {say_met(peak < MEMORY)} |"
    )


def write_run(folder: Path, seed: int) -> None:
    """Write a run as `router run` would: models of different skill, confusions, failures, missing calls, rationales."""
    folder.mkdir(parents=True)
    rng = random.Random(seed)
    skills = [f"skill-{n:03}" for n in range(SKILLS)]
    prompts = [_prompt(n, rng, skills) for n in range(PROMPTS)]
    models = [f"maker:model-{n:02}" for n in range(MODELS)]
    manifest = {
        "version": 1, "kind": "router", "run_id": folder.name, "created": "2026-01-01T00:00:00Z", "tool_version": "0",
        "python": "3", "commit": None, "dirty": None, "seed": 1, "replications": REPLICATIONS, "mode": "text",
        "listing": "full", "orders": "cyclic", "index": "description", "selection": {"kind": "all"},
        "template": {"name": "none", "version": "1", "digest": "0", "none_allowed": True}, "hashes": {}, "price_table": "0",
        "models": [{"spec": m, "kind": "provider", "replications": REPLICATIONS, "settings": {}, "price": None} for m in models],
        "catalogue": [_skill(name, rng) for name in skills], "omitted": [], "prompts": prompts,
    }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with (folder / "results.jsonl").open("w", encoding="utf-8") as file:
        for prompt in prompts:
            hard = rng.random()
            orders = [presentation(skills, prompt["prompt_id"], "", each, 1) for each in range(REPLICATIONS)]
            for at, model in enumerate(models):
                for replication, order in enumerate(orders):
                    right = rng.random() < 0.5 + 0.02 * at - 0.3 * hard + 0.3
                    result = _result(rng, prompt, model, replication, order, right, skills)
                    file.write(json.dumps(record_values(result), sort_keys=True) + "\n")


def _prompt(number: int, rng: random.Random, skills: list[str]) -> dict[str, Any]:
    expected = None if number % 5 == 0 else skills[number % SKILLS]
    return {
        "prompt_id": f"p{number:04}", "text": " ".join(rng.choices(_WORDS, k=25)), "expected": expected, "known": True,
        "acceptable": [], "rejected": rng.sample(skills, 1), "family": f"f{number // 2}" if number % 3 == 0 else "", "tags": [],
        "split": "test" if number % 2 else "train", "reason": "", "source": f"prompts.jsonl:{number}",
    }  # fmt: skip


def _skill(name: str, rng: random.Random) -> dict[str, Any]:
    text = f"Handles {name}: {' '.join(rng.choices(_WORDS, k=rng.randint(20, 60)))}."
    return {"name": name, "text": text, "state": "full", "description": text, "path": f"skills/{name}/SKILL.md"}


def _result(
    rng: random.Random,
    prompt: dict[str, Any],
    model: str,
    replication: int,
    order: tuple[str, ...],
    right: bool,
    skills: list[str],
) -> RoutingResult:
    target = prompt["expected"] or NONE
    key = (prompt["prompt_id"], model, replication)
    drawn = rng.random()
    if drawn < 0.04:
        kind = "provider_error" if drawn < 0.02 else "format_failure"
        kinds = ("prose",) if kind == "format_failure" else ()
        return RoutingResult(
            *key, status=kind, kinds=kinds, first_kinds=kinds, first_status=kind, attempts=2 if kinds else 1
        )
    first = target if right else rng.choice([*skills[:5], NONE, rng.choice(skills)])
    ranking = [first] if first == NONE else list(dict.fromkeys([first, *rng.sample(skills, 2)]))
    place = {name: at for at, name in enumerate(order, 1)}
    return RoutingResult(
        *key, status="finished", ranking=tuple(ranking), confidence=round(rng.uniform(0.4, 1), 2),
        rationale=" ".join(rng.choices(_WORDS, k=14)), target_position=place.get(target), picked_position=place.get(first),
        resolved_model=model, request_id=f"req-{rng.random():.12f}", stop_reason="stop",
        usage=TokenUsage(
            input_tokens=rng.randint(9000, 9500), output_tokens=rng.randint(40, 90),
            raw={"prompt_tokens": 9000, "completion_tokens": 60},
        ),
        duration_ms=round(rng.lognormvariate(7, 0.4), 1), cost_usd=round(rng.uniform(0.001, 0.01), 6),
    )  # fmt: skip
