"""Reports of effectiveness runs made up for tests: every part that a renderer may meet, drawn from a seed."""

from __future__ import annotations

import random
from typing import Any

from skill_health.documents._record import convert_record
from skill_health.documents.effect_report import EffectReport

ARMS = ("control", "target", "negative", "full", "target_plus_one", "target_plus_unrelated")
MEASURES = ("input_tokens", "output_tokens", "cost_usd", "duration_ms", "turns")
Rng = random.Random


def est(value: float | None = None, half: float | None = 0.1, n: int = 15, **more: Any) -> dict[str, Any]:
    """An estimate as a report holds it; without a value it says why."""
    known = value is not None and half is not None
    return {
        "value": value, "low": value - half if known else None, "high": value + half if known else None,
        "n": n, "clusters": n, "p": None, "p_adjusted": None, "method": "", "note": "" if value is not None else "none known",
    } | more  # fmt: skip


def arm(rng: Rng, name: str, tasks: int, replications: int = 3) -> dict[str, Any]:
    total, yes = tasks * replications, rng.randint(0, tasks)
    success = round(rng.random(), 3)
    return {
        "arm": name, "trials": total, "tasks": tasks, "missing": rng.choice([0, 0, 2]), "success": est(success, 0.1, total),
        "reward": est(success, 0.1, total),
        "invoked": {"yes": yes, "no": tasks - yes, "not_observable": total - tasks, "rate": est(yes / tasks, 0.2, tasks)},
        "success_given_invoked": est(None, n=0) | {"bias": "selection"}, "input_tokens": est(12345.678, 120.0), "output_tokens": est(900.5, 20.0),
        "cached_tokens": est(None, n=0), "cost_usd": est(0.0123456, 0.001), "duration_ms": est(40_000.0, 900.0),
        "turns": est(6.5, 1.0), "tool_calls": est(9.25, 2.0), "flags": rng.choice([[], ["floor"], ["ceiling"]]),
    }  # fmt: skip


def contrast(rng: Rng, one: str, other: str, tasks: int, kind: str = "secondary", **more: Any) -> dict[str, Any]:
    differing = rng.randint(0, tasks)
    testable = differing >= 6
    value = round(rng.uniform(-0.5, 0.6), 3) if tasks else None
    delta = est(value, round(rng.uniform(0.02, 0.3), 3) if testable else None, tasks)
    return {
        "name": f"{one}-{other}", "arm": one, "against": other, "kind": kind, "tasks": tasks, "differing": differing,
        "delta": delta, "t": {"low": -0.1, "high": 0.2} if testable else None, "wilcoxon_p": 0.04 if testable else None,
        "sign_flip_p": 0.03 if testable else None, "p_adjusted": 0.03 if testable else None,
        "correction": "holm" if kind == "primary" else "benjamini-hochberg", "testable": testable,
        "note": "" if testable else f"not testable: {differing} of {tasks} tasks differ, 6 are needed",
        "normalised_gain": 0.25 if testable else None,
        "deltas": {name: est(rng.uniform(-500, 900), 40.0, tasks) for name in MEASURES},
    } | more  # fmt: skip


def contrasts(rng: Rng, tasks: int) -> list[dict[str, Any]]:
    found = [contrast(rng, "target", "control", tasks, "primary")]
    found += [contrast(rng, name, "control", tasks) for name in ARMS[2:]]
    return [*found, contrast(rng, "target_plus_one", "target", tasks, "interaction")]


def equivalence(rng: Rng, one: str, tasks: int) -> dict[str, Any]:
    return contrast(rng, one, "control", tasks) | {
        "margin": 0.1, "tost_p": 0.2, "ninety": {"low": -0.2, "high": None}, "equivalent": None,
        "over": "controls" if one == "full" else "all", "bias_p": 0.5, "bias_p_adjusted": 1.0, "failed": False,
    }  # fmt: skip


