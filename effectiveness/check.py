"""Are tasks fit to measure with? Each is read, audited for leaks, and tried with nothing done and with its oracle."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from skill_health.effectiveness.agents._api import ProgramOutput
from skill_health.effectiveness.check_leaks import leaks
from skill_health.effectiveness.check_runs import VerifiedState, nothing_done, solved
from skill_health.effectiveness.check_skills import own_skills, skill_faults, skill_notes, skill_texts, spread
from skill_health.effectiveness.rewards import INFRASTRUCTURE, PASS
from skill_health.effectiveness.script_run import ScriptOptions, last_line
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.trial_verify import Verified
from skill_health.skill.model import Skill

# Folders where agents look for skills and settings: every arm would have what lies there.
_AGENT_FOLDERS = frozenset((".agents", ".claude", ".codex", ".cursor", ".gemini", ".opencode", ".qwen"))
_AGENT_FILES = frozenset(("AGENTS.md", "CLAUDE.md", "GEMINI.md", "QWEN.md", ".cursorrules"))
# Formats that have no place for an oracle; that is said with what is not supported.
_WITHOUT_ORACLE = frozenset(("skill_evals",))
_MOST_PATHS = 3


@dataclass(frozen=True, slots=True)
class TaskFault:
    """Why a task must not be used: a stable word and a sentence."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class TaskCheck:
    """What the check of one task found. `nothing_done` and `solved` are None where the task was not run."""

    task: Task
    faults: tuple[TaskFault, ...] = ()
    notes: tuple[str, ...] = ()
    nothing_done: VerifiedState | None = None
    solved: VerifiedState | None = None

    @property
    def ok(self) -> bool:
        """Whether a run may use the task."""
        return not self.faults


def check_tasks(
    tasks: Sequence[Task], skills: Sequence[Skill], root: str = "", terms: ScriptOptions | None = None
) -> tuple[TaskCheck, ...]:
    """Check tasks, in their order, against all skills of the collection; their files are read below `root`.

    On these `terms` the oracle and the verifier of each task, which is code of the task, are run: in a sandbox as in a
    trial, in fresh folders outside the repository. Without any, nothing is run. To be called from the main thread,
    where no event loop runs.

    Raises AbortedError where the temporary folder is no place for that.
    """
    given = skill_texts(skills, root)
    common = spread(given)
    names = {one.name for one in given}

    def look(task: Task) -> TaskCheck:
        texts = (*given, *(skill for skill in own_skills(task) if skill.name not in names))
        found = [*_static(task, [skill.name for skill in texts])]
        told = list(dict.fromkeys(leaks(task, texts, common)))
        found += [TaskFault("leak", leak.message) for leak in told if leak.certain]
        notes = [*_notes(task), *(f"perhaps a leak: {leak.message}" for leak in told if not leak.certain)]
        return TaskCheck(task, tuple(found), tuple(notes))

    return tuple(map(look, tasks)) if terms is None else asyncio.run(_tried(tasks, look, terms))


async def _tried(
    tasks: Sequence[Task], look: Callable[[Task], TaskCheck], terms: ScriptOptions
) -> tuple[TaskCheck, ...]:
    """Each task looked at and tried, some at once: while one is looked at, the scripts of others go on."""
    slots = asyncio.Semaphore(terms.at_once)

    async def one(task: Task) -> TaskCheck:
        async with slots:
            checked = look(task)
            if not task.runnable or task.verifier is None:
                return checked
            start = await nothing_done(task, terms)
            end = await solved(task, terms) if task.oracle is not None else None
        found = dict.fromkeys([*_start_faults(start), *(_end_faults(end) if end else ())])
        return replace(
            checked, faults=(*checked.faults, *found), notes=(*checked.notes, *_state_notes(start, end)),
            nothing_done=start, solved=end,
        )  # fmt: skip

    return tuple(await asyncio.gather(*map(one, tasks)))


