"""Documents of configurations made up for tests, drawn from a seed: every part that a renderer may meet."""

from __future__ import annotations

import random
from typing import Any

from report_made import est

from skill_health.documents._record import convert_record
from skill_health.documents.effect_configurations import EffectConfigurations

SUBJECTS = ("claude_code:anthropic:large-1", "claude_code:anthropic:small-1", "opencode:anthropic:small-1")
ARMS = ("control", "target")
SCORES = ("goal", "instruction", "weighted", "success")
MEASURES = {"duration_ms": 60_000.0, "cost_usd": 0.5, "input_tokens": 400_000.0, "output_tokens": 9_000.0}
Rng = random.Random


def subject(name: str, simulated: bool) -> dict[str, Any]:
    agent, _, model = name.partition(":")
    return {
        "subject": name, "run_id": "20261121T050000Z-ab12cd34", "spec": name, "agent": agent, "model": model.split(":")[-1],
        "resolved": [model.split(":")[-1]], "simulated": simulated, "with_arm": "target",
        "preliminary": ["2 replications, fewer than 3"],
    }  # fmt: skip


def row(rng: Rng, name: str, arm: str, tasks: int) -> dict[str, Any]:
    n = tasks * 2
    delta = {score: est(round(rng.uniform(-0.1, 0.4), 3), 0.08, tasks, p=0.02, p_adjusted=0.04) for score in SCORES}
    return {
        "subject": name, "arm": arm, "tasks": tasks, "trials": n,
        **{score: est(round(rng.uniform(0.3, 0.9), 3), 0.05, n) for score in SCORES},
        **{measure: est(round(most * rng.uniform(0.2, 1), 4), most / 20, n) for measure, most in MEASURES.items()},
        "delta": None if arm == "control" else {**delta, "correction": "holm", "gain": est(0.35, 0.2, tasks)},
        "preliminary": True,
    }  # fmt: skip


def criterion(rng: Rng, task: str, number: int) -> dict[str, Any]:
    one, other = rng.randint(0, 6), rng.randint(0, 6)
    return {
        "task_id": task, "skill": "skill-1", "criterion": f"c{number}", "text": f"The work says word {number}.",
        "group": rng.choice(["goal", "instruction"]), "by": rng.choice(["judge", "file_contains"]), "points": 25.0,
        "subjects": 3, "met_with": one, "of_with": 6, "met_without": other, "of_without": 6,
        "delta": est((one - other) / 6, 0.3, 12, p=0.2, p_adjusted=0.5), "preliminary": True,
    }  # fmt: skip


def cell(rng: Rng, task: str, name: str) -> dict[str, Any]:
    n = rng.choice([0, 2, 2, 2])
    one, other = (rng.randint(0, n) / n if n else None for _ in range(2))
    known = one is not None and other is not None
    return {
        "task_id": task, "slug": task[4:], "skill": "skill-1", "subject": name, "n_with": n, "score_with": one,
        "n_without": n, "score_without": other, "delta": one - other if known else None,  # type: ignore[operator]
        "low": -0.9 if known else None, "high": 0.9 if known else None,
    }  # fmt: skip


def substitution(small: str, large: str, tasks: int, verdict: str = "substitutes") -> dict[str, Any]:
    return {
        "small": small, "large": large, "tasks": tasks, "score_small": 0.78, "score_large": 0.75, "cost_small": 0.11,
        "cost_large": 2.66, "delta": est(0.03, 0.06, tasks), "least": -0.02, "worse_p": 0.004, "cost_delta": est(-2.55, 0.2, tasks),
        "cost_ratio": est(0.04, 0.01, tasks), "cost_ratio_most": 0.06, "cost_p": 0.0001, "p": 0.004, "p_adjusted": 0.008, "verdict": verdict,
        "reason": "no worse by 10 points, and costs no more", "preliminary": True,
    }  # fmt: skip


