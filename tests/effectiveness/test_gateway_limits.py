"""What a gateway does about errors, caps and ends: the server's, the network's, the agent's and its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket as sockets
from pathlib import Path
from typing import Any

import httpx
import pytest
from gateway_servers import (
    DOLLARS,
    PATH,
    PROTOCOLS,
    USAGE,
    Got,
    Reply,
    Server,
    agent,
    answered,
    ask,
    asking,
    opened,
    protocol_of,
    streamed,
    works,
)
from test_gateway import in_loop

from skill_health.bench.http.endpoint import Endpoint
from skill_health.bench.http.messages import Usage
from skill_health.bench.prices import FREE, Rates, TieredPrice, at_most
from skill_health.core.errors import AbortedError
from skill_health.effectiveness.gateway import connection
from skill_health.effectiveness.gateway._api import GatewayLimits, Upstream
from skill_health.effectiveness.gateway.server import Gateway, open_gateway


def error_of(protocol: str, kind: str) -> tuple[int, Any]:
    """An error in the provider's words."""
    google = protocol == "gemini"
    status, code, words = {
        "rate": (429, "rate_limit_exceeded", "Slow down."),
        "server": (529, "overloaded_error", "Overloaded."),
        "auth": (400 if google else 401, "authentication_error", "API key not valid."),
        "quota": (400, "invalid_request_error", "Your credit balance is too low."),
    }[kind]
    error = {"type": code, "message": words} | ({"status": "X", "code": status} if google else {"code": code})
    return status, {"type": "error", "error": error}


