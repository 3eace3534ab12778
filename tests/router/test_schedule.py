"""The run loop: limits, order, stops and interrupts."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.bench.run.schedule import INTERRUPTED, CallLimits, Schedule, StopRun, interruptible

Planned = list[tuple[str, int]]


class Watch:
    """Work that notes what is under way."""

    def __init__(self, seconds: Callable[[int], float] = lambda item: 0.0) -> None:
        self.begun: list[int] = []
        self.ended: list[int] = []
        self.cancelled: list[int] = []
        self.now: Counter[str] = Counter()
        self.peak: Counter[str] = Counter()
        self.seconds = seconds

    def work(self, planned: Planned) -> Callable[[int], Awaitable[None]]:
        groups = {item: group for group, item in planned}

        async def call(item: int) -> None:
            names = (groups[item], "all")
            self.now.update(names)
            for name in names:
                self.peak[name] = max(self.peak[name], self.now[name])
            self.begun.append(item)
            try:
                await asyncio.sleep(self.seconds(item))
                self.ended.append(item)
            except asyncio.CancelledError:
                self.cancelled.append(item)
                raise
            finally:
                self.now.subtract(names)

        return call


@given(
    st.lists(st.sampled_from("abc"), max_size=40),
    st.integers(1, 8),
    st.dictionaries(st.sampled_from("abc"), st.integers(1, 5)),
)
def test_every_call_is_made_once_in_order_within_the_limits(
    groups: list[str], total: int, each: dict[str, int]
) -> None:
    planned = [(group, number) for number, group in enumerate(groups)]
    watch = Watch(lambda item: 0.0001 * (item % 3))
    schedule = Schedule(watch.work(planned), CallLimits(total, each))
    asyncio.run(schedule.run(planned))
    assert schedule.reason == ""
    assert sorted(watch.ended) == list(range(len(groups)))
    for group in set(groups):
        mine = [item for name, item in planned if name == group]
        assert [item for item in watch.begun if item in mine] == mine
        assert watch.peak[group] <= min(total, each.get(group, total))
    assert watch.peak["all"] <= total


def test_limits_are_used_in_full() -> None:
    planned = [("a", n) for n in range(20)] + [("b", 100 + n) for n in range(20)]
    watch = Watch(lambda item: 0.002)
    asyncio.run(Schedule(watch.work(planned), CallLimits(5, {"a": 2})).run(planned))
    assert (watch.peak["a"], watch.peak["all"]) == (2, 5)


@pytest.mark.slow
def test_a_slow_group_does_not_hold_up_another() -> None:
    planned = [("slow", n) for n in range(4)] + [("fast", 10 + n) for n in range(40)]
    watch = Watch(lambda item: 0.05 if item < 10 else 0.0)
    asyncio.run(Schedule(watch.work(planned), CallLimits(4, {"slow": 1, "fast": 2})).run(planned))
    assert watch.ended[0] >= 10
    assert watch.ended.index(49) < watch.ended.index(1)


def test_a_call_that_stops_the_run_lets_the_others_end() -> None:
    planned = [("a", n) for n in range(50)]
    watch = Watch(lambda item: 0.005)
    inner = watch.work(planned)

    async def call(item: int) -> None:
        if item == 10:
            raise StopRun("quota: no credit is left")
        await inner(item)

    schedule = Schedule(call, CallLimits(4, {}))
    asyncio.run(schedule.run(planned))
    assert schedule.reason == "quota: no credit is left"
    assert watch.begun == watch.ended
    assert len(watch.ended) < 16
    assert watch.cancelled == []


def test_a_bug_cancels_the_others_and_is_raised() -> None:
    planned = [("a", n) for n in range(50)]
    watch = Watch(lambda item: 5.0)
    inner = watch.work(planned)

    async def call(item: int) -> None:
        if item == 3:
            raise ZeroDivisionError("ours")
        await inner(item)

    with pytest.raises(ZeroDivisionError, match="ours"):
        asyncio.run(Schedule(call, CallLimits(4, {})).run(planned))
    assert sorted(watch.cancelled) == [0, 1, 2]


def test_nothing_planned() -> None:
    async def call(item: int) -> None:
        raise AssertionError

    asyncio.run(Schedule(call, CallLimits(4, {})).run([]))


@pytest.mark.parametrize(
    ("times", "grace", "outcome"), [(1, 5.0, "ended"), (2, 5.0, "cancelled"), (1, 0.0, "cancelled")]
)
def test_an_interrupt_stops_and_a_second_one_or_the_grace_abandons(times: int, grace: float, outcome: str) -> None:
    planned = [("a", n) for n in range(50)]
    watch = Watch(lambda item: 0.05)
    schedule = Schedule(watch.work(planned), CallLimits(3, {}), grace)

    async def main() -> list[bool]:
        running = asyncio.create_task(schedule.run(planned))
        await asyncio.sleep(0.01)
        assert schedule.under_way == 3
        first = [schedule.interrupt() for _ in range(times)]
        await running
        return first

    assert asyncio.run(main()) == [True, False][:times]
    assert schedule.reason == INTERRUPTED
    assert watch.begun == [0, 1, 2]
    assert sorted(getattr(watch, outcome)) == [0, 1, 2]


SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


def test_ctrl_c_and_a_request_to_end_are_handed_over_and_handlers_come_back() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    seen: list[str] = []

    async def main() -> None:
        inside = signal.getsignal(signal.SIGINT)
        with interruptible(lambda: seen.append("signal")):
            for number in SIGNALS:
                os.kill(os.getpid(), number)
                await asyncio.sleep(0.01)
        assert signal.getsignal(signal.SIGINT) is inside

    asyncio.run(main())
    assert seen == ["signal"] * len(SIGNALS)
    assert [signal.getsignal(number) for number in SIGNALS] == before


@pytest.mark.parametrize("number", SIGNALS)
def test_what_is_ignored_stays_ignored(number: int) -> None:
    """As in a run behind `nohup`, or one that a shell put into the background."""
    before = signal.signal(number, signal.SIG_IGN)

    async def main() -> None:
        with interruptible(lambda: seen.append("signal")):
            os.kill(os.getpid(), number)
            await asyncio.sleep(0.01)

    seen: list[str] = []
    try:
        asyncio.run(main())
        assert (seen, signal.getsignal(number)) == ([], signal.SIG_IGN)
    finally:
        signal.signal(number, before)
