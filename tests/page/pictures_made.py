"""A made page for the pictures: as many skills, models and runs as are asked for, with names that mean harm."""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta
from typing import Any

from filled_records import documents, page_over

from skill_health.page.model import Page

HOSTILE = (
    "<script>alert(1)</script>", "a\u202eb\x01c\x00\ud800", "日本語の長い名前" * 6,
    "dots.and[brackets]\\back'quote\"&amp;]]>", "x" * 300, "line\nbreak\ttab", "datum.v + 1", "",
)  # fmt: skip
ARMS = (
    ("target", "control", "primary"), ("target", "placebo", "secondary"), ("full", "control", "secondary"),
    ("target_plus_one", "target", "interaction"), ("target_plus_unrelated", "target", "interaction"),
    ("full", "target", "interaction"), ("placebo", "control", "descriptive"),
)  # fmt: skip
COMPONENTS = ("sections", "gotchas", "examples", "links", "activation", "claims", "mechanisms", "frontmatter")


def estimate(chance: random.Random, scale: float = 1.0, n: int | None = None) -> dict[str, Any]:
    """A value that may be missing, with an interval that may be missing too."""
    tasks = n if n is not None else chance.choice([0, 1, 3, 12, 30, 60])
    value = round(chance.uniform(-0.5, 0.8) * scale, 6) if tasks else None
    half = chance.uniform(0.02, 0.4) * scale
    ends = value is not None and tasks >= 6 and chance.random() < 0.8
    low, high = (round(value - half, 6), round(value + half, 6)) if ends and value is not None else (None, None)
    note = "" if ends else "no interval"
    rest = {"n": tasks, "clusters": tasks, "p": None, "p_adjusted": None, "method": "", "note": note}
    return {"value": value, "low": low, "high": high, **rest}


def contrast(chance: random.Random, arm: str, against: str, kind: str, n: int | None = None) -> dict[str, Any]:
    """A contrast as a report has it."""
    delta = estimate(chance, n=n)
    ends = delta["low"] is not None
    student = {"low": delta["low"] - 0.03, "high": delta["high"] + 0.03} if ends and delta["n"] < 30 else None
    measures = {"input_tokens": 4000, "output_tokens": 400, "cost_usd": 0.02, "duration_ms": 9000, "turns": 4}
    return {
        "name": f"{arm}-{against}", "arm": arm, "against": against, "kind": kind, "tasks": delta["n"],
        "differing": delta["n"] // 2, "delta": delta, "t": student, "testable": ends, "note": "", "p_adjusted": None,
        "deltas": {key: estimate(chance, scale, delta["n"]) for key, scale in measures.items()},
    }  # fmt: skip


def made(seed: int = 0, skills: int = 9, models: int = 2, days: int = 12, hostile: bool = True) -> Page:
    """A page of so many skills and models, and of so many daily runs with gaps and other rules on the way."""
    chance = random.Random(seed)
    names = [HOSTILE[at] if hostile and at < len(HOSTILE) else f"skill-{at}" for at in range(skills)]
    tools = [("</svg><b>model</b>\x02" if hostile and at == 1 else f"model-{at}") for at in range(models)]
    paths = [f"skills/{at}~/{'<i>' * (at % 2)}/SKILL.md" for at in range(skills)]
    lines, marks = _history(chance, names, paths, days)
    models_ = [
        {
            "model": tool, "contrasts": [contrast(chance, *arm, 24) for arm in ARMS],
            "skills": [{"skill": name, "contrasts": [contrast(chance, *arm) for arm in ARMS]} for name in names],
        }
        for tool in tools
    ]  # fmt: skip
    status = {
        "skills": [
            {"name": name, "path": path, "effect": {"models": [_line(tool, name, at) for at, tool in enumerate(tools)]}}
            for name, path in zip(names, paths, strict=True)
        ],
        "effect": [_line(tool, None, at) for at, tool in enumerate(tools)], "routing": [],
    }  # fmt: skip
    own = {"marks": marks, "listing": {"hosts": [_host(at) for at in range(4)], "skills": {}}}
    return page_over(status, _lint(chance, paths), own, lines, effects=[{"run_id": "RUN", "models": models_}])


def copied(page: Page) -> str:
    """All documents of the page as text, to tell whether anything has changed them."""
    return json.dumps(documents(page), sort_keys=True)


def _line(model: str, skill: str | None, at: int) -> dict[str, Any]:
    return {
        "model": model, "skill": skill, "run_id": "RUN", "simulated": at == 0, "changed": at == 1,
        "biased": ["not the same <b>order</b>"] if at == 1 else [], "preliminary": ["fewer than 30 tasks"],
    }  # fmt: skip


def _history(
    chance: random.Random, names: list[str], paths: list[str], days: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    lines: list[dict[str, Any]] = []
    marks: list[dict[str, Any]] = []
    now = datetime(2026, 10, 1, 4)
    scores = [round(chance.uniform(0.4, 1), 4) for _ in names]
    for day in range(days):
        now += timedelta(days=6 if day == 5 else 1)
        scores = [round(min(1, each + 0.1), 4) if chance.random() < 0.2 else each for each in scores]
        time = now.strftime("%Y-%m-%dT%H:%M:%SZ")
        own = {path: {"name": name, "score": each} for path, name, each in zip(paths, names, scores, strict=True)}
        own[paths[-1]]["score"] = None
        known = scores[:-1]
        summary = {"skills": len(names), "mean": sum(known) / len(known), "min": min(known), "max": max(known)}
        same = {"paths": ["."], "configuration": "a", "rules": "1" if day < 8 else "2", "profile": "standard"}
        lines.append({"time": time, **same, "summary": summary, "skills": own})
        if day == 5:
            marks.append({"time": time, "line": day, "kind": "gap", "text": "no run for 6 days"})
        if day == 8:
            marks.append({"time": time, "line": day, "kind": "rules", "text": "other rules <b>"})
        if day == 9:
            marks.append({"time": time, "line": day, "kind": "drop", "text": "the mean falls by 0.1"})
    return lines, marks


def _lint(chance: random.Random, paths: list[str]) -> dict[str, Any]:
    def component(at: int, name: str) -> dict[str, Any]:
        value = None if at == 0 or chance.random() < 0.2 else round(chance.random(), 2)
        return {"name": name, "weight": 0.1, "share": 0.125, "value": value, "note": "2 of 3", "evidence": {}}

    made = [(path, [component(at, name) for at, name in enumerate(COMPONENTS)]) for path in paths]
    return {"skills": [{"path": path, "score": 0.5, "components": components} for path, components in made]}


def _host(at: int) -> dict[str, Any]:
    return {
        "key": f"host-{at}", "title": f"Host {at}", "group": "skills</text>", "unit": "tokens",
        "limit": None if at == 0 else 1000 * at, "wanted": 2500, "used": 1000, "shown_tokens": 900, "skills": 9,
        "full": 9 - at, "truncated": at == 1, "name_only": at == 2, "omitted": at == 3,
    }  # fmt: skip
