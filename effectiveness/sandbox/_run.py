"""One program in its sandbox: started, limited, read, and ended with everything that it has started."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from skill_health.effectiveness.agents._api import Command, ProgramOutput
from skill_health.effectiveness.sandbox._api import BackEnd, SandboxLimits, SandboxSession
from skill_health.effectiveness.sandbox._disk import Disk
from skill_health.effectiveness.sandbox._host import SUPERVISOR, interpreter, real_word
from skill_health.effectiveness.sandbox._leftovers import end_leftovers
from skill_health.effectiveness.sandbox._streams import Streams, last_words

MAX_OPEN_FILES = 16_384
# So many processes more than may be; where the kernel counts them, threads count as well.
_TASKS = 16
# Output that goes on and on: it is read and dropped up to so many times the limit.
_FLOOD = 8
_POLL = 0.2
# How long the supervisor may take to end everything before it is killed itself.
_RESERVE = 8.0
_CLOSING, _SOON = 5.0, 0.5


Result = TypeVar("Result")


class SandboxError(Exception):
    """The sandbox or the program in it could not be started: infrastructure, nothing that the agent did."""


@dataclass(slots=True)
class _Watch:
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
                await asyncio.wait_for(self.streams.ended.wait(), wait)


async def run(
    back_end: BackEnd, box: SandboxSession, command: Command, limits: SandboxLimits, stop: asyncio.Event | None = None
) -> ProgramOutput:
    """Run a command in a sandbox until it ends, breaks a limit, or `stop` is set; nothing of it is left running.

    Cancellation ends it, too, before CancelledError goes on. To be called from the main thread's event loop: a sandbox
    ends with the thread that started it. Raises SandboxError.
    """
    nonce = secrets.token_hex(16)
    python = back_end.layout(box).python or interpreter()
    wrapped = back_end.wrap(box, Command((python, "-I", "-S", SUPERVISOR)))
    streams = Streams(limits.output_bytes)
    begun = time.monotonic()
    try:
        transport, _ = await asyncio.get_running_loop().subprocess_exec(
            lambda: streams, *wrapped.argv, env=dict(wrapped.env), start_new_session=True
        )
    except OSError as error:
        raise SandboxError(f"{wrapped.argv[0]} cannot be started: {error.strerror or error}") from None
    disk = Disk((box.workspace, box.home, box.temporary, *box.writable), limits)
    watch = _Watch(limits, streams, disk, begun + limits.timeout_sec, stop)
    pipe = transport.get_pipe_transport(0)
    assert isinstance(pipe, asyncio.WriteTransport)
    try:
        pipe.write(_told(nonce, back_end, box, command, limits))
        await watch.until_end()
    finally:
        took = time.monotonic() - begun
        if not pipe.is_closing():
            pipe.abort()
        await to_the_end(_end(transport, streams, "" if "processes" in back_end.ISOLATES else box.temporary, nonce))
    return _output(streams, nonce, watch, took)


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


async def _end(transport: asyncio.SubprocessTransport, streams: Streams, temporary: str, nonce: str) -> None:
    """Wait for the supervisor, which ends everything when its input closes; kill it where it does not come.

    Where it was killed and nothing else ends what it watched, `temporary` tells which processes those are.
    """
    try:
        await asyncio.wait_for(streams.ended.wait(), _RESERVE)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            transport.kill()
        await streams.ended.wait()
    # Whoever got away may hold the pipes open for ever.
    await _closed(streams, _SOON if temporary else _CLOSING)
    if temporary and not streams.has(nonce):
        await asyncio.to_thread(end_leftovers, temporary)
        await _closed(streams, _CLOSING)
    transport.close()


async def _closed(streams: Streams, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(streams.closed.wait(), seconds)


def _output(streams: Streams, nonce: str, watch: _Watch, took: float) -> ProgramOutput:
    """What was left, with what the supervisor said. Raises SandboxError where it said nothing or could not start."""
    words = last_words(streams, nonce)
    if words is None and not watch.stopped:
        shown = bytes(streams.kept[2]).decode("utf-8", "replace").strip().splitlines()[-1:] or ["no reason given"]
        raise SandboxError(f"the sandbox ended before its program: {shown[0][:300]}")
    if words is not None and words.error:
        raise SandboxError(f"the program cannot be started: {words.error}")
    inside = words.stopped if words is not None and words.stopped in ("processes", "disk") else ""
    stopped = watch.stopped or inside
    notes = [
        f"{name} had {streams.total[handle]:,} bytes, of which the first {len(streams.kept[handle]):,} were kept"
        for handle, name in ((1, "stdout"), (2, "stderr"))
        if streams.total[handle] > len(streams.kept[handle])
    ]
    if stopped == "disk":
        notes.append(watch.disk.said or f"open files without a name held more than {watch.limits.disk_bytes:,} bytes")
    elif stopped == "processes":
        notes.append(f"more than {watch.limits.processes:,} processes ran")
    return ProgramOutput(
        exit_code=None if stopped or words is None else words.exit_code,
        stdout=bytes(streams.kept[1]),
        stderr=bytes(streams.kept[2]),
        stopped=stopped,
        duration_ms=round(took * 1000, 3),
        notes=tuple(notes),
    )


def _told(nonce: str, back_end: BackEnd, box: SandboxSession, command: Command, limits: SandboxLimits) -> bytes:
    """What the supervisor is told: fields, words and environment with zeros between; then the program's input."""
    inside = back_end.layout(box)
    argv = [real_word(word, inside.python) for word in command.argv]
    # Without a namespace, all tasks of the user would count.
    tasks = limits.processes * _TASKS if "processes" in back_end.ISOLATES else 0
    numbers = (box.port, limits.disk_bytes, MAX_OPEN_FILES, tasks, limits.processes)
    fields = [nonce, inside.workspace, box.socket, *map(str, numbers), str(len(command.stdin)), str(len(argv)), ""]
    env = [f"{name}={value}" for name, value in command.env.items()]
    raw = "\0".join([*fields, *argv, *env]).encode("utf-8", "surrogateescape")
    return b"%012d" % len(raw) + raw + command.stdin