def model(rng: Rng, name: str, skills: int = 6, tasks_each: int = 2, simulated: bool = False) -> dict[str, Any]:
    names = [f"skill-{n}" for n in range(skills)]
    tasks = [task(rng, f"{n:03}-some-task", names[n % skills]) for n in range(skills * tasks_each)]
    controls = [f"c{n}" for n in range(5)]
    return {
        "model": name, "agent": name.partition(":")[0], "agent_version": "2.0.1", "resolved": ["resolved-1"],
        "simulated": simulated, "planned": 360, "scored": 350, "outcomes": {"pass": 200, "fail": 145, "timeout": 5, "infrastructure": 6},
        "retried": 8, "cost_usd": 12.5, "biased": [], "arms": [arm(rng, each, len(tasks)) for each in ARMS],
        "contrasts": contrasts(rng, len(tasks)), "skills": [skill(rng, each, tasks) for each in names],
        "verdict": verdict(rng), "categories": [
            {"category": each, "tasks": 5, "contrasts": [contrast(rng, "target", "control", 5, "secondary")]}
            for each in ("data", "triage", "")
        ],
        "controls": {
            "tasks": controls, "arms": [arm(rng, each, 5) for each in ("control", "full", "negative")],
            "contrasts": [equivalence(rng, each, 5) for each in ("full", "negative")],
            "passed": None, "note": "5 tasks cannot show a margin of 10 points",
        },
        "loading": loading(len(tasks)),
        "calibration": contrast(rng, "aa", "target", len(tasks), "calibration", verdict="no difference shown"),
        "tasks": [*tasks, *(task(rng, each, "none") for each in controls)],
    }  # fmt: skip


def loading(tasks: int) -> dict[str, Any]:
    """What loading does, in a run with a forced arm."""
    return {
        "arm": "target", "forced": "forced", "unknown": 0, "complier": est(0.4, 0.2, tasks), "testable": True,
        "assumptions": ["one", "another"], "selection": est(0.1, 0.05, tasks), "differs": "more",
    }  # fmt: skip


def skill(rng: Rng, name: str, tasks: list[dict[str, Any]]) -> dict[str, Any]:
    own = [each["task_id"] for each in tasks if each["skill"] == name]
    arms = [arm(rng, each, len(own)) for each in ARMS]
    return {
        "skill": name, "tasks": own, "arms": arms, "contrasts": contrasts(rng, len(own)), "verdict": verdict(rng),
        "loading": loading(len(own)),
    }  # fmt: skip


def verdict(rng: Rng) -> dict[str, Any]:
    word = rng.choice(["helps", "no evidence", "harmful", "not testable", "biased"])
    return {"word": word, "reason": "the interval leaves out zero", "notes": ["mind"], "preliminary": ["only 12 tasks"]}


def task(rng: Rng, task_id: str, skill_name: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ("control", "full", "negative") if skill_name == "none" else ARMS:
        n = rng.choice([0, 2, 3, 3])
        passes = rng.randint(0, n)
        found[name] = {"n": n, "passes": passes, "success": passes / n if n else None, "reward": None}
    flip = rng.choice(["gained", "lost", "same", "missing"])
    return {
        "task_id": task_id, "slug": task_id[4:], "skill": skill_name, "category": "data", "difficulty": "hard", "arms": found,
        "flip": None if skill_name == "none" else flip, "invoked": {"yes": 3, "no": 2, "not_observable": 1},
    }  # fmt: skip


def leader(rank: int | None, model: Any, skill: str | None, contrasts: Any, verdict: str) -> dict[str, Any]:
    return {
        "rank": rank, "model": model["model"], "skill": skill, "delta": contrasts[0]["delta"], "verdict": verdict
    }  # fmt: skip


def typed_report(values: Any) -> EffectReport:
    return convert_record(values, EffectReport)


def made(seed: int = 1, models: int = 2, simulated: bool = False, **more: Any) -> dict[str, Any]:
    """A whole report; `more` replaces any of its keys."""
    rng = random.Random(seed)
    found = [model(rng, f"agent-{n}:maker:model-{n}", simulated=simulated) for n in range(models)]
    leaders = sorted(
        ((each, one) for each in found for one in each["skills"] if one["contrasts"][0]["delta"]["value"] is not None),
        key=lambda pair: -pair[1]["contrasts"][0]["delta"]["value"],
    )
    return {
        "version": 1, "kind": "effectiveness", "run_id": "20261121T050000Z-ab12cd34", "created": "2026-11-21T05:00:00Z",
        "tool_version": "0.1", "simulated": simulated, "sandbox": "bubblewrap", "seed": 1, "replications": 3, "margin": 0.1,
        "planned": 360 * models, "scored": 350 * models, "outcomes": {"pass": 400, "fail": 290, "timeout": 10, "infrastructure": 12},
        "cost_usd": 25.0, "biased": [], "preliminary": ["fewer than 30 tasks"], "notes": ["one note"], "models": found,
        "leaderboard": [
            *(leader(None, each, None, each["contrasts"], "biased") for each in found),
            *(
                leader(at, each, one["skill"], one["contrasts"], one["verdict"]["word"])
                for at, (each, one) in enumerate(leaders, 1)
            ),
        ],
    } | more  # fmt: skip
