"""What docker and podman have in common: one container for each program, gone with it.

An image is either the user's choice, for tasks that describe none, or was built for the task (`_image.py`). The
supervisor in it runs on our own interpreter, which is mounted with all that it needs, so the image needs none. Nothing
is pulled while a trial runs. Whoever ends the client ends the container: the supervisor in it is its first process, and
ends with its input. What a killed process of ours has left is removed by the next.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from skill_health.core.files import open_binary
from skill_health.effectiveness.agents._api import Command
from skill_health.effectiveness.sandbox._api import (
    ImageClient,
    InsidePaths,
    OwnImage,
    PrivateProgram,
    SandboxLimits,
    SandboxSession,
    WrappedCommand,
)
from skill_health.effectiveness.sandbox._host import (
    HOME,
    SUPERVISOR,
    SUPERVISORS,
    TEMPORARY,
    WORKSPACE,
    interpreter,
    is_below,
)
from skill_health.effectiveness.sandbox._private import private_python, ways_to_start
from skill_health.effectiveness.sandbox._quota import overlay, remove_mounted
from skill_health.effectiveness.workspace.process import run_process

LABEL = "skill-health.owner"
_KINDS = """import os, sys
for path in sys.argv[1:]:
    plain = os.path.realpath(path) == path
    print("absent" if plain and not os.path.lexists(path) else "folder" if plain and os.path.isdir(path) else "other")
