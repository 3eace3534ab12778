"""The commands of a task that prepare its workspace: in the sandbox of verifiers, before anything is paid for.

They come from the task's author, as its verifier does, and are the same in every arm: the skills are not in the
workspace while they run, and nothing that is staged for them is left when the agent starts.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from skill_health.core.files import is_there
from skill_health.effectiveness.agents._api import ProgramOutput
from skill_health.effectiveness.sandbox._api import BackEnd
from skill_health.effectiveness.sandbox._run import SandboxError, to_the_end
from skill_health.effectiveness.tasks._api import SetupCommand, Task, script
from skill_health.effectiveness.tasks._folder import MAX_FILE, File
from skill_health.effectiveness.trial.spec import TrialSpec
from skill_health.effectiveness.workspace.images import files_of
from skill_health.effectiveness.workspace.scripts import ScriptSurroundings, last_line, run_script
from skill_health.effectiveness.workspace.tree import FolderTree, contents, read_tree, remove_special
from skill_health.effectiveness.workspace.workspace import (
    Workplace,
    fresh,
    removed,
    stage_start,
    staged_files,
    starting_files,
    workplace,
)

_ENTRY = ".prepare.sh"
_ASIDE = "skills"
_NOT_RUN = (126, 127)
_MOST_KEPT = 256 << 20


class _Unprepared(Exception):
    """Why the agent cannot be started."""


@dataclass(frozen=True, slots=True)
class Preparation:
    """A workspace before its agent: all that is in it, what is to be noted, and why there can be no agent, "" else."""

    before: Mapping[str, File] = field(repr=False)
    notes: tuple[str, ...] = ()
    problem: str = ""


async def prepare(cell: TrialSpec, at: Workplace) -> Preparation:
    """Run the commands of a task in their order over its staged workspace.

    Whatever does not end as the task says is a problem of the preparation, never a failure of the agent.
    """
    task = cell.task
    if not task.preparation:
        return Preparation(starting_files(cell, at))
    places = fresh(task)
    async with removed(places.base):
        try:
            skills = await to_the_end(asyncio.to_thread(_put_aside, at.places.workspace, cell, at.places.base))
            notes = await _run_all(task, at.after(places))
            before = await to_the_end(asyncio.to_thread(_put_back, at.places.workspace, cell, skills))
        except _Unprepared as error:
            return Preparation({}, (), f"the preparation of the task: {error}")
        except (OSError, SandboxError) as error:
            return _not_run(error)
    return Preparation(before, notes)


async def start_again(task: Task, sandbox: BackEnd, image: str) -> Preparation:
    """What a trial of a task starts from, skills aside, made once more in folders of its own, which are removed.

    A verifier is given files that steer it as they were before the agent, and so are those that were prepared.
    """
    places = fresh(task, sandbox)
    async with removed(places.base):
        try:
            at = workplace(task, places, sandbox, image)
            if not task.preparation:
                return Preparation(
                    {**files_of(at.own.files if at.own else ""), **{file.path: file for file in task.files}}
                )
            await to_the_end(asyncio.to_thread(stage_start, task, places, sandbox))
            notes = await _run_all(task, at)
            return Preparation(await to_the_end(asyncio.to_thread(_read, read_tree(places.workspace), {})), notes)
        except _Unprepared as error:
            return Preparation({}, (), f"the preparation of the task: {error}")
        except (OSError, SandboxError) as error:
            return _not_run(error)


def _not_run(error: OSError | SandboxError) -> Preparation:
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return Preparation({}, (), f"the preparation of the task cannot be run: {said}")


async def _run_all(task: Task, at: Workplace) -> tuple[str, ...]:
    """Run the commands in their order; what there is to note of them. Raises _Unprepared, OSError, SandboxError."""
    notes = [await _run(task, at, number, each) for number, each in enumerate(task.preparation, 1)]
    return tuple(filter(None, notes))


async def _run(task: Task, at: Workplace, number: int, each: SetupCommand) -> str:
    """Run one command; what there is to note of it. Raises _Unprepared."""
    given = task.checking
    folder = at.places.beside(f"prepare-{number}")
    variables = {key: f"{folder}/{inner}".rstrip("/") for key, inner in (given.env if given else ())}
    files = [*(given.files if given else ()), File(_ENTRY, each.command.encode("utf-8", "replace"))]
    around = ScriptSurroundings(folder, {}, variables)
    output = await run_script(task, script(("bash", _ENTRY), files, each.seconds), at, around)
    shown = f"command {number} ({' '.join(each.command.split())[:60]})"
    if output.exit_code is None:
        raise _Unprepared(f"{shown} was stopped: {output.stopped or 'timeout'}")
    if output.exit_code in each.exits:
        return ""
    if output.exit_code in _NOT_RUN:
        raise _Unprepared(f"a program of {shown} is not here: {last_line(output)}")
    said = f"{shown} ended with exit code {output.exit_code}{_told(output)}"
    if each.required:
        raise _Unprepared(said)
    return f"preparation: {said}, which the task allows"


def _told(output: ProgramOutput) -> str:
    said = last_line(output)
    return f"; it said: {said}" if said else ""


def _put_aside(workspace: str, cell: TrialSpec, base: str) -> str:
    """Move the staged skills out of the workspace; where they are now, "" where there are none."""
    place = os.path.join(workspace, cell.choice.agent.SKILLS)
    if not staged_files(cell):
        return ""
    os.rename(place, os.path.join(base, _ASIDE))
    above = os.path.dirname(place)
    while above != workspace and not os.listdir(above):
        os.rmdir(above)
        above = os.path.dirname(above)
    return os.path.join(base, _ASIDE)


def _put_back(workspace: str, cell: TrialSpec, skills: str) -> dict[str, File]:
    """Move the skills back, and read what is in the workspace now. Raises _Unprepared where they have no place."""
    os.chmod(workspace, 0o700)
    tree = read_tree(workspace)
    remove_special(workspace, tree)
    if skills:
        # Nothing runs any more, so what is looked at here stays as it is.
        place = workspace
        *above, last = cell.choice.agent.SKILLS.split("/")
        for part in above:
            place = os.path.join(place, part)
            if os.path.islink(place) or (is_there(place, links=False) and not os.path.isdir(place)):
                raise _Unprepared(f"it put something else where {cell.choice.agent.SKILLS} has to be")
            os.makedirs(place, mode=0o755, exist_ok=True)
            os.chmod(place, 0o755)
        if is_there(os.path.join(place, last), links=False):
            raise _Unprepared(f"it put something else where {cell.choice.agent.SKILLS} has to be")
        os.rename(skills, os.path.join(place, last))
    return _read(tree, staged_files(cell))


def _read(tree: FolderTree, found: dict[str, File]) -> dict[str, File]:
    """The files of a workspace, added to those that were `found` before. Raises _Unprepared where they are too many."""
    total = 0
    for entry in tree.entries:
        data = contents(tree.folder, entry, MAX_FILE)
        total += len(data or b"")
        if total > _MOST_KEPT:
            raise _Unprepared(f"it leaves more than {_MOST_KEPT >> 20} MB in the workspace")
        if data is not None:
            found[entry.path] = File(entry.path, data, entry.executable)
    return found
