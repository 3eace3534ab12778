"""Runs planned calls a few at a time: up to a limit in all, and up to a limit for each group (a provider).

Each group takes its calls in plan order. A call may stop the run, and so does Ctrl-C. Then nothing new begins, and
calls in flight may end within the grace period, or until a second Ctrl-C.
"""

from __future__ import annotations

import asyncio
import signal
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
INTERRUPTED = "interrupted"
GRACE = 10.0


class StopRun(Exception):
    """Raised by a call that must not be made, or that returned a reason to make no more."""


@dataclass(frozen=True, slots=True)
class CallLimits:
    """How many calls may be in flight: `total` in all, and in each group its own number, if it has one."""

    total: int
    groups: Mapping[str, int]

    def of(self, group: str) -> int:
        """The limit of one group."""
        return max(1, min(self.total, self.groups.get(group, self.total)))


class Schedule(Generic[T]):
    """One run through the planned calls. `reason` says why it stopped; "" if it has not."""

    def __init__(self, work: Callable[[T], Awaitable[None]], limits: CallLimits, grace: float = GRACE) -> None:
        self.reason = ""
        self.under_way = 0
        self._work, self._limits, self._grace = work, limits, grace
        self._queues: dict[str, deque[T]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._places = asyncio.Semaphore(max(1, limits.total))
        self._deadline: asyncio.TimerHandle | None = None

    def stop(self, reason: str) -> None:
        """Begin no new call. The first reason is kept."""
        self.reason = self.reason or reason

    def interrupt(self) -> bool:
        """Stop, and end the calls in flight after the grace period, or at once the second time. True the first time."""
        first = self._deadline is None
        self.stop(INTERRUPTED)
        if first:
            self._deadline = asyncio.get_running_loop().call_later(self._grace, self._cancel)
        else:
            self._cancel()
        return first

    async def run(self, planned: Iterable[tuple[str, T]]) -> None:
        """Make the planned (group, call) pairs, all or until something stops the run.

        Any exception of a call other than StopRun cancels the others, and is raised once they have ended.
        """
        for group, item in planned:
            self._queues.setdefault(group, deque()).append(item)
        workers = [
            self._worker(queue)
            for group, queue in self._queues.items()
            for _ in range(min(self._limits.of(group), len(queue)))
        ]
        self._tasks = [asyncio.create_task(worker) for worker in workers]
        try:
            if self._tasks:
                await asyncio.wait(self._tasks, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            self._cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            if self._deadline:
                self._deadline.cancel()
        self._raise_first(self._tasks)

    async def _worker(self, queue: deque[T]) -> None:
        while queue and not self.reason:
            async with self._places:
                if not queue or self.reason:
                    return
                item = queue.popleft()
                self.under_way += 1
                try:
                    await self._work(item)
                except StopRun as stop:
                    self.stop(str(stop))
                finally:
                    self.under_way -= 1

    def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    @staticmethod
    def _raise_first(tasks: Iterable[asyncio.Task[None]]) -> None:
        for task in tasks:
            if task.done() and not task.cancelled() and (error := task.exception()):
                raise error


_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def interruptible(on_signal: Callable[[], None]) -> Iterator[None]:
    """Call `on_signal` in the running loop for each Ctrl-C and termination signal, instead of terminating.

    A closing terminal sends such a signal. Ignored signals stay ignored, as in a run under `nohup`. Outside the main
    thread nothing changes.
    """
    loop = asyncio.get_running_loop()
    before: dict[int, object] = {}
    for number in (getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)):
        if signal.getsignal(number) == signal.SIG_IGN:
            continue
        try:
            before[number] = signal.signal(number, lambda *_: loop.call_soon_threadsafe(on_signal))
        except ValueError:
            break
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
