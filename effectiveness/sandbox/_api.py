"""What a sandbox is, and what its module must offer.

A module of this package whose name has no underscore in front is one back end. It has

    TITLE                what it is, in one line
    ISOLATES             what it keeps apart: a subset of ("files", "network", "processes")
    found()              the version that is there and works, "" where it cannot be used here
    missing()            why it cannot be used, and what to do about it; one line
    layout(box)          Inside: the paths as the program in the sandbox sees them
    proved(image)        for one with NEEDS_IMAGE: why no container of the image runs here, "" where one has just run
    wrap(box, command)   the words of the program that runs the command inside, and its environment
    CLIENT               for one with NEEDS_IMAGE: the ImageClient that has the images of tasks
    of_provider(name)    for one that is several: the back end that NAME:name means
    AROUND               for one that is far: the seconds that may pass before a program is started, and after its end;
                         the first byte on stdout then says that it was started, and is none of its own
    enforced(limits)     for one whose limits others hold: how, as `_resources.how_enforced` says it of the rest

`_run.run(back_end, box, command, limits, stop)` starts it, keeps to the limits, and ends the whole process tree. What
is wrapped is not the command itself but the supervisor of `_inside.py`, which is told on its input what to start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from skill_health.documents.effect_manifest import Isolation
from skill_health.effectiveness.agents._api import Command


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """Of one program and all that it starts. Bytes, seconds and processors; 0 is no limit."""

    timeout_sec: float = 600.0
    output_bytes: int = 16 << 20
    disk_bytes: int = 1 << 30
    files: int = 200_000
    processes: int = 512
    memory_bytes: int = 4 << 30
    cpus: float = 2.0


@dataclass(frozen=True, slots=True)
class InsidePaths:
    """Paths as the program sees them. `python` is an interpreter there, "" for the host's own."""

    workspace: str
    home: str
    temporary: str
    python: str = ""


@dataclass(frozen=True, slots=True)
class OwnImage:
    """An image that was built for one task: its name, and what it says of itself.

    `workdir` is where its workspace lies, `env` are its variables. `files` is a folder of the host that holds what the
    image has in its working directory: the state that every trial starts from. `layers` are the folders of the host
    that it is made of, the topmost first, with colons between; "" where they are not known or are nobody else's to see.
    `context` is the folder that it is built from where that is done for each program; "" where it is there already.
    `outputs` are folders outside `workdir` that every program of a trial has in common, too; `outside` is a folder of
    the host that holds what the image has in them, each below its own path.
    """

    name: str
    workdir: str
    env: tuple[tuple[str, str], ...] = ()
    files: str = ""
    layers: str = ""
    context: str = ""
    outputs: tuple[str, ...] = ()
    outside: str = ""


@dataclass(frozen=True, slots=True)
class SandboxSession:
    """One sandbox. Paths are the host's.

    `workspace`, `home` and `temporary` can be written. `readable` are folders that must be seen beside the system's own
    (the agent's program, a staged verifier), `writable` further ones that can be written (the folder for rewards); all
    have the same path inside. `socket` is the gateway's, "" for no network at all; `port` is where the program finds it
    on 127.0.0.1. `hidden` are folders that must not be seen even where a folder of the system holds them. `image` is
    the container's, for back ends that need one. With `own_channel` nobody but the program itself, and who inherits its
    stdout, can print there: what the program starts cannot open it by a path. `memory_bytes`, `cpus`, `disk_bytes` and
    `files` are for back ends that limit these themselves; 0 is no limit. `own` is the image that was built for the
    task, in the place of `image`; there `mounts` are further folders that can be written, each with its path inside.
    `proxy` is the socket of the proxy for what else of the network is granted, with its port inside; "" for nothing.
    `shown` is what else can be read in a container, each path of the host with its path inside. `scratch` is a folder
    that takes no more than the trial may, for what a container changes of its own image; "" for none. `root` is a
    folder that stands for the image, with what is changed of it; "" for none.
    """

    workspace: str
    home: str
    temporary: str
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    socket: str = ""
    port: int = 0
    read_only_workspace: bool = False
    hidden: tuple[str, ...] = ()
    image: str = ""
    own_channel: bool = False
    memory_bytes: int = 0
    cpus: float = 0.0
    disk_bytes: int = 0
    files: int = 0
    own: OwnImage | None = None
    mounts: tuple[tuple[str, str], ...] = ()
    proxy: tuple[str, int] = ("", 0)
    shown: tuple[tuple[str, str], ...] = ()
    scratch: str = ""
    root: str = ""


@dataclass(frozen=True, slots=True)
class PrivateProgram:
    """A program of the host: the words that start it inside, and what has to be mounted, each with its path inside."""

    words: tuple[str, ...]
    mounts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class WrappedCommand:
    """A command as the host starts it."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)


class ImageClient(Protocol):
    """Who has the images of tasks, and runs programs in them. `patience` is in seconds, for whatever is asked of it."""

    @property
    def program(self) -> str:
        """Under this name its images are known here."""

    def __hash__(self) -> int:
        """Clients of one engine are the same."""

    @property
    def direct(self) -> bool:
        """Whether it runs a container of no image at all."""

    @property
    def patience(self) -> float:
        """So long an answer may take."""

    def wrap(self, box: SandboxSession, command: Command) -> WrappedCommand:
        """The command in an image."""

    def described(self, image: str) -> OwnImage | None:
        """What an image says of itself, None where it is not there."""

    def build(self, dockerfile: str, context: str, name: str, kept: str, workdir: str) -> Command:
        """The command that builds an image; in the folder `kept` it may leave what has to stay as long as we run."""

    def built(self, name: str, kept: str, said: bytes) -> OwnImage | None:
        """What an image says of itself that was built so; `said` is what the command has printed."""

    def kinds(self, own: OwnImage, paths: Sequence[str]) -> dict[str, str]:
        """What paths of an image are: "absent", a "folder", or an "other" thing, as whatever lies behind a link is.

        None of them where that cannot be told.
        """

    def copy_out(self, own: OwnImage, path: str, folder: str) -> str:
        """Copy what an image holds in a folder into an empty one of the host; why it cannot be done, "" where it is."""

    def carried(self, own: OwnImage, argv: tuple[str, ...], readable: tuple[str, ...]) -> PrivateProgram:
        """How a program of the host is started in an image. Raises ValueError where it runs in no way."""

    def sweep(self) -> int:
        """Remove what dead processes of ours have left; returns how much there was."""


class BackEnd(Protocol):
    """A back end's module."""

    TITLE: str
    ISOLATES: tuple[Isolation, ...]

    def found(self) -> str:
        """The version that works here, "" for none."""

    def missing(self) -> str:
        """Why it cannot be used."""

    def layout(self, box: SandboxSession) -> InsidePaths:
        """Where things are inside."""

    def wrap(self, box: SandboxSession, command: Command) -> WrappedCommand:
        """The command in its sandbox."""
