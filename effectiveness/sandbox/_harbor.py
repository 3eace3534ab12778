"""One program in an environment of Harbor: made, filled, run, emptied and deleted, by the Python that Harbor is in.

`python _harbor.py PLAN`, a JSON object; nothing of ours is imported but the mailbox beside this file. To whom starts it
this is the program itself: what it is given goes to the program's input, what the program prints it prints, and the
sockets that the program may reach are joined with those of the same paths out here. The first byte on stdout says that
the program was started and is none of its own. It ends when the program has ended, what it left is back in the folders
of the host, and the environment is deleted; also when nobody listens any more, and when it is asked to by SIGTERM.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import importlib
import json
import math
import os
import re
import shlex
import shutil
import signal
import stat
import sys
import tarfile
import tempfile
import threading
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _mailbox as mailbox  # type: ignore[import-not-found]

# Beside this file lies one that is called as Harbor is.
_HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:] = [path for path in sys.path if os.path.realpath(path) != _HERE]

FOLDER = "/run/mailbox"
# The exit code where a program has written more than it may.
TOO_MUCH = 3
_BOOT = "/tmp/.boot-{}.tar.gz"
_SENT, _AGAIN, _LOST = 48 << 10, (0.5, 2.0, 5.0), 60.0
_EXEC, _CARRY = 60, 1800
_ANSWER = re.compile(f"{re.escape(mailbox.MARK[0])}([A-Za-z0-9+/=\\s]*){re.escape(mailbox.MARK[1])}")
_SAID = 300
# Of the base library, what is large and nobody imports.
_LEFT_OUT = (
    "__pycache__", "test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "site-packages",
    "dist-packages",
)  # fmt: skip


class EnvironmentProblem(Exception):
    """What keeps the environment from doing its work; one line."""


class TooMuch(EnvironmentProblem):
    """More was written in the environment than may be."""


def part(module: str, *names: str) -> Any:
    """Something of Harbor's: of one module that, and what is in there."""
    found: Any = importlib.import_module(f"harbor.{module}")
    for name in names:
        found = getattr(found, name)
    return found


def named(provider: str) -> dict[str, Any]:
    """How Harbor names an environment: one of its own, or a class of somebody's by its import path."""
    if ":" in provider:
        return {"type": None, "import_path": provider}
    kinds = part("models.environment_type", "EnvironmentType")
    try:
        return {"type": kinds(provider), "import_path": None}
    except ValueError:
        known = ", ".join(sorted(kind.value for kind in kinds))
        raise EnvironmentProblem(f"Harbor has no environment {provider!r}; it has {known}") from None


def create(plan: dict[str, Any], scratch: str, network: bool) -> Any:
    """The environment of a plan, not started yet; it has no network unless there is to be one."""
    which = named(plan["provider"])
    factory = part("environments.factory", "EnvironmentFactory")
    held = factory.resource_capabilities(which["type"], which["import_path"])
    modes = part("models.trial.config", "ResourceMode")
    values: dict[str, Any] = {"build_timeout_sec": plan["build_timeout_sec"]}
    policies = {}
    cpus, memory = plan["cpus"], plan["memory_bytes"]
    if cpus:
        values["cpus"] = cpus if held and held.fractional_cpus else math.ceil(cpus)
        policies["cpu_enforcement_policy"] = modes.LIMIT if held and held.cpu_limit else modes.AUTO
    if memory:
        values["memory_mb"] = math.ceil(memory / (1 << 20))
        policies["memory_enforcement_policy"] = modes.LIMIT if held and held.memory_limit else modes.AUTO
    if plan["image"]:
        values["docker_image"] = plan["image"]
    if plan["workdir"]:
        values["workdir"] = plan["workdir"]
    environment = plan["environment"] or os.path.join(scratch, "environment")
    os.makedirs(environment, exist_ok=True)
    paths = part("models.trial.paths", "TrialPaths")(trial_dir=Path(scratch))
    paths.mkdir()
    kinds = part("models.task.config", "NetworkMode")
    policy = part("models.task.config", "NetworkPolicy")(network_mode=kinds.PUBLIC if network else kinds.NO_NETWORK)
    return factory.create_environment_from_config(
        part("models.trial.config", "EnvironmentConfig")(**which, **policies),
        environment_dir=Path(environment),
        environment_name=plan["name"],
        session_id=f"{plan['name']}-{uuid.uuid4().hex[:12]}",
        trial_paths=paths,
        task_env_config=part("models.task.config", "EnvironmentConfig")(**values),
        network_policy=policy,
    )


