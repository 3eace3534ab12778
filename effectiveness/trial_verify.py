"""The verifier in its sandbox: no network, a home of its own, and only now its files and a folder for rewards."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from effectiveness.agents._api import Command, Output
from effectiveness.check_process import MAX_OUTPUT, clean_environment
from effectiveness.check_runs import Prepared, prepare
from effectiveness.check_workspace import remove_tree
from effectiveness.rewards import INFRASTRUCTURE, RUNNER, Verdict, clear_runner, judge, read_reward
from effectiveness.sandbox._api import Box, Limits
from effectiveness.sandbox._run import SandboxError, run
from effectiveness.tasks._api import Task
from effectiveness.workspace import Workplace
from effectiveness.workspace_programs import search_path
from effectiveness.workspace_tree import Tree, remove_special

NOTES = f"{RUNNER}/notes.txt"
MAX_NOTES = 64 << 10
_TRIAL, _SKILLS = "verify", "skills"
_READ = 8 << 20
_NO_VERIFIER = "the task has no verifier"


@dataclass(frozen=True, slots=True)
class Verified:
    """One verification: its verdict, the process, and the remarks that the verifier left.

    In what it printed, the name of the trial's own folder, which is another one each time, is replaced.
    """

    verdict: Verdict
    output: Output
    remarks: bytes = b""


def clear_for_verifier(workspace: str, tree: Tree, folder: str, aside: str) -> list[str]:
    """Take out of a workspace what must not reach the verifier; returns what there is to note.

    These are special files, on which it would wait for ever; what the agent wrote where only a verifier writes; and the
    staged skills, `folder`, whose presence must not decide: they go into the folder `aside`.
    """
    notes = remove_special(workspace, tree)
    if any(entry.path == RUNNER for entry in tree.entries):
        notes.append(f"the agent wrote {RUNNER}, which was removed")
        _clear_runner(workspace)
    place, above = os.path.join(workspace, folder), os.path.dirname(folder)
    if _unlocked(workspace, above) and os.path.lexists(place):
        _unlocked(workspace, folder)
        os.rename(place, os.path.join(aside, _SKILLS))
        _drop_empty(workspace, above)
    return notes


async def verify(task: Task, at: Workplace) -> Verified:
    """Run the verifier of a task over the workspace of a trial; its other places are fresh, with the final message.

    It may write in the workspace, which is kept already. Raises nothing for what an agent may have done to it.
    """
    if task.verifier is None:
        return Verified(Verdict(INFRASTRUCTURE, None, problem=_NO_VERIFIER), Output(None))
    places, inside = at.places, at.inside
    try:
        ready = prepare(task, places, _TRIAL, inside.workspace)
    except OSError as error:
        said = f"the verifier cannot be staged ({error.strerror or error})"
        return Verified(Verdict(INFRASTRUCTURE, None, problem=said), Output(None))
    shown = (ready.staged, places.final)
    box = Box(
        places.workspace, places.home, places.temporary, shown, (ready.rewards,), hidden=at.hidden, image=at.image
    )
    seen = at.sandbox.layout(box)
    isolated = "files" in at.sandbox.ISOLATES
    more = [("PATH", search_path(isolated)), *ready.environment]
    command = Command(ready.argv, clean_environment(seen.home, seen.temporary, more))
    try:
        output = await run(at.sandbox, box, command, _limits(ready))
    except SandboxError as error:
        return Verified(Verdict(INFRASTRUCTURE, None, problem=f"the verifier: {error}"), Output(None))
    remarks = _remarks(places.workspace)
    reward = read_reward(ready.rewards, places.workspace)
    code = output.exit_code
    verdict = judge(task.grading, code, reward)
    if output.stopped and output.stopped != "timeout":
        verdict = Verdict(INFRASTRUCTURE, None, problem=f"the verifier was stopped: {output.stopped}")
    hidden = places.base.encode()
    out, err = (text[:MAX_OUTPUT].replace(hidden, b"<temporary>") for text in (output.stdout, output.stderr))
    return Verified(verdict, replace(output, stdout=out, stderr=err), remarks)


def _limits(ready: Prepared) -> Limits:
    # Much may be printed of what an agent has made large; that is no reason to stop, only not to keep it.
    return Limits(timeout_sec=ready.script.timeout_sec, output_bytes=_READ)


def _remarks(workspace: str) -> bytes:
    """What the verifier noted, in a file of its own. Work of the agent that it runs may have put a link there."""
    if os.path.islink(os.path.join(workspace, RUNNER)):
        return b""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with suppress(OSError), os.fdopen(os.open(os.path.join(workspace, NOTES), flags), "rb") as stream:
        return stream.read(MAX_NOTES)
    return b""


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