@pytest.mark.parametrize("kind", ["rate", "server"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_loop
async def test_a_throttled_call_is_the_agents_to_repeat(protocol: str, kind: str) -> None:
    status, said = error_of(protocol, kind)

    async def react(got: Got, reply: Reply) -> None:
        if len(server.got) < 3:
            await reply.send(status, said, {"retry-after": "7", "x-ratelimit-remaining-requests": "0"})
        else:
            await works(got, reply)

    async with Server(react) as server, opened(server, protocol, max_requests=1) as gateway:
        answers = [await ask(gateway, protocol) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [status, status, 200]
    assert answers[0].json() == said
    assert (answers[0].headers["retry-after"], answers[0].headers["x-ratelimit-remaining-requests"]) == ("7", "0")
    seen = gateway.seen
    assert (seen.requests, seen.answered, seen.errors, seen.failure, seen.error) == (3, 1, 2, "", "")
    assert said["error"]["message"] in seen.trouble
    assert seen.usage == USAGE


@pytest.mark.parametrize("kind", ["auth", "quota"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_loop
async def test_a_wrong_key_or_no_credit_ends_all_further_calls(protocol: str, kind: str) -> None:
    status, said = error_of(protocol, kind)

    async def react(got: Got, reply: Reply) -> None:
        await reply.send(status, said)

    async with Server(react) as server, opened(server, protocol) as gateway:
        first, *later = [await ask(gateway, protocol) for _ in range(3)]
    assert (first.status_code, first.json()) == (status, said)
    assert [answer.status_code for answer in later] == [400, 400]
    assert said["error"]["message"] in later[0].json()["error"]["message"]
    assert len(server.got) == 1
    seen = gateway.seen
    assert (seen.requests, seen.failure, seen.cost_usd) == (3, kind, 0.0)
    assert seen.error.startswith("127.0.0.1:")
    assert said["error"]["message"] in seen.error


@in_loop
async def test_an_error_in_the_middle_of_a_stream() -> None:
    async def react(got: Got, reply: Reply) -> None:
        error = {"type": "insufficient_quota", "code": "insufficient_quota", "message": "No credit."}
        failed = {"type": "response.failed", "response": {"model": "resolved", "error": error, "usage": None}}
        await reply.events([f"data: {json.dumps(failed)}\n\n".encode()])

    async with Server(react) as server, opened(server, "openai-responses") as gateway:
        answers = [await ask(gateway, "openai-responses", True) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 400]
    assert (gateway.seen.failure, gateway.seen.answered, gateway.seen.unmetered) == ("quota", 1, 1)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_loop
async def test_a_server_that_cannot_be_reached(protocol: str) -> None:
    with sockets.socket() as plug:
        plug.bind(("127.0.0.1", 0))
        async with opened(f"http://127.0.0.1:{plug.getsockname()[1]}", protocol) as gateway:
            answer = await ask(gateway, protocol)
    assert answer.status_code == 502
    assert "reached" in answer.json()["error"]["message"]
    seen = gateway.seen
    assert (seen.failure, seen.requests, seen.answered, seen.cost_usd) == ("unreachable", 1, 0, 0.0)
    assert "be reached" in seen.error


async def _moved(reply: Reply) -> None:
    await reply.send(307, b"", {"location": "http://elsewhere.example/v1"})


async def _silent(reply: Reply) -> None:
    await asyncio.sleep(60)


async def _reset(reply: Reply) -> None:
    reply.reset()


async def _nonsense(reply: Reply) -> None:
    await reply.raw(b"\x00\x01 this is no HTTP\r\n\r\n")
    reply.reset()


@pytest.mark.parametrize(
    ("bad", "status", "words"),
    [
        (_moved, 502, "base-url"), (_silent, 504, "did not answer within 0.2 s"),
        (_reset, 502, "broke"), (_nonsense, 502, "rules of HTTP"),
    ],
)  # fmt: skip
@in_loop
async def test_an_unreachable_server_may_come_back(bad: Any, status: int, words: str) -> None:
    async def react(got: Got, reply: Reply) -> None:
        await (bad(reply) if len(server.got) == 1 else works(got, reply))

    async with Server(react) as server, opened(server, "anthropic", timeout=0.2) as gateway:
        answer = await ask(gateway, "anthropic")
        assert (answer.status_code, gateway.seen.failure) == (status, "unreachable")
        assert words in answer.json()["error"]["message"]
        assert words in gateway.seen.error
        assert "location" not in answer.headers
        assert (await ask(gateway, "anthropic")).status_code == 200
    assert (gateway.seen.failure, gateway.seen.error, gateway.seen.errors) == ("", "", 1)


@pytest.mark.slow
@pytest.mark.parametrize("ends", ["reset", "silence"])
@pytest.mark.parametrize(("seen_before", "unmetered"), [(1, 0), (0, 1)], ids=["with usage", "without"])
@in_loop
async def test_an_answer_that_breaks_off(ends: str, seen_before: int, unmetered: int) -> None:
    async def react(got: Got, reply: Reply) -> None:
        first = streamed("anthropic")[0] if seen_before else b'data: {"type": "ping"}\n\n'
        await reply.events([first, b"data: half"], end=False)
        if ends == "reset":
            # What was written must have been read, or the reset may overtake it.
            await asyncio.sleep(0.05)
            reply.reset()
        else:
            await reply.gone()

    async with Server(react) as server, opened(server, "anthropic", idle_timeout=0.15, max_usd=0.0002) as gateway:
        with pytest.raises(httpx.RemoteProtocolError):
            await ask(gateway, "anthropic", True)
        refused = await ask(gateway, "anthropic", True)
    seen = gateway.seen
    assert (seen.answered, seen.unmetered, seen.errors) == (1, unmetered, 1)
    assert seen.usage == (Usage(120, 1, 100, None, None) if seen_before else Usage())
    # What cannot be told is taken at a quarter of the bytes; that is more than the cap here.
    assert (refused.status_code, seen.failure) == (400, "capped")


@pytest.mark.parametrize("stream", [True, False])
@in_loop
async def test_an_agent_that_leaves_takes_its_call_with_it(stream: bool) -> None:
    gone = asyncio.Event()

    async def react(got: Got, reply: Reply) -> None:
        if stream:
            await reply.events(streamed("anthropic")[:2], end=False)
        await reply.gone()
        gone.set()

    async with Server(react) as server, opened(server, "anthropic") as gateway, agent(gateway) as client:
        if stream:
            async with client.stream("POST", "/v1/messages", json=asking("anthropic", stream=True)) as answer:
                await anext(answer.aiter_bytes())
        else:
            with pytest.raises(httpx.ReadTimeout):
                await client.post("/v1/messages", json=asking("anthropic"), timeout=0.1)
        await asyncio.wait_for(gone.wait(), 600)
        await asyncio.sleep(0.02)
        assert gateway.seen.usage == (Usage(120, 1, 100, None, None) if stream else Usage())
        assert gateway.seen.failure == ""


def test_what_is_under_way_ends_with_the_gateway(tmp_path: Path) -> None:
    async def main() -> None:
        before = asyncio.all_tasks()

        async def react(got: Got, reply: Reply) -> None:
            await reply.events(streamed("anthropic")[:1], end=False)
            await reply.gone()

        async with Server(react) as server:
            async with opened(server, "anthropic") as gateway, agent(gateway) as client:
                idle = await asyncio.open_connection("127.0.0.1", gateway.port)
                sending = client.stream("POST", "/v1/messages", json=asking("anthropic", stream=True))
                answer = await sending.__aenter__()
                pieces = answer.aiter_bytes()
                await anext(pieces)
                port = gateway.port
                closing = asyncio.ensure_future(_closed(gateway, pieces))
                await asyncio.sleep(0)
            assert await closing
            with contextlib.suppress(httpx.HTTPError):
                await sending.__aexit__(None, None, None)
            assert await idle[0].read() == b""
            idle[1].close()
            with pytest.raises(OSError):
                await asyncio.open_connection("127.0.0.1", port)
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == before
        assert gateway.seen.usage == Usage(120, 1, 100, None, None)

    async def _closed(gateway: Gateway, pieces: Any) -> bool:
        try:
            async for _ in pieces:
                pass
        except httpx.HTTPError:
            return True
        return False

    asyncio.run(main())


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_loop
async def test_the_cap_in_dollars(protocol: str) -> None:
    async with Server(works) as server, opened(server, protocol, max_usd=1.5 * DOLLARS) as gateway:
        answers = [await ask(gateway, protocol, stream=True) for _ in range(2)]
        assert gateway.seen.failure == ""
        answers += [await ask(gateway, protocol, stream=True) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200, 400, 400]
    assert answers[2].headers["x-should-retry"] == "false"
    assert "its cap is $0.0008" in answers[2].json()["error"]["message"]
    assert len(server.got) == 2
    seen = gateway.seen
    assert (seen.requests, seen.answered, seen.failure) == (4, 2, "capped")
    assert seen.cost_usd == pytest.approx(2 * DOLLARS)
    assert "cap" in seen.error


@in_loop
async def test_calls_at_once_share_what_is_left() -> None:
    """Five calls, each of which may cost more than half of the cap: one at a time, till it is spent."""
    body = asking("anthropic")
    most = at_most(TieredPrice((Rates(3.0, 15.0, 0.3, 3.75),)), len(json.dumps(body)) // 4 + 1, body["max_tokens"])

    under_way = []
    most_at_once = 0

    async def react(got: Got, reply: Reply) -> None:
        nonlocal most_at_once
        under_way.append(got)
        most_at_once = max(most_at_once, len(under_way))
        await asyncio.sleep(0.02)
        under_way.remove(got)
        data = answered(protocol_of(got.path)) | {"usage": {"input_tokens": 20, "output_tokens": 950}}
        await reply.send(200, data)

    async with Server(react) as server, opened(server, "anthropic", max_usd=1.8 * most) as gateway:
        answers = await asyncio.gather(*(ask(gateway, "anthropic") for _ in range(5)))
    assert sorted(answer.status_code for answer in answers) == [200, 200, 400, 400, 400]
    assert most_at_once == 1
    assert gateway.seen.cost_usd is not None
    assert 1.8 * most <= gateway.seen.cost_usd <= 2 * most


@pytest.mark.parametrize(("price", "answers"), [(FREE, [200] * 3), (None, [200] * 3), ("known", [200, 400, 400])])
@in_loop
async def test_answers_without_usage_count_by_their_size(price: Any, answers: list[int]) -> None:
    async def react(got: Got, reply: Reply) -> None:
        await reply.send(200, answered("openai", "word " * 400, told=False))

    terms = {} if price == "known" else {"price": price}
    async with Server(react) as server, opened(server, "openai", max_usd=0.005, **terms) as gateway:
        assert [(await ask(gateway, "openai")).status_code for _ in range(3)] == answers
    sent = answers.count(200)
    assert (gateway.seen.answered, gateway.seen.unmetered, gateway.seen.usage) == (sent, sent, Usage())
    assert gateway.seen.cost_usd is None


def test_a_gateway_that_cannot_be(tmp_path: Path) -> None:
    async def main(path: str, key: str = "key") -> None:
        async with open_gateway(Upstream(Endpoint("http://127.0.0.1:1"), "openai"), GatewayLimits(key), path):
            pass

    with pytest.raises(AbortedError, match="107 bytes"):
        asyncio.run(main(str(tmp_path / ("x" * 120))))
    with pytest.raises(AbortedError, match="cannot listen on"):
        asyncio.run(main(str(tmp_path / "no" / "folder")))
    with pytest.raises(ValueError, match="stand-in"):
        asyncio.run(main("", ""))


@in_loop
async def test_a_server_without_a_key() -> None:
    async with Server(works) as server:
        given = Upstream(Endpoint(server.url), "openai")
        limits = GatewayLimits("stand-in")
        async with open_gateway(given, limits) as gateway, agent(gateway, "stand-in", "openai") as client:
            assert (await client.post(PATH["openai"], json=asking("openai"))).status_code == 200
    assert "authorization" not in server.got[0].headers


@in_loop
async def test_connections_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    from skill_health.effectiveness.gateway import server as module

    monkeypatch.setattr(module, "_CONNECTIONS", 2)

    async with Server(works) as server, opened(server, "openai") as gateway:
        held = [await asyncio.open_connection("127.0.0.1", gateway.port) for _ in range(2)]
        await asyncio.sleep(0.01)
        with pytest.raises(httpx.HTTPError):
            await ask(gateway, "openai")
        for _, writer in held:
            writer.close()
            await writer.wait_closed()
        await asyncio.sleep(0.01)
        assert (await ask(gateway, "openai")).status_code == 200


@pytest.mark.slow
@in_loop
async def test_a_slow_request_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_READ", 0.1)

    async with Server(works) as server, opened(server, "openai") as gateway:
        reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
        writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nX-Slow: ")
        closed = asyncio.ensure_future(reader.read())
        for _ in range(200):
            if (await asyncio.wait((closed,), timeout=0.01))[0]:
                break
            writer.write(b"y")
        assert closed.done()
        (end,) = await asyncio.gather(closed, return_exceptions=True)
        assert end == b"" or isinstance(end, ConnectionResetError)
        writer.close()
        assert (await ask(gateway, "openai")).status_code == 200