"""
_RUN = "/run/supervisor"
# So long may the options of a mount be, with room for the rest.
_MOST_OPTIONS = 3_500
_MAX_TASKS = 8192
_SHARED_MEMORY = "256m"
_TIMEOUT, _PATIENCE, _COPYING = 20.0, 120.0, 1800.0
# The system's folders are the image's own: what lies there on the host is not shown in it.
_SYSTEM = ("/usr/bin", "/usr/sbin", "/usr/lib", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
# Without these a client of rootless podman finds neither its storage nor its engine.
_CLIENT = ("PATH", "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "CONTAINER_HOST")
# What installing packages takes, within the container: giving files to others, and becoming them.
_OWN_RIGHTS = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "SETGID", "SETUID")
# The defaults of engines are beyond what root itself has in many a container, and an engine that asks for more fails.
_ULIMITS = (("nofile", resource.RLIMIT_NOFILE, 16_384), ("nproc", resource.RLIMIT_NPROC, 32_768))
# Where the usual runtime refuses to work, as crun does with hybrid control groups, this one may.
_OTHER_RUNTIMES = ("runc", "crun")


@dataclass(frozen=True, slots=True)
class ContainerClient:
    """A program that runs containers: its name, the words that ask its engine for a version.

    `options` are those that it takes from a user who is not root: root has no other user's rights to be mapped to. With
    `direct` the client itself starts the containers, without a daemon that has rights of its own.
    """

    program: str
    question: tuple[str, ...]
    options: tuple[str, ...] = ()
    direct: bool = False
    patience: float = _PATIENCE

    def found(self) -> str:
        """The version of the engine that answers."""
        return tried(self.program, *self.question)[0]

    def missing(self) -> str:
        """Why it cannot be used, in one line."""
        return tried(self.program, *self.question)[1]

    def proved(self, image: str) -> str:
        """Why no container of an image runs here as one of a trial would, in one line; "" where one has run.

        Without an image, one of no image at all is run, for an engine that can.
        """
        return self.missing() or ran(self, image)

    def layout(self, box: SandboxSession) -> InsidePaths:
        """The same paths for everybody, but that an image of a task's own says where its workspace lies."""
        workspace = box.own.workdir if box.own else WORKSPACE
        return InsidePaths(workspace, HOME, TEMPORARY, python="python3")

    def wrap(self, box: SandboxSession, command: Command) -> WrappedCommand:
        """The client with its container. Raises ValueError without an image."""
        image = box.own.name if box.own else box.image
        if not image or image.startswith("-"):
            raise ValueError("a container needs the name of an image")
        return self._wrapped(box, command, ("--rootfs", box.root) if box.root else (image,))

    def _wrapped(self, box: SandboxSession, command: Command, image: Sequence[str]) -> WrappedCommand:
        """The client with a container of an image, or of the folder that the words for it name."""
        python = private_python()
        words = [os.path.join(_RUN, os.path.basename(word)) if word == SUPERVISOR else word for word in command.argv]
        if words[0] == "python3":
            words[:1] = python.words
        box = replace(box, shown=tuple(dict.fromkeys((*python.mounts, *box.shown))))
        *options, name = image
        argv = (
            *self.start(), "run", "--rm", "--interactive", "--label", f"{LABEL}={own_mark()}",
            *(() if options else ("--pull", "never")), "--network", "none", *self._rights(box), "--security-opt",
            "no-new-privileges", "--pids-limit", str(_MAX_TASKS), *_resources(box), *self._ulimits(), "--ipc", "private",
            "--shm-size", _SHARED_MEMORY, "--hostname", "sandbox", *_mounts(box), "--workdir", self.layout(box).workspace,
            "--entrypoint", words[0], *options, name, *words[1:],
        )  # fmt: skip
        return WrappedCommand(argv, client_environment())

    def start(self) -> tuple[str, ...]:
        """The words that start the client, with the runtime that works here."""
        return (shutil.which(self.program) or self.program, *_runtime(self))

    def _rights(self, box: SandboxSession) -> list[str]:
        """Whose rights are had inside. In an image of its own a task may install, so it is root there, and no more."""
        if box.own is None:
            mapping = self.options if os.getuid() else ()
            return ["--read-only", "--cap-drop", "ALL", "--user", f"{os.getuid()}:{os.getgid()}", *mapping]
        # Who is root inside is the user outside, but where a daemon of root's starts the container.
        user = "0:0" if self.direct or not os.getuid() else f"{os.getuid()}:{os.getgid()}"
        return ["--cap-drop", "ALL", *(f"--cap-add={name}" for name in _OWN_RIGHTS), "--user", user]

    def _ulimits(self) -> list[str]:
        """Limits as they are here: an engine that asks for more than its user may give is refused."""
        if not self.direct:
            return []
        return ulimits()

    def carried(self, own: OwnImage, argv: Sequence[str], readable: tuple[str, ...]) -> PrivateProgram:
        """How a program of the host is started in an image. Raises ValueError where it runs in no way."""
        return carried(self, own, argv, readable)

    def sweep(self) -> int:
        """Remove containers of dead processes of ours; returns how many there were."""
        words = ("ps", "--all", "--filter", f"label={LABEL}", "--format", '{{.ID}} {{.Label "' + LABEL + '"}}')
        if self.direct:
            words = (
                "ps",
                "--all",
                "--filter",
                f"label={LABEL}",
                "--format",
                '{{.ID}} {{index .Labels "' + LABEL + '"}}',
            )
        listed = run_process((*self.start(), *words), os.sep, client_environment(), _PATIENCE)
        dead = [
            line.split()[0]
            for line in listed.stdout.splitlines()
            if len(line.split()) == 2 and _is_dead(line.split()[1])
        ]
        for name in dead:
            run_process((*self.start(), "rm", "--force", name), os.sep, client_environment(), _PATIENCE)
        return len(dead)

    def described(self, image: str) -> OwnImage | None:
        """What an image says of itself, None where it is not there."""
        ran = run_process((*self.start(), "image", "inspect", image), os.sep, client_environment(), _PATIENCE)
        if ran.exit_code != 0:
            return None
        try:
            described = json.loads(ran.stdout)[0]
            config = described["Config"]
            env = tuple(tuple(entry.partition("=")[::2]) for entry in config.get("Env") or ())
            return OwnImage(image, config.get("WorkingDir") or "/", env, layers=self._layers(described))
        except (ValueError, LookupError, TypeError, AttributeError):
            return None

    def _layers(self, described: Mapping[str, Any]) -> str:
        """The folders of an image, where the engine keeps them as such and we may mount them."""
        driver = described.get("GraphDriver") or {}
        data = driver.get("Data") or {}
        if not self.direct or os.getuid() or driver.get("Name") != "overlay":
            return ""
        found = ":".join(filter(None, (data.get("UpperDir"), data.get("LowerDir"))))
        return found if len(found) < _MOST_OPTIONS and "," not in found else ""

    @contextmanager
    def opened(self, box: SandboxSession) -> Iterator[SandboxSession]:
        """The session with a root of its own below its scratch folder, which takes all that is changed of the image."""
        if box.own is None or not box.own.layers or not box.scratch:
            yield box
            return
        folder = tempfile.mkdtemp(prefix="image-", dir=box.scratch)
        try:
            root = overlay(box.own.layers, folder)
            yield replace(box, root=root) if root else box
        finally:
            remove_mounted(folder)

    def build(self, dockerfile: str, context: str, name: str, kept: str, workdir: str) -> Command:
        """The command that builds an image from a context."""
        words = (*self.start(), "build", "--network", "host", *(ulimits() if self.direct else ()), "--tag", name)
        return Command((*words, "--file", dockerfile, context), {**client_environment(), "TMPDIR": "/var/tmp"})

    def built(self, name: str, kept: str, said: bytes) -> OwnImage | None:
        """What an image says of itself that was just built."""
        return self.described(name)

    def kinds(self, own: OwnImage, paths: Sequence[str]) -> dict[str, str]:
        """What paths of an image are: "absent", a "folder", or an "other" thing, as whatever lies behind a link is.

        None of them where that cannot be told.
        """
        with tempfile.TemporaryDirectory(prefix="job-") as base:
            folders = [os.path.join(base, name) for name in ("workspace", "home", "tmp")]
            for folder in folders:
                os.mkdir(folder, 0o700)
            box = SandboxSession(folders[0], folders[1], folders[2], own=own)
            wrapped = self.wrap(box, Command(("python3", "-I", "-S", "-c", _KINDS, *paths)))
            ran = run_process(wrapped.argv, os.sep, wrapped.env, _PATIENCE) if paths else None
        words = ran.stdout.split() if ran is not None and ran.exit_code == 0 else []
        return dict(zip(paths, words, strict=True)) if len(words) == len(paths) else {}

    def copy_out(self, own: OwnImage, path: str, folder: str) -> str:
        """Copy what an image holds in a folder into an empty one of the host; why it cannot be done, "" where it is."""
        environment = client_environment()
        made = run_process(
            (*self.start(), "create", "--label", f"{LABEL}={own_mark()}", "--network", "none", *self._ulimits(), own.name, "true"),
            os.sep, environment, _PATIENCE,
        )  # fmt: skip
        name = (made.stdout.split() or [""])[-1]
        if made.exit_code != 0 or not name:
            return last_of(made.stderr)
        try:
            copied = run_process((*self.start(), "cp", f"{name}:{path}/.", folder), os.sep, environment, _COPYING)
        finally:
            run_process((*self.start(), "rm", "--force", name), os.sep, environment, _PATIENCE)
        return "" if copied.exit_code == 0 else last_of(copied.stderr)


