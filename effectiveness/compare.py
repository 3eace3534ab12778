"""Two runs of the same tasks -> what has changed in what skills do, with intervals, or why that cannot be said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skill_health.core.errors import UsageError
from skill_health.effectiveness.comparable import (
    agreeing,
    changed_tasks,
    differences,
    obstacles,
    relisted,
    specs,
    tasks_of,
)
from skill_health.effectiveness.compare_cautions import cautions
from skill_health.effectiveness.compare_numbers import ContrastChange, arm_changes, changes, correct, record
from skill_health.effectiveness.effects.build import build_report
from skill_health.effectiveness.effects.facts import read_facts
from skill_health.effectiveness.effects.pairs import pairs
from skill_health.effectiveness.effects.sheet import Cells, ModelTrials, read_sheet
from skill_health.effectiveness.runs import EffectRun
from skill_health.effectiveness.tasks._api import NO_SKILL

SCHEMA = "skill-health/effectiveness-comparison/1"


@dataclass(frozen=True, slots=True)
class _Sides:
    """Both runs, each model with its columns, and the tasks that can be compared, by the skill that they are for."""

    columns: Mapping[str, tuple[ModelTrials, ModelTrials]]
    reports: tuple[Mapping[str, Any], Mapping[str, Any]]
    tasks: Mapping[str | None, Sequence[str]]
    arms: tuple[str, ...]


def compare(run: EffectRun, baseline: EffectRun) -> dict[str, Any]:
    """The comparison as JSON values (effectiveness-comparison.schema.json).

    `worse` names the skills, and collections (null), whose target lost against the control: Holm's correction over all
    models, and over all pairs of model and skill, with an interval below zero.

    Raises UsageError where no task, no model or no two arms are the same in both.
    """
    if found := list(obstacles(run, baseline)):
        raise UsageError(f"{run.run_id} cannot be compared with {baseline.run_id}: {'; '.join(found)}")
    one, other = run.manifest, baseline.manifest
    sides = _sides(run, baseline)
    wholes, skills, arms = _tables(sides, int(one["seed"]), one)
    models = [_model(spec, sides, wholes, skills, arms) for spec in sides.columns]
    new, old, edits = tasks_of(one), tasks_of(other), relisted(one, other)
    return {
        "schema": SCHEMA,
        "run": _identity(run),
        "baseline": _identity(baseline),
        "skills": edits,
        "same_skills": len(one["skills"]) - sum(each["kind"] != "removed" for each in edits),
        "tasks": {
            "common": agreeing(one, other),
            "compared": len(sides.tasks[None]),
            "changed": [{"task_id": name, "what": what} for name, what in changed_tasks(one, other).items()],
            "only_run": [name for name in new if name not in old],
            "only_baseline": [name for name in old if name not in new],
        },
        "differences": list(differences(one, other)),
        "cautions": list(cautions(models, sides.reports)),
        "models": models,
        "worse": list(_worse(models)),
    }


def _sides(run: EffectRun, baseline: EffectRun) -> _Sides:
    new, old = (
        {column.spec: column for column in read_sheet(read_facts(side.manifest), side.results).columns}
        for side in (run, baseline)
    )
    tasks: dict[str | None, list[str]] = {None: []}
    facts = tasks_of(run.manifest)
    for name in agreeing(run.manifest, baseline.manifest):
        skill = facts[name].get("target_skill")
        if skill == NO_SKILL:
            continue
        tasks[None].append(name)
        if skill is not None:
            tasks.setdefault(str(skill), []).append(name)
    return _Sides(
        {spec: (old[spec], new[spec]) for spec in specs(run.manifest) if spec in old},
        (build_report(baseline.manifest, baseline.results), build_report(run.manifest, run.results)),
        {None: tasks[None], **{skill: tasks[skill] for skill in sorted(filter(None, tasks))}},
        tuple(arm for arm in run.manifest["arms"] if arm in baseline.manifest["arms"]),
    )


_Table = dict[tuple[str, str | None], list[ContrastChange]]


def _tables(sides: _Sides, seed: int, manifest: Mapping[str, Any]) -> tuple[_Table, _Table, _Table]:
    """The changes of contrasts over all tasks and by skill, and those of single arms; each corrected by itself."""
    parsed = read_facts(manifest).arms
    wanted = pairs({name: parsed[name] for name in sides.arms})
    wholes: _Table = {}
    skills: _Table = {}
    arms: _Table = {}
    for spec, (old, new) in sides.columns.items():
        cells: tuple[Cells, Cells] = (old.cells, new.cells)
        for skill, tasks in sides.tasks.items():
            (wholes if skill is None else skills)[spec, skill] = list(changes(tasks, *cells, wanted, seed))
        arms[spec, None] = list(arm_changes(sides.tasks[None], *cells, sides.arms, seed))
    for table in (wholes, skills, arms):
        for primary in (True, False):
            correct(table, primary)
    return wholes, skills, arms


def _model(spec: str, sides: _Sides, wholes: _Table, skills: _Table, arms: _Table) -> dict[str, Any]:
    before, after = (_by_spec(report)[spec] for report in sides.reports)
    old, new = ({skill["skill"]: skill["verdict"]["word"] for skill in side["skills"]} for side in (before, after))
    return {
        "model": spec,
        "simulated": {"before": before["simulated"], "after": after["simulated"]},
        "version": {"before": before["agent_version"], "after": after["agent_version"]},
        "resolved": {"before": before["resolved"], "after": after["resolved"]},
        "coverage": {
            name: {"planned": side["planned"], "scored": side["scored"]}
            for name, side in (("before", before), ("after", after))
        },
        "verdict": {"before": before["verdict"]["word"], "after": after["verdict"]["word"]},
        "contrasts": [record(each) | {"lost": each.primary and each.lost} for each in wholes[spec, None]],
        "arms": [record(each) for each in arms[spec, None]],
        "skills": [
            {
                "skill": skill,
                "tasks": list(tasks),
                "verdict": {"before": old.get(skill), "after": new.get(skill)},
                "contrasts": [record(each) | {"lost": each.primary and each.lost} for each in skills[spec, skill]],
            }
            for skill, tasks in sides.tasks.items()
            if skill is not None
        ],
        "flips": list(_flips(sides, *sides.columns[spec])),
    }


def _by_spec(report: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {model["model"]: model for model in report["models"]}


def _flips(sides: _Sides, old: ModelTrials, new: ModelTrials) -> Iterator[dict[str, Any]]:
    """The tasks and arms that pass more or less often than before; the losses first, by how much."""
    skill_of = {task: skill for skill, tasks in sides.tasks.items() if skill is not None for task in tasks}
    found = []
    for task in sides.tasks[None]:
        for arm in sides.arms:
            before, after = old.cells.get((task, arm)), new.cells.get((task, arm))
            if before and after and before.success != after.success:
                counts = {
                    name: {"n": len(cell.trials), "passes": cell.passes}
                    for name, cell in (("before", before), ("after", after))
                }
                found.append(
                    (
                        after.success - before.success,
                        {"task_id": task, "skill": skill_of.get(task), "arm": arm, **counts},
                    )
                )
    for _, flip in sorted(found, key=lambda each: each[0]):
        yield flip


def _worse(models: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for model in models:
        parts = [(None, model["contrasts"]), *((skill["skill"], skill["contrasts"]) for skill in model["skills"])]
        for skill, contrasts in parts:
            for each in contrasts:
                if each["lost"]:
                    yield {"model": model["model"], "skill": skill, "tasks": each["tasks"], "delta": each["delta"]}


def _identity(run: EffectRun) -> dict[str, Any]:
    return {key: run.manifest.get(key) for key in ("run_id", "created", "commit", "dirty", "tool_version")}
