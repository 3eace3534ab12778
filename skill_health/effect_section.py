"""The benchmark's part of a drift report: the last verdict on each skill by each model, as text and as JSON values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from skill_health.drift_sections import DriftSection, Item
from skill_health.effect_history import Effects, ModelEffect, estimate_json

TITLE = "Effect, the last run of each model and skill"
_NOTE = "Points of success by which agents with the skill do better than without it, with 95 % intervals."


def effect_sections(effects: Effects | None) -> Iterator[DriftSection]:
    """One section where there is a history of the benchmark with anything in it."""
    if effects and effects.lines:
        items = (Item(_sentence(each), tuple(_details(each))) for each in effects.lines)
        yield DriftSection(TITLE, tuple(items), _NOTE)


def effect_record(effects: Effects | None) -> dict[str, Any] | None:
    """The same for other programs; None without a history."""
    if effects is None:
        return None
    return {"effects": [line_record(each) for each in effects.lines], "problems": list(effects.problems)}


def line_record(each: ModelEffect) -> dict[str, Any]:
    """One line of the history as JSON values, and whether its skill has changed since."""
    plain = (
        "model", "skill", "time", "run_id", "verdict", "reason", "tasks", "scored", "trials", "simulated", "changed",
    )  # fmt: skip
    lists = {"biased": list(each.biased), "preliminary": list(each.preliminary)}
    return {name: getattr(each, name) for name in plain} | {"delta": estimate_json(each.delta)} | lists


def points(each: ModelEffect) -> str:
    """The difference with its interval: "+12.0 [+3.1, +20.4] points"."""
    delta = each.delta
    if delta.value is None:
        return "difference not known"
    if delta.low is None or delta.high is None:
        return f"{100 * delta.value:+.1f} points without an interval"
    return f"{100 * delta.value:+.1f} [{100 * delta.low:+.1f}, {100 * delta.high:+.1f}] points"


def _sentence(each: ModelEffect) -> str:
    what = "the whole collection" if each.skill is None else each.skill
    tasks = f"{each.tasks} task{'s' * (each.tasks != 1)}"
    return (
        f"{what}, {each.model}: {each.verdict}, {points(each)}, {tasks}, {each.scored} of {each.trials} trials scored, "
        f"{each.time[:10]}, run {each.run_id}"
    )


def _details(each: ModelEffect) -> Iterator[str]:
    if each.simulated:
        yield "simulated: a script stood in for the agent"
    yield from (f"biased: {why}" for why in each.biased)
    if each.preliminary:
        yield f"preliminary: {'; '.join(each.preliminary)}"
    if each.changed:
        yield "the skill has changed since that run"
