"""One program in its sandbox: started, limited, read, and ended with everything that it has started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import time
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from skill_health.effectiveness.agents._api import Command, ProgramOutput
from skill_health.effectiveness.sandbox._api import BackEnd, SandboxLimits, SandboxSession
from skill_health.effectiveness.sandbox._host import SUPERVISOR, interpreter, real_word
from skill_health.effectiveness.sandbox._quota import CHANGES
from skill_health.effectiveness.sandbox._resources import MEMORY, ResourceGroup, open_group

# How many times as long as a full look takes it is not done again. Free space costs nothing to ask for, and says when
# to look earlier.
_USUAL, _URGENT = 50, 5
_LEAST = 1.0
_LONGEST = 3_800


class Disk:
    """The folders of one trial. `said` is how a limit was broken, "" as long as none was."""

    def __init__(self, folders: Iterable[str], limits: SandboxLimits) -> None:
        self.folders, self.limits, self.said = tuple(folders), limits, ""
        self._free = self._begun = self._left()
        self._used, self._cost, self._looked = (0, 0), 0.0, time.monotonic()

    async def exceeded(self) -> bool:
        """Whether more is written than the limits allow; `said` says what."""
        if not (self.limits.disk_bytes or self.limits.files) or not self._due():
            return False
        begun = time.monotonic()
        free = self._left()
        # Small trees are the rule: a thread would take longer than looking.
        quick = self._cost < 0.005
        size, files = self._look() if quick else await asyncio.to_thread(self._look)
        self._looked = time.monotonic()
        self._free, self._used, self._cost = free, (size, files), self._looked - begun
        if self.said:
            return True
        if self.limits.disk_bytes and size > self.limits.disk_bytes:
            self.said = f"more than {self.limits.disk_bytes:,} bytes were written"
        elif self.limits.files and files > self.limits.files:
            self.said = f"more than {self.limits.files:,} files were made"
        return bool(self.said)

    def _due(self) -> bool:
        passed = time.monotonic() - self._looked
        if passed >= max(_LEAST, _USUAL * self._cost):
            return True
        if passed < _URGENT * self._cost:
            return False
        # Somebody has written a lot since; perhaps it was our program.
        size, files = (was - now for was, now in zip(self._free, self._left(), strict=True))
        room = self.limits.disk_bytes - self._used[0]
        names = self.limits.files - self._used[1]
        return bool(self.limits.disk_bytes and size > room / 2) or bool(self.limits.files and files > names / 2)

    def _left(self) -> tuple[int, int]:
        """Free bytes and free names of the file system."""
        try:
            state = os.statvfs(self.folders[0])
        except OSError:
            return 0, 0
        return state.f_bavail * state.f_frsize, state.f_ffree

    def _look(self) -> tuple[int, int]:
        """The bytes on disk and the number of entries; it stops counting where a limit is broken.

        Where a folder is locked against us, all that the file system has lost meanwhile is taken to be in there.
        """
        size = count = 0
        locked = False
        waiting = list(self.folders)
        while waiting:
            if len(folder := waiting.pop()) > _LONGEST:
                self.said = "folders were made that lie too deep to be looked into"
                break
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        count += 1
                        try:
                            size += entry.stat(follow_symlinks=False).st_blocks * 512
                            if entry.is_dir(follow_symlinks=False):
                                waiting.append(entry.path)
                        except OSError as error:
                            locked = locked or isinstance(error, PermissionError)
            except OSError as error:
                locked = locked or isinstance(error, PermissionError)
            if 0 < self.limits.files < count or 0 < self.limits.disk_bytes < size:
                break
        if locked:
            lost = [was - now for was, now in zip(self._begun, self._left(), strict=True)]
            return max(size, lost[0]), max(count, lost[1])
        return size, count


STDOUT, STDERR = 1, 2
# More than what the supervisor says at last.
_TAIL = 8 << 10


class KeptStream:
    """One stream, of which the beginning and the end are kept: agents say how they ended in their last line.

    `limit` is in bytes for both together, 0 for none; `total` is how many there were.
    """

    def __init__(self, limit: int) -> None:
        self.total = 0
        self._unlimited, self._first, self._last = not limit, limit - limit // 2, limit // 2
        self._head, self._tail = bytearray(), bytearray()

    def add(self, data: bytes) -> None:
        """Take in what came."""
        self.total += len(data)
        room = len(data) if self._unlimited else max(0, self._first - len(self._head))
        self._head += data[:room]
        self._tail += data[room:]
        # What the supervisor says at last is taken off again.
        if len(self._tail) > 2 * (self._last + _TAIL):
            del self._tail[: -(self._last + _TAIL)]

    def drop_end(self, length: int) -> None:
        """Take off so many bytes of the end."""
        self.total -= length
        in_tail = min(length, len(self._tail))
        del self._tail[len(self._tail) - in_tail :]
        del self._head[min(len(self._head), max(0, self.total)) :]

    @property
    def cut(self) -> int:
        """Where something was left out, a position in what is kept; 0 where nothing was."""
        return 0 if self.total <= len(self._head) + self._last else len(self._head)

    def __bytes__(self) -> bytes:
        """What is kept. Where something was left out, a line ends."""
        if not self.cut:
            return bytes(self._head + self._tail)
        return bytes(self._head) + b"\n" + bytes(self._tail[len(self._tail) - self._last + 1 :] if self._last else b"")


Heard = Callable[[bytes], None]


class Streams(asyncio.SubprocessProtocol):
    """Both streams of a process. `limit` is in bytes for each, 0 for none.

    With a `nonce` the process is one that stands for a program far away: it says by one byte when that was started, and
    goes on after its last words. `heard` is told of every piece of stdout as it comes.
    """

    def __init__(self, limit: int, nonce: str = "", heard: Heard | None = None) -> None:
        self.kept = {STDOUT: KeptStream(limit), STDERR: KeptStream(limit)}
        self.tail = b""
        self.started, self.ended = asyncio.Event(), asyncio.Event()
        self.exited, self.closed = asyncio.Event(), asyncio.Event()
        self._nonce, self._heard = nonce, heard

    @property
    def most(self) -> int:
        """How much the busier of the two has printed."""
        return max(stream.total for stream in self.kept.values())

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep what there is room for."""
        if self._nonce and fd == STDOUT and not self.started.is_set():
            self.started.set()
            data = data[1:]
        self.kept[fd].add(data)
        if fd == STDOUT and self._heard is not None:
            self._heard(data)
        if fd == STDERR:
            self.tail = (self.tail + data)[-_TAIL:]
            if self._nonce and self.has(self._nonce):
                self.ended.set()

    def has(self, nonce: str) -> bool:
        """Whether the supervisor has said its last words."""
        return _mark(nonce) in self.tail

    def process_exited(self) -> None:
        """The process has ended; its streams may still hold something."""
        self.ended.set()
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """The process has ended, and all is read."""
        self.ended.set()
        self.exited.set()
        self.closed.set()


