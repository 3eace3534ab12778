"""One table of a run as CSV: for spreadsheets and data frames.

A cell of text that a spreadsheet would take for a formula begins with an apostrophe. Differences and shares are no
percentages, and what is not known is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from skill_health.bench.report_formats import PLAIN, RenderOptions, Row, render_csv
from skill_health.documents._record import FullFigure
from skill_health.documents.effect_loading import LoadingEffect, SelectedFigure
from skill_health.documents.effect_report import (
    ArmContrast,
    ArmFigures,
    EffectReport,
    EffectVerdict,
    ModelEffectReport,
    PenaltyContrast,
)
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.effects.contrasts import DELTAS, HOLM
from skill_health.effectiveness.records import CONTROL
from skill_health.effectiveness.reports import TABLES
from skill_health.effectiveness.reports._cells import MEASURES, WRITING

EXTENSION = ".csv"
_NUMBER = ("value", "low", "high", "n", "clusters", "p", "p_adjusted", "method", "note")
_SHORT = ("value", "low", "high", "n")
_PLACE = ("model", "agent", "simulated", "weaker_proof", "part", "skill", "category")
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


def render(report: EffectReport, look: RenderOptions = PLAIN) -> str:
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


class _Part(NamedTuple):
    """Something that has arms or contrasts: where it stands (model, part, skill or category), and its verdict."""

    place: Row
    contrasts: Sequence[ArmContrast]
    arms: Sequence[ArmFigures] = ()
    verdict: EffectVerdict | None = None
    loading: LoadingEffect | None = None


def _place(model: ModelEffectReport) -> Row:
    return {
        "model": model.model,
        "agent": model.agent,
        "simulated": int(model.simulated),
        "weaker_proof": int(bool(model.unproved)),
    }


def _parts(report: EffectReport) -> Iterator[_Part]:
    for model in report.models:
        place = _place(model)
        yield _Part({**place, "part": "collection"}, model.contrasts, model.arms, model.verdict, model.loading)
        for skill in model.skills:
            own = {**place, "part": "skill", "skill": skill.skill}
            yield _Part(own, skill.contrasts, skill.arms, skill.verdict, skill.loading)
        for each in model.categories:
            yield _Part({**place, "part": "category", "category": each.category}, each.contrasts)
        yield _Part({**place, "part": "negative controls"}, model.controls.contrasts, model.controls.arms)
        if model.calibration:
            yield _Part({**place, "part": "calibration"}, [model.calibration])


def _contrasts(report: EffectReport) -> Iterator[Row]:
    for part in _parts(report):
        for each in part.contrasts:
            yield {
                **part.place, **{name: _flag(getattr(each, name, None)) for name in _TEST}, **_number(each.delta),
                "p_adjusted": each.p_adjusted, "note": each.note or each.delta.note,
                "t_low": each.t and each.t.low, "t_high": each.t and each.t.high,
                **(_verdict(part.verdict) if part.verdict and each.kind == "primary" else {}),
                **{f"{name}_{key}": getattr(getattr(each.deltas, name), key) for name in DELTAS for key in _SHORT},
            }  # fmt: skip
        yield from _loading(part)
    for model in report.models:
        yield from (_penalty(_place(model), each) for each in model.penalties)


def _loading(part: _Part) -> Iterator[Row]:
    """What loading does in trials that load by themselves, and against forced loading."""
    found = part.loading
    if found is None:
        return
    for kind, against, figure in (("complier", CONTROL, found.complier), ("selection", found.forced, found.selection)):
        if figure is not None:
            yield {
                **part.place, "name": kind, "arm": found.arm, "against": against, "kind": kind, "tasks": figure.clusters,
                "testable": int(figure.low is not None), "correction": "none", **_number(figure),
            }  # fmt: skip


def _penalty(place: Row, each: PenaltyContrast) -> Row:
    own = {name: _flag(getattr(each, name)) for name in ("arm", "against", "tasks", "differing", "testable")}
    return {
        **place, **own, "part": "collection", "name": f"{each.arm}-{each.against}", "kind": "penalties", "correction": HOLM,
        "sign_flip_p": each.delta.p, **_number(each.delta), "note": each.note or each.delta.note,
    }  # fmt: skip


def _verdict(found: EffectVerdict) -> Row:
    return {"verdict": found.word, "preliminary": "; ".join(found.preliminary)}


def _flag(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


def _number(figure: FullFigure) -> Row:
    found = {name: getattr(figure, name) for name in _NUMBER}
    if isinstance(figure, SelectedFigure):
        found["note"] = "; ".join(filter(None, [f"biased by {figure.bias}", figure.note]))
    return found


def _arms(report: EffectReport) -> Iterator[Row]:
    for part in _parts(report):
        for arm in part.arms:
            numbers = {"success": arm.success, "reward": arm.reward, "invoked_rate": arm.invoked.rate}
            numbers |= {"tests": arm.tests} if arm.tests else {}
            for each in arm.best_of:
                numbers |= {f"pass_at_{each.k}": each.pass_at_k, f"best_reward_of_{each.k}": each.reward}
            numbers |= {name: getattr(arm, name) for name in ("success_given_invoked", *MEASURES)}
            numbers |= {"skill_calls": arm.skill_calls} if arm.skill_calls else {}
            if arm.creation:
                # Of these the writing alone: a part of the figures of the same name.
                numbers |= {f"writing_{name}": getattr(arm.creation, name) for name in WRITING}
            for measure, number in numbers.items():
                yield {
                    **part.place, **{name: getattr(arm, name) for name in ("arm", "trials", "tasks", "missing")},
                    **{name: getattr(arm.creation, name, None) for name in _OF_CREATION},
                    "flags": " ".join(arm.flags), "measure": measure, **_number(number),
                }  # fmt: skip


def _tasks(report: EffectReport) -> Iterator[Row]:
    for model in report.models:
        for task in model.tasks:
            own = {name: getattr(task, name) for name in _OF_TASK}
            for arm, found in task.arms.items():
                yield {"model": model.model, **own, "arm": arm, **{key: getattr(found, key) for key in _OF_ARM}}


def _contributions(report: EffectReport) -> Iterator[Row]:
    """One row for each skill that an arm leaves out."""
    for model in report.models:
        for each in model.contributions:
            yield {
                "model": model.model, **{name: _flag(getattr(each, name)) for name in _OF_CONTRIBUTION},
                "above": " ".join(each.above), **_number(each.delta),
            }  # fmt: skip


def _composition(report: EffectReport) -> Iterator[Row]:
    """One row for each figure of a pair."""
    for model in report.models:
        for pair in model.composition:
            own = {name: getattr(pair, name) for name in _OF_PAIR} | {
                "model": model.model,
                "verdict": pair.verdict.word,
                "verdict_p_adjusted": pair.p_adjusted,
                "truth_p_adjusted": pair.truth_p_adjusted,
                **{f"equivalence_{name}": getattr(pair.equivalence, name) for name in _OF_EQUIVALENCE},
                "preliminary": "; ".join(pair.verdict.preliminary),
            }
            parts = (
                (name, getattr(group, name)) for group in (pair.rates, pair.effects) for name in group.__struct_fields__
            )
            for measure, number in (
                *parts, ("interaction", pair.interaction), ("independence", pair.independence),
                *([("order", pair.order)] if pair.order else ()),
            ):  # fmt: skip
                yield {**own, "measure": measure, **_number(number)}


_OF_PAIR = ("first", "second", "variant", "tasks", "differing", "of_first", "of_second", "of_both", "missing", "truth")
_OF_EQUIVALENCE = ("margin", "p", "low", "high")
_OF_CONTRIBUTION = ("rank", "skill", "against", "tasks", "testable")
_OF_CREATION = ("written", "nothing", "unusable")
_OF_TASK = ("task_id", "slug", "skill", "category", "difficulty", "flip")
_OF_ARM = ("n", "passes", "success", "reward")
_TABLES: Mapping[str, tuple[list[str], Callable[[EffectReport], Iterator[Row]]]] = {
    "contrasts": (
        [
            *_PLACE,
            *_TEST,
            *_NUMBER,
            "t_low",
            "t_high",
            "verdict",
            "preliminary",
            *(f"{name}_{key}" for name in DELTAS for key in _SHORT),
        ],
        _contrasts,
    ),
    "arms": ([*_PLACE, "arm", "trials", "tasks", "missing", *_OF_CREATION, "flags", "measure", *_NUMBER], _arms),
    "tasks": (["model", *_OF_TASK, "arm", *_OF_ARM], _tasks),
    "contributions": (["model", *_OF_CONTRIBUTION, "above", *_NUMBER], _contributions),
    "composition": (
        [
            "model",
            *_OF_PAIR,
            "verdict",
            "verdict_p_adjusted",
            "truth_p_adjusted",
            *(f"equivalence_{name}" for name in _OF_EQUIVALENCE),
            "preliminary",
            "measure",
            *_NUMBER,
        ],
        _composition,
    ),
}