class OpenEnvironment:
    """An environment that was started."""

    def __init__(self, environment: Any, words: list[str]) -> None:
        self._environment, self._words = environment, words

    async def run(self, command: str, timeout_sec: int = _EXEC) -> str:
        """What a command prints. Raises EnvironmentProblem where it fails."""
        ran = await self._environment.exec(command, cwd="/", timeout_sec=timeout_sec, user="root")
        if ran.return_code != 0:
            raise EnvironmentProblem(last_line(f"{ran.stdout or ''}\n{ran.stderr or ''}") or "a command failed in it")
        return str(ran.stdout or "")

    async def begin(self, plan: dict[str, Any], work: str) -> None:
        """Bring the files of a plan, and start its program."""
        with tempfile.TemporaryDirectory(prefix="job-") as folder:
            file = os.path.join(folder, mailbox.PLAN)
            Path(file).write_text(json.dumps(plan), encoding="utf-8")
            await self._environment.upload_file(file, f"{FOLDER}/{mailbox.PLAN}")
        await self._environment.upload_file(work, f"{FOLDER}/{mailbox.WORK}")
        await self.run(self.command("serve", FOLDER), _CARRY)

    async def bring_helpers(self, pairs: list[list[str]]) -> None:
        """Bring our interpreter and our helpers."""
        there = _BOOT.format(uuid.uuid4().hex)
        with tempfile.TemporaryDirectory(prefix="job-") as folder:
            archive = os.path.join(folder, "boot.tar.gz")
            await asyncio.to_thread(pack_helpers, pairs, archive)
            await self._environment.upload_file(archive, there)
        quoted = shlex.quote(there)
        await self.run(f"tar -xzf {quoted} -C / && rm -f {quoted} && mkdir -p {FOLDER} && chmod 700 {FOLDER}", _CARRY)

    def command(self, *words: str) -> str:
        """A command of the mailbox, as a shell takes it."""
        return shlex.join([*self._words, "-I", "-S", f"{os.path.dirname(FOLDER)}/supervisor/_mailbox.py", *words])

    async def look(self, workdir: str) -> dict[str, Any]:
        """What the image says of itself."""
        ran = await self._environment.exec(self.command("image", workdir), timeout_sec=_EXEC, user="root")
        found: dict[str, Any] = json.loads(answer_of(str(ran.stdout or "")))
        return found

    async def exchange(self, take_at: int, give_at: int, data: bytes, take: bool) -> bytes:
        """One exchange with the mailbox, given again where the command failed. Raises EnvironmentProblem."""
        packed = mailbox.ASKED.pack(take_at, give_at, take) + data
        command = self.command("call", FOLDER, base64.b64encode(packed).decode("ascii"))
        for pause in (*_AGAIN, None):
            try:
                async with asyncio.timeout(_LOST + _EXEC):
                    ran = await self.run(command)
                return answer_of(ran)[mailbox.ANSWERED.size :]
            except (asyncio.CancelledError, KeyboardInterrupt):
                raise
            except Exception as error:
                if pause is None:
                    raise EnvironmentProblem(f"it does not answer any more: {first_line(error)}") from None
                await asyncio.sleep(pause)
        raise AssertionError

    async def bring_back(self, plan: dict[str, Any]) -> None:
        """Make the folders of the host what they are in there. Raises EnvironmentProblem."""
        with tempfile.TemporaryDirectory(prefix="job-") as folder:
            archive = os.path.join(folder, mailbox.LEFT)
            await self._environment.download_file(f"{FOLDER}/{mailbox.LEFT}", archive)
            places = [place["outside"] if place["back"] else "" for place in plan["places"]]
            await asyncio.to_thread(unpack, archive, places, plan["disk_bytes"], plan["files"])


def answer_of(text: str) -> bytes:
    """What the mailbox printed. Raises EnvironmentProblem."""
    found = _ANSWER.search(text)
    if found is None:
        raise EnvironmentProblem(last_line(text) or "it says nothing")
    return base64.b64decode(found[1])