def client_environment() -> dict[str, str]:
    """What a client is given of our environment."""
    return {name: os.environ[name] for name in _CLIENT if name in os.environ}


def ulimits() -> list[str]:
    """The options by which a container, or the step of a build, gets no higher limits than we may give."""
    found = []
    for name, kind, most in _ULIMITS:
        hard = resource.getrlimit(kind)[1]
        given = most if hard == resource.RLIM_INFINITY else min(most, hard)
        found += ["--ulimit", f"{name}={given}:{given}"]
    return found


def last_of(text: str) -> str:
    """The last line that says something."""
    return (text.strip().splitlines() or ["it says nothing"])[-1][:300]


@cache
def own_mark() -> str:
    """This process, as no later one with its number is called."""
    return f"{os.getpid()}-{_started(os.getpid())}"


def _started(pid: int) -> str:
    """When a process was started, in ticks since the machine was; "" for none."""
    try:
        with open_binary(f"/proc/{pid}/stat") as stream:
            return stream.read().rpartition(b")")[2].split()[19].decode("ascii", "replace")
    except (OSError, IndexError):
        return ""


def _is_dead(mark: str) -> bool:
    pid, _, started = mark.partition("-")
    return pid.isdigit() and _started(int(pid)) != started


def _resources(box: SandboxSession) -> list[str]:
    """What the engine limits; memory with swap, so that there is no more of it."""
    words = ["--memory", str(box.memory_bytes), "--memory-swap", str(box.memory_bytes)] if box.memory_bytes else []
    return [*words, *(["--cpus", f"{box.cpus:g}"] if box.cpus else [])]


def _mounts(box: SandboxSession) -> list[str]:
    """Every folder that is seen beside the image's own."""
    read_only, writable = shown_paths(box)
    read_only += [(os.path.join(os.path.dirname(SUPERVISOR), name), f"{_RUN}/{name}") for name in SUPERVISORS]
    return [*_bound(writable, ""), *_bound(dict.fromkeys(read_only), ",readonly")]


def shown_paths(box: SandboxSession) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """What of the host can be read in a container, and what can be written, each path with the one inside."""
    read_only = [(path, path) for path in box.readable if not is_below(path, _SYSTEM)]
    read_only += box.shown
    writable = [(box.temporary, TEMPORARY), (box.home, HOME)]
    workspace = box.own.workdir if box.own else WORKSPACE
    (read_only if box.read_only_workspace else writable).append((box.workspace, workspace))
    writable += [*((path, path) for path in (*box.writable, *filter(None, [box.socket, box.proxy[0]]))), *box.mounts]
    return read_only, writable


def _bound(pairs: Iterable[tuple[str, str]], rights: str) -> Iterator[str]:
    for source, target in pairs:
        yield "--mount"
        yield f"type=bind,source={_quoted(source)},target={_quoted(target)}{rights}"


def _quoted(path: str) -> str:
    """A path as a value of `--mount`, whose values are those of a CSV line."""
    return '"' + path.replace('"', '""') + '"' if set(path) & set(',"\n') else path


