"""What is said before a run begins: the check of its tasks, and what it repeats or leaves behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from skill_health import __version__
from skill_health.bench.manifest import differences, digest
from skill_health.bench.run_folder import RunLocation, earlier_runs
from skill_health.core.errors import UsageError
from skill_health.documents._record import OpenRecord, convert_record, record_values
from skill_health.documents.effect_check import FaultKind, TaskFault, VerifierFinding
from skill_health.documents.effect_manifest import EffectManifest, SkippedTask
from skill_health.effectiveness.check.check import TaskCheck, check_tasks
from skill_health.effectiveness.plan.extend import count_lacking, count_unchanged
from skill_health.effectiveness.plan.inputs import TrialInputs
from skill_health.effectiveness.run.runs import KIND
from skill_health.effectiveness.sandbox._load import back_end
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.workspace.images import GATEWAY_ONLY, NetworkChoice, Tell, place_tasks
from skill_health.effectiveness.workspace.scripts import ScriptOptions
from skill_health.lint.cache import cache_folder
from skill_health.registries.records import problem_line
from skill_health.text.numbers import count

_MOST = 5_000
_SHOWN = 3


def fit_tasks(
    inputs: TrialInputs, skip: bool, sandbox: str, image: str = "", network: NetworkChoice = GATEWAY_ONLY, *,
    look_only: bool = False, tell: Tell | None = None,
) -> tuple[tuple[Task, ...], list[SkippedTask], list[str]]:  # fmt: skip
    """The tasks that may be used, the ones that may not as a manifest holds them, and lines that somebody should know.

    Oracles and verifiers are run in the back end `sandbox` where that was not done before for the same task and skills
    in the same one; with `look_only` they are not, and nothing is written. Images of tasks are built before, which
    `tell` is told; a task whose image cannot be had is skipped. Raises UsageError for other tasks that must not be
    used, unless they are to be skipped, and where none is left.
    """
    placed = place_tasks(inputs.tasks, sandbox, image, network, tell, build=not look_only)
    inputs = replace(inputs, tasks=placed.tasks)
    checked, tried = _checked(inputs, sandbox, image, look_only)
    bad = [SkippedTask(task=one.task.id, reasons=tuple(map(_said, one.faults))) for one in checked if not one.ok]
    broken = [SkippedTask(task=problem.path, reasons=(problem_line(problem),)) for problem in inputs.problems]
    skipped = sorted([*bad, *broken], key=lambda each: each.task)
    fit = tuple(one.task for one in checked if one.ok)
    lines = [f"{each.task} is not fit to use: {'; '.join(each.reasons[:_SHOWN])}" for each in skipped]
    if any(each.task not in placed.failed for each in skipped) and not skip:
        more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
        raise UsageError(f"{lines[0]}{more}: fix it (`effectiveness check` tells all), or give --skip-unfit")
    if not fit:
        raise UsageError(f"no task is left: {lines[0] if lines else 'there is none'}")
    if tried < len(checked):
        lines.append(f"oracles and verifiers of {len(checked) - tried} tasks were not tried yet: a run does that first")
    return fit, skipped, lines


def _checked(inputs: TrialInputs, sandbox: str, image: str, look_only: bool) -> tuple[tuple[TaskCheck, ...], int]:
    """The checks of all tasks, in their order, and how many of them were tried with their oracles, now or before."""
    marks = {task.id: _mark(task, inputs, sandbox, image, repr(task.network)) for task in inputs.tasks}
    known = cache_folder.read_sealed(cache_folder.TASKS).get("tasks")
    known = known if isinstance(known, dict) else {}
    there = {task.id: found for task in inputs.tasks if (found := _stored(task, known.get(marks[task.id]))) is not None}
    others = [task for task in inputs.tasks if task.id not in there]
    terms = None if look_only else ScriptOptions(back_end(sandbox), image, os.cpu_count() or 1)
    fresh = check_tasks(others, inputs.skills, inputs.skills_root, terms) if others else ()
    if fresh and not look_only:
        records = {marks[one.task.id]: record_values(_kept(one)) for one in fresh}
        kept = dict(
            list({**{mark: each for mark, each in known.items() if mark not in records}, **records}.items())[-_MOST:]
        )
        cache_folder.write_sealed(cache_folder.TASKS, {"tasks": kept})
    all_of_them = there | {one.task.id: one for one in fresh}
    return tuple(all_of_them[task.id] for task in inputs.tasks), len(there) + (0 if look_only else len(fresh))


def _mark(task: Task, inputs: TrialInputs, *where: str) -> str:
    """A hash of everything that the check of a task depends on."""
    scripts = [task.verifier_digest or "", task.oracle.digest if task.oracle else ""]
    named = [task.target_skills, task.irrelevant_skill, task.related_skill, task.unrelated_skill]
    skills = [skill.digest for skill in inputs.copies_of(task).values()]
    of_task = [task.format, task.digest, scripts, named, list(task.blockers), task.grading]
    return digest([__version__, *of_task, skills, list(where)])


class _Kept(OpenRecord, frozen=True, kw_only=True):
    """A check as the cache holds it."""

    faults: tuple[tuple[FaultKind, str], ...]
    notes: tuple[str, ...]
    findings: tuple[VerifierFinding, ...] = ()


def _kept(one: TaskCheck) -> _Kept:
    return _Kept(
        faults=tuple((fault.kind, fault.message) for fault in one.faults), notes=one.notes, findings=one.findings
    )


def _stored(task: Task, record: object) -> TaskCheck | None:
    """The check that the cache holds; None where it holds none."""
    try:
        kept = convert_record(record, _Kept)
    except ValueError:
        return None
    return TaskCheck(task, tuple(TaskFault(*fault) for fault in kept.faults), kept.notes, kept.findings)


def _said(fault: TaskFault) -> str:
    return f"{fault.kind}: {fault.message}"


_LOOK = 20
_CHANGES = 2


def said_of_earlier(place: RunLocation, reports: str) -> Iterator[str]:
    """One line where the latest run with the same agents is finished and the same, or unfinished and another.

    Nothing for a run that goes on, and nothing where no earlier run is like it.
    """
    if place.stored is not None or place.manifest.get("extends"):
        return
    planned = convert_record(place.manifest, EffectManifest)
    specs = {model.spec for model in planned.models}
    for folder, values in islice(earlier_runs(reports, KIND), _LOOK):
        manifest = convert_record(values, EffectManifest)
        if {model.spec for model in manifest.models} != specs:
            continue
        name, lacking = manifest.run_id, count_lacking(folder, manifest)
        found = differences(values, place.manifest)
        if not lacking and (kept := count_unchanged(manifest, planned)):
            same = "was this same run" if not found else f"has {count(kept, 'trial')} of this run"
            yield (
                f"note: {name} {same} and is finished (`effectiveness report {name}`): this begins another one; "
                f"`--extend {name}` takes over what has not changed"
            )
        if found and lacking:
            more = f" and {len(found) - _CHANGES} more" if len(found) > _CHANGES else ""
            yield (
                f"note: {name} is unfinished ({count(lacking, 'trial')} without a result) and cannot go on, since it is not the "
                f"same run: {'; '.join(found[:_CHANGES])}{more}: this begins another one"
            )
        return
