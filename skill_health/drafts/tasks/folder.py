"""A drafted task as a folder of the project's own format, written whole or not at all, and read back as a task."""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from skill_health.bench.manifest import digest
from skill_health.core.errors import AbortedError, UsageError
from skill_health.core.files import here, is_there, sync_folder, write_bytes
from skill_health.documents._targets import write_targets
from skill_health.documents.task_draft import TaskDraft
from skill_health.drafts.store import draft_path
from skill_health.drafts.tasks.model import DraftedTask
from skill_health.effectiveness.rubric.model import Check, Criterion
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._folder import File, Folder
from skill_health.effectiveness.tasks._load import load_tasks
from skill_health.effectiveness.tasks.plan_directory import METADATA, ORACLE, PROMPT, RUBRIC, STARTING
from skill_health.effectiveness.workspace.folders import remove_tree

_NOT_SLUG = re.compile(r"[^a-z0-9]+")
_SECONDS = 60


def task_files(drafted: DraftedTask, name: str, title: str, skills: tuple[str, ...]) -> tuple[File, ...]:
    """The files of a folder for a task of this name."""
    metadata = {
        "id": name,
        "slug": _NOT_SLUG.sub("-", title.lower()).strip("-")[:60].strip("-") or "task",
        "target_skill": write_targets(skills),
        **({"category": drafted.category} if drafted.category.strip() else {}),
        "agent_timeout_sec": _SECONDS * drafted.minutes,
    }
    rubric = {"goal_weight": 0.5, "criteria": list(map(_criterion_values, drafted.criteria))}
    oracle = ORACLE.partition("/")[0]
    return (
        File(PROMPT, drafted.instruction.encode("utf-8", "surrogatepass")),
        File(METADATA, _as_json(metadata)),
        File(RUBRIC, _as_json(rubric)),
        *(replace(file, path=f"{STARTING}/{file.path}") for file in drafted.files),
        *(replace(file, path=f"{oracle}/{file.path}") for file in drafted.solution),
    )


def _criterion_values(criterion: Criterion) -> dict[str, Any]:
    points = int(criterion.points) if criterion.points % 1 == 0 else criterion.points
    check = {"check": _check_values(criterion.check)} if criterion.check else {}
    return {"id": criterion.id, "text": criterion.text, "points": points, "group": criterion.group, **check}


def _check_values(check: Check) -> dict[str, Any]:
    given: dict[str, list[str]] = defaultdict(list)
    for key, value in check.given:
        given[key].append(value)
    return {"kind": check.kind, **{key: values[0] if len(values) == 1 else values for key, values in given.items()}}


def _as_json(values: Mapping[str, Any]) -> bytes:
    return (json.dumps(values, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "surrogatepass")


def shown_task(task: Task) -> str:
    """The parts of a task that a person edits most, its instruction and criteria, as JSON."""
    criteria = [_criterion_values(each) for each in (task.rubric.criteria if task.rubric else ())]
    return _as_json({"instruction": task.prompt, "criteria": criteria}).decode("utf-8", "replace")


def written_parts(data: Mapping[str, Any]) -> dict[str, bytes]:
    """The files of a folder that these parts are. Raises ValueError for what is no instruction with criteria."""
    if set(data) != {"instruction", "criteria"} or not isinstance(data["instruction"], str):
        raise ValueError("it has other keys than instruction and criteria")
    if not isinstance(data["criteria"], list):
        raise ValueError("criteria is no list")
    rubric = {"goal_weight": 0.5, "criteria": data["criteria"]}
    return {PROMPT: data["instruction"].encode("utf-8", "surrogatepass"), RUBRIC: _as_json(rubric)}


def write_folder(files: tuple[File, ...], place: str) -> None:
    """Write a task into a new folder; after a kill it is there whole or not at all. Raises AbortedError.

    The paths of the files must have been found to stay inside.
    """
    above, name = os.path.split(place)
    made = os.path.join(above, f".{name}.tmp")
    try:
        os.makedirs(above, exist_ok=True)
        if is_there(made, links=False):
            remove_tree(made)
        os.mkdir(made)
        for file in files:
            target = os.path.join(made, *file.path.split("/"))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            write_bytes(target, file.data)
        os.rename(made, place)
        sync_folder(above)
    except OSError as error:
        with suppress(OSError):
            remove_tree(made)
        raise AbortedError(f"cannot write {here(place)}: {error.strerror or error}") from error


def task_place(root: str, draft: TaskDraft) -> str:
    """The folder of a drafted task, beside its record."""
    return draft_path(root, draft).removesuffix(".json")


def load_folder(place: str, root: str) -> Task:
    """The task of a folder. Raises UsageError, with the reason, where there is none that can be read."""
    if not os.path.isdir(place) or os.path.islink(place):
        raise UsageError(f"{here(place)}: the folder of the drafted task is gone")
    loaded = load_tasks((place,), root)
    if loaded.problems:
        bad = loaded.problems[0]
        raise UsageError(f"{here(place)}: {bad.message}")
    if len(loaded.tasks) != 1:
        raise UsageError(f"{here(place)} holds {len(loaded.tasks)} tasks, not one")
    return loaded.tasks[0]


def digest_task(task: Task) -> str:
    """A hash of what a drafted task is: instruction, files, rubrics and reference solution."""
    oracle = task.oracle.digest if task.oracle else ""
    return digest([task.digest, task.verifier_digest, oracle, list(task.target_skills or ())])


def copy_folder(place: str, target: str) -> None:
    """Copy the folder of a task, its draft accepted, to a new place. Raises UsageError where something is there."""
    if is_there(target, links=False):
        raise UsageError(f"{here(target)} is there already: remove it, or keep the draft as it is")
    folder = Folder(os.path.realpath(place), place)
    write_folder(folder.tree(""), target)
