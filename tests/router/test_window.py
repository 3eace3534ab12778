"""The window: never more under way than it allows, first come, first served, and nothing lost to cancellation."""

from __future__ import annotations

import asyncio

import pytest
from callers import KEY_ENV, FakeTime, _key, ask_all, open_model, request  # noqa: F401
from hypothesis import given
from hypothesis import strategies as st
from loopback import Headers, Loopback, Reaction, Seen, answer, failure, ranking

from skill_health.bench.http.pacing import CallWindow

Step = tuple[str, int]
STEPS = st.lists(st.tuples(st.sampled_from(["enter", "leave", "cancel", "served", "refused"]), st.integers(0, 30)))


@given(st.integers(1, 9), STEPS)
def test_never_more_than_it_allows_and_nobody_waits_while_there_is_room(most: int, steps: list[Step]) -> None:
    async def go() -> None:
        window, inside, tasks = CallWindow(most), list[int](), dict[int, asyncio.Task[None]]()
        leave: dict[int, asyncio.Event] = {}
        tickets = [0]

        async def enter(name: int) -> None:
            async with window:
                inside.append(name)
                try:
                    await leave[name].wait()
                finally:
                    inside.remove(name)

        async def settle() -> None:
            for _ in range(4):
                await asyncio.sleep(0)

        for number, (step, pick) in enumerate(steps):
            before = len(inside)
            if step == "enter":
                leave[number] = asyncio.Event()
                tasks[number] = asyncio.create_task(enter(number))
            elif step == "leave" and inside:
                leave[inside[pick % len(inside)]].set()
            elif step == "cancel" and tasks:
                tasks[sorted(tasks)[pick % len(tasks)]].cancel()
            elif step == "served":
                window.served()
            elif step == "refused":
                tickets.append(window.sent())
                window.refused(tickets[pick % len(tickets)])
            await settle()
            assert 1 <= window.size <= most
            assert len(inside) <= max(window.size, before)
            waiting = sum(not task.done() for task in tasks.values()) - len(inside)
            assert waiting == 0 or len(inside) >= window.size
        for event in leave.values():
            event.set()
        await asyncio.gather(*tasks.values(), return_exceptions=True)
        assert inside == []

    asyncio.run(go())


def test_first_come_first_served() -> None:
    async def go() -> list[int]:
        window, order = CallWindow(1), list[int]()

        async def enter(name: int) -> None:
            async with window:
                order.append(name)
                await asyncio.sleep(0)

        await asyncio.gather(*(enter(name) for name in range(20)))
        return order

    assert asyncio.run(go()) == list(range(20))


def test_it_is_halved_once_for_all_that_were_sent_before_and_grows_by_one_a_round() -> None:
    async def go() -> None:
        window = CallWindow(64)
        for _ in range(16):
            await window.__aenter__()
        sent = [window.sent() for _ in range(16)]
        for ticket in sent:
            window.refused(ticket)
        assert (window.size, window.refusals) == (8, 1)
        window.refused(window.sent())
        assert (window.size, window.refusals) == (4, 2)
        for _ in range(5):
            window.served()
        assert (window.size, window.refusals) == (5, 0)
        for _ in range(5000):
            window.served()
        assert window.size == 64

    asyncio.run(go())


@pytest.mark.slow
@pytest.mark.parametrize("headers", [[("retry-after-ms", "500")], []], ids=["it says when", "it says nothing"])
@pytest.mark.parametrize("at_once", [4, pytest.param(32, marks=pytest.mark.slow)])
def test_a_server_that_tells_no_limits_refuses_little_and_loses_nothing(headers: Headers, at_once: int) -> None:
    """20 requests a second, 5 in store, and as many calls at once as the user likes."""
    time = FakeTime()
    store = [5.0, 0.0]

    def react(seen: Seen) -> Reaction:
        now = time.passed
        store[:] = [min(5.0, store[0] + 20 * (now - store[1])), now]
        if store[0] < 1:
            return failure(seen, "rate_limit", headers=headers)
        store[0] -= 1
        return answer(seen, ranking("tidy"))

    with Loopback(react) as server:
        router = open_model("openai", server.url, time, concurrency=at_once)
        replies = asyncio.run(ask_all(router, [request(f"p{number}") for number in range(120)]))
        assert len(server.seen) < 3 * 120
    assert [reply.error for reply in replies if reply.status != "finished"] == []
