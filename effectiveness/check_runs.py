"""The verifier over a workspace, and the two states that it must tell apart: nothing done, and the oracle's."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Event

from effectiveness.check_process import Ran, clean_environment, run_process
from effectiveness.check_workspace import Places, differences, fresh_places, snapshot, stage_script, write_files
from effectiveness.rewards import RUNNER, Verdict, clear_runner, judge, read_reward
from effectiveness.tasks._api import Script, Task
from effectiveness.tasks._scripts import ORACLE, REWARDS, VERIFIER, WORKSPACE

RUNS = 3
# What an oracle says at last, for tasks whose verifier reads the final message.
FINAL = ("oracle/final.txt", "final.txt")


@dataclass(frozen=True, slots=True)
class Verified:
    """One verification: its verdict, the process, and what the verifier changed in the workspace."""

    verdict: Verdict
    ran: Ran
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """A state of the workspace, verified RUNS times.

    `oracle` is the oracle's process and `changes` counts the paths that it changed; None and 0 for nothing done.
    """

    verified: tuple[Verified, ...]
    oracle: Ran | None = None
    changes: int = 0


def verify(task: Task, places: Places, name: str) -> Verified:
    """Run the verifier of a task over a workspace, once; `name` is a folder for it beside the workspace.

    The verifier comes into being only now, in a fresh folder, with an empty folder for its rewards; a score that
    somebody has left in the workspace is deleted first. Raises ValueError for a task without a verifier.
    """
    if task.verifier is None:
        raise ValueError(f"the task {task.id} has no verifier")
    staged, rewards = places.beside(f"{name}-verifier"), places.beside(f"{name}-rewards")
    clear_runner(places.workspace)
    before = snapshot(places.workspace)
    if any(RUNNER.encode() in file.data for file in task.verifier.files):
        _leave_final(places)
    targets = {WORKSPACE: places.workspace, VERIFIER: staged, REWARDS: rewards}
    more = {"VERIFIER_DIR": rewards, "FINAL_MESSAGE": places.final}
    ran = _run(task.verifier, task, places, staged, targets, more)
    verdict = judge(task.grading, ran.exit_code, read_reward(rewards, places.workspace))
    clear_runner(places.workspace)
    return Verified(verdict, ran, tuple(differences(before, snapshot(places.workspace))))


def nothing_done(task: Task, stop: Event) -> State:
    """The starting state, verified."""
    with fresh_places(task.folder, stop) as places:
        write_files(places.workspace, task.files)
        return State(tuple(verify(task, places, f"run-{nth}") for nth in range(RUNS)))


def solved(task: Task, stop: Event) -> State:
    """The state that the oracle leaves, verified. Raises ValueError for a task without an oracle."""
    if task.oracle is None:
        raise ValueError(f"the task {task.id} has no oracle")
    with fresh_places(task.folder, stop) as places:
        write_files(places.workspace, task.files)
        before = snapshot(places.workspace)
        staged = places.beside("oracle")
        targets = {WORKSPACE: places.workspace, ORACLE: staged}
        ran = _run(task.oracle, task, places, staged, targets, {})
        said = next((file.data for file in task.oracle.files if file.path in FINAL), b"")
        with open(places.final, "wb") as stream:
            stream.write(said)
        changes = len(differences(before, snapshot(places.workspace)))
        return State(tuple(verify(task, places, f"run-{nth}") for nth in range(RUNS)), ran, changes)


def _run(
    script: Script, task: Task, places: Places, staged: str, targets: Mapping[str, str], more: Mapping[str, str]
) -> Ran:
    argv = stage_script(script, staged, task.places, targets)
    above = {"GIT_CEILING_DIRECTORIES": os.path.dirname(places.workspace)}
    extra = [*task.env, *script.env, *above.items(), *more.items()]
    environment = clean_environment(places.home, places.temporary, extra)
    ran = run_process(argv, places.workspace, environment, script.timeout_sec, places.stop)
    # The name of the temporary folder is another one each time.
    shown = [text.replace(places.base, "<temporary>") for text in (ran.stdout, ran.stderr)]
    return Ran(ran.exit_code, *shown)


def _leave_final(places: Places) -> None:
    """The final message in the workspace, where verifiers written for the plan's own runner look for it."""
    folder = os.path.join(places.workspace, RUNNER)
    os.mkdir(folder, 0o700)
    with open(places.final, "rb") as said, open(os.path.join(folder, "final.txt"), "xb") as copy:
        copy.write(said.read())
