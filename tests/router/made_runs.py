"""Manifests and results made up for tests, in the forms that runs write them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from skill_health.bench.http.messages import Usage
from skill_health.router.plan.orders import presentation
from skill_health.router.records import NONE, Prompt, RoutingResult

SKILLS = ("alpha", "beta", "gamma", "delta")


def prompt(prompt_id: str, expected: str | None, **more: Any) -> Prompt:
    return Prompt(prompt_id, more.pop("text", f"please do {prompt_id}"), expected, **more)


def manifest(
    prompts: Sequence[Prompt],
    models: Sequence[str | dict[str, Any]] = ("maker:one",),
    skills: Sequence[str] = SKILLS,
    replications: int = 1,
    **more: Any,
) -> dict[str, Any]:
    """A manifest like those of `router run`; `more` replaces any of its keys."""
    records = [{"spec": each} if isinstance(each, str) else each for each in models]
    base = {"kind": "provider", "replications": replications, "settings": {}, "price": None}
    listed = [
        {
            "name": name, "text": f"Handles {name} things for teams. Use when {name} is named.", "state": "full",
            "description": f"Handles {name} things for teams. Use when {name} is named.", "path": f"skills/{name}/SKILL.md",
        }
        for name in skills
    ]  # fmt: skip
    return {
        "version": 1, "kind": "router", "run_id": "20260515T120000Z-abc", "created": "2026-05-15T12:00:00Z",
        "tool_version": "0.1", "python": "3.11.9", "commit": "0" * 40, "dirty": False, "seed": 1,
        "replications": replications, "mode": "text", "listing": "full", "orders": "cyclic", "index": "description",
        "template": {"name": "none", "version": "1", "digest": "d", "none_allowed": True},
        "hashes": {"catalogue": "c", "prompts": "p"}, "price_table": "genai-prices 1",
        "models": [base | record for record in records], "catalogue": listed, "omitted": [],
        "prompts": [
            {
                "prompt_id": each.prompt_id, "text": each.text, "expected": each.expected, "known": each.known,
                "acceptable": list(each.acceptable), "rejected": list(each.rejected), "family": each.family,
                "tags": list(each.tags), "split": each.split, "reason": each.reason, "source": each.source,
            }
            for each in prompts
        ],
        "selection": {"kind": "all"},
    } | more  # fmt: skip


def result(
    prompt_id: str, ranking: Sequence[str] = (), model: str = "maker:one", replication: int = 0, **more: Any
) -> RoutingResult:
    """A finished result with this ranking, or a format failure without one."""
    status = more.pop("status", "finished" if ranking else "format_failure")
    failed = status == "format_failure"
    given: dict[str, Any] = {
        "kinds": ("prose",) if failed else (), "first_kinds": ("prose",) if failed else (), "first_status": status,
    }  # fmt: skip
    return RoutingResult(prompt_id, model, replication, status, tuple(ranking), **{**given, **more})


Answer = Callable[[random.Random, Prompt, tuple[str, ...]], Sequence[str]]


def simulate(
    given: dict[str, Any],
    answers: dict[str, Answer],
    seed: int,
    confidence: Callable[[random.Random, bool], float] | None = None,
) -> list[RoutingResult]:
    """Every result of a run whose models answer by a function of their own, with the positions filled in."""
    prompts = [
        Prompt(**{**record, **{name: tuple(record[name]) for name in ("acceptable", "rejected", "tags")}})
        for record in given["prompts"]
    ]
    names = [skill["name"] for skill in given["catalogue"]]
    found = []
    for model in given["models"]:
        for each in prompts:
            for replication in range(model["replications"]):
                rng = random.Random(f"{seed}|{model['spec']}|{each.prompt_id}|{replication}")
                order = presentation(names, each.prompt_id, model["spec"], replication, given["seed"], given["orders"])
                ranking = tuple(answers[model["spec"]](rng, each, order))
                place = {name: at for at, name in enumerate(order, 1)}
                right = bool(ranking) and ranking[0] == (each.expected or NONE)
                found.append(result(
                    each.prompt_id, ranking, model["spec"], replication,
                    target_position=place.get(each.expected or ""), picked_position=place.get(ranking[0]) if ranking else None,
                    confidence=confidence(rng, right) if confidence and ranking else None,
                    usage=Usage(input_tokens=100, output_tokens=10), duration_ms=10.0 + 5 * rng.random(), cost_usd=0.001,
                ))  # fmt: skip
    return found