@dataclass(frozen=True, slots=True)
class LastWords:
    """How the supervisor says that the program ended; `error` is why it could not be started."""

    exit_code: int
    stopped: str
    error: str


def last_words(streams: Streams, nonce: str) -> LastWords | None:
    """What the supervisor said at last, taken out of stderr; None where it said nothing.

    It speaks when all others are dead, so nobody can write anything behind its words.
    """
    mark = _mark(nonce)
    at = streams.tail.rfind(mark)
    if at < 0:
        return None
    streams.kept[STDERR].drop_end(len(streams.tail) - at)
    try:
        code, stopped, error = streams.tail[at + len(mark) :].decode("utf-8", "replace").split(" ", 2)
        return LastWords(int(code), "" if stopped == "-" else stopped, error.strip())
    except ValueError:
        return None


def _mark(nonce: str) -> bytes:
    return f"\0{nonce} ".encode()


_ROUNDS = 20


def end_leftovers(temporary: str) -> None:
    """Kill every process of ours that has this folder as its TMPDIR, as all have that a trial started.

    Only for a supervisor that died: who gives itself another environment as well is not found. Does nothing where
    there is no /proc.
    """
    mark = f"TMPDIR={temporary}".encode("utf-8", "surrogateescape")
    for _ in range(_ROUNDS):
        found = [pid for pid in _processes() if mark in _environment(pid)]
        if not found:
            return
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        time.sleep(0.01)


def _processes() -> list[int]:
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    return [int(name) for name in names if name.isdigit() and int(name) != os.getpid()]


