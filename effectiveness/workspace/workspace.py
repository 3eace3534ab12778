"""The folders of one trial, outside every repository: starting files, real copies of the skills, and a fresh home."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from skill_health.core.boundary import git_top
from skill_health.core.errors import AbortedError
from skill_health.core.files import read_whole
from skill_health.effectiveness.agents._api import Command
from skill_health.effectiveness.delivery.served import (
    STORE,
    ServerCommand,
    server_command,
    server_compiled,
    server_places,
    store_of,
)
from skill_health.effectiveness.gateway.proxy import PORT, proxy_environment
from skill_health.effectiveness.sandbox._api import BackEnd, InsidePaths, OwnImage, SandboxLimits, SandboxSession
from skill_health.effectiveness.sandbox._host import SYSTEM, interpreter, is_below
from skill_health.effectiveness.sandbox._load import back_end
from skill_health.effectiveness.sandbox._private import BIN, libraries_of, private_python
from skill_health.effectiveness.sandbox._resources import task_limits
from skill_health.effectiveness.sandbox._run import SandboxError, to_the_end
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._folder import MAX_FILE, File
from skill_health.effectiveness.tasks._image import NetworkGrant
from skill_health.effectiveness.trial.spec import TrialSpec
from skill_health.effectiveness.workspace.copies import digest_of
from skill_health.effectiveness.workspace.folders import Places, fresh_places, let_go, remove_tree, write_files
from skill_health.effectiveness.workspace.images import client_of, copy_start, files_of, own_image
from skill_health.effectiveness.workspace.process import clean_environment
from skill_health.effectiveness.workspace.programs import needs, search_path
from skill_health.effectiveness.workspace.tree import FolderTree, contents, read_tree

_USUAL = SandboxLimits()
_SOCKET, _PORT, _PROXY = "gateway", 8181, "proxy"
_SERVED, OUTSIDE = "served", "outside"
_MOST_STORED = 1 << 30
_USER = "agent"
_IMAGE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class AgentStart:
    """An agent's command, the folders that it must be able to read, and others, each with its path inside."""

    command: Command
    readable: tuple[str, ...]
    shown: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where a trial happens: its folders, its sandbox, and the paths as they are seen in there.

    In one that is `read_only` the agent cannot write to its workspace. `own` is the image that was built for its task,
    and `outside` the folder of the host that holds its output folders outside the workspace, each below its path.
    """

    places: Places
    sandbox: BackEnd
    inside: InsidePaths
    hidden: tuple[str, ...] = ()
    image: str = ""
    read_only: bool = False
    own: OwnImage | None = None
    outside: str = ""

    @property
    def outputs(self) -> tuple[tuple[str, str], ...]:
        """The output folders outside the workspace: each as it lies on the host, and its path inside."""
        return tuple((f"{self.outside}{path}", path) for path in self.own.outputs) if self.own else ()

    @property
    def apart(self) -> bool:
        """Whether the model is reached through a socket, as there is no network inside, or none that leads here."""
        return "network" in self.sandbox.ISOLATES or hasattr(self.sandbox, "AROUND")

    @property
    def socket(self) -> str:
        """The gateway's socket, "" where it listens on the host's own 127.0.0.1."""
        return os.path.join(self.places.base, _SOCKET) if self.apart else ""

    def port(self, of_gateway: int) -> int:
        """Where the agent finds the gateway on 127.0.0.1."""
        return _PORT if self.apart else of_gateway

    def proxy(self, grant: NetworkGrant | None) -> tuple[str, int]:
        """The socket of the proxy for what is granted, and its port inside; "" for nothing."""
        return (os.path.join(self.places.base, _PROXY), PORT) if grant is not None and self.apart else ("", 0)

    def box(
        self,
        readable: tuple[str, ...] = (),
        online: bool = False,
        grant: NetworkGrant | None = None,
        shown: tuple[tuple[str, str], ...] = (),
    ) -> SandboxSession:
        """The sandbox of the agent."""
        places = self.places
        return SandboxSession(
            places.workspace, places.home, places.temporary, readable=readable, socket=self.socket if online else "",
            port=_PORT if online and self.apart else 0, hidden=self.hidden, image=self.image,
            read_only_workspace=self.read_only,
            own_channel=True, own=self.own, mounts=self.outputs, proxy=self.proxy(grant), shown=shown, scratch=self.scratch,
        )  # fmt: skip

    def started(self, cell: TrialSpec, command: Command) -> AgentStart:
        """An agent's command with its whole environment, and what must be seen for it.

        Raises SandboxError for a program that does not run in the image of the task.
        """
        inside = (self.inside.workspace, self.inside.home)
        found = needs(command.argv, cell.choice.agent, inside)
        others = [needs((program,), cell.choice.agent, inside) for program in command.programs]
        folders = [*found.folders, *(folder for other in others for folder in other.folders)]
        served = server_places(os.path.dirname(self.store), self.contained) if cell.arm.served else {}
        readable = tuple(
            dict.fromkeys(
                [
                    *found.readable,
                    *(path for other in others for path in other.readable),
                    *(() if self.contained else served),
                ]
            )
        )
        argv: tuple[str, ...] = found.argv
        shown: tuple[tuple[str, str], ...] = ()
        if self.own is not None:
            try:
                carried = client_of(self.sandbox).carried(self.own, argv, readable)
            except ValueError as error:
                raise SandboxError(str(error)) from None
            argv, shown = carried.words, carried.mounts
        if self.contained and served:
            shown = (*shown, *served.items(), *libraries_of(server_compiled()))
        more = {
            **dict(self.own.env if self.own else ()),
            **(proxy_environment() if cell.task.agent_network else {}),
            **dict(cell.task.env),
            **self.ceiling,
            "USER": _USER,
            "LOGNAME": _USER,
            "SHELL": "/bin/bash",
            **self.path(list(dict.fromkeys(folders))),
            **command.env,
        }
        environment = clean_environment(self.inside.home, self.inside.temporary, more.items())
        return AgentStart(Command(argv, environment, command.files, command.stdin), readable, shown)

    @property
    def scratch(self) -> str:
        """Where a container may keep what it changes of its image; "" where nothing holds it to a size."""
        return self.places.base if self.places.quota and self.own is not None else ""

    def path(self, folders: Sequence[str] = ()) -> dict[str, str]:
        """Where programs are looked for: in these folders, then where the image says, else where the host has them."""
        if self.own is not None:
            given = dict(self.own.env).get("PATH", "") or _IMAGE_PATH
            own = [folder for folder in folders if not is_below(folder, SYSTEM)]
            return {"PATH": os.pathsep.join([*own, given, BIN])}
        return {"PATH": search_path("files" in self.sandbox.ISOLATES, folders)}

    @property
    def contained(self) -> bool:
        """Whether it is a container, with a system of its own."""
        return bool(getattr(self.sandbox, "NEEDS_IMAGE", False))

    @property
    def store(self) -> str:
        """Where the skills lie on the host that a server gives: beside the workspace."""
        return os.path.join(self.places.base, _SERVED, STORE)

    @property
    def server(self) -> ServerCommand:
        """How a server of skills is started inside: by our own interpreter, whatever an image may hold."""
        python = private_python().words if self.contained else (interpreter(),)
        return server_command(python, os.path.dirname(self.store), self.contained)

    @property
    def ceiling(self) -> dict[str, str]:
        """What keeps git from looking for a repository above the workspace."""
        return {"GIT_CEILING_DIRECTORIES": os.path.dirname(self.inside.workspace)}

    def after(self, places: Places) -> Workplace:
        """The same workspace among fresh folders, which no agent can have had a hand in."""
        if self.own is not None:
            os.chmod(places.temporary, 0o1777)
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


def fresh(task: Task, sandbox: BackEnd | None = None, limits: SandboxLimits = _USUAL) -> Places:
    """Folders for a trial or for a verification of this task, which `removed` removes. Raises AbortedError.

    Where a `sandbox` keeps files apart, they take no more than the limits say, if that can be held here.
    """
    if sandbox is None or "files" not in sandbox.ISOLATES:
        return fresh_places(task.folder)
    held = task_limits(limits, task.resources)
    return fresh_places(task.folder, held.disk_bytes, held.files)


def open_workplace(cell: TrialSpec, place: str = "") -> Workplace:
    """Make the folders of a trial and stage its files and skills; `place` is where it will be kept.

    Whoever asks for it removes it. Raises AbortedError where the temporary folder is no place for that, or is full.
    """
    places = fresh(cell.task, back_end(cell.back_end), cell.limits)
    try:
        stage_start(cell.task, places, back_end(cell.back_end))
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


def stage_start(task: Task, places: Places, sandbox: BackEnd) -> None:
    """Write what a trial starts from into empty folders. Raises OSError, and SandboxError without its image."""
    own = own_image(sandbox, task)
    if own is not None:
        copy_start(own.files, places.workspace)
        if own.outputs:
            copy_start(own.outside, places.beside(OUTSIDE))
    write_files(places.workspace, task.files)


def workplace(task: Task, places: Places, sandbox: BackEnd, image: str = "", *hidden: str) -> Workplace:
    """Folders with the sandbox in which their work is done: the task's repository is `hidden` from it, and these.

    Raises SandboxError where the image of the task was not built.
    """
    own = own_image(sandbox, task)
    if own is not None:
        # Inside there are other users, too, and this is a folder below one that is ours alone.
        os.chmod(places.temporary, 0o1777)
    inside = sandbox.layout(SandboxSession(places.workspace, places.home, places.temporary, own=own))
    top = git_top(task.folder) if task.folder else None
    return Workplace(
        places,
        sandbox,
        inside,
        tuple(filter(None, (top or task.folder, *hidden))),
        image if own is None else "",
        own=own,
        outside=os.path.join(places.base, OUTSIDE) if own is not None and own.outputs else "",
    )


def staged_files(cell: TrialSpec) -> dict[str, File]:
    """The files of all skills that lie in the workspace, by their paths there."""
    folder = cell.choice.agent.SKILLS
    return {f"{folder}/{skill.name}/{file.path}": file for skill in cell.placed for file in skill.files}


def starting_files(cell: TrialSpec, at: Workplace) -> Mapping[str, File]:
    """All that is staged, by its path in the workspace."""
    return {
        **files_of(at.own.files if at.own else ""),
        **{file.path: file for file in cell.task.files},
        **staged_files(cell),
    }


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
