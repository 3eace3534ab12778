"""The verifier over a workspace, and the two states that it must tell apart: nothing done, and the oracle's."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
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


@dataclass(frozen=True, slots=True)
class Prepared:
    """A verifier that is ready to run: its folder, the words of its command, its environment, and its rewards."""

    staged: str
    rewards: str
    argv: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    script: Script


def prepare(task: Task, places: Places, name: str, workspace: str = "") -> Prepared:
    """Stage the verifier of a task, which comes into being only now, with an empty folder for its rewards.

    `name` is a folder for it beside the workspace. A score that somebody has left in the workspace is deleted. Where
    the verifier sees the workspace at another path than we do, that is `workspace`. Raises ValueError for a task
    without a verifier.
    """
    if task.verifier is None:
        raise ValueError(f"the task {task.id} has no verifier")
    staged, rewards = places.beside(f"{name}-verifier"), places.beside(f"{name}-rewards")
    clear_runner(places.workspace)
    if any(RUNNER.encode() in file.data for file in task.verifier.files):
        _leave_final(places)
    inside = workspace or places.workspace
    targets = {WORKSPACE: inside, VERIFIER: staged, REWARDS: rewards}
    argv = stage_script(task.verifier, staged, task.places, targets)
    more = {"VERIFIER_DIR": rewards, "FINAL_MESSAGE": places.final}
    return Prepared(staged, rewards, tuple(argv), _variables(task.verifier, task, inside, more), task.verifier)


def verify(task: Task, places: Places, name: str) -> Verified:
    """Run the verifier of a task over a workspace, once, as `prepare` has staged it; without a sandbox."""
    before = snapshot(places.workspace)
    ready = prepare(task, places, name)
    ran = _run(ready.argv, ready.environment, places, ready.script.timeout_sec)
    verdict = judge(task.grading, ran.exit_code, read_reward(ready.rewards, places.workspace))
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
        argv = stage_script(task.oracle, staged, task.places, targets)
        environment = _variables(task.oracle, task, places.workspace, {})
        ran = _run(argv, environment, places, task.oracle.timeout_sec)
        said = next((file.data for file in task.oracle.files if file.path in FINAL), b"")
        with open(places.final, "wb") as stream:
            stream.write(said)
        changes = len(differences(before, snapshot(places.workspace)))
        return State(tuple(verify(task, places, f"run-{nth}") for nth in range(RUNS)), ran, changes)


def _variables(script: Script, task: Task, workspace: str, more: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    above = {"GIT_CEILING_DIRECTORIES": os.path.dirname(workspace)}
    return (*task.env, *script.env, *above.items(), *more.items())


def _run(argv: Sequence[str], variables: Iterable[tuple[str, str]], places: Places, timeout_sec: float) -> Ran:
    environment = clean_environment(places.home, places.temporary, variables)
    ran = run_process(argv, places.workspace, environment, timeout_sec, places.stop)
    # The name of the temporary folder is another one each time.
    shown = [text.replace(places.base, "<temporary>") for text in (ran.stdout, ran.stderr)]
    return Ran(ran.exit_code, *shown)


def _leave_final(places: Places) -> None:
    """The final message in the workspace, where verifiers written for the plan's own runner look for it."""
    folder = os.path.join(places.workspace, RUNNER)
    os.mkdir(folder, 0o700)
    with open(places.final, "rb") as said, open(os.path.join(folder, "final.txt"), "xb") as copy:
        copy.write(said.read())
