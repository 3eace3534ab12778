"""What an attempt may cost: a request that broke off counts in full, one that was refused with an error not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from callers import FakeTime, _key, open_model, request  # noqa: F401
from loopback import PROTOCOLS, Loopback, Reaction, Seen, answer, failure, ranking

from skill_health.bench.budget import AttemptMeter, Budget, may_send_again, not_charged
from skill_health.router.records import Reply

USD = 0.01
TEXT = ranking("tidy")


def spend(
    react: Callable[[Seen], Reaction], budget: Budget, protocol: str = "openai"
) -> tuple[Reply, AttemptMeter, int]:
    """Ask once within a budget; the reply, the meter, and how many requests the server saw."""

    async def admit(usd: float) -> bool:
        return budget.reserve(usd)

    async def go(url: str) -> tuple[Reply, AttemptMeter]:
        assert budget.reserve(USD)
        meter = AttemptMeter(USD, admit, budget.charge)
        router = open_model(protocol, url, FakeTime())
        with meter.running():
            reply = await router.ask(request())
        meter.end(0.001 if reply.status == "finished" else None if meter.charged else 0.0)
        await router.close()
        return reply, meter

    with Loopback(react) as server:
        reply, meter = asyncio.run(go(server.url))
        return reply, meter, len(server.seen)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_each_request_that_broke_off_counts_in_full(protocol: str) -> None:
    budget = Budget(10, 1.0)
    cut = lambda seen: answer(seen, TEXT).but(cut=20 if seen.number < 3 else None)  # noqa: E731
    reply, _, seen = spend(cut, budget, protocol)
    assert (reply.status, seen, budget.attempts) == ("finished", 3, 3)
    assert (budget.spent, budget.reserved) == (2 * USD + 0.001, 0)


@pytest.mark.parametrize(("runs", "usd"), [(2, None), (None, 2.5 * USD)])
def test_a_cap_forbids_to_send_again(runs: int | None, usd: float | None) -> None:
    budget = Budget(runs, usd)
    reply, meter, seen = spend(lambda seen: answer(seen, TEXT).but(cut=20), budget)
    assert (reply.status, seen, meter.refused) == ("provider_error", 2, True)
    assert reply.error.endswith("(a cap forbids a retry)")
    assert (budget.spent, budget.reserved) == (2 * USD, 0)


@pytest.mark.parametrize(
    ("react", "cost"),
    [
        (lambda seen: failure(seen, "server_error"), 0),
        (lambda seen: failure(seen, "rate_limit"), 0),
        (lambda seen: failure(seen, "bad_request"), 0),
        (lambda seen: failure(seen, "no_model"), 0),
        (lambda seen: failure(seen, "wrong_key"), 0),
        (lambda seen: Reaction(307, b"", headers=[("location", "http://127.0.0.1:9/")]), 0),
        (lambda seen: Reaction(raw=b"", cut=0), 0),
        (lambda seen: answer(seen, TEXT).but(content_type="text/html"), USD),
        (lambda seen: answer(seen, TEXT).but(body=b" " * (9 << 20)), USD),
        (lambda seen: answer(seen, TEXT).but(body=b"{"), 3 * USD),
    ],
    ids=["500", "429", "400", "no model", "key", "redirect", "no answer", "type", "size", "cut short"],
)
def test_what_an_error_costs(react: Callable[[Seen], Reaction], cost: float) -> None:
    budget = Budget(None, 1.0)
    spend(react, budget)
    assert (budget.spent, budget.reserved) == (pytest.approx(cost), 0)


def test_where_nobody_counts_everything_may_be_sent() -> None:
    not_charged()
    assert asyncio.run(may_send_again())
