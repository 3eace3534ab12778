"""The folders of one trial, outside every repository: starting files, real copies of the skills, and a fresh home."""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import cache

from skill_health.core.boundary import git_top
from skill_health.core.errors import AbortedError
from skill_health.core.files import read_whole
from skill_health.effectiveness.agents._api import Command
from skill_health.effectiveness.delivery.served import STORE, server_readable, store_of
from skill_health.effectiveness.sandbox._api import BackEnd, InsidePaths, SandboxSession
from skill_health.effectiveness.sandbox._load import back_end
from skill_health.effectiveness.sandbox._run import to_the_end
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._folder import MAX_FILE, File
from skill_health.effectiveness.trial.spec import TrialSpec
from skill_health.effectiveness.workspace.copies import digest_of
from skill_health.effectiveness.workspace.folders import Places, make_places, remove_tree, write_files
from skill_health.effectiveness.workspace.process import clean_environment
from skill_health.effectiveness.workspace.programs import needs, search_path
from skill_health.effectiveness.workspace.tree import FolderTree, contents, read_tree

_YOUNG = 120.0
_held: dict[str, int] = {}


def hold(base: str) -> None:
    """Lock a folder until `let_go` or the end of the process; without such locks here nothing is done."""
    handle = _locked(base)
    if handle is not None:
        _held[base] = handle


def let_go(base: str) -> None:
    """Unlock a folder, if it is locked."""
    handle = _held.pop(base, None)
    if handle is not None:
        os.close(handle)


@cache
def sweep(root: str, prefix: str) -> int:
    """Remove folders of dead processes below `root`, once for each process of ours; returns how many there were."""
    count = 0
    for name in os.listdir(root):
        place = os.path.join(root, name)
        if name.startswith(prefix) and place not in _held and _is_old(place):
            handle = _locked(place)
            if handle is not None:
                count += 1
                remove_tree(place)
                os.close(handle)
    return count


def _is_old(place: str) -> bool:
    """Whether this is a folder of ours, not a link, that was made some time ago."""
    try:
        state = os.lstat(place)
    except OSError:
        return False
    ours = stat.S_ISDIR(state.st_mode) and state.st_uid == os.getuid() and stat.S_IMODE(state.st_mode) == 0o700
    # What is in it tells that it is one of a trial, and not of somebody who likes the same name.
    known = all(os.path.lexists(os.path.join(place, inner)) for inner in ("workspace", "home", "tmp", "final.txt"))
    return ours and known and time.time() - state.st_mtime > _YOUNG


def _locked(place: str) -> int | None:
    """The open folder with its lock; None where somebody has it, or where there are none."""
    try:
        import fcntl
    except ImportError:
        return None
    try:
        handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


# What a user would call such a folder: nothing tells an agent that it is being measured.
PREFIX = "job-"
_SOCKET, _PORT = "gateway", 8181
_SERVED = "served"
_MOST_STORED = 1 << 30
_USER = "agent"


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where a trial happens: its folders, its sandbox, and the paths as they are seen in there.

    In one that is `read_only` the agent cannot write to its workspace.
    """

    places: Places
    sandbox: BackEnd
    inside: InsidePaths
    hidden: tuple[str, ...] = ()
    image: str = ""
    read_only: bool = False

    @property
    def apart(self) -> bool:
        """Whether the model is reached through a socket, as there is no network inside."""
        return "network" in self.sandbox.ISOLATES

    @property
    def socket(self) -> str:
        """The gateway's socket, "" where it listens on the host's own 127.0.0.1."""
        return os.path.join(self.places.base, _SOCKET) if self.apart else ""

    def port(self, of_gateway: int) -> int:
        """Where the agent finds the gateway on 127.0.0.1."""
        return _PORT if self.apart else of_gateway

    def box(self, readable: tuple[str, ...] = (), online: bool = False) -> SandboxSession:
        """The sandbox of the agent."""
        places = self.places
        return SandboxSession(
            places.workspace, places.home, places.temporary, readable=readable, socket=self.socket if online else "",
            port=_PORT if online and self.apart else 0, hidden=self.hidden, image=self.image,
            read_only_workspace=self.read_only,
            own_channel=True,
        )  # fmt: skip

    def started(self, cell: TrialSpec, command: Command) -> tuple[Command, tuple[str, ...]]:
        """An agent's command with its whole environment, and the folders that it must be able to read."""
        inside = (self.inside.workspace, self.inside.home)
        found = needs(command.argv, cell.choice.agent, inside)
        others = [needs((program,), cell.choice.agent, inside) for program in command.programs]
        folders = [*found.folders, *(folder for other in others for folder in other.folders)]
        readable = [*found.readable, *(path for other in others for path in other.readable)]
        readable += server_readable(os.path.dirname(self.store)) if cell.arm.served else ()
        isolated = "files" in self.sandbox.ISOLATES
        more = {
            **dict(cell.task.env),
            **self.ceiling,
            "USER": _USER,
            "LOGNAME": _USER,
            "SHELL": "/bin/bash",
            "PATH": search_path(isolated, list(dict.fromkeys(folders))),
            **command.env,
        }
        environment = clean_environment(self.inside.home, self.inside.temporary, more.items())
        return Command(found.argv, environment, command.files, command.stdin), tuple(dict.fromkeys(readable))

    @property
    def store(self) -> str:
        """Where the skills lie that a server gives: beside the workspace, and of one path inside and outside."""
        return os.path.join(self.places.base, _SERVED, STORE)

    @property
    def ceiling(self) -> dict[str, str]:
        """What keeps git from looking for a repository above the workspace."""
        return {"GIT_CEILING_DIRECTORIES": os.path.dirname(self.inside.workspace)}

    def after(self, places: Places) -> Workplace:
        """The same workspace among fresh folders, which no agent can have had a hand in."""
        return replace(self, places=replace(places, workspace=self.places.workspace))