@cache
def _runtime(client: ContainerClient) -> tuple[str, ...]:
    """The option that chooses the runtime: none where the usual one works, or where nobody can tell."""
    if not client.direct:
        return ()
    plain = (shutil.which(client.program) or client.program,)
    for option in ((), *(("--runtime", name) for name in _OTHER_RUNTIMES if shutil.which(name))):
        with _empty_root(plain) as root:
            words = [*plain, *option, "run", "--rm", "--network", "none", *ulimits()]
            words += [*_bound(private_python().mounts, ",readonly"), "--rootfs", root]
            words += [*private_python().words, "-I", "-S", "-c", "pass"]
            if run_process(words, os.sep, client_environment(), _PATIENCE).exit_code == 0:
                return option
    return ()


@contextmanager
def _empty_root(client: Sequence[str]) -> Iterator[str]:
    """An empty folder for the root of a container of no image.

    What the engine makes in it has owners of the container's, so that without root's rights only the engine removes it.
    """
    folder = tempfile.mkdtemp(prefix="job-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if os.path.lexists(folder):
            run_process((*client, "unshare", "rm", "-rf", "--", folder), os.sep, client_environment(), _PATIENCE)


@cache
def ran(client: ImageClient, image: str) -> str:
    """Run one container over empty folders, with the limits of a trial, and have a Python write a file."""
    usual = SandboxLimits()
    shown = f"a container of {image}" if image else "a container"
    plain = (shutil.which(client.program) or client.program,)
    with tempfile.TemporaryDirectory(prefix="job-") as base, _empty_root(plain) as root:
        folders = [os.path.join(base, name) for name in ("workspace", "home", "tmp")]
        for folder in folders:
            os.mkdir(folder, 0o700)
        box = SandboxSession(
            folders[0], folders[1], folders[2], image=image, memory_bytes=usual.memory_bytes, cpus=usual.cpus
        )
        command = Command(("python3", "-I", "-S", "-c", "open('ran', 'x').close()"))
        try:
            if image or not isinstance(client, ContainerClient):
                wrapped = client.wrap(box, command)
            else:
                wrapped = client._wrapped(box, command, ("--rootfs", root))
        except ValueError as error:
            return str(error)
        ended = run_process(wrapped.argv, os.sep, wrapped.env, client.patience)
        if ended.exit_code is None:
            return f"{client.program} has not run {shown} within {client.patience:g} seconds"
        if ended.exit_code == 0 and os.path.exists(os.path.join(folders[0], "ran")):
            return ""
    said = (ended.stderr.strip().splitlines() or [f"exit code {ended.exit_code}, and it says nothing"])[-1][:200]
    return f"{client.program} cannot run {shown} ({said})"


def carried(client: ImageClient, own: OwnImage, argv: Sequence[str], readable: tuple[str, ...]) -> PrivateProgram:
    """How a program of the host is started in an image, which need hold nothing that it stands on.

    It is taken as it is where it runs so, and else started through the host's loader. `readable` is what it needs.
    Raises ValueError where it runs in neither way.
    """
    program = argv[0]
    if program == interpreter():
        return PrivateProgram((*private_python().words, *argv[1:]), ())
    if not os.path.isabs(program) or not os.path.exists(program):
        return PrivateProgram(tuple(argv), ())
    said = ""
    for way in ways_to_start(program):
        said = _starts(client, own, way, readable)
        if not said:
            return PrivateProgram((*way.words, *argv[1:]), way.mounts)
    raise ValueError(f"{os.path.basename(program)} does not run in the image of the task ({said})")


@cache
def _starts(client: ImageClient, own: OwnImage, program: PrivateProgram, readable: tuple[str, ...]) -> str:
    """Why a program of the host does not start in an image, "" where it says its version."""
    with tempfile.TemporaryDirectory(prefix="job-") as base:
        folders = [os.path.join(base, name) for name in ("workspace", "home", "tmp")]
        for folder in folders:
            os.mkdir(folder, 0o700)
        box = SandboxSession(folders[0], folders[1], folders[2], readable, own=own, shown=program.mounts)
        wrapped = client.wrap(box, Command((*program.words, "--version")))
        ended = run_process(wrapped.argv, os.sep, wrapped.env, client.patience)
    return "" if ended.exit_code == 0 else last_of(ended.stderr or ended.stdout)


def tried(program: str, *question: str) -> tuple[str, str]:
    """The version of the engine that answers the client's `question`, and else what is wrong."""
    if shutil.which(program) is None:
        return "", f"{program} is not installed"
    return _answer(program, *question)


@cache
def _answer(program: str, *question: str) -> tuple[str, str]:
    ran = run_process((program, *question), os.sep, os.environ, _TIMEOUT)
    if ran.exit_code is None:
        return "", f"{program} does not answer within {_TIMEOUT:g} seconds"
    if ran.exit_code == 0 and (version := ran.stdout.strip()):
        return version, ""
    said = (ran.stderr.strip().splitlines() or ["it says nothing"])[0][:200]
    return "", f"{program} has no working engine here ({said})"