def unpack(archive: str, places: list[str], most_bytes: int, most_files: int) -> None:
    """Make folders of the host what an archive says; nothing of it is trusted.

    Entries go into the folders only: links are made last, so that nothing is written through one, no name leads out,
    and only files, folders and links come into being, with no more rights than usual. Raises EnvironmentProblem.
    """
    for place in filter(None, places):
        mailbox.empty(place)
    links = []
    size = count = 0
    try:
        with tarfile.open(archive, "r|gz") as packed:
            for member in packed:
                nth, _, inner = member.name.partition("/")
                parts = inner.split("/")
                if not nth.isdecimal() or int(nth) >= len(places) or not places[int(nth)]:
                    raise EnvironmentProblem("it gave back what was not asked for")
                if not inner or any(part in ("", ".", "..") or "\0" in part for part in parts):
                    raise EnvironmentProblem(f"it gave back a path that leads elsewhere: {inner[:80]!r}")
                size, count = size + member.size, count + 1
                if (most_bytes and size > most_bytes) or (most_files and count > most_files):
                    raise TooMuch("it gave back more than may be written")
                target = os.path.join(places[int(nth)], inner)
                if member.issym():
                    links.append((member.linkname, target))
                elif member.isdir():
                    os.mkdir(target)
                    os.chmod(target, (member.mode & 0o777) | stat.S_IRWXU)
                elif member.isreg():
                    keep_file(packed, member, target)
        for source, target in links:
            os.symlink(source, target)
    except (OSError, ValueError, EOFError, tarfile.TarError) as error:
        raise EnvironmentProblem(f"what it gave back cannot be kept: {first_line(error)}") from None


def keep_file(packed: tarfile.TarFile, member: tarfile.TarInfo, target: str) -> None:
    """One file of an archive, which must not be there yet."""
    source = packed.extractfile(member)
    assert source is not None
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as stream:
        shutil.copyfileobj(source, stream)
        os.fchmod(handle, (member.mode & 0o777) | stat.S_IRUSR | stat.S_IWUSR)
        with contextlib.suppress(OSError, OverflowError):
            os.utime(handle, (member.mtime, member.mtime))


def pack_places(plan: dict[str, Any], archive: str) -> None:
    """An archive of all that goes into the environment; who owns it out here is not told."""
    with tarfile.open(archive, "w:gz", compresslevel=1, format=tarfile.PAX_FORMAT) as packed:
        for nth, place in enumerate(plan["places"]):
            # A link to a folder of ours is shown as what it leads to, as a mount would.
            outside = os.path.realpath(place["outside"])
            if os.path.isdir(outside):
                for path, state in mailbox.entries(outside, []):
                    if stat.S_IFMT(state.st_mode) in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
                        packed.add(path, f"{nth}{path.removeprefix(outside)}", recursive=False, filter=nobodys)
            elif os.path.isfile(outside):
                packed.add(outside, str(nth), recursive=False, filter=nobodys)


def pack_helpers(pairs: list[list[str]], archive: str) -> None:
    """An archive of files and folders of the host at their paths inside: our interpreter and what it runs there."""
    with tarfile.open(archive, "w:gz", compresslevel=1, dereference=True, format=tarfile.GNU_FORMAT) as packed:
        for outside, inside in pairs:
            packed.add(outside, inside.lstrip("/"), filter=_plain)


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    name = os.path.basename(member.name)
    if name in _LEFT_OUT or name.endswith(".a") or not (member.isfile() or member.isdir() or member.islnk()):
        return None
    member.mode |= 0o444 | (0o111 if member.isdir() else 0)
    return nobodys(member)


