"""The two states that a verifier must tell apart, nothing done and the oracle's, each verified as a trial would be."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.agents._api import ProgramOutput
from skill_health.effectiveness.sandbox._run import SandboxError, to_the_end
from skill_health.effectiveness.tasks._api import Script, Task
from skill_health.effectiveness.tasks._scripts import ORACLE
from skill_health.effectiveness.trial.grade import grade, graded
from skill_health.effectiveness.trial.verify import Verified, make_ready, verify
from skill_health.effectiveness.workspace.folders import differences, snapshot
from skill_health.effectiveness.workspace.scripts import ScriptOptions, ScriptSurroundings, run_script, skills_of_image
from skill_health.effectiveness.workspace.tree import read_tree
from skill_health.effectiveness.workspace.workspace import Workplace, fresh, removed, stage_start, workplace

RUNS = 3
_NOBODY = TrialResult(task_id="", model="", arm="control", replication=0, outcome="unjudged")
# What an oracle says at last, for tasks whose verifier reads the final message.
FINAL = ("oracle/final.txt", "final.txt")
# A shell's exit code of what cannot be run.
_NOT_RUN = 127


@dataclass(frozen=True, slots=True)
class VerifierRun:
    """One verification, and what the verifier changed in the workspace."""

    verified: Verified
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VerifiedState:
    """A state of the workspace, verified several times.

    `oracle` is how the oracle's program ended, `changes` counts the paths that it changed, and `answers` are the files
    among them; None, 0 and none for nothing done.
    """

    tried: tuple[VerifierRun, ...]
    oracle: ProgramOutput | None = None
    changes: int = 0
    answers: tuple[str, ...] = ()


async def nothing_done(task: Task, terms: ScriptOptions, runs: int = RUNS) -> VerifiedState:
    """The starting state, verified so often. Raises AbortedError where the temporary folder is no place for that."""
    async with begun(task, terms) as at:
        return VerifiedState(await _verified(task, at, runs))


async def solved(task: Task, terms: ScriptOptions, runs: int = RUNS) -> VerifiedState:
    """The state that the oracle leaves, verified. Raises as `nothing_done`, and ValueError for a task without one."""
    if task.oracle is None:
        raise ValueError(f"the task {task.id} has no oracle")
    async with begun(task, terms) as at:
        before = await _snapshot(at)
        output = await _oracle(task, task.oracle, at)
        said = next((file.data for file in task.oracle.files if file.path in FINAL), b"")
        with open(at.places.final, "wb") as stream:
            stream.write(said)
        after = await _snapshot(at)
        answers = tuple(path for path in sorted(after) if after[path] != before.get(path) and _is_file(after[path]))
        return VerifiedState(await _verified(task, at, runs), output, len(differences(before, after)), answers)


@asynccontextmanager
async def begun(task: Task, terms: ScriptOptions) -> AsyncIterator[Workplace]:
    """Fresh folders with the starting files, removed afterwards."""
    places = fresh(task, terms.sandbox)
    async with removed(places.base):
        await to_the_end(asyncio.to_thread(stage_start, task, places, terms.sandbox))
        yield workplace(task, places, terms.sandbox, terms.image)


async def _oracle(task: Task, oracle: Script, at: Workplace) -> ProgramOutput:
    folder = at.places.beside("oracle")
    around = ScriptSurroundings(folder, {ORACLE: folder}, {}, shown=skills_of_image(task, at))
    try:
        return await run_script(task, oracle, at, around)
    except (OSError, SandboxError) as error:
        return ProgramOutput(_NOT_RUN, stderr=str(error).encode("utf-8", "replace"))


async def _verified(task: Task, at: Workplace, runs: int) -> tuple[VerifierRun, ...]:
    found = []
    await ready(task, at)
    before = await _snapshot(at)
    for nth in range(runs):
        verified = await judged(task, at, f"run-{nth}")
        after = await _snapshot(at)
        found.append(VerifierRun(verified, tuple(differences(before, after))))
        before = after
    return tuple(found)


async def ready(task: Task, at: Workplace) -> None:
    """The workspace as a trial's is made ready, so that no task rests on what a trial would lose."""

    def work() -> None:
        make_ready(task, at, read_tree(at.places.workspace), "", at.places.base)

    await to_the_end(asyncio.to_thread(work))


async def judged(task: Task, at: Workplace, name: str) -> Verified:
    """What the verifier says, or what the criteria come to where they alone decide: nobody has done anything."""
    if task.verifier is not None or task.rubric is None:
        return await verify(task, at, name)
    criteria = await grade(task, at, _NOBODY, b'{"steps": []}', b"", name)
    missed = (f"{each.id}: {each.why}\n" for each in criteria if each.answer == "not_met")
    first = next(missed, "").encode("utf-8", "replace")
    return replace(graded(task, criteria, None), output=ProgramOutput(None, stdout=first))


def _is_file(what: str) -> bool:
    """Whether a snapshot says so of a path."""
    return what.startswith(f"{stat.S_IFREG >> 12:o}")


async def _snapshot(at: Workplace) -> dict[str, str]:
    """The workspace now; who cancels meanwhile waits, since the folder is removed afterwards."""
    return await to_the_end(asyncio.to_thread(_looked_at, at))


def _looked_at(at: Workplace) -> dict[str, str]:
    found = snapshot(at.places.workspace)
    for place, path in at.outputs:
        found |= {f"{path}/{inner}": what for inner, what in snapshot(place).items()}
    return found
