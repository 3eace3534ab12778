"""An agent that sends whatever it likes: it is answered with an error or cut off, and the next one is served."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest
from gateway_servers import (
    KEY,
    PATH,
    PROTOCOLS,
    STAND_IN,
    USAGE,
    Got,
    Reply,
    Server,
    agent,
    answered,
    ask,
    asking,
    opened,
    rawly,
    streamed,
    works,
)
from hypothesis import given
from hypothesis import strategies as st
from thinned import thinned

from skill_health.effectiveness.gateway import connection, forward
from skill_health.effectiveness.gateway.connection import REQUEST

HEAD = f"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: {STAND_IN}\r\n".encode()
BODY = json.dumps(asking("anthropic")).encode()


def post(body: bytes, *headers: bytes) -> bytes:
    return HEAD + b"".join(each + b"\r\n" for each in headers) + b"Content-Length: %d\r\n\r\n" % len(body) + body


def chunked(*parts: bytes) -> bytes:
    pieces = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
    return HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + pieces + b"0\r\n\r\n"


async def attacked(data: bytes, eof: bool = False) -> tuple[bytes, list[Got], Any]:
    """What comes back for the bytes; and that a decent agent is served after that."""
    async with Server(works) as server, opened(server, "anthropic") as gateway:
        back = await rawly(gateway, data, b"\r\n\r\n", eof)
        reached = list(server.got)
        assert (await ask(gateway, "anthropic")).status_code == 200
        return back, reached, gateway.seen


REFUSED = {
    "no HTTP": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello\r\n\r\n", 400),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\n", 400),
    "no host": (b"POST /v1/messages HTTP/1.1\r\n\r\n", 400),
    "two hosts": (HEAD + b"Host: 127.0.0.1\r\n\r\n", 400),
    "another host": (post(BODY).replace(b"Host: 127.0.0.1", b"Host: api.example"), 400),
    "a host that begins well": (post(BODY).replace(b"Host: 127.0.0.1", b"Host: 127.0.0.1.example"), 400),
    "huge header": (HEAD + b"X-Long: " + b"x" * (1 << 20) + b"\r\n\r\n", 431),
    "many headers": (HEAD + b"X: y\r\n" * 40_000 + b"\r\n", 431),
    "huge target": (b"GET /" + b"a" * 5000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 404),
    "absolute form": (post(BODY).replace(b" /v1", b" http://127.0.0.1/v1"), 400),
    "two slashes": (post(BODY).replace(b" /v1", b" //evil.example/v1"), 400),
    "connect": (b"CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443\r\n\r\n", 400),
    "connect to us": (b"CONNECT /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400),
    "star": (b"OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400),
    "upgrade": (
        b"GET /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
        404,
    ),
    "parent": (HEAD.replace(b"/v1/messages", b"/v1/messages/../../admin") + b"\r\n", 404),
    "encoded parent": (HEAD.replace(b"/v1/messages", b"/v1/%2e%2e/messages") + b"\r\n", 404),
    "wrong method": (HEAD.replace(b"POST", b"DELETE") + b"\r\n", 404),
    "announced too large": (HEAD + b"Content-Length: %d\r\n\r\n" % (REQUEST + 1), 413),
    "two lengths": (HEAD + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400),
    "negative length": (HEAD + b"Content-Length: -3\r\n\r\nabcd", 400),
    "wrong chunk": (HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabcd", 400),
    "unknown transfer": (HEAD + b"Transfer-Encoding: gzip\r\n\r\n", 501),
    "empty": (post(b""), 400),
    "no JSON": (post(b"hello"), 400),
    "cut JSON": (post(BODY[:-1]), 400),
    "a list": (post(b"[" + BODY + b"]"), 400),
    "invalid UTF-8": (post(BODY.replace(b"Hello", b"\xff\xfe")), 400),
    "UTF-16": (post(BODY.decode().encode("utf-16")), 400),
    "deep": (post(b'{"a":' * 100_000 + b"1" + b"}" * 100_000), 400),
    "huge number": (post(b'{"a":' + b"9" * 10_000 + b"}"), 400),
    "background": (post(BODY[:-1] + b', "background": true}'), 400),
    "no gzip": (post(BODY, b"Content-Encoding: gzip"), 400),
    "zstd": (post(BODY, b"Content-Encoding: zstd"), 400),
}


# Made when they are sent: they take a while, and much room.
LARGE: dict[str, tuple[Callable[[], bytes], int]] = {
    "many values": (lambda: post(b'{"a":[' + b"{}," * 3_000_001 + b"{}]}"), 413),
    "bomb": (lambda: post(gzip.compress(b" " * (REQUEST + 1), 1), b"Content-Encoding: gzip"), 400),
}


@pytest.mark.parametrize(("data", "status"), [*REFUSED.values(), *LARGE.values()], ids=[*REFUSED, *LARGE])
def test_requests_that_are_refused(data: bytes | Callable[[], bytes], status: int) -> None:
    async def main() -> None:
        back, reached, seen = await attacked(data() if callable(data) else data)
        head = back.partition(b"\r\n\r\n")[0]
        assert head.startswith(b"HTTP/1.1 %d " % status), back[:300]
        assert b"application/json" in head
        assert reached == []
        assert (seen.requests, seen.refused, seen.answered) == (1, 1, 1)
        assert seen.trouble
        assert seen.trouble.isprintable()

    asyncio.run(main())


ANSWERED = {
    "plain": post(BODY),
    "chunks": chunked(BODY[:5], BODY[5:]),
    "single bytes": chunked(*(BODY[at : at + 1] for at in range(len(BODY)))),
    "old HTTP": post(BODY).replace(b"HTTP/1.1", b"HTTP/1.0"),
    "BOM": post(b"\xef\xbb\xbf" + BODY),
    "local name": post(BODY).replace(b"Host: 127.0.0.1", b"Host: localhost:8181"),
    "not a number": post(BODY[:-1] + b', "temperature": NaN}'),
    "half a pair": post(BODY.replace(b"Hello", b"\\ud800")),
}


@pytest.mark.parametrize("data", ANSWERED.values(), ids=ANSWERED)
def test_requests_that_are_odd_and_good(data: bytes) -> None:
    async def main() -> None:
        back, reached, seen = await attacked(data)
        assert back.startswith(b"HTTP/1.1 200 ")
        assert len(reached) == 1
        assert (seen.requests, seen.refused, seen.failure) == (2, 0, "")

    asyncio.run(main())


def test_an_agent_that_asks_whether_it_may_send_its_body() -> None:
    async def main() -> None:
        async with Server(works) as server, opened(server, "anthropic") as gateway:
            reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
            writer.write(HEAD + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(BODY))
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")
            writer.write(BODY)
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
            writer.close()
            await writer.wait_closed()
        assert server.got[0].body == BODY

    asyncio.run(main())


def test_pipelined_requests_are_answered_in_order() -> None:
    async def react(got: Got, reply: Reply) -> None:
        await asyncio.sleep(0.01)
        await reply.send(200, answered("anthropic", got.json["messages"][0]["content"]))

    async def main() -> None:
        sent = [post(json.dumps(asking("anthropic", f"number {number}")).encode()) for number in range(5)]
        async with Server(react) as server, opened(server, "anthropic") as gateway:
            back = await rawly(gateway, b"".join(sent), b"number 4")
        assert [back.find(b"number %d" % number) for number in range(5)] == sorted(
            back.find(b"number %d" % number) for number in range(5)
        )
        assert (back.count(b"HTTP/1.1 200 "), len(server.got), gateway.seen.answered) == (5, 5, 5)

    asyncio.run(main())


@pytest.mark.parametrize("data", [post(BODY)[:-5], HEAD, HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab", b""])
def test_an_agent_that_leaves_in_the_middle_of_its_request(data: bytes) -> None:
    async def main() -> None:
        back, reached, seen = await attacked(data, eof=True)
        assert (back, reached, seen.requests) == (b"", [], 1)

    asyncio.run(main())


def test_the_limits_of_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "REQUEST", 1000)
    monkeypatch.setattr(connection, "_PIECES", 50)
    monkeypatch.setattr(forward, "ANSWER", 1000)

    async def main() -> None:
        for data in (chunked(b" " * 600, b" " * 600), chunked(*[b" "] * 60), post(b" " * 1001)):
            back, reached, _ = await attacked(data)
            assert back.startswith(b"HTTP/1.1 413 ")
            assert reached == []

        async def react(got: Got, reply: Reply) -> None:
            await reply.send(200, answered("anthropic", "x" * 2000))

        async with Server(react) as server, opened(server, "anthropic") as gateway:
            back = await rawly(gateway, post(BODY))
        assert not back.endswith(b"0\r\n\r\n")
        assert "more than 1,000 bytes" in gateway.seen.trouble

    asyncio.run(main())


def test_all_connections_share_their_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MEMORY", 800)
    waiting = HEAD + b"Content-Length: 700\r\n\r\n" + b"x" * 600

    async def main() -> None:
        async with Server(works) as server, opened(server, "anthropic") as gateway:
            _, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
            writer.write(waiting)
            await asyncio.sleep(0.02)
            assert (await rawly(gateway, post(b" " * 300))).startswith(b"HTTP/1.1 503 ")
            writer.close()
            await writer.wait_closed()
            await asyncio.sleep(0.02)
            assert (await ask(gateway, "anthropic")).status_code == 200

    asyncio.run(main())


@pytest.mark.slow
def test_an_agent_that_does_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_WRITE", 0.1)

    async def main() -> None:
        stopped = asyncio.Event()

        async def react(got: Got, reply: Reply) -> None:
            try:
                await reply.events([streamed("anthropic")[0], *[b"data: " + b"x" * (1 << 20) + b"\n\n"] * 40])
            finally:
                stopped.set()

        async with Server(react) as server, opened(server, "anthropic") as gateway:
            _, writer = await asyncio.open_connection("127.0.0.1", gateway.port, limit=1 << 10)
            writer.write(post(BODY))
            await asyncio.wait_for(stopped.wait(), 600)
            await asyncio.sleep(0.02)
            assert gateway.seen.usage.input_tokens == USAGE.input_tokens
            writer.transport.abort()

    asyncio.run(main())


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.sampled_from(sorted({**REFUSED, **ANSWERED})), st.integers(0, 400), st.binary(max_size=8)),
        max_size=4,
    )
)
def test_any_bytes_whatever(cuts: list[tuple[str, int, bytes]]) -> None:
    """Requests of above, cut and spliced with noise: nothing goes wrong in the gateway itself, and it goes on."""
    whole = {
        name: data[:3000] for name, data in {**ANSWERED, **{name: data for name, (data, _) in REFUSED.items()}}.items()
    }
    data = b"".join(whole[name][:at] + noise + whole[name][at:] for name, at, noise in cuts)

    async def main() -> None:
        async with Server(works) as server, opened(server, "anthropic") as gateway:
            await rawly(gateway, data, eof=True)
            assert (await ask(gateway, "anthropic")).status_code == 200
        assert all(STAND_IN not in str(got) and got.headers["x-api-key"] == KEY for got in server.got)

    asyncio.run(main())


@pytest.mark.slow
@pytest.mark.parametrize("protocol", thinned(PROTOCOLS, 2))
@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[]", b'"text"', b"{", b'{"error": null}', b'{"usage": [1], "model": 3, "usageMetadata": "x"}',
     b'{"usage": {"input_tokens": -1, "prompt_tokens": true, "output_tokens": 1e400}}', b"\xff\xfe\x00", b"[[[{}]]]"],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream", "text/html"])
def test_a_server_that_answers_nonsense(protocol: str, body: bytes, kind: str) -> None:
    async def react(got: Got, reply: Reply) -> None:
        await reply.send(200, b"data: " + body if "stream" in kind else body, {"content-type": kind})

    async def main() -> None:
        async with (
            Server(react) as server,
            opened(server, protocol) as gateway,
            agent(gateway, protocol=protocol) as client,
        ):
            answer = await client.post(PATH[protocol], json=asking(protocol))
        assert (answer.status_code, answer.content) == (200, b"data: " + body if "stream" in kind else body)
        assert (gateway.seen.answered, gateway.seen.unmetered, gateway.seen.cost_usd) == (1, 1, None)

    asyncio.run(main())
