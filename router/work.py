"""What every run loop shares: caps that wait for money to come back, servers that are down, stops and interrupts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Generic, TypeVar

from skill_health.router.budget import Budget
from skill_health.router.journal import Journal
from skill_health.router.schedule import GRACE, CallLimits, Schedule, StopRun

T = TypeVar("T")


class RunnerWork(Generic[T]):
    """One run, or what is left of it.

    `capped` is the cap that kept work from being done, "" where none did; `down` says of each model that failed for
    long that it was left alone.
    """

    def __init__(self, journal: Journal, budget: Budget) -> None:
        self.journal, self.budget = journal, budget
        self.capped = ""
        self.down: dict[str, str] = {}
        self.errors: dict[str, list[str]] = {}
        self._charged = asyncio.Event()
        self._schedule: Schedule[T] | None = None

    @property
    def stopped(self) -> str:
        """Why the run stopped before its end, "" where it did not."""
        return self._schedule.reason if self._schedule else ""

    async def do(
        self,
        each: Callable[[T], Awaitable[None]],
        planned: Iterable[tuple[str, T]],
        concurrency: int,
        limits: Mapping[str, int],
        grace: float = GRACE,
    ) -> None:
        """Do the planned (group, item) pairs; `limits` are those of the groups."""
        self._schedule = Schedule(each, CallLimits(concurrency, limits), grace)
        await self._schedule.run(planned)

    def interrupt(self) -> bool:
        """Begin nothing new; the second time, abandon what is under way. True the first time."""
        return self._schedule is None or self._schedule.interrupt()

    async def admitted(self, usd: float) -> bool:
        """Reserve; wait for what is under way where what it leaves of its reservations may be enough.

        Raises StopRun where the run has been stopped meanwhile.
        """
        while not self._stop() and not self.budget.reserve(usd):
            counted_out = self.budget.max_runs is not None and self.budget.attempts >= self.budget.max_runs
            if counted_out or not self.budget.reserved:
                self.capped = self.capped or self.budget.reached
                return False
            self._charged.clear()
            await self._charged.wait()
        return True

    def charge(self, usd: float, actual: float | None) -> None:
        """Turn a reservation into what was spent, or all of it into that where `actual` is None."""
        self.budget.charge(usd, actual)
        self._charged.set()

    def _stop(self) -> bool:
        if self.stopped:
            raise StopRun(self.stopped)
        return False
