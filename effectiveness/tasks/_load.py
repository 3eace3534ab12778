"""Paths -> tasks, with one clear line for each that is wrong."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import cast

from skill_health.core.errors import UsageError
from skill_health.core.files import is_there
from skill_health.core.plugins import plugin_names
from skill_health.core.strict_json import quote
from skill_health.discovery.roots import relative
from skill_health.effectiveness import tasks as package
from skill_health.effectiveness.tasks._api import EvalFormat, Task, TaskFormat
from skill_health.effectiveness.tasks._bad import bad, refused
from skill_health.effectiveness.tasks._folder import Folder, RefusedFile
from skill_health.registries.records import BadRecord
from skill_health.text.numbers import count

MAX_FOLDERS = 20_000
_SKIPPED = frozenset(("node_modules", "__pycache__"))
_ENDINGS = (".json", ".jsonl", ".ndjson", ".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class LoadedTasks:
    """Tasks in the order of their paths, and those that are none."""

    tasks: tuple[Task, ...] = ()
    problems: tuple[BadRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class FormatClaim:
    """The formats that a folder or a file is a task of, each with the file that says so; `top` is what was named."""

    formats: Mapping[str, str]
    top: str


@cache
def _modules() -> tuple[tuple[str, ModuleType], ...]:
    names = plugin_names(package.__path__)
    return tuple((name, import_module(f"{package.__name__}.{name}")) for name in names)


@cache
def formats() -> tuple[tuple[str, TaskFormat], ...]:
    """Every format of folders with the name of its module, found by walking the package."""
    return tuple((name, cast(TaskFormat, module)) for name, module in _modules() if hasattr(module, "fits"))


@cache
def eval_formats() -> tuple[tuple[str, EvalFormat], ...]:
    """Every format of files that hold tasks, in the same way."""
    return tuple((name, cast(EvalFormat, module)) for name, module in _modules() if hasattr(module, "is_ours"))


def load_tasks(paths: Sequence[str], root: str = "") -> LoadedTasks:
    """The tasks that paths name: folders of tasks or above some, files of a task or such that hold tasks.

    `root` is what the paths in messages are relative to; a task outside it is named by its folder's name. Links are
    not followed below a named folder, hidden folders are not entered. Of two tasks with one id the first one counts.

    Raises UsageError where a path does not exist, and where no task is below it.
    """
    tasks: dict[str, Task] = {}
    problems: list[BadRecord] = []
    copies: Counter[tuple[str, str, str]] = Counter()
    for (place, name), claim in sorted(_places(paths).items()):
        for found in _load(Folder(place, _shown(place, root), claim.top), name, claim.formats):
            if isinstance(found, BadRecord):
                problems.append(found)
            elif name and found.id in tasks and _same(found, tasks[found.id]):
                copies[place, found.path, tasks[found.id].path] += 1
            elif found.id in tasks:
                message = f"the id {quote(found.id)} is also that of {tasks[found.id].path}"
                problems.append(bad(Folder(place, found.path), "", message, "Give it another id.", task_id=found.id))
            else:
                tasks[found.id] = found
    for (place, path, first), number in copies.items():
        message = f"{count(number, 'evaluation')} of it stand in {first}, too, and count once"
        problems.append(bad(Folder(place, path), "", message, "One of the two files is a copy: remove it."))
    return LoadedTasks(tuple(tasks.values()), tuple(problems))


def _same(one: Task, other: Task) -> bool:
    """Whether two tasks ask and judge the same, as those of a copied file do."""
    asked = one.digest == other.digest and one.target_skills == other.target_skills
    return asked and one.format == other.format and one.verifier_digest == other.verifier_digest


def task_above(path: str, root: str, below: str = "") -> bool:
    """Whether a file lies in a task: skills there are starting files or the task's own, none of the collection.

    `path` is relative to the root, and so is `below`, a folder above it or "": only tasks in that folder count. Evals
    in a skill's own folder make no task of that folder.
    """
    parts = path.split("/")[:-1]
    first = below.count("/") + 2 if below else 1
    folders = (os.path.join(root, *parts[:end]) for end in range(first, len(parts) + 1))
    return any(_claims(Folder(place, place)) for place in folders)


def _load(folder: Folder, name: str, claims: Mapping[str, str]) -> Iterator[Task | BadRecord]:
    known, files = dict(formats()), dict(eval_formats())
    if len(claims) > 1:
        titles = ((known[each].TITLE if each in known else files[each].TITLE, mark) for each, mark in claims.items())
        both = " and ".join(f"{title} ({mark})" for title, mark in titles)
        yield bad(folder, name, f"a task in two formats: {both}", "Keep one of them.")
        return
    form = next(iter(claims))
    try:
        yield from files[form].load(folder, name) if name else known[form].load(folder)
    except RefusedFile as error:
        yield refused(folder, error)


def _places(paths: Sequence[str]) -> dict[tuple[str, str], FormatClaim]:
    """The folders of tasks, and the files that hold some, with the formats that claim each. Raises UsageError."""
    found: dict[tuple[str, str], FormatClaim] = {}
    for path in paths:
        if not is_there(path):
            raise UsageError(f"no such file or folder of tasks: {path}")
        start = os.path.realpath(path)
        if not os.path.isdir(start):
            place, name = os.path.split(start)
            if claims := _file_claims(Folder(place, place), name):
                found[place, name] = FormatClaim(claims, place)
                continue
            start = os.path.dirname(place) if os.path.basename(place) == "evals" else place
        below = dict(_walk(start))
        if not below:
            titles = ", ".join(module.TITLE for _, module in _modules())
            raise UsageError(f"no task in or below {path}; what can be read: {titles}")
        found |= {each: FormatClaim(claims, start) for each, claims in below.items()}
    return found


def _walk(start: str) -> Iterator[tuple[tuple[str, str], dict[str, str]]]:
    """The tasks at or below a folder; nothing is looked for inside a folder that is one. Raises UsageError."""
    waiting, count = [start], 0
    while waiting:
        place = waiting.pop()
        count += 1
        if count > MAX_FOLDERS:
            raise UsageError(f"more than {MAX_FOLDERS:,} folders below {start}: name the folder of the tasks")
        folder = Folder(place, place)
        if claims := _claims(folder):
            yield (place, ""), claims
            continue
        try:
            names = sorted(os.listdir(place), reverse=True)
        except OSError:
            continue
        for inner in names:
            full = os.path.join(place, inner)
            if inner[0] == "." or os.path.islink(full):
                continue
            if os.path.isdir(full):
                if inner not in _SKIPPED:
                    waiting.append(full)
            elif inner.endswith(_ENDINGS) and (claims := _file_claims(folder, inner)):
                yield (place, inner), claims


def _file_claims(folder: Folder, name: str) -> dict[str, str]:
    """The formats that a file is one of."""
    return {form: name for form, module in eval_formats() if module.is_ours(folder, name)}


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
