"""The tables of a report that no test is behind: one line for each task, and who benefits most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skill_health.effectiveness.effects.arms import invoked_of
from skill_health.effectiveness.effects.facts import TaskFacts, TrialRunFacts
from skill_health.effectiveness.effects.pairs import ArmPair, primary
from skill_health.effectiveness.effects.sheet import Cells, CellTrials


def tasks(facts: TrialRunFacts, cells: Cells) -> list[dict[str, Any]]:
    """Every task under all its arms; `flip` is by the contrast that decides verdicts."""
    pair = primary(facts.arms)
    return [
        {
            "task_id": task.id,
            "slug": task.slug,
            "skill": task.skill,
            "category": task.category,
            "difficulty": task.difficulty,
            "arms": {arm: _cell(cells.get((task.id, arm))) for arm in task.arms},
            "flip": _flip(task, cells, pair),
            "invoked": invoked_of(task, cells),
        }
        for task in facts.tasks.values()
    ]


def _cell(cell: CellTrials | None) -> dict[str, Any]:
    if cell is None:
        return {"n": 0, "passes": 0, "success": None, "reward": None}
    reward = sum(cell.rewards) / len(cell.rewards) if cell.rewards else None
    return {"n": len(cell.trials), "passes": cell.passes, "success": cell.success, "reward": reward}


def _flip(task: TaskFacts, cells: Cells, pair: ArmPair | None) -> str | None:
    """What the target did to a task; None for one that has no such arm."""
    if pair is None or pair.arm not in task.arms:
        return None
    one, other = cells.get((task.id, pair.arm)), cells.get((task.id, pair.against))
    if one is None or other is None:
        return "missing"
    change = one.passes * len(other.trials) - other.passes * len(one.trials)
    return "gained" if change > 0 else "lost" if change < 0 else "same"


def leaderboard(models: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Models with the whole collection, then pairs of model and skill, each from the greatest gain to the least.

    Equal gains share a rank. What is biased or has no difference comes last, without one.
    """
    whole = [_entry(model, None, model) for model in models]
    single = [_entry(model, skill["skill"], skill) for model in models for skill in model["skills"]]
    return [*_ranked(whole), *_ranked(single)]


def _entry(model: Mapping[str, Any], skill: str | None, among: Mapping[str, Any]) -> dict[str, Any]:
    primary = next((each for each in among["contrasts"] if each["kind"] == "primary"), None)
    missing = {"value": None, "low": None, "high": None, "n": 0, "clusters": 0, "p": None, "p_adjusted": None}
    delta = primary["delta"] if primary else missing | {"method": "", "note": "the run has no such contrast"}
    return {"rank": None, "model": model["model"], "skill": skill, "delta": delta, "verdict": among["verdict"]["word"]}


def _ranked(entries: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    fair = [each for each in entries if each["verdict"] != "biased" and each["delta"]["value"] is not None]
    fair.sort(key=lambda each: (-each["delta"]["value"], each["model"], each["skill"] or ""))
    gains = [each["delta"]["value"] for each in fair]
    for each in fair:
        yield each | {"rank": gains.index(each["delta"]["value"]) + 1}
    yield from (each for each in entries if each not in fair)