def _environment(pid: int) -> list[bytes]:
    """The variables that a process was started with; none for a dead one and for one of somebody else."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as stream:
            return stream.read().split(b"\0")
    except OSError:
        return []


MAX_OPEN_FILES = 16_384
# So many processes more than may be; where the kernel counts them, threads count as well.
_TASKS = 16
# Output that goes on and on: it is read and dropped up to so many times the limit.
_FLOOD = 8
_POLL = 0.2
# The exit code of one who stands for a program far away, where that has written more than it may.
TOO_MUCH = 3
# How long the supervisor may take to end everything before it is killed itself.
RESERVE = 8.0
_CLOSING, _SOON = 5.0, 0.5


Result = TypeVar("Result")


class SandboxError(Exception):
    """The sandbox or the program in it could not be started: infrastructure, nothing that the agent did."""


@dataclass(slots=True)
class Watch:
    """What is looked at while a program runs. `stopped` is the first limit that it broke."""

    limits: SandboxLimits
    streams: Streams
    disk: Disk
    deadline: float
    stop: asyncio.Event | None = None
    stopped: str = ""

    async def until_end(self) -> None:
        """Return when the program has ended, or has to be stopped."""
        while not self.streams.ended.is_set():
            left = self.deadline - time.monotonic()
            if self.stop is not None and self.stop.is_set():
                self.stopped = "cancelled"
            elif self.limits.timeout_sec and left <= 0:
                self.stopped = "timeout"
            elif self.limits.output_bytes and self.streams.most > _FLOOD * self.limits.output_bytes:
                self.stopped = "output"
            elif await self.disk.exceeded():
                self.stopped = "disk"
            if self.stopped:
                return
            with contextlib.suppress(TimeoutError):
                wait = min(_POLL, max(0.0, left)) if self.limits.timeout_sec else _POLL
                async with asyncio.timeout(wait):
                    await self.streams.ended.wait()


async def run(
    back_end: BackEnd, box: SandboxSession, command: Command, limits: SandboxLimits, stop: asyncio.Event | None = None,
    heard: Heard | None = None,
) -> ProgramOutput:  # fmt: skip
    """Run a command in a sandbox until it ends, breaks a limit, or `stop` is set; nothing of it is left running.

    `heard` is told of each piece of its stdout as it comes.

    Cancellation ends it, too, before CancelledError goes on. To be called from the main thread's event loop: a sandbox
    ends with the thread that started it. Raises SandboxError.
    """
    nonce = secrets.token_hex(16)
    engine = bool(getattr(back_end, "NEEDS_IMAGE", False))
    box = replace(
        box, memory_bytes=limits.memory_bytes, cpus=limits.cpus, disk_bytes=limits.disk_bytes, files=limits.files
    )
    group = None if engine else open_group(limits, nonce[:12], limits.processes * _TASKS)
    opened = getattr(back_end, "opened", contextlib.nullcontext)
    try:
        with opened(box) as ready:
            output = await _run(back_end, ready, command, limits, stop, nonce, group, heard)
        kills = group.memory_kills() if group is not None else 0
    finally:
        if group is not None:
            await to_the_end(asyncio.to_thread(group.remove))
    if kills:
        note = (
            f"the kernel ended {kills} processes, which took more than {limits.memory_bytes:,} bytes of memory together"
        )
        output = replace(output, notes=(*output.notes, note))
    return output


async def _run(
    back_end: BackEnd, box: SandboxSession, command: Command, limits: SandboxLimits, stop: asyncio.Event | None,
    nonce: str, group: ResourceGroup | None, heard: Heard | None,
) -> ProgramOutput:  # fmt: skip
    python = back_end.layout(box).python or interpreter()
    wrapped = back_end.wrap(box, Command((python, "-I", "-S", SUPERVISOR)))
    # Where a group holds all processes together, none needs a limit of its own.
    alone = limits.memory_bytes if group is None or MEMORY not in group.covers else 0
    argv = wrapped.argv if group is None else group.entered(wrapped.argv)
    around = float(getattr(back_end, "AROUND", 0.0))
    streams = Streams(limits.output_bytes, nonce if around else "", heard)
    begun = time.monotonic()
    try:
        transport, _ = await asyncio.get_running_loop().subprocess_exec(
            lambda: streams, *argv, env=dict(wrapped.env), start_new_session=True
        )
    except OSError as error:
        raise SandboxError(f"{wrapped.argv[0]} cannot be started: {error.strerror or error}") from None
    pipe = transport.get_pipe_transport(0)
    assert isinstance(pipe, asyncio.WriteTransport)
    if around:
        try:
            await _started(streams, stop, around)
        except BaseException:
            await to_the_end(_end(transport, streams, "", nonce, around))
            raise
        begun = time.monotonic()
    changes = [os.path.join(os.path.dirname(box.root), CHANGES)] if box.root else []
    written = dict.fromkeys([*box.writable, *(folder for folder, _ in box.mounts)])
    disk = Disk((box.workspace, box.home, box.temporary, *written, *changes), limits)
    watch = Watch(limits, streams, disk, begun + limits.timeout_sec, stop)
    try:
        pipe.write(_told(nonce, back_end, box, command, limits, 0 if box.image else alone))
        await watch.until_end()
    finally:
        took = time.monotonic() - begun
        if not pipe.is_closing():
            pipe.abort()
        leftovers = "" if "processes" in back_end.ISOLATES else box.temporary
        await to_the_end(_end(transport, streams, leftovers, nonce, around))
    if around and (failed := transport.get_returncode()):
        if failed != TOO_MUCH:
            raise SandboxError(_last_said(streams))
        watch.stopped = watch.stopped or "disk"
    words = last_words(streams, nonce)
    if words is None and not watch.stopped:
        raise SandboxError(f"the sandbox ended before its program: {_last_said(streams)}")
    if words is not None and words.error:
        raise SandboxError(f"the program cannot be started: {words.error}")
    return output_of(words, watch, took)


def _last_said(streams: Streams) -> str:
    said = bytes(streams.kept[STDERR]).decode("utf-8", "replace").strip().splitlines()[-1:] or ["no reason given"]
    return said[0][:300]


async def _started(streams: Streams, stop: asyncio.Event | None, seconds: float) -> None:
    """Wait until a program far away was started, or never will be. Raises SandboxError after so many seconds."""
    until = time.monotonic() + seconds
    while not (streams.started.is_set() or streams.ended.is_set() or (stop is not None and stop.is_set())):
        if time.monotonic() > until:
            raise SandboxError(f"the sandbox was not there within {seconds:g} seconds")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_POLL):
                await streams.started.wait()


async def to_the_end(work: Coroutine[Any, Any, Result]) -> Result:
    """Wait for work that must not be left half done; who cancels meanwhile is obeyed afterwards."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError
    return task.result()


