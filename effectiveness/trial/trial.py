"""One trial, from an empty folder to a verdict."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from msgspec import structs

from skill_health.core.files import blake2b
from skill_health.documents._record import record_values
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.creation.create import CreatedSkills, create, with_creation
from skill_health.effectiveness.records import SELF_GENERATED
from skill_health.effectiveness.sandbox._run import SandboxError, to_the_end
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.trial.agent_run import all_secrets, open_line, read_agent, run_agent, timeout_of
from skill_health.effectiveness.trial.files import (
    CRITERIA,
    FINAL,
    TRAJECTORY,
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
from skill_health.effectiveness.trial.grade import criteria_record, grade, graded
from skill_health.effectiveness.trial.keep import NAME, OUTPUTS, CannotKeep, pack
from skill_health.effectiveness.trial.outcome import AgentExit, disagreeing, ending
from skill_health.effectiveness.trial.prepare import Preparation, prepare
from skill_health.effectiveness.trial.spec import TrialSpec
from skill_health.effectiveness.trial.verify import make_ready, verify
from skill_health.effectiveness.workspace.images import files_of, links_of
from skill_health.effectiveness.workspace.tree import FolderTree, TreeEntry, contents, pieces, read_tree
from skill_health.effectiveness.workspace.workspace import (
    Workplace,
    changed_skills,
    digests_on_disk,
    fresh,
    is_staged,
    open_workplace,
    removed,
)

MAX_DIFF = 1 << 20
MAX_TEXT = 256 << 10
# Comparing lines can take the product of both counts in time.
_MAX_WORK = 4_000_000
_HASHED = 64 << 20
_LINK, _PLAIN, _PROGRAM = "120000", "100644", "100755"


@dataclass(frozen=True, slots=True)
class WorkspaceDiff:
    """The text of a diff, and how many paths are not as they were; folders by themselves do not count."""

    text: bytes = field(repr=False)
    changed: int = 0


def diff(before: Mapping[str, File], after: FolderTree, skip: tuple[str, ...] = ()) -> WorkspaceDiff:
    """Compare the files that were staged with what is there; paths below the folders in `skip` are left out."""
    there = {entry.path: entry for entry in after.entries if entry.kind != "folder"}
    paths = sorted(before.keys() | there.keys(), key=os.fsencode)
    text = bytearray()
    changed = left_out = 0
    for path in paths:
        if any(path == folder or path.startswith(f"{folder}/") for folder in skip):
            continue
        old, new = before.get(path), there.get(path)
        # What does not fit any more is still compared, so that it can be counted.
        lines = _changed(path, old, new, after.folder, brief=len(text) >= MAX_DIFF)
        if lines is None:
            continue
        changed += 1
        shown = "\n".join(lines).encode("utf-8", "surrogateescape") + b"\n"
        if len(text) + len(shown) > MAX_DIFF:
            left_out += 1
        else:
            text += shown
    if left_out:
        text += b"# %d more changed paths are not shown\n" % left_out
    for problem in after.problems:
        text += f"# {problem}\n".encode()
    return WorkspaceDiff(bytes(text), changed)


def _changed(path: str, old: File | None, new: TreeEntry | None, folder: str, brief: bool) -> list[str] | None:
    """The lines for one path; None where it is as it was."""
    data = contents(folder, new, MAX_TEXT) if new is not None else None
    if old is not None and new is not None and new.kind == "file" and old.executable == new.executable:
        same = data == old.data if data is not None else _same(folder, new, old.data)
        if same:
            return None
    if brief:
        return [""]
    return [*_head(path, old, new), *_body(path, old, new, data, folder)]


def _same(folder: str, new: TreeEntry, data: bytes) -> bool:
    """Whether a file that is too large for a diff holds these bytes."""
    if new.size != len(data):
        return False
    at = 0
    try:
        for piece in pieces(folder, new):
            if piece != data[at : at + len(piece)]:
                return False
            at += len(piece)
    except OSError:
        return False
    return at == len(data)


def _head(path: str, old: File | None, new: TreeEntry | None) -> Iterator[str]:
    yield f"diff --git {quoted('a/' + path)} {quoted('b/' + path)}"
    was = None if old is None else _PROGRAM if old.executable else _PLAIN
    now = None if new is None else _LINK if new.kind == "link" else _PROGRAM if new.executable else _PLAIN
    if was is None:
        yield f"new file mode {now}"
    elif now is None:
        yield f"deleted file mode {was}"
    elif was != now:
        yield f"old mode {was}"
        yield f"new mode {now}"


def _body(path: str, old: File | None, new: TreeEntry | None, data: bytes | None, folder: str) -> Iterator[str]:
    if new is not None and new.kind == "special":
        yield f"# a special file, not opened: {new.what}"
        return
    if new is not None and new.kind == "link":
        data = os.fsencode(new.target)
    before, after = _text(old.data if old else b""), _text(data if new is not None else b"")
    if before is None or after is None or (new is not None and data is None):
        yield f"# binary or large: {_said(old.data if old else None)} -> {_said(data, new, folder)}"
        return
    if before == after:
        return
    yield f"--- {quoted('a/' + path) if old else os.devnull}"
    yield f"+++ {quoted('b/' + path) if new else os.devnull}"
    yield from _hunks(before, after)


def _hunks(before: str, after: str) -> Iterator[str]:
    was, now = _lines(before), _lines(after)
    if len(was) * len(now) > _MAX_WORK:
        yield f"@@ -1,{len(was)} +1,{len(now)} @@"
        yield from (f"-{line}" for line in was)
        yield from (f"+{line}" for line in now)
        return
    from difflib import unified_diff

    hunks = unified_diff(was, now, lineterm="", n=3)
    next(hunks, None)
    next(hunks, None)
    yield from hunks


def _lines(text: str) -> list[str]:
    """The lines without their ends; a last line without an end is marked as git does."""
    if not text:
        return []
    lines = text.split("\n")
    if lines[-1] == "":
        return lines[:-1]
    lines[-1] += "\n\\ No newline at end of file"
    return lines


def _text(data: bytes | None) -> str | None:
    if data is None or len(data) > MAX_TEXT or b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _said(data: bytes | None, new: TreeEntry | None = None, folder: str = "") -> str:
    """Size and digest of what is not shown."""
    if data is None and new is None:
        return "nothing"
    size = len(data) if data is not None else new.size if new is not None else 0
    if size > _HASHED:
        return f"{size} bytes"
    total = blake2b(digest_size=16)
    try:
        for piece in (data,) if data is not None else pieces(folder, new) if new is not None else ():
            total.update(piece)
    except OSError:
        return f"{size} bytes that cannot be read"
    return f"{size} bytes blake2b:{total.hexdigest()}"


def quoted(path: str) -> str:
    """A path as git writes it: as it is, or in quotes where it holds signs, control characters or other bytes."""
    raw = os.fsencode(path)
    if all(32 <= byte < 127 and byte not in b'"\\' for byte in raw):
        return path
    named = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}
    shown = (
        f"\\{named[byte]}" if byte in named else chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}" for byte in raw
    )
    return f'"{"".join(shown)}"'


@dataclass(frozen=True, slots=True)
class MadeTrial:
    """A trial that was made: its result, and the files that are to be kept, with the words that must be in none."""

    result: TrialResult
    files: dict[str, bytes] = field(repr=False)
    hidden: tuple[str, ...] = field(repr=False)


async def run_trial(cell: TrialSpec, place: str) -> TrialResult:
    """Run one trial and keep what is worth keeping in `place`, which comes into being when it is complete.

    Cancellation ends the process tree, leaves nothing behind, and raises CancelledError. A trial that cannot be run
    has the outcome infrastructure, and `error` says why. Raises AbortedError where nothing can be run or written.
    """
    made = await make_trial(cell, place)
    await to_the_end(asyncio.to_thread(write_folder, place, made.files, made.hidden))
    return made.result


async def make_trial(cell: TrialSpec, place: str) -> MadeTrial:
    """Run one trial that will be kept in `place`, where nothing is written yet. Ends and raises as `run_trial` does."""
    made = await create(cell, place) if cell.arm.condition == SELF_GENERATED else None
    cell = made.cell if made else cell
    at = open_workplace(cell, place)
    async with removed(at.places.base):
        return await _trial(cell, at, place, made)


async def _trial(cell: TrialSpec, at: Workplace, place: str, made: CreatedSkills | None) -> MadeTrial:
    files = {TRIAL: to_json(description(cell, at)), **(made.files if made else {})}
    ready = await prepare(cell, at)
    staged = digests_on_disk(at.places.workspace, cell.choice.agent.SKILLS)
    if made and made.broken:
        story, hidden = TrialRecord(made.end), all_secrets(cell)
    elif ready.problem:
        story, hidden = TrialRecord(AgentExit("infrastructure", ready.problem)), all_secrets(cell)
    elif is_staged(cell, at):
        story, hidden = await _acted(cell, at)
    else:
        story = TrialRecord(disagreeing("what was staged is not on the disk as it was planned"))
        hidden = all_secrets(cell)
    if story.ran is not None:
        files.update(evidence(cell, story.ran, story.seen, staged))
        story = await _judged(cell, at, story, files, hidden, ready)
        files.update(story.left.files)
    if story.verified is not None:
        files.update(judgement(story.verified))
    if story.criteria:
        files[CRITERIA] = to_json(record_values(criteria_record(cell.task, story.criteria)))
    result = structs.replace(result_of(cell, story, hidden), folder="/".join(place.split(os.sep)[-2:]))
    files[VERDICT] = to_json(verdict_record(result, story, cell.task))
    if made:
        result, hidden = with_creation(result, made), (*hidden, *made.hidden)
    return MadeTrial(result, files, hidden)


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
    cell: TrialSpec,
    at: Workplace,
    story: TrialRecord,
    files: Mapping[str, bytes],
    hidden: tuple[str, ...],
    ready: Preparation,
) -> TrialRecord:
    """What the agent left, and what its verifier says of it where it has something to say."""
    places = fresh(cell.task, at.sandbox, cell.limits)
    async with removed(places.base):
        left = await to_the_end(asyncio.to_thread(_collect, cell, at, hidden, ready))
        if not story.end.verify:
            return replace(story, left=left)
        with open(places.final, "wb") as stream:
            stream.write(files[FINAL])
        # No task is used whose verifier the check has not seen to end by itself.
        after, figures = at.after(places), result_of(cell, replace(story, left=left), hidden)
        verified = await verify(cell.task, after, proved=True) if cell.task.verifier or not cell.task.rubric else None
        criteria = await grade(cell.task, after, figures, files[TRAJECTORY], files[FINAL])
        return replace(story, left=left, verified=graded(cell.task, criteria, verified), criteria=criteria)


def _collect(cell: TrialSpec, at: Workplace, hidden: tuple[str, ...], ready: Preparation) -> Left:
    """Look at the workspace once its agent is gone, pack it, and make it ready for the verifier.

    What must not reach that goes into the folder around it, which no verifier sees.
    """
    folder, workspace = cell.choice.agent.SKILLS, at.places.workspace
    # An agent may have locked its own workspace; what lies in it is looked at all the same.
    for place in (workspace, *(place for place, _ in at.outputs)):
        os.chmod(place, 0o700)
    notes = [*ready.notes, *changed_skills(cell, at)]
    tree = read_tree(workspace)
    told = diff(ready.before, _changeable(tree, at.own.files if at.own else ""), skip=(folder,))
    trees = {NAME: tree}
    if at.own and at.outputs:
        trees[OUTPUTS] = read_tree(at.outside)
        beside = diff(files_of(at.own.outside), _changeable(trees[OUTPUTS], at.own.outside))
        shown = b"# outside the working directory, below /:\n" + beside.text if beside.text else b""
        told = WorkspaceDiff(told.text + shown, told.changed + beside.changed)
    files = {"diff.patch": told.text}
    try:
        packed = {name: pack(one, hidden) for name, one in trees.items()}
        files |= {name: kept.data for name, kept in packed.items()}
        if redacted := sum(kept.redacted for kept in packed.values()):
            notes.append(f"{redacted} files of the workspace held a secret, which was taken out of what is kept")
    except (CannotKeep, OSError) as error:
        notes.append(f"the workspace is not kept, so it cannot be verified again: {error}")
    # What was prepared is no work of the agent's.
    given = tuple(file for path, file in ready.before.items() if not path.startswith(f"{folder}/"))
    notes += make_ready(replace(cell.task, files=given), at, tree, folder, at.places.base)
    return Left(files, told.changed, (*notes, *(problem for one in trees.values() for problem in one.problems)))


def _changeable(tree: FolderTree, start: str) -> FolderTree:
    """A tree without the links that its image has in the folder of which `start` is a copy."""
    links = links_of(start)
    mine = (entry for entry in tree.entries if entry.kind != "link" or links.get(entry.path) != entry.target)
    return replace(tree, entries=tuple(mine))