def made(seed: int = 1, tasks: int = 12, simulated: bool = False, **more: Any) -> dict[str, Any]:
    """A whole document as JSON values; `more` replaces any of its keys."""
    rng = random.Random(seed)
    ids = [f"{n:03}-some-task" for n in range(tasks)]
    return {
        "schema": EffectConfigurations.ID, "tool_version": "0.1", "seed": 1, "score": "success", "margin": 0.1,
        "runs": [{
            "run_id": "20261121T050000Z-ab12cd34", "created": "2026-11-21T05:00:00Z", "replications": 2, "planned": tasks * 12,
            "scored": tasks * 12 - 2, "judging": "20261121T060000Z-cd34ab12", "calibrated": False,
        }],
        "subjects": [subject(each, simulated) for each in SUBJECTS],
        "configurations": [row(rng, each, arm, tasks) for each in SUBJECTS for arm in ARMS],
        "means": [{
            "arm": "target", "subjects": 3, "score": est(0.8, 0.1, tasks), "control": est(0.6, 0.1, tasks),
            "delta": est(0.2, 0.1, tasks), "gain": est(0.5, 0.2, tasks), "gains": 3, "preliminary": True,
        }],
        "criteria": sorted((criterion(rng, ids[n % min(3, tasks)], n) for n in range(9)), key=lambda each: -abs(each["delta"]["value"])),
        "domains": [
            {
                "of": of, "domain": domain, "tasks": tasks if domain is None else tasks // 2, "subjects": 3, "score_with": 0.7,
                "score_without": 0.5, "delta": est(0.2, 0.1, tasks, p_adjusted=0.03), "preliminary": True,
            }
            for of, domains in (("task", ("data", "", None)), ("skill", ("media", None)))
            for domain in domains
        ],
        "cells": [cell(rng, task, each) for task in ids for each in SUBJECTS],
        "substitutions": [
            substitution(small, SUBJECTS[0], tasks, verdict)
            for small, verdict in ((SUBJECTS[1], "substitutes"), (SUBJECTS[2], "not shown"))
        ],
        "savings": [
            {
                "subject": each, "tasks": tasks, "tokens_with": 420_000.0, "tokens_without": 480_000.0,
                "tokens_delta": est(-60_000.0, 20_000.0, tasks),
                "tokens_ratio": est(0.7, 0.1, tasks), "tokens_ratio_most": 0.85, "tokens_p": 0.001, "delta": est(0.2, 0.1, tasks),
                "least": 0.1, "worse_p": 0.0001, "p": 0.001, "p_adjusted": 0.003, "verdict": "saves",
                "reason": "fewer tokens, and no worse by 10 points", "preliminary": True,
            }
            for each in SUBJECTS
        ],
        "harnesses": [
            {
                "model": "small-1", "one": SUBJECTS[1], "other": SUBJECTS[2], "side": side, "tasks": tasks, "score_one": 0.7,
                "score_other": 0.6, "delta": est(0.1, 0.1, tasks, p_adjusted=0.2), "preliminary": True,
            }
            for side in ("with", "without", "gain")
        ],
        "by_number": [
            {
                "stratum": name, "least": least, "most": most, "arms": ["target"], "tasks": tasks, "subjects": 3, "score_with": 0.7,
                "score_without": 0.5, "delta": est(0.2, 0.1, tasks), "preliminary": True,
            }
            for name, least, most in (("1 skill", 1, 1), ("2 to 3 skills", 2, 3), ("4 skills and more", 4, None))
        ],
        "by_length": [],
        "failures": [
            {
                "subject": each, "arm": arm, "kind": kind, "missing": kind == "infrastructure", "count": 2, "planned": tasks * 2,
                "share": est(0.08, 0.05, tasks * 2), "tasks": ids[:2],
            }
            for each in SUBJECTS
            for arm in ARMS
            for kind in ("timeout", "not known", "infrastructure")
        ],
        "unpaired": [
            {"of": "arms", "task_id": ids[0], "subject": SUBJECTS[0], "other": None, "reason": "no score with the skill"}
        ],
        "notes": ["one note"],
    } | more  # fmt: skip


def typed_configurations(values: Any) -> EffectConfigurations:
    return convert_record(values, EffectConfigurations)
