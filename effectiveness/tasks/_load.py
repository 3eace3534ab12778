"""Paths -> tasks, with one clear line for each that is wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import cast

from skill_health.core.errors import UsageError
from skill_health.core.plugins import plugin_names
from skill_health.core.strict_json import quote
from skill_health.discovery.roots import relative
from skill_health.effectiveness import tasks as package
from skill_health.effectiveness.tasks._api import Task, TaskFormat
from skill_health.effectiveness.tasks._bad import bad, refused
from skill_health.effectiveness.tasks._folder import Folder, RefusedFile
from skill_health.registries.records import BadRecord

MAX_FOLDERS = 20_000
_SKIPPED = frozenset(("node_modules", "__pycache__"))


@dataclass(frozen=True, slots=True)
class LoadedTasks:
    """Tasks in the order of their paths, and those that are none."""

    tasks: tuple[Task, ...] = ()
    problems: tuple[BadRecord, ...] = ()


@cache
def formats() -> tuple[tuple[str, TaskFormat], ...]:
    """Every format with the name of its module, found by walking the package."""
    names = plugin_names(package.__path__)
    return tuple((name, cast(TaskFormat, import_module(f"{package.__name__}.{name}"))) for name in names)


def load_tasks(paths: Sequence[str], root: str = "") -> LoadedTasks:
    """The tasks that paths name: folders of tasks, folders above those, or files of a task such as its metadata.json.

    `root` is what the paths in messages are relative to; a task outside it is named by its folder's name. Links are
    not followed below a named folder, hidden folders are not entered. Of two tasks with one id the first one counts.

    Raises UsageError where a path does not exist, and where no task is below it.
    """
    tasks: dict[str, Task] = {}
    problems: list[BadRecord] = []
    for place, claims in sorted(_places(paths).items()):
        for found in _load(Folder(place, _shown(place, root)), claims):
            if isinstance(found, BadRecord):
                problems.append(found)
            elif found.id in tasks:
                message = f"the id {quote(found.id)} is also that of {tasks[found.id].path}"
                problems.append(bad(Folder(place, found.path), "", message, "Give it another id.", task_id=found.id))
            else:
                tasks[found.id] = found
    return LoadedTasks(tuple(tasks.values()), tuple(problems))


def task_above(path: str, root: str) -> bool:
    """Whether a file lies in a task: skills there are starting files or the task's own, none of the collection.

    `path` is relative to the root. Evals in a skill's own folder make no task of that folder.
    """
    parts = path.split("/")[:-1]
    folders = (os.path.join(root, *parts[:end]) for end in range(1, len(parts) + 1))
    return any(set(_claims(Folder(place, place))) - {"skill_evals"} for place in folders)


def _load(folder: Folder, claims: Mapping[str, str]) -> Iterator[Task | BadRecord]:
    known = dict(formats())
    if len(claims) > 1:
        both = " and ".join(f"{known[name].TITLE} ({mark})" for name, mark in claims.items())
        yield bad(folder, "", f"a task in two formats: {both}", "Keep one of them.")
        return
    try:
        yield from known[next(iter(claims))].load(folder)
    except RefusedFile as error:
        yield refused(folder, error)


def _places(paths: Sequence[str]) -> dict[str, dict[str, str]]:
    """The folders of tasks with the formats that claim each, as `_claims` has them. Raises UsageError."""
    found: dict[str, dict[str, str]] = {}
    for path in paths:
        if not os.path.exists(path):
            raise UsageError(f"no such file or folder of tasks: {path}")
        start = os.path.realpath(path)
        if not os.path.isdir(start):
            start = os.path.dirname(start)
            start = os.path.dirname(start) if os.path.basename(start) == "evals" else start
        below = dict(_walk(start))
        if not below:
            titles = ", ".join(form.TITLE for _, form in formats())
            raise UsageError(f"no task in or below {path}; what can be read: {titles}")
        found |= below
    return found


def _walk(start: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The folders of tasks at or below a folder; nothing is looked for inside a task. Raises UsageError."""
    waiting, count = [start], 0
    while waiting:
        place = waiting.pop()
        count += 1
        if count > MAX_FOLDERS:
            raise UsageError(f"more than {MAX_FOLDERS:,} folders below {start}: name the folder of the tasks")
        if claims := _claims(Folder(place, place)):
            yield place, claims
            continue
        try:
            names = sorted(os.listdir(place), reverse=True)
        except OSError:
            continue
        for inner in names:
            full = os.path.join(place, inner)
            if inner[0] != "." and inner not in _SKIPPED and os.path.isdir(full) and not os.path.islink(full):
                waiting.append(full)


def _claims(folder: Folder) -> dict[str, str]:
    """The formats that a folder is a task of, each with the file that says so."""
    found = {}
    for name, form in formats():
        try:
            mark = form.fits(folder)
        except RefusedFile as error:
            mark = error.path
        if mark:
            found[name] = mark
    return found


def _shown(place: str, root: str) -> str:
    inner = relative(place, os.path.realpath(root)) if root else None
    return os.path.basename(place) if inner is None else inner or "."
