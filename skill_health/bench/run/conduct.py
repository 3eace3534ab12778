"""A prepared run, carried out: what has no result yet, within the caps, journaled, and what is written when it is over.

    class Runner(RunnerWork[Call]): ...        what is done, one by one, and what comes before it
    conduct(place, secrets, terms, sys.stderr, begin, write)

`begin` makes the runner over the open journal; `write` makes the reports from the files of the run.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Generic, TextIO, TypeVar

from skill_health.bench.budget import Budget
from skill_health.bench.journal import Journal, Key
from skill_health.bench.progress import Progress, write_progress
from skill_health.bench.run.schedule import GRACE, INTERRUPTED, CallLimits, Schedule, StopRun, interruptible
from skill_health.bench.run_folder import Record, RunLocation, drop_reports
from skill_health.executors.shards import Shard

T = TypeVar("T")
AT_ONCE = 64
"""Calls under way at once, unless somebody says otherwise."""


@dataclass(frozen=True, slots=True)
class RunTerms:
    """How a run is made, which is no part of what it asks.

    Caps count the attempts and dollars `before` it, too, where a command makes several. A `shard` has its share of
    the caps.
    """

    max_runs: int | None = None
    max_usd: float | None = None
    concurrency: int = AT_ONCE
    _: KW_ONLY
    quiet: bool = False
    grace: float = GRACE
    before: tuple[int, float] = (0, 0.0)
    shard: Shard | None = None


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How a run ended. `left` keys have no result, for the given `reason`; `capped` if a larger cap helps.

    `untrusted` are the models whose figures cannot be trusted. `missing` results are missing data. An interrupted run
    has no report, nor has one without any result. `elsewhere` keys belong to other shards: there is no report before
    these are there.
    """

    folder: str
    left: int
    reason: str = ""
    capped: bool = False
    report: Any = None
    written: tuple[str, ...] = ()
    untrusted: tuple[str, ...] = ()
    missing: int = 0
    elsewhere: int = 0


async def _nothing(item: object) -> None:
    """What is done before there is anything to do."""


class RunnerWork(ABC, Generic[T]):
    """One run, or what is left of it.

    `others` are the keys of other shards of the run. `capped` is the cap that prevented work; "" if none did; `down`
    has a line for each model that was left alone after failing for long. `on_result` is told the outcome of each result
    once that is durable, and `tell` prints a line for people. `FINE` are the outcomes that progress does not count as
    failures, `UNDER_WAY` is what an interrupted run says of what it has begun.
    """

    FINE: ClassVar[tuple[str, ...]] = ("finished",)
    UNDER_WAY: ClassVar[tuple[str, str]] = ("calls under way have", "them")

    def __init__(self, journal: Journal, budget: Budget) -> None:
        self.journal, self.budget = journal, budget
        self.others: frozenset[Key] = frozenset()
        self.capped = ""
        self.down: dict[str, str] = {}
        self.errors: dict[str, list[str]] = {}
        self.on_result: Callable[[str], None] = lambda outcome: None
        self.tell: Callable[[str], None] = lambda line: None
        self._charged = asyncio.Event()
        self._unpaid = 0
        self._schedule: Schedule[Any] = Schedule(_nothing, CallLimits(1, {}))

    @abstractmethod
    def keys(self) -> Iterable[Key]:
        """What is to have a result, in the order of the results."""

    def planned(self) -> Iterable[Key]:
        """The keys that are to have a result here, in their order."""
        return (key for key in self.keys() if key not in self.others)

    def wants(self, key: Key) -> bool:
        """Whether a result is to be had here, and is not there yet."""
        return key not in self.journal.results and key not in self.others

    def left(self) -> int:
        """How many keys have no result that are to have one here."""
        return sum(key not in self.journal.results for key in self.planned())

    def elsewhere(self) -> int:
        """How many keys have no result here that other shards are to have."""
        return len(self.others.difference(self.journal.results))

    async def take_over(self, terms: RunTerms) -> None:
        """Write down the results that another run has already."""

    async def check(self, terms: RunTerms, stream: TextIO | None) -> str:
        """What is done before the first result: why nothing more may follow it, "" where it may. Raises GateError."""
        return ""

    @abstractmethod
    async def run(self, concurrency: int, grace: float = GRACE) -> None:
        """Do everything that has no result yet."""

    async def close(self) -> None:
        """Let go of what was opened for the run."""

    def aside(self) -> str:
        """What progress adds of what is under way elsewhere, "" for nothing."""
        return ""

    def say_stopping(self, grace: float) -> str:
        """What people are told when the run is interrupted."""
        what, them = self.UNDER_WAY
        return f"stopping: {what} {grace:.0f} s to end; interrupt again to abandon {them}"

    def refuse(self) -> None:
        """Raise GateError where something that was seen in the run must not be written up as if nothing had been."""

    @property
    def spent(self) -> float | None:
        """Dollars so far, None where nothing has a price."""
        return self.budget.spent

    @property
    def stopped(self) -> str:
        """Why the run stopped early; "" if it did not."""
        return self._schedule.reason

    async def settle(self, record: Mapping[str, Any], outcome: str) -> None:
        """Write down the one result of a key, with its outcome for those who watch."""
        await self.journal.add(record)
        self.on_result(outcome)

    async def do(
        self,
        each: Callable[[T], Awaitable[None]],
        planned: Iterable[tuple[str, T]],
        concurrency: int,
        limits: Mapping[str, int],
        grace: float = GRACE,
    ) -> None:
        """Do the planned (group, item) pairs; `limits` are those of the groups."""
        schedule = Schedule(each, CallLimits(concurrency, limits), grace)
        self.watch(schedule)
        await schedule.run(planned)

    def watch(self, schedule: Schedule[Any]) -> None:
        """Have an interrupt stop this schedule from now on; one that has come before stops it at once."""
        if self.stopped:
            schedule.stop(self.stopped)
        self._schedule = schedule

    def interrupt(self) -> bool:
        """Begin nothing new; the second time, abandon the calls in flight. True the first time."""
        return self._schedule.interrupt()

    async def admitted(self, usd: float) -> bool:
        """Reserve; if calls in flight may free enough of their reservations, wait for them.

        Raises StopRun if the run has been stopped meanwhile.
        """
        while not self._stop() and not self.budget.reserve(usd):
            counted_out = self.budget.max_runs is not None and self.budget.attempts >= self.budget.max_runs
            if counted_out or not self.budget.reserved:
                self.capped = self.capped or self.budget.reached
                return False
            self._charged.clear()
            self._unpaid += 1
            try:
                await self._charged.wait()
            finally:
                self._unpaid -= 1
        return True

    def charge(self, usd: float, actual: float | None) -> None:
        """Turn a reservation into what was spent; if `actual` is None, charge all of it."""
        self.budget.charge(usd, actual)
        self._charged.set()

    def release(self, usd: float) -> None:
        """Give a reservation back whose attempt was never made."""
        self.budget.release(usd)
        self._charged.set()

    def _stop(self) -> bool:
        if self.stopped:
            raise StopRun(self.stopped)
        return False


