"""The check of tasks before a run. What it takes a task some seconds to show is remembered until the task changes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from skill_health import __version__
from skill_health.bench.manifest import digest
from skill_health.core.errors import UsageError
from skill_health.effectiveness.check import TaskCheck, TaskFault, check_tasks
from skill_health.effectiveness.prepare_inputs import TrialInputs
from skill_health.effectiveness.sandbox._load import back_end
from skill_health.effectiveness.script_run import ScriptOptions
from skill_health.effectiveness.tasks._api import Task
from skill_health.lint import cache
from skill_health.registries.records import problem_line

_CACHE = "effectiveness-check"
_MOST = 5_000
_SHOWN = 3


def fit_tasks(
    inputs: TrialInputs, skip: bool, sandbox: str, image: str = "", *, look_only: bool = False
) -> tuple[tuple[Task, ...], list[dict[str, Any]], list[str]]:
    """The tasks that may be used, the ones that may not as a manifest holds them, and lines that somebody should know.

    Oracles and verifiers are run in the back end `sandbox` where that was not done before for the same task and skills
    in the same one; with `look_only` they are not, and nothing is written. Raises UsageError for tasks that must not be
    used, unless they are to be skipped, and where none is left.
    """
    checked, tried = _checked(inputs, sandbox, image, look_only)
    bad = [{"task": one.task.id, "reasons": [_said(fault) for fault in one.faults]} for one in checked if not one.ok]
    broken = [{"task": problem.path, "reasons": [problem_line(problem)]} for problem in inputs.problems]
    skipped = sorted([*bad, *broken], key=lambda each: str(each["task"]))
    fit = tuple(one.task for one in checked if one.ok)
    lines = [f"{each['task']} is not fit to use: {'; '.join(each['reasons'][:_SHOWN])}" for each in skipped]
    if skipped and not skip:
        more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
        raise UsageError(f"{lines[0]}{more}: mend it (`effectiveness check` tells all), or give --skip-unfit")
    if not fit:
        raise UsageError(f"no task is left: {lines[0] if lines else 'there is none'}")
    if tried < len(checked):
        lines.append(f"oracles and verifiers of {len(checked) - tried} tasks were not tried yet: a run does that first")
    return fit, skipped, lines


def _checked(inputs: TrialInputs, sandbox: str, image: str, look_only: bool) -> tuple[tuple[TaskCheck, ...], int]:
    """The checks of all tasks, in their order, and how many of them were tried with their oracles, now or before."""
    marks = {task.id: _mark(task, inputs, sandbox, image) for task in inputs.tasks}
    known = cache.load(_CACHE).get("tasks")
    known = known if isinstance(known, dict) else {}
    there = {task.id: found for task in inputs.tasks if (found := _stored(task, known.get(marks[task.id]))) is not None}
    others = [task for task in inputs.tasks if task.id not in there]
    terms = None if look_only else ScriptOptions(back_end(sandbox), image, os.cpu_count() or 1)
    fresh = check_tasks(others, inputs.skills, inputs.skills_root, terms) if others else ()
    if fresh and not look_only:
        records = {marks[one.task.id]: _record(one) for one in fresh}
        kept = dict(
            list({**{mark: each for mark, each in known.items() if mark not in records}, **records}.items())[-_MOST:]
        )
        cache.save(_CACHE, {"tasks": kept})
    all_of_them = there | {one.task.id: one for one in fresh}
    return tuple(all_of_them[task.id] for task in inputs.tasks), len(there) + (0 if look_only else len(fresh))


def _mark(task: Task, inputs: TrialInputs, *where: str) -> str:
    """A hash of everything that the check of a task depends on."""
    scripts = [script.digest if script else "" for script in (task.verifier, task.oracle)]
    named = [task.target_skill, task.irrelevant_skill, task.related_skill, task.unrelated_skill]
    skills = [skill.digest for skill in inputs.copies_of(task).values()]
    of_task = [task.format, task.digest, scripts, named, list(task.blockers), task.grading]
    return digest([__version__, *of_task, skills, list(where)])


def _record(one: TaskCheck) -> dict[str, Any]:
    return {"faults": [[fault.kind, fault.message] for fault in one.faults], "notes": list(one.notes)}


def _stored(task: Task, record: object) -> TaskCheck | None:
    """The check that the cache holds; None where it holds none."""
    if not isinstance(record, Mapping):
        return None
    try:
        faults = tuple(TaskFault(str(kind), str(message)) for kind, message in record["faults"])
        return TaskCheck(task, faults, _texts(record["notes"]))
    except (KeyError, TypeError, ValueError):
        return None


def _texts(values: Sequence[object]) -> tuple[str, ...]:
    return tuple(str(value) for value in values)


def _said(fault: TaskFault) -> str:
    return f"{fault.kind}: {fault.message}"
