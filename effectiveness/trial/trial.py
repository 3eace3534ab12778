"""One trial, from an empty folder to a verdict."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace

from skill_health.effectiveness.records import TrialResult
from skill_health.effectiveness.sandbox._run import SandboxError, to_the_end
from skill_health.effectiveness.trial.agent_run import all_secrets, open_line, read_agent, run_agent, timeout_of
from skill_health.effectiveness.trial.diff import diff
from skill_health.effectiveness.trial.files import (
    FINAL,
    TRIAL,
    VERDICT,
    Left,
    TrialRecord,
    description,
    evidence,
    judgement,
    result_of,
    to_json,
    verdict_record,
    write_folder,
)
from skill_health.effectiveness.trial.keep import NAME, CannotKeep, pack
from skill_health.effectiveness.trial.outcome import AgentExit, ending
from skill_health.effectiveness.trial.spec import TrialSpec
from skill_health.effectiveness.trial.verify import clear_for_verifier, verify
from skill_health.effectiveness.trial.visibility import DISAGREEMENT
from skill_health.effectiveness.workspace.tree import read_tree
from skill_health.effectiveness.workspace.workspace import (
    Workplace,
    changed_skills,
    digests_on_disk,
    fresh,
    open_workplace,
    removed,
    starting_files,
)


async def run_trial(cell: TrialSpec, place: str) -> TrialResult:
    """Run one trial and keep what is worth keeping in `place`, which comes into being when it is complete.

    Cancellation ends the process tree, leaves nothing behind, and raises CancelledError. A trial that cannot be run
    has the outcome infrastructure, and `error` says why. Raises AbortedError where nothing can be run or written.
    """
    at = open_workplace(cell, place)
    async with removed(at.places.base):
        files, result, hidden = await _trial(cell, at, place)
        await to_the_end(asyncio.to_thread(write_folder, place, files, hidden))
        return result


async def _trial(cell: TrialSpec, at: Workplace, place: str) -> tuple[dict[str, bytes], TrialResult, tuple[str, ...]]:
    """The files of a trial, its result, and the words that must be in none of them."""
    files = {TRIAL: to_json(description(cell, at))}
    staged = digests_on_disk(at.places.workspace, cell.choice.agent.SKILLS)
    if staged == {skill.name: skill.digest for skill in cell.skills}:
        story, hidden = await _acted(cell, at)
    else:
        story = TrialRecord(
            AgentExit("infrastructure", f"{DISAGREEMENT}what was staged is not on the disk as it was planned")
        )
        hidden = all_secrets(cell)
    if story.ran is not None:
        files.update(evidence(cell, story.ran, story.seen, staged))
        story = await _judged(cell, at, story, files[FINAL], hidden)
        files.update(story.left.files)
    if story.verified is not None:
        files.update(judgement(story.verified))
    result = replace(result_of(cell, story, hidden), folder="/".join(place.split(os.sep)[-2:]))
    files[VERDICT] = to_json(verdict_record(result, story, cell.task))
    return files, result, hidden


async def _acted(cell: TrialSpec, at: Workplace) -> tuple[TrialRecord, tuple[str, ...]]:
    """What the agent did, and the words that must be in no file of it."""
    hidden = all_secrets(cell)
    try:
        async with open_line(cell, at) as line:
            hidden = all_secrets(cell, line.key)
            ran = await run_agent(cell, at, line, cell.choice.agent.command, timeout_of(cell))
    except SandboxError as error:
        return TrialRecord(AgentExit("infrastructure", str(error))), hidden
    if ran is None:
        return TrialRecord(AgentExit("infrastructure", "the agent's module gives no command")), hidden
    ran, seen = replace(ran, reading=await read_agent(cell, ran)), line.look()
    return TrialRecord(ending(cell, ran.output, ran.reading, seen), ran, seen), hidden


async def _judged(
    cell: TrialSpec, at: Workplace, story: TrialRecord, final: bytes, hidden: tuple[str, ...]
) -> TrialRecord:
    """What the agent left, and what its verifier says of it where it has something to say."""
    places = fresh(cell.task)
    async with removed(places.base):
        left = await to_the_end(asyncio.to_thread(_collect, cell, at.places.workspace, places.base, hidden))
        if not story.end.verify:
            return replace(story, left=left)
        with open(places.final, "wb") as stream:
            stream.write(final)
        # No task is used whose verifier the check has not seen to end by itself.
        return replace(story, left=left, verified=await verify(cell.task, at.after(places), proved=True))


def _collect(cell: TrialSpec, workspace: str, aside: str, hidden: tuple[str, ...]) -> Left:
    """Look at the workspace once its agent is gone, pack it, and make it ready for the verifier.

    What must not reach that goes to the folder `aside`.
    """
    folder = cell.choice.agent.SKILLS
    # An agent may have locked its own workspace; what lies in it is looked at all the same.
    os.chmod(workspace, 0o700)
    notes = [*changed_skills(cell, workspace)]
    tree = read_tree(workspace)
    told = diff(starting_files(cell), tree, skip=(folder,))
    files = {"diff.patch": told.text}
    try:
        kept = pack(tree, hidden)
        files[NAME] = kept.data
        if kept.redacted:
            notes.append(f"{kept.redacted} files of the workspace held a secret, which was taken out of what is kept")
    except (CannotKeep, OSError) as error:
        notes.append(f"the workspace is not kept, so it cannot be verified again: {error}")
    notes += clear_for_verifier(workspace, tree, folder, aside)
    return Left(files, told.changed, (*notes, *tree.problems))
