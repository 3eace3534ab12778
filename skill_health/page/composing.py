"""Do skills compose? What the arms with further skills say, beside the target skill alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skill_health.core.estimates import Estimate
from skill_health.page.model import Verdict
from skill_health.page.origin import Doc
from skill_health.page.verdicts import points
from skill_health.record_cells import Status

ARMS: Mapping[str, str] = {
    "target_plus_one": "with one more skill",
    "target_plus_unrelated": "with unrelated skills",
    "full": "with all skills",
}
"""The arms that stage more than the target skill, each compared with that alone."""
_LEVEL = 0.05


def composing(status: Status, effects: Sequence[Doc]) -> Verdict:
    """The answer to the fourth question, by the latest report of each agent and model that no script stood in for."""
    latest = list(_models(effects))
    sound = [(model, margin) for model, margin in latest if not model["biased"]]
    found = [(model, contrast, margin) for model, margin in sound for contrast in _contrasts(model)]
    tasks = sorted({task for each in status.records for task in each.effect.tasks})
    command = status.place.effectiveness(tasks) if tasks else "skill-health effectiveness check TASKS"
    if not found:
        why = _why_not(effects, [model for model, _ in latest if model["biased"]])
        return Verdict("not known", "unknown", 4, why, "run agents with one skill and with several:", command)
    said = [(_word(contrast, margin), _sentence(model, contrast)) for model, contrast, margin in found]
    marks = dict.fromkeys(mark for model, _, _ in found for mark in _marks(model, status))
    reason = "; ".join(("so far: " + "; ".join(sentence for _, sentence in said), *marks))
    words = [word for word, _ in said]
    if "worse" in words:
        return Verdict("no", "bad", 4, reason, "find out which skills are in each other's way, then", command)
    if set(words) <= {"better", "as good"}:
        return Verdict("yes", "good", 4, reason)
    return Verdict("not shown", "unknown", 4, reason, "add tasks, then run agents again:", command)


def _why_not(effects: Sequence[Doc], biased: Sequence[Mapping[str, Any]]) -> str:
    if biased:
        return f"the results of {biased[0]['model']} are biased: {biased[0]['biased'][0]}"
    if any(model["simulated"] for each in effects for model in each.value["models"]):
        return "the runs are simulated and say nothing of any model"
    return "no agent was run with further skills"


def _marks(model: Mapping[str, Any], status: Status) -> Iterator[str]:
    """What to mind of the figures of a model."""
    if model["verdict"]["preliminary"]:
        yield f"preliminary ({model['model']}): {', '.join(model['verdict']['preliminary'])}"
    lines = status.effects.lines if status.effects else ()
    changed = sum(each.model == model["model"] and each.changed is True for each in lines)
    if changed:
        yield f"{changed} skill{'s' * (changed != 1)} changed since ({model['model']})"


def _models(effects: Sequence[Doc]) -> Iterator[tuple[Mapping[str, Any], float]]:
    """The latest entry of each model, without simulated ones, and the margin of its run."""
    seen = set()
    for report in effects:
        for model in report.value["models"]:
            if not model["simulated"] and model["model"] not in seen:
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


def _sentence(model: Mapping[str, Any], contrast: Mapping[str, Any]) -> str:
    delta = contrast["delta"]
    number = Estimate(delta["value"], delta["low"], delta["high"], delta["n"])
    return f"{ARMS[contrast['arm']]} {points(number)} points ({model['model']})"