SomeRunner = TypeVar("SomeRunner", bound=RunnerWork[Any])


def conduct(
    place: RunLocation,
    secrets: tuple[str, ...],
    terms: RunTerms,
    stream: TextIO | None,
    begin: Callable[[Journal], SomeRunner],
    write: Callable[[SomeRunner, int], RunOutcome],
) -> RunOutcome:
    """Do what has no result yet, and `write` results and reports; it is given how many keys are left without one.

    Raises UsageError where another process has the journal, GateError where what was seen before the run or in it
    forbids to go on, and AbortedError where the disk does not take what is to be written. What is done is kept whatever
    happens.
    """
    with place.open(secrets) as journal:
        drop_reports(journal.folder)
        runner = begin(journal)
        runner.others = place.others
        reason = carry_out(runner, terms, stream)
        runner.refuse()
        left, elsewhere = runner.left(), runner.elsewhere()
        if elsewhere or (left and (reason == INTERRUPTED or not journal.results)):
            missing = sum(place.kind.missing(record) for record in journal.results.values()) if elsewhere else 0
            return RunOutcome(journal.folder, left, reason, bool(runner.capped), missing=missing, elsewhere=elsewhere)
        return replace(write(runner, left), reason=reason, capped=bool(runner.capped))


def carry_out(runner: RunnerWork[Any], terms: RunTerms, stream: TextIO | None) -> str:
    """Do what has no result yet, over an open journal; why that ended early, "" where it did not."""
    journal = runner.journal
    for problem in journal.past.problems:
        write_progress(stream, f"{problem}\n")
    try:
        reason = asyncio.run(_carry_out(runner, terms, stream))
    except KeyboardInterrupt:
        reason = INTERRUPTED
    if not runner.left() and not runner.elsewhere():
        journal.finish(runner.keys())
    return reason


async def _carry_out(runner: RunnerWork[Any], terms: RunTerms, stream: TextIO | None) -> str:
    try:
        await runner.take_over(terms)
        if not (left := runner.left()):
            return ""
        planned = sum(1 for _ in runner.planned())
        with interruptible(lambda: say_stopping(runner, runner.interrupt(), terms, stream)):
            if stop := await runner.check(terms, stream):
                return stop
            with Progress(planned, stream, done=planned - left, quiet=terms.quiet, fine=runner.FINE) as progress:
                runner.on_result = lambda outcome: progress.update(outcome, runner.spent)
                runner.tell, progress.aside = progress.tell, runner.aside
                await progress.beside(runner.run(terms.concurrency, terms.grace))
        return runner.stopped or runner.capped or "; ".join(runner.down.values())
    finally:
        await runner.close()


def say_stopping(runner: RunnerWork[Any], first: bool, terms: RunTerms, stream: TextIO | None) -> None:
    """Tell people that the run is ending, the `first` time that it is interrupted."""
    if first:
        write_progress(stream, f"\n{runner.say_stopping(terms.grace)}\n")


def budget_of(
    terms: RunTerms,
    journal: Journal,
    *,
    counts: Callable[[Record], bool] = lambda record: True,
    costs: Callable[[Record], bool] = lambda record: True,
    what: str = "call",
) -> Budget:
    """The caps, with what earlier processes spent: by their attempts, and not less than their results took.

    Results for which `counts` is false took no attempts, those for which `costs` is false no dollars. What was taken
    over was paid for in another run.
    """
    past, own = journal.past, [each for each in journal.results.values() if not each.get("taken_from")]
    attempts = max(past.attempts, sum(each.get("attempts") or 0 for each in own if counts(each)))
    usd = max(past.usd, sum(each.get("cost_usd") or 0.0 for each in own if costs(each)))
    calls, dollars = terms.before
    most, usd_cap = terms.max_runs, terms.max_usd
    if terms.shard is not None:
        most = None if most is None else terms.shard.share_count(most)
        usd_cap = None if usd_cap is None else terms.shard.share_amount(usd_cap)
    budget = Budget(most, usd_cap, attempts=calls + attempts, spent=dollars + usd, what=what)
    for batch in past.batches.values():
        for held in batch.open.values():
            budget.hold(held)
    return budget
