"""Gateways of trials that are made elsewhere: what passes, who may ask for one, and lines that break."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from gateway_servers import DOLLARS, KEY, PRICE, PROTOCOLS, STAND_IN, USAGE, Server, ask, upstream, works
from test_gateway import in_loop

from skill_health.effectiveness.gateway._api import GatewayLimits, Upstream
from skill_health.effectiveness.gateway.far import FarLine, LineWish, borrow_line, open_far_end
from skill_health.effectiveness.gateway.server import Gateway
from skill_health.effectiveness.sandbox._run import SandboxError

HERE = "127.0.0.1"


def behind(server: Server, protocol: str) -> Upstream:
    return upstream(server.url, protocol)


def limits(**more: Any) -> Callable[[LineWish], GatewayLimits]:
    return lambda wish: GatewayLimits(key=wish.key, price=PRICE, watch=wish.skills, closed=wish.closed, **more)


def near(port: int) -> Gateway:
    """What stands for a gateway to an agent: its port."""
    return cast(Gateway, SimpleNamespace(port=port))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_loop
async def test_a_call_passes_and_is_accounted_for_where_the_key_is(protocol: str) -> None:
    async with Server(works) as server, open_far_end(HERE, behind(server, protocol), limits(), 1) as line:
        assert KEY not in repr(line) and line.token not in repr(line)
        wish = LineWish(STAND_IN, {"tidy": "Tidies lists."})
        async with borrow_line(line, wish) as borrowed:
            answers = [await ask(near(borrowed.port), protocol) for _ in range(2)]
            assert borrowed.trace is None
        assert [each.status_code for each in answers] == [200, 200]
        assert borrowed.trace is not None
        assert (borrowed.trace.requests, borrowed.trace.answered) == (2, 2)
        assert borrowed.trace.cost_usd == pytest.approx(2 * DOLLARS)
        assert borrowed.trace.usage.output_tokens == 2 * (USAGE.output_tokens or 0)
        assert borrowed.trace.offered == ()
        assert KEY.encode() not in borrowed.trace.first_request


@in_loop
async def test_a_cap_of_the_far_end_holds() -> None:
    terms = limits(max_requests=1)
    async with Server(works) as server, open_far_end(HERE, behind(server, "openai"), terms, 1) as line:
        async with borrow_line(line, LineWish(STAND_IN)) as borrowed:
            answers = [await ask(near(borrowed.port), "openai") for _ in range(2)]
        assert answers[0].status_code == 200 and answers[1].status_code != 200
        assert borrowed.trace is not None and borrowed.trace.failure == "capped"
        assert "1 call" in borrowed.trace.error
        assert len(server.got) == 1


@in_loop
async def test_no_more_gateways_are_opened_than_the_trial_has_agents() -> None:
    async with Server(works) as server, open_far_end(HERE, behind(server, "openai"), limits(), 2) as line:
        for _ in range(2):
            async with borrow_line(line, LineWish(STAND_IN)) as borrowed:
                pass
            assert borrowed.trace is not None and borrowed.trace.requests == 0
        with pytest.raises(SandboxError, match="2 gateways at most"):
            async with borrow_line(line, LineWish(STAND_IN)):
                raise AssertionError("it was opened")


@pytest.mark.parametrize(
    "first",
    [
        b"", b"\n", b"GET / HTTP/1.1\r\n\r\n", b"[]\n", b'{"token": 1}\n', b"\xff\xfe\n", b'{"token": "x"}\n',
        b'{"token": "x", "wish": {"key": "a"}}\n', b'{"token": "TOKEN", "session": 0}\n', b'{"token": "TOKEN", "session": -1}\n',
        b"x" * (5 << 20),
    ],
)  # fmt: skip
@in_loop
async def test_who_does_not_know_the_token_or_the_form_is_hung_up_on(first: bytes) -> None:
    async with Server(works) as server, open_far_end(HERE, behind(server, "openai"), limits(), 1) as line:
        reader, writer = await asyncio.open_connection(HERE, line.port)
        writer.write(first.replace(b"TOKEN", line.token.encode()))
        writer.write_eof()
        heard = b""
        with contextlib.suppress(ConnectionError):
            heard = await reader.read()
        assert heard == b"" and server.got == []
        writer.close()
        # It did no harm to the trial.
        async with borrow_line(line, LineWish(STAND_IN)) as borrowed:
            assert (await ask(near(borrowed.port), "openai")).status_code == 200


@in_loop
async def test_another_stand_in_key_asks_nothing() -> None:
    async with Server(works) as server, open_far_end(HERE, behind(server, "openai"), limits(), 1) as line:
        async with borrow_line(line, LineWish("another-stand-in-of-a-worker")) as borrowed:
            assert (await ask(near(borrowed.port), "openai")).status_code in (401, 403)
        assert server.got == [] and borrowed.trace is not None and borrowed.trace.refused == 1


@in_loop
async def test_a_far_end_that_is_gone_is_a_failure_of_the_infrastructure() -> None:
    async with Server(works) as server:
        async with open_far_end(HERE, behind(server, "openai"), limits(), 1) as line:
            pass
        with pytest.raises(SandboxError, match="its worker"):
            async with borrow_line(line, LineWish(STAND_IN)):
                raise AssertionError("it was opened")


@pytest.mark.parametrize(
    "answers",
    [
        b'{"session": "none of ours", "trace": {"requests": "many"}}\n', b'{"session": 0}\n', b'{"session": 0}\n[]\n',
        b"",
    ],
)  # fmt: skip
@in_loop
async def test_what_breaks_off_or_lies_in_place_of_a_far_end_is_not_believed(answers: bytes) -> None:
    async def lie(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(answers)
        writer.close()

    server = await asyncio.start_server(lie, HERE, 0)
    async with server:
        line = FarLine(HERE, server.sockets[0].getsockname()[1], "t")
        with pytest.raises(SandboxError):
            async with borrow_line(line, LineWish(STAND_IN)):
                pass
