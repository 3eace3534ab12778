"""Do skills compose? What the arms with further skills say, beside the target skill alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skill_health.page.model import SkillVerdict
from skill_health.page.origin import JsonNode
from skill_health.page.verdict.telling import naming
from skill_health.page.verdict.verdicts import hedged, points
from skill_health.stats.estimates import Estimate
from skill_health.status.render import CollectionStatus

ARMS: Mapping[str, str] = {
    "target_plus_one": "with one more skill",
    "target_plus_unrelated": "with unrelated skills",
    "full": "with all skills",
}
"""The arms that stage more than the target skill, each compared with that alone."""
_LEVEL = 0.05


def composing(status: CollectionStatus, effects: Sequence[JsonNode]) -> SkillVerdict:
    """The answer to the fourth question, by the latest report of each agent and model that no script stood in for."""
    latest = list(_models(effects))
    found = [(model, each, margin) for model, margin in latest if not model["biased"] for each in _contrasts(model)]
    command = _command(status, next((model["model"] for model, _ in latest), ""))
    if not found:
        why = _why_not(status, effects, [model for model, _ in latest if model["biased"]])
        return SkillVerdict("not known", "unknown", 4, why, "run agents with one skill and with several:", command)
    said = [(_word(contrast, margin), contrast, model) for model, contrast, margin in found]
    # What decides is told first, and each model is named once.
    said.sort(key=lambda each: each[0] != "worse")
    told: dict[str, list[str]] = {}
    for word, contrast, model in said:
        told.setdefault(model["model"], []).append(_sentence(contrast, word))
    marks: dict[str, list[str]] = {}
    for name, model in {model["model"]: model for model, _, _ in found}.items():
        for mark in _marks(model, status):
            marks.setdefault(mark, []).append(name)
    reason = "; ".join(
        [
            *(f"{name}: {', '.join(each)}" for name, each in told.items()),
            *(f"{mark} ({', '.join(names)})" for mark, names in marks.items()),
        ]
    )
    words = {word for word, _, _ in said}
    weak = {model["model"] for _, _, model in said if model["verdict"]["preliminary"] or _changed(model, status)}
    worse = [model["model"] for word, _, model in said if word == "worse"]
    if worse:
        doubtful = weak.issuperset(worse)
        advice = "add tasks to be sure, then" if doubtful else "find out which skills are in each other's way, then"
        return SkillVerdict(*hedged("no", "bad", doubtful), 4, reason, advice, command)
    if words <= {"better", "as good"}:
        word, tone = hedged("yes", "good", bool(weak))
        return SkillVerdict(word, tone, 4, reason, *(("add tasks to be sure, then", command) if weak else ("", "")))
    return SkillVerdict("not shown", "unknown", 4, reason, "add tasks, then run agents again:", command)


def _command(status: CollectionStatus, model: str) -> str:
    tasks = sorted({task for each in status.records for task in each.effect.tasks})
    return naming(status.place.effectiveness(tasks), model) if tasks else "skill-health effectiveness check TASKS"


def _why_not(status: CollectionStatus, effects: Sequence[JsonNode], biased: Sequence[Mapping[str, Any]]) -> str:
    if biased:
        return f"the results of {biased[0]['model']} are biased: {biased[0]['biased'][0]}"
    lines = status.effects.lines if status.effects else ()
    if any(model["simulated"] for each in effects for model in each.value["models"]) and all(
        each.simulated for each in lines
    ):
        return "the runs are simulated and say nothing of any model"
    if lines and not effects:
        return "the reports of the runs are not here, or cannot be read"
    return "no agent was run with further skills"


def _marks(model: Mapping[str, Any], status: CollectionStatus) -> Iterator[str]:
    """What to mind of the figures of a model."""
    if model["verdict"]["preliminary"]:
        yield f"preliminary: {', '.join(model['verdict']['preliminary'])}"
    changed = _changed(model, status)
    if changed:
        yield f"{changed} skill{'s' * (changed != 1)} changed since"


def _changed(model: Mapping[str, Any], status: CollectionStatus) -> int:
    lines = status.effects.lines if status.effects else ()
    return sum(each.model == model["model"] and each.changed is True for each in lines)


def _models(effects: Sequence[JsonNode]) -> Iterator[tuple[Mapping[str, Any], float]]:
    """The latest entry of each model that ran with further skills, without simulated ones, and its run's margin."""
    seen = set()
    for report in effects:
        for model in report.value["models"]:
            if not model["simulated"] and model["model"] not in seen and _contrasts(model):
                seen.add(model["model"])
                yield model, report.value["margin"]


def _contrasts(model: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    every = [each for each in model["contrasts"] if each["against"] == "target" and each["arm"] in ARMS]
    return [each for each in every if each["delta"]["value"] is not None]


def _word(contrast: Mapping[str, Any], margin: float) -> str:
    """What a contrast shows: a difference needs its interval and its corrected test, the absence of one its margin."""
    delta = contrast["delta"]
    low, high, p = delta["low"], delta["high"], contrast["p_adjusted"]
    significant = contrast["testable"] and p is not None and p < _LEVEL
    if low is None or high is None:
        return "unclear"
    if significant and high < 0:
        return "worse"
    if significant and low > 0:
        return "better"
    return "as good" if low > -margin else "unclear"


def _sentence(contrast: Mapping[str, Any], word: str) -> str:
    delta = contrast["delta"]
    number = Estimate(delta["value"], delta["low"], delta["high"], delta["n"])
    return f"{ARMS[contrast['arm']]} {points(number)} ({word})"