async def _end(
    transport: asyncio.SubprocessTransport, streams: Streams, temporary: str, nonce: str, around: float = 0.0
) -> None:
    """Wait for the supervisor, which ends everything when its input closes; kill it where it does not come.

    Where it was killed and nothing else ends what it watched, `temporary` tells which processes those are. One who
    stands for a program far away has things to carry and to delete, for which it has so many seconds `around`; before
    the program was started it is asked to leave that.
    """
    if around and not streams.started.is_set():
        with contextlib.suppress(ProcessLookupError):
            transport.terminate()
    try:
        async with asyncio.timeout(RESERVE + around):
            await streams.exited.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            transport.kill()
        await streams.exited.wait()
    # Whoever got away may hold the pipes open for ever.
    await _closed(streams, _SOON if temporary else _CLOSING)
    if temporary and not streams.has(nonce):
        await asyncio.to_thread(end_leftovers, temporary)
        await _closed(streams, _CLOSING)
    transport.close()


async def _closed(streams: Streams, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await streams.closed.wait()


def output_of(words: LastWords | None, watch: Watch, took: float) -> ProgramOutput:
    """What was left by a program that ended with these words, None where it was killed with its supervisor."""
    streams = watch.streams
    inside = words.stopped if words is not None and words.stopped in ("processes", "disk") else ""
    stopped = watch.stopped or inside
    notes = [
        f"{name} had {kept.total:,} bytes, of which the first and the last {kept.cut:,} were kept"
        for name, kept in (("stdout", streams.kept[STDOUT]), ("stderr", streams.kept[STDERR]))
        if kept.cut
    ]
    if stopped == "disk":
        notes.append(watch.disk.said or _seen_inside(watch.limits))
    elif stopped == "processes":
        notes.append(f"more than {watch.limits.processes:,} processes ran")
    return ProgramOutput(
        exit_code=None if stopped or words is None else words.exit_code,
        stdout=bytes(streams.kept[STDOUT]),
        stderr=bytes(streams.kept[STDERR]),
        cut_stdout=streams.kept[STDOUT].cut,
        cut_stderr=streams.kept[STDERR].cut,
        stopped=stopped,
        duration_ms=round(took * 1000, 3),
        notes=tuple(notes),
    )


def _seen_inside(limits: SandboxLimits) -> str:
    return f"more was written than {limits.disk_bytes:,} bytes or {limits.files:,} files, or held without a name"


def _told(
    nonce: str, back_end: BackEnd, box: SandboxSession, command: Command, limits: SandboxLimits, memory: int
) -> bytes:
    """What the supervisor is told: fields, words and environment with zeros between; then the program's input."""
    inside = back_end.layout(box)
    argv = [real_word(word, inside.python) for word in command.argv]
    # Without a namespace, all tasks of the user would count.
    tasks = limits.processes * _TASKS if "processes" in back_end.ISOLATES else 0
    numbers = (box.port, box.proxy[1], limits.disk_bytes, MAX_OPEN_FILES, tasks, memory, limits.processes)
    fields = [
        nonce,
        inside.workspace,
        box.socket,
        box.proxy[0],
        *map(str, numbers),
        str(len(command.stdin)),
        str(len(argv)),
        str(int(box.own_channel)),
        "",
    ]
    env = [f"{name}={value}" for name, value in command.env.items()]
    raw = "\0".join([*fields, *argv, *env]).encode("utf-8", "surrogateescape")
    return b"%012d" % len(raw) + raw + command.stdin