def _static(task: Task, names: Sequence[str]) -> Iterator[TaskFault]:
    yield from (TaskFault("not-runnable", line) for line in task.blockers)
    yield from (TaskFault("skills", line) for line in skill_faults(task, names))
    for file in task.files:
        top = next((part for part in file.path.split("/")[:-1] if part in _AGENT_FOLDERS), "")
        if top:
            yield TaskFault("visible", f"the starting file {file.path} lies where agents look for skills and settings")
            break
    if task.oracle is None and task.runnable and task.format not in _WITHOUT_ORACLE:
        yield TaskFault("no-oracle", "there is no oracle, so nothing shows that the task can be solved")


def _notes(task: Task) -> Iterator[str]:
    yield from (f"not supported: {line}" for line in task.unsupported)
    yield from skill_notes(task)
    for file in task.files:
        if file.path.rpartition("/")[2] in _AGENT_FILES:
            yield f"the starting file {file.path} is read by some agents as instructions, in every arm"


def _start_faults(state: VerifiedState) -> Iterator[TaskFault]:
    """What is wrong when nothing was done."""
    yield from _verifier_faults(state, "nothing done")
    if any(one.verdict.outcome == PASS for one in _verified(state)):
        yield TaskFault("no-op-passes", "the verifier passes although nothing was done")


def _end_faults(state: VerifiedState) -> Iterator[TaskFault]:
    """What is wrong after the oracle."""
    ran = state.oracle
    if ran is not None and ran.exit_code != 0:
        yield TaskFault("oracle-error", f"the oracle {_how(ran)}{_said(ran)}")
    yield from _verifier_faults(state, "the oracle's work done")
    worst = next((one for one in _verified(state) if one.verdict.outcome != PASS), None)
    if worst and worst.verdict.outcome != INFRASTRUCTURE:
        yield TaskFault("oracle-fails", f"the verifier fails the oracle{_said(worst.output)}")
    elif worst is None and (reward := state.tried[0].verified.verdict.reward) != 1:
        yield TaskFault("oracle-reward", f"the oracle's reward is {reward:g}, not 1")


def _verifier_faults(state: VerifiedState, when: str) -> Iterator[TaskFault]:
    first = state.tried[0].verified
    for one in _verified(state):
        if one.verdict.outcome == INFRASTRUCTURE:
            yield TaskFault("verifier-error", f"with {when}: {one.verdict.problem}{_said(one.output)}")
            break
        if one.verdict.problem:
            yield TaskFault("reward", f"with {when}: {one.verdict.problem}")
            break
    if any(_result(one) != _result(first) for one in _verified(state)):
        results = ", ".join(f"{one.verdict.outcome} ({_shown(one.verdict.reward)})" for one in _verified(state))
        yield TaskFault("verifier-varies", f"with {when} the verifier does not say the same each time: {results}")
    if changed := next((one.changed for one in state.tried if one.changed), ()):
        more = f" and {len(changed) - _MOST_PATHS} more" if len(changed) > _MOST_PATHS else ""
        yield TaskFault(
            "verifier-changes", f"the verifier changes the workspace: {', '.join(changed[:_MOST_PATHS])}{more}"
        )


def _state_notes(start: VerifiedState, end: VerifiedState | None) -> Iterator[str]:
    if end is not None and not end.changes:
        yield "the oracle changes no file: the final message alone is judged"
    for state in filter(None, (start, end)):
        if len({(one.output.stdout, one.output.stderr) for one in _verified(state)}) > 1:
            yield "the verifier's output differs from run to run; its verdict does not"
            return


def _result(one: Verified) -> tuple[object, ...]:
    verdict = one.verdict
    return verdict.outcome, verdict.reward, tuple(sorted(verdict.values.items())), one.output.exit_code


def _verified(state: VerifiedState) -> list[Verified]:
    return [one.verified for one in state.tried]


def _how(ran: ProgramOutput) -> str:
    """How a program came to an end that is not the right one."""
    if ran.exit_code is not None:
        return f"ended with exit code {ran.exit_code}"
    return f"was stopped: {ran.stopped}" if ran.stopped not in ("", "timeout") else "did not end within its time limit"


def _said(ran: ProgramOutput) -> str:
    words = last_line(ran)
    return f"; it said: {words}" if words else ""


def _shown(reward: float | None) -> str:
    return "no reward" if reward is None else f"{reward:g}"
