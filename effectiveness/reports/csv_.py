"""One table of a run as CSV: for spreadsheets and data frames.

A cell of text that a spreadsheet would take for a formula begins with an apostrophe. Differences and shares are no
percentages, and what is not known is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from skill_health.bench.report_formats import PLAIN, RenderOptions, Report, Row, render_csv
from skill_health.effectiveness.records import TrialResult
from skill_health.effectiveness.reports import TABLES
from skill_health.effectiveness.reports._cells import MEASURES

EXTENSION = ".csv"
_NUMBER = ("value", "low", "high", "n", "clusters", "p", "p_adjusted", "method", "note")
_SHORT = ("value", "low", "high", "n")
_COST = ("input_tokens", "output_tokens", "cost_usd", "duration_ms", "turns")
_PLACE = ("model", "agent", "simulated", "part", "skill", "category")
_TEST = (
    "name", "arm", "against", "kind", "tasks", "differing", "testable", "sign_flip_p", "wilcoxon_p", "correction",
    "normalised_gain", "over", "margin", "tost_p", "equivalent", "bias_p", "bias_p_adjusted", "failed",
)  # fmt: skip
_TRIAL = (
    "task_id", "model", "arm", "replication", "outcome", "success", "reward", "invoked", "invocations", "turns", "tool_calls",
    "duration_ms", "cost_usd", "cost_source", "usage_source", "resolved_model", "stop_reason", "exit_code", "attempts", "changed",
    "skills", "folder", "notes", "error",
)  # fmt: skip
_USAGE = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")


def render(report: Report, look: RenderOptions = PLAIN) -> str:
    """The table that `look` names. Raises KeyError for trials, which are in no report: see `trials`."""
    head, rows = _TABLES[look.table or TABLES[0]]
    return render_csv(head, rows(report))


def trials(results: Iterable[TrialResult]) -> str:
    """One row for each trial, in the order of task, model, arm and replication."""
    return render_csv([*_TRIAL[:12], *_USAGE, *_TRIAL[12:]], map(_trial, sorted(results, key=lambda each: each.key)))


def _trial(result: TrialResult) -> Row:
    listed = {name: " ".join(getattr(result, name)) for name in ("invocations", "notes")}
    skills = " ".join(name for name, _ in result.skills)
    plain = {name: getattr(result, name) for name in _TRIAL if name != "skills"}
    return plain | listed | {"skills": skills} | {name: getattr(result.usage, name, None) for name in _USAGE}


def _parts(report: Report) -> Iterator[tuple[Row, Row]]:
    """Everything that has arms and contrasts, each with where it stands: model, part, skill or category."""
    for model in report["models"]:
        place = {"model": model["model"], "agent": model["agent"], "simulated": int(model["simulated"])}
        yield {**place, "part": "collection"}, model
        for skill in model["skills"]:
            yield {**place, "part": "skill", "skill": skill["skill"]}, skill
        for each in model["categories"]:
            yield {**place, "part": "category", "category": each["category"]}, each
        yield {**place, "part": "negative controls"}, model["controls"]
        if model["calibration"]:
            yield {**place, "part": "calibration"}, {"contrasts": [model["calibration"]]}


def _contrasts(report: Report) -> Iterator[Row]:
    for place, part in _parts(report):
        verdict = part.get("verdict") or {}
        for each in part["contrasts"]:
            deltas = {name: each["deltas"].get(name) or {} for name in _COST}
            student = each["t"] or {}
            yield {
                **place, **{name: _flag(each.get(name)) for name in _TEST}, **{name: each["delta"].get(name) for name in _NUMBER},
                "p_adjusted": each["p_adjusted"], "note": each["note"] or each["delta"].get("note"),
                "t_low": student.get("low"), "t_high": student.get("high"),
                "verdict": verdict.get("word") if each["kind"] == "primary" else None,
                **{f"{name}_{key}": number.get(key) for name, number in deltas.items() for key in _SHORT},
            }  # fmt: skip


def _flag(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


def _arms(report: Report) -> Iterator[Row]:
    for place, part in _parts(report):
        for arm in part.get("arms", ()):
            numbers = {"success": arm["success"], "reward": arm["reward"], "invoked_rate": arm["invoked"]["rate"]}
            numbers |= {"success_given_invoked": arm["success_given_invoked"], **{name: arm[name] for name in MEASURES}}
            for measure, number in numbers.items():
                yield {
                    **place, **{name: arm[name] for name in ("arm", "trials", "tasks", "missing")}, "flags": " ".join(arm["flags"]),
                    "measure": measure, **{name: number.get(name) for name in _NUMBER},
                }  # fmt: skip


def _tasks(report: Report) -> Iterator[Row]:
    for model in report["models"]:
        for task in model["tasks"]:
            own = {name: task[name] for name in ("task_id", "slug", "skill", "category", "difficulty", "flip")}
            for arm, found in task["arms"].items():
                yield {"model": model["model"], **own, "arm": arm, **{key: found[key] for key in _OF_ARM}}


_OF_ARM = ("n", "passes", "success", "reward")
_TABLES: Mapping[str, tuple[list[str], Callable[[Report], Iterator[Row]]]] = {
    "contrasts": (
        [
            *_PLACE,
            *_TEST,
            *_NUMBER,
            "t_low",
            "t_high",
            "verdict",
            *(f"{name}_{key}" for name in _COST for key in _SHORT),
        ],
        _contrasts,
    ),
    "arms": ([*_PLACE, "arm", "trials", "tasks", "missing", "flags", "measure", *_NUMBER], _arms),
    "tasks": (["model", "task_id", "slug", "skill", "category", "difficulty", "flip", "arm", *_OF_ARM], _tasks),
}