@asynccontextmanager
async def removed(base: str) -> AsyncIterator[None]:
    """Remove a folder when this ends, however it ends; it may be large."""
    try:
        yield
    finally:
        try:
            await to_the_end(asyncio.to_thread(remove_tree, base))
        finally:
            let_go(base)


def fresh(task: Task) -> Places:
    """Folders for a trial or for a verification of this task, which `removed` removes. Raises AbortedError."""
    places = make_places(task.folder, PREFIX)
    hold(places.base)
    sweep(os.path.dirname(places.base), PREFIX)
    return places


def open_workplace(cell: TrialSpec, place: str = "") -> Workplace:
    """Make the folders of a trial and stage its files and skills; `place` is where it will be kept.

    Whoever asks for it removes it. Raises AbortedError where the temporary folder is no place for that, or is full.
    """
    places = fresh(cell.task)
    try:
        write_files(places.workspace, cell.task.files)
        write_files(
            places.workspace, (File(path, file.data, file.executable) for path, file in staged_files(cell).items())
        )
        if cell.arm.served:
            folder = places.beside(_SERVED)
            write_files(folder, [File(STORE, store_of(cell.skills, cell.arm.delivery))])
            os.chmod(os.path.join(folder, STORE), 0o444)
            os.chmod(folder, 0o555)
    except OSError as error:
        remove_tree(places.base)
        let_go(places.base)
        raise AbortedError(f"cannot stage a trial in {places.base}: {error.strerror or error}") from None
    return workplace(cell.task, places, back_end(cell.back_end), cell.image, os.path.dirname(place))


def workplace(task: Task, places: Places, sandbox: BackEnd, image: str = "", *hidden: str) -> Workplace:
    """Folders with the sandbox in which their work is done: the task's repository is `hidden` from it, and these."""
    inside = sandbox.layout(SandboxSession(places.workspace, places.home, places.temporary))
    top = git_top(task.folder) if task.folder else None
    return Workplace(places, sandbox, inside, tuple(filter(None, (top or task.folder, *hidden))), image)


def staged_files(cell: TrialSpec) -> dict[str, File]:
    """The files of all skills that lie in the workspace, by their paths there."""
    folder = cell.choice.agent.SKILLS
    return {f"{folder}/{skill.name}/{file.path}": file for skill in cell.placed for file in skill.files}


def starting_files(cell: TrialSpec) -> Mapping[str, File]:
    """All that is staged, by its path in the workspace."""
    return {**{file.path: file for file in cell.task.files}, **staged_files(cell)}


def digests_on_disk(workspace: str, folder: str) -> dict[str, str]:
    """What lies in the folder of skills, read back: the digest of each, "" for what is no folder of plain files."""
    place = os.path.join(workspace, folder)
    if os.path.realpath(place) != os.path.join(os.path.realpath(workspace), folder):
        return {folder: ""}
    try:
        names = sorted(os.listdir(place))
    except OSError:
        return {}
    return {name: _digest(name, read_tree(os.path.join(place, name))) for name in names}


def is_staged(cell: TrialSpec, at: Workplace) -> bool:
    """Whether the folder of skills, and the store of the server, hold what is planned and nothing else."""
    on_disk = digests_on_disk(at.places.workspace, cell.choice.agent.SKILLS)
    return on_disk == {skill.name: skill.digest for skill in cell.placed} and _is_stored(cell, at)


def _is_stored(cell: TrialSpec, at: Workplace) -> bool:
    if not cell.arm.served:
        return True
    try:
        return read_whole(at.store, _MOST_STORED) == store_of(cell.skills, cell.arm.delivery)
    except OSError:
        return False


def changed_skills(cell: TrialSpec, at: Workplace) -> Iterator[str]:
    """What is not as it was staged, one line for each skill."""
    now = digests_on_disk(at.places.workspace, cell.choice.agent.SKILLS)
    then = {skill.name: skill.digest for skill in cell.placed}
    if not _is_stored(cell, at):
        yield "the agent changed the skills of the server"
    for name in sorted(now.keys() | then.keys()):
        if now.get(name) != then.get(name):
            word = "added" if name not in then else "removed" if name not in now else "changed"
            yield f"the agent {word} the skill {name}" if name in then else f"the agent added {name!r} to the skills"


def _digest(name: str, tree: FolderTree) -> str:
    files = []
    for entry in tree.entries:
        data = contents(tree.folder, entry, MAX_FILE)
        if entry.kind == "folder":
            continue
        if data is None:
            return ""
        files.append(File(entry.path, data, entry.executable))
    return "" if tree.problems or not files else digest_of(name, sorted(files, key=lambda file: file.path))