def nobodys(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """An entry without its owner."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


class Carrier:
    """What goes to and fro between the program's mailbox, our own streams, and the sockets out here."""

    def __init__(self, there: OpenEnvironment, sockets: list[str], out: int, err: int) -> None:
        self._there, self._sockets = there, sockets
        self._handles = {mailbox.OUTPUT: out, mailbox.ERRORS: err}
        self._queue: asyncio.Queue[bytes] = asyncio.Queue()
        self._writers: dict[int, asyncio.StreamWriter] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._over = False

    async def carry(self, given: asyncio.Queue[bytes]) -> dict[str, Any]:
        """Carry until the program has ended; returns what the mailbox says of that."""
        sending, feeding = asyncio.ensure_future(self._send()), asyncio.ensure_future(self._feed(given))
        receiving = asyncio.ensure_future(self._receive())
        try:
            # Before that, sending ends by failing only.
            await asyncio.wait((sending, receiving), return_when=asyncio.FIRST_COMPLETED)
            if not receiving.done():
                await sending
            return await receiving
        finally:
            self._over = True
            for task in (feeding, receiving, *self._tasks):
                task.cancel()
            # What an environment does when a command is given up is its own: it may answer as if nothing were, as
            # `asyncio.wait_for` does up to Python 3.11, or leave a process that keeps it from being deleted.
            # So the last command comes to its end.
            self._queue.put_nowait(b"")
            await asyncio.wait((sending,), timeout=_EXEC)
            sending.cancel()
            await asyncio.gather(sending, feeding, receiving, *self._tasks, return_exceptions=True)
            for writer in self._writers.values():
                writer.close()

    async def _feed(self, given: asyncio.Queue[bytes]) -> None:
        while True:
            data = await given.get()
            await self._queue.put(mailbox.FRAME.pack(mailbox.INPUT, len(data)) + data)
            if not data:
                return

    async def _send(self) -> None:
        at, waiting = 0, b""
        while not self._over:
            waiting = waiting or await self._queue.get()
            while len(waiting) < _SENT and not self._queue.empty():
                waiting += self._queue.get_nowait()
            piece, waiting = waiting[:_SENT], waiting[_SENT:]
            if piece:
                await self._there.exchange(0, at, piece, False)
                at += len(piece)

    async def _receive(self) -> dict[str, Any]:
        at, frames = 0, mailbox.Frames()
        while not self._over:
            data = await self._there.exchange(at, 0, b"", True)
            at += len(data)
            for channel, payload in frames.feed(data):
                if channel == mailbox.ENDED:
                    found: dict[str, Any] = json.loads(payload)
                    return found
                if channel in self._handles:
                    await asyncio.to_thread(write_all, self._handles[channel], payload)
                elif channel not in self._writers:
                    await self._open(channel, payload)
                elif payload:
                    await self._pass_on(channel, payload)
                else:
                    with contextlib.suppress(OSError):
                        self._writers[channel].write_eof()
        raise asyncio.CancelledError

    async def _open(self, channel: int, which: bytes) -> None:
        try:
            reader, writer = await asyncio.open_unix_connection(self._sockets[int(which)])
        except (OSError, ValueError, IndexError):
            await self._queue.put(mailbox.FRAME.pack(channel, 0))
            return
        self._writers[channel] = writer
        task = asyncio.ensure_future(self._read(channel, reader))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _pass_on(self, channel: int, payload: bytes) -> None:
        with contextlib.suppress(OSError):
            self._writers[channel].write(payload)
            await self._writers[channel].drain()

    async def _read(self, channel: int, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(_SENT):
                # As fast as it is taken, and no faster.
                while self._queue.qsize() > 64:
                    await asyncio.sleep(0.02)
                await self._queue.put(mailbox.FRAME.pack(channel, len(data)) + data)
        await self._queue.put(mailbox.FRAME.pack(channel, 0))


def write_all(handle: int, data: bytes) -> None:
    """Write everything; nobody may be listening any more."""
    with contextlib.suppress(BrokenPipeError):
        while data:
            data = data[os.write(handle, data) :]


def read_input(loop: asyncio.AbstractEventLoop, given: asyncio.Queue[bytes]) -> None:
    """Pass on what comes on stdin, and b"" at its end."""
    data = b"-"
    while data:
        try:
            data = os.read(0, _SENT)
        except OSError:
            data = b""
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(given.put_nowait, data)


async def delete(environment: Any) -> None:
    """Delete an environment, which takes its time."""
    async with asyncio.timeout(_CARRY):
        await environment.stop(delete=True)


@contextlib.asynccontextmanager
async def opened(plan: dict[str, Any]) -> AsyncIterator[OpenEnvironment]:
    """An environment, deleted at the end, however that comes. Raises EnvironmentProblem."""
    with tempfile.TemporaryDirectory(prefix="job-") as scratch:
        environment = create(plan, scratch, plan["network"])
        try:
            async with asyncio.timeout(plan["build_timeout_sec"] + _CARRY):
                await environment.start(force_build=False)
            yield OpenEnvironment(environment, plan["python"])
        finally:
            await asyncio.shield(delete(environment))


async def bring_back(there: OpenEnvironment, plan: dict[str, Any], said: dict[str, Any]) -> None:
    """Bring back what a program left that ended so. Raises EnvironmentProblem; of too much nothing is left."""
    try:
        if said["too_much"]:
            raise TooMuch("more was written than may be")
        if said["problem"]:
            raise EnvironmentProblem(str(said["problem"])[:_SAID])
        await there.bring_back(plan)
    except TooMuch:
        for place in plan["places"]:
            if place["back"]:
                mailbox.empty(place["outside"])
        raise


async def run_program(plan: dict[str, Any], out: int, err: int) -> None:
    """Run the program of a plan. Raises EnvironmentProblem."""
    given: asyncio.Queue[bytes] = asyncio.Queue()
    with tempfile.TemporaryDirectory(prefix="job-") as folder:
        work = os.path.join(folder, mailbox.WORK)
        pack_places(plan, work)
        async with opened(plan) as there:
            # What only this side has to know is not told.
            places = [{key: value for key, value in place.items() if key != "outside"} for place in plan["places"]]
            told = {key: plan[key] for key in ("argv", "cwd", "links", "sockets", "disk_bytes", "files")} | {
                "places": places
            }
            await there.bring_helpers(plan["boot"])
            await there.begin(told, work)
            threading.Thread(target=read_input, args=(asyncio.get_running_loop(), given), daemon=True).start()
            write_all(out, b"\n")
            await bring_back(there, plan, await Carrier(there, plan["sockets"], out, err).carry(given))


async def open_image(plan: dict[str, Any], out: int, err: int) -> None:
    """Build an environment once: print what its image says of itself, and copy what lies in its working directory."""
    async with opened(plan) as there:
        await there.bring_helpers(plan["boot"])
        said = await there.look(plan["workdir"])
        folder = said["workdir"]
        if folder != os.sep:
            told = {
                "argv": [*plan["python"], "-I", "-S", "-c", "pass"], "cwd": "/", "links": [], "sockets": [], "disk_bytes": 0, "files": 0,
                "places": [{"inside": folder, "folder": True, "whole": False, "back": True, "outside": plan["copy"]}],
            }  # fmt: skip
            with tempfile.TemporaryDirectory(prefix="job-") as scratch:
                work = os.path.join(scratch, mailbox.WORK)
                pack_places({"places": []}, work)
                await there.begin(told, work)
            await bring_back(there, told, await Carrier(there, [], out, err).carry(asyncio.Queue()))
    write_all(out, json.dumps(said).encode())


async def describe(plan: dict[str, Any], out: int, err: int) -> None:
    """Print what an environment can hold, without starting any; "problem" is why it cannot be used."""
    from importlib.metadata import version

    which = named(plan["provider"])
    factory = part("environments.factory", "EnvironmentFactory")
    try:
        factory.run_preflight(which["type"], which["import_path"])
    except SystemExit as error:
        raise EnvironmentProblem(str(error.code)) from None
    held = factory.resource_capabilities(which["type"], which["import_path"])
    with tempfile.TemporaryDirectory(prefix="job-") as scratch:
        environment = create(plan, scratch, True)
        said = {
            "version": version("harbor"),
            "no_network": bool(environment.capabilities.disable_internet),
            "cpus": bool(held and held.cpu_limit),
            "memory": bool(held and held.memory_limit),
        }
    write_all(out, json.dumps(said).encode())


DEEDS: dict[str, Callable[[dict[str, Any], int, int], Awaitable[None]]] = {
    "run": run_program, "open": open_image, "describe": describe,
}  # fmt: skip


def last_line(text: str) -> str:
    """The last line that says something."""
    return (text.strip().splitlines() or [""])[-1].strip()[:_SAID]


def first_line(error: BaseException) -> str:
    """What an error says, in one line."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:_SAID]


async def conduct(plan: dict[str, Any], out: int, err: int) -> int:
    """Do what the plan says; returns the exit code."""
    task = asyncio.ensure_future(DEEDS[plan["deed"]](plan, out, err))
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        write_all(err, b"it was stopped\n")
        return 1
    except (Exception, SystemExit) as error:
        known = isinstance(error, EnvironmentProblem)
        said = first_line(error) if known else f"{type(error).__name__}: {first_line(error)}"
        if isinstance(error, TooMuch):
            return TOO_MUCH
        write_all(err, f"{plan['provider']}: {said}\n".encode("utf-8", "replace"))
        return 1
    return 0


def main() -> None:
    """Do what the first argument says. What Harbor prints is kept from our own streams."""
    plan = json.loads(sys.argv[1])
    out, err = os.dup(1), os.dup(2)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    code = asyncio.run(conduct(plan, out, err))
    # A thread may still wait for an input that nobody closes.
    os._exit(code)


if __name__ == "__main__":
    main()
