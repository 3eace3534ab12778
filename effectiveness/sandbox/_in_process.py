"""A simulated agent in a thread of ours: where nothing is kept apart, its program would be no safer, and start slower.

It has the same limits as a program, of time, of output and of what is written, but for the kernel's own: those are for
code that starts others. Whatever it raises is the end that its program would have come to.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
import traceback

from skill_health.effectiveness.agents._api import ProgramOutput, Simulation
from skill_health.effectiveness.sandbox._api import SandboxLimits, SandboxSession
from skill_health.effectiveness.sandbox._run import (
    RESERVE,
    STDERR,
    STDOUT,
    Disk,
    LastWords,
    Streams,
    Watch,
    output_of,
    to_the_end,
)

_AGAIN = 0.02


class _Stopped(BaseException):
    """Raised in a simulation that has to end."""


async def run_in_process(
    box: SandboxSession, simulation: Simulation, limits: SandboxLimits, stop: asyncio.Event | None = None
) -> ProgramOutput:
    """Call a simulation, and wait until it ends, breaks a limit, or `stop` is set.

    Cancellation ends it, too, before CancelledError goes on. What ends it is an exception, so that Python code comes to
    an end wherever it is, and a call into the system when it returns.
    """
    streams = Streams(limits.output_bytes)
    thread = _SimulationThread(box.workspace, simulation, streams, asyncio.get_running_loop())
    begun = time.monotonic()
    watch = Watch(
        limits, streams, Disk((box.workspace, box.home, box.temporary), limits), begun + limits.timeout_sec, stop
    )
    thread.start()
    try:
        await watch.until_end()
    finally:
        took = time.monotonic() - begun
        await to_the_end(thread.end())
    return output_of(LastWords(thread.exit_code, "", ""), watch, took)


class _SimulationThread(threading.Thread):
    """Where a simulation runs. `exit_code` is that of a program that ends as it did."""

    def __init__(self, root: str, simulation: Simulation, streams: Streams, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(name="simulation", daemon=True)
        self.exit_code = 0
        self._root, self._simulation, self._streams, self._loop = root, simulation, streams, loop
        self._stopped = threading.Event()

    def run(self) -> None:
        """Call it."""
        # It can be raised at any step until the last. The loop is gone where whoever waited has given up.
        with contextlib.suppress(_Stopped, RuntimeError):
            self.exit_code = self._called()
            self._loop.call_soon_threadsafe(self._streams.connection_lost, None)

    def _called(self) -> int:
        try:
            return self._simulation(self._root, self._print, self._wait)
        except _Stopped:
            raise
        except SystemExit as end:
            if end.code is None or isinstance(end.code, int):
                return (end.code or 0) & 0xFF
            self._streams.pipe_data_received(STDERR, f"{end.code}\n".encode("utf-8", "backslashreplace"))
        except BaseException:
            self._streams.pipe_data_received(STDERR, traceback.format_exc().encode("utf-8", "backslashreplace"))
        return 1

    def _print(self, data: bytes) -> None:
        if self._stopped.is_set():
            raise _Stopped
        self._streams.pipe_data_received(STDOUT, data)

    def _wait(self, seconds: float) -> None:
        if self._stopped.wait(seconds):
            raise _Stopped

    async def end(self) -> None:
        """Have it end, and wait for that; but not for ever."""
        self._stopped.set()
        until = time.monotonic() + RESERVE
        while not self._streams.ended.is_set() and self.is_alive() and time.monotonic() < until:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_AGAIN):
                    await self._streams.ended.wait()
                break
            if self.ident is not None:
                _raise_in(self.ident)


def _raise_in(thread: int) -> None:
    """Raise _Stopped in a thread at its next step of Python code; a way that CPython has and names in its reference."""
    import ctypes

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(_Stopped))
