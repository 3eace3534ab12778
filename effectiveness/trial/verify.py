"""The verifier in its sandbox: no network, a home of its own, and only now its files and a folder for rewards."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace

from skill_health.core.files import is_there
from skill_health.effectiveness.agents._api import ProgramOutput
from skill_health.effectiveness.sandbox._run import SandboxError
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._scripts import REWARDS, VERIFIER
from skill_health.effectiveness.trial.rewards import (
    INFRASTRUCTURE,
    RUNNER,
    CtrfReport,
    VerifierResult,
    clear_runner,
    judge,
    read_ctrf,
    read_reward,
)
from skill_health.effectiveness.workspace.folders import Places, remove_tree
from skill_health.effectiveness.workspace.images import files_of, links_of
from skill_health.effectiveness.workspace.sanitise import sanitise
from skill_health.effectiveness.workspace.scripts import ScriptSurroundings, run_script, skills_of_image
from skill_health.effectiveness.workspace.tree import FolderTree, read_tree, remove_special
from skill_health.effectiveness.workspace.workspace import Workplace

NOTES = f"{RUNNER}/notes.txt"
MAX_NOTES = 64 << 10
_TRIAL, _SKILLS = "verify", "skills"
_NO_VERIFIER = "the task has no verifier"


@dataclass(frozen=True, slots=True)
class Verified:
    """One verification: its verdict, the process, the remarks that the verifier left, and its tests."""

    verdict: VerifierResult
    output: ProgramOutput
    remarks: bytes = b""
    ctrf: CtrfReport = field(default_factory=CtrfReport)


def make_ready(task: Task, at: Workplace, tree: FolderTree, folder: str, aside: str) -> list[str]:
    """Make a workspace ready for its verifier, after all that is to be kept of it was packed; what there is to note.

    `tree` is what lies in it, `folder` that of staged skills ("" for none), and `aside` is where these go. The output
    folders outside it are made ready in the same way.
    """
    start = at.own.files if at.own else ""
    known = {**files_of(start), **{file.path: file for file in task.files}}
    staged = replace(task, files=tuple(known.values()))
    workspace = at.places.workspace
    notes = sanitise(workspace, tree, staged, at.inside.workspace, folder, links_of(start))
    notes += clear_for_verifier(workspace, tree, folder, aside)
    for place, path in at.outputs:
        start = f"{at.own.outside}{path}" if at.own else ""
        there, staged = read_tree(place), replace(task, files=tuple(files_of(start).values()))
        notes += sanitise(place, there, staged, path, "", links_of(start))
        notes += clear_for_verifier(place, there, "", aside)
    return list(dict.fromkeys(notes))


def clear_for_verifier(workspace: str, tree: FolderTree, folder: str, aside: str) -> list[str]:
    """Take out of a workspace what must not reach the verifier; returns what there is to note.

    These are special files, on which it would wait for ever; what the agent wrote where only a verifier writes; and the
    staged skills, `folder`, whose presence must not decide: they go into the folder `aside`.
    """
    notes = remove_special(workspace, tree)
    if any(entry.path == RUNNER for entry in tree.entries):
        notes.append(f"the agent wrote {RUNNER}, which was removed")
        _clear_runner(workspace)
    place, above = os.path.join(workspace, folder), os.path.dirname(folder)
    if folder and _unlocked(workspace, above) and is_there(place, links=False):
        _unlocked(workspace, folder)
        os.rename(place, os.path.join(aside, _SKILLS))
        _drop_empty(workspace, above)
    return notes


async def verify(task: Task, at: Workplace, name: str = _TRIAL, *, proved: bool = False) -> Verified:
    """Run the verifier of a task over a workspace, in its sandbox; `name` is of its folders beside the workspace.

    It may write in the workspace, which is kept already; a score that somebody left there is deleted before. `proved`
    says that this verifier is known to end by itself over work that is no agent's, as the check before a run shows.
    Raises nothing for what an agent may have done to the workspace.
    """
    if task.verifier is None:
        return Verified(VerifierResult(INFRASTRUCTURE, None, problem=_NO_VERIFIER), ProgramOutput(None))
    places = at.places
    try:
        folder, rewards = places.beside(f"{name}-verifier"), places.beside(f"{name}-rewards")
        _clear_runner(places.workspace)
        if any(RUNNER.encode() in file.data for file in task.verifier.files):
            _leave_final(places)
        variables = {"VERIFIER_DIR": rewards, "FINAL_MESSAGE": places.final}
        around = ScriptSurroundings(
            folder, {VERIFIER: folder, REWARDS: rewards}, variables, (places.final,), (rewards,),
            shown=_skills_asked_for(task, at), judges=True,
        )  # fmt: skip
        output = await run_script(task, task.verifier, at, around)
    except OSError as error:
        said = f"the verifier cannot be staged ({error.strerror or error})"
        return Verified(VerifierResult(INFRASTRUCTURE, None, problem=said), ProgramOutput(None))
    except SandboxError as error:
        return Verified(VerifierResult(INFRASTRUCTURE, None, problem=f"the verifier: {error}"), ProgramOutput(None))
    reward = read_reward(rewards, places.workspace)
    verdict = judge(task.grading, output.exit_code, reward, stopped=output.stopped, proved=proved)
    return Verified(verdict, output, _remarks(places.workspace), read_ctrf(rewards))


def _skills_asked_for(task: Task, at: Workplace) -> tuple[tuple[str, str], ...]:
    """The task's own skills, in the places in which its verifier names them."""
    texts = [file.data for file in task.verifier.files] if task.verifier else []
    return tuple(pair for pair in skills_of_image(task, at) if any(pair[1].encode() in text for text in texts))


def _remarks(workspace: str) -> bytes:
    """What the verifier noted, in a file of its own. Work of the agent that it runs may have put a link there."""
    if os.path.islink(os.path.join(workspace, RUNNER)):
        return b""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with suppress(OSError), os.fdopen(os.open(os.path.join(workspace, NOTES), flags), "rb") as stream:
        return stream.read(MAX_NOTES)
    return b""


def _leave_final(places: Places) -> None:
    """The final message in the workspace, where verifiers written for the plan's own runner look for it."""
    folder = os.path.join(places.workspace, RUNNER)
    os.mkdir(folder, 0o700)
    with open(places.final, "rb") as said, open(os.path.join(folder, "final.txt"), "xb") as copy:
        copy.write(said.read())


def _clear_runner(workspace: str) -> None:
    """Delete what the agent put where a verifier writes, however deep and however locked."""
    place = os.path.join(workspace, RUNNER)
    if os.path.isdir(place) and not os.path.islink(place):
        remove_tree(place)
    else:
        clear_runner(workspace)


def _unlocked(workspace: str, folder: str) -> bool:
    """Whether this is a folder of the workspace, each part of it a real one; they are made ours to change."""
    place = workspace
    for part in ("", *folder.split("/")):
        place = os.path.join(place, part) if part else place
        if os.path.islink(place) or not os.path.isdir(place):
            return False
        os.chmod(place, 0o700)
    return True


def _drop_empty(workspace: str, folder: str) -> None:
    """Remove the folders that were made for the skills, as far as nothing else is in them."""
    with suppress(OSError):
        for inner in _upwards(folder):
            os.rmdir(os.path.join(workspace, inner))


def _upwards(folder: str) -> Iterator[str]:
    while folder:
        yield folder
        folder = os.path.dirname(folder)
