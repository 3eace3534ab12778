"""Servers that send more than one answer: no answer is ever taken for that of another question.

Each question holds a word of its own, and the server answers with the words of the request that it read.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from itertools import cycle

import httpx
import pytest
from callers import FakeTime, _key, ask_all, open_model, request  # noqa: F401
from hypothesis import given
from hypothesis import strategies as st
from loopback import PROTOCOLS, Loopback, Reaction, Seen, answer, ranking

from skill_health.bench.http.connection import ConnectionPerCall
from skill_health.bench.http.endpoint import Endpoint
from skill_health.bench.http.failures import Failure
from skill_health.bench.http.fetch import Fetched, fetch

OTHER = "word-of-another"
SENT_TOO_MUCH = "bytes follow the end of its answer"


def word_of(text: str) -> str:
    found = re.search(r"\((p\d+)\)", text)
    assert found
    return found[1]


def own(seen: Seen) -> Reaction:
    return answer(seen, ranking(word_of(seen.text)))


def second(seen: Seen) -> bytes:
    """A whole response, to nobody's question."""
    body = answer(seen, ranking(OTHER)).body
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)


def halves(data: bytes, pause: float) -> Sequence[tuple[float, bytes]]:
    middle = len(data) // 2
    return ((pause, data[:middle]), (pause, data[middle:]))


def framed(seen: Seen, head: bytes, *parts: bytes) -> Reaction:
    body = b"".join(parts)
    return Reaction(raw=b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n" + head + b"\r\n" + body)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


CHUNKED = b"transfer-encoding: chunked\r\n"


def stated(seen: Seen, off: int) -> Reaction:
    """A Content-Length that is wrong by so many bytes."""
    body = own(seen).body
    return framed(seen, b"content-length: %d\r\n" % (len(body) + off), body)


# What the server does, and the failure that must come of it: "" where each call gets the answer to its own question.
KINDS: dict[str, tuple[Callable[[Seen], Reaction], str]] = {
    "second with the first": (lambda seen: own(seen).but(tail=[(0, second(seen))]), SENT_TOO_MUCH),
    "three at once": (lambda seen: own(seen).but(tail=[(0, second(seen) * 3)]), SENT_TOO_MUCH),
    "half of a second with the first": (lambda seen: own(seen).but(tail=[(0, second(seen)[:40])]), SENT_TOO_MUCH),
    "second with the first, then closed": (
        lambda seen: own(seen).but(tail=[(0, second(seen))], close=True), SENT_TOO_MUCH,
    ),
    "one byte with the first": (lambda seen: own(seen).but(tail=[(0, b"\0")]), SENT_TOO_MUCH),
    "an empty line with the first": (lambda seen: own(seen).but(tail=[(0, b"\r\n")]), SENT_TOO_MUCH),
    "second a moment later": (lambda seen: own(seen).but(tail=[(0.002, second(seen))]), ""),
    "second late": (lambda seen: own(seen).but(tail=[(0.02, second(seen))]), ""),
    "second in halves": (lambda seen: own(seen).but(tail=halves(second(seen), 0.002)), ""),
    "stream of answers": (lambda seen: own(seen).but(tail=[(0.001, second(seen))] * 20), ""),
    "garbage later": (lambda seen: own(seen).but(tail=[(0.002, b"\x00\xff" * 100)]), ""),
    "an interim response later": (lambda seen: own(seen).but(tail=[(0.002, b"HTTP/1.1 100 Continue\r\n\r\n")]), ""),
    "a time-out later": (
        lambda seen: own(seen).but(tail=[(0.002, b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n")]), "",
    ),
    "length too small": (lambda seen: stated(seen, -10), SENT_TOO_MUCH),
    "length too small by one": (lambda seen: stated(seen, -1), SENT_TOO_MUCH),
    "length of nothing": (
        lambda seen: framed(seen, b"content-length: 0\r\n", own(seen).body), SENT_TOO_MUCH,
    ),
    "length too large": (lambda seen: stated(seen, 10), "rules of HTTP"),
    "two lengths": (
        lambda seen: framed(seen, b"content-length: 3\r\ncontent-length: 900\r\n", own(seen).body), "rules of HTTP",
    ),
    "negative length": (lambda seen: framed(seen, b"content-length: -5\r\n", own(seen).body), "rules of HTTP"),
    "chunks, then a second": (
        lambda seen: framed(seen, CHUNKED, chunk(own(seen).body), b"0\r\n\r\n", second(seen)), SENT_TOO_MUCH,
    ),
    "chunks, then chunks": (
        lambda seen: framed(seen, CHUNKED, chunk(own(seen).body), b"0\r\n\r\n", chunk(b"{}")), SENT_TOO_MUCH,
    ),
    "chunks with a trailer that is a response": (
        lambda seen: framed(seen, CHUNKED, chunk(own(seen).body), b"0\r\n", second(seen)), "rules of HTTP",
    ),
    "a body that ends with the connection, and a second": (
        lambda seen: framed(seen, b"connection: close\r\n", own(seen).body, second(seen)), "not JSON",
    ),
    "two JSON values in one body": (
        lambda seen: own(seen).but(body=own(seen).body + answer(seen, ranking(OTHER)).body), "not JSON",
    ),
    "interim responses first": (
        lambda seen: Reaction(
            raw=b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n" * 3 + framed(seen, b"", own(seen).body).raw  # type: ignore[operator]
        ), "",
    ),
    "a switch of protocols": (
        lambda seen: Reaction(raw=b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n" + second(seen)),
        "rules of HTTP",
    ),
}  # fmt: skip


# Connections are the same whatever is spoken over them: each kind has one protocol, and each protocol some kinds.
@pytest.mark.parametrize(("kind", "protocol"), list(zip(KINDS, cycle(PROTOCOLS), strict=False)))
def test_every_answer_is_that_of_its_question(kind: str, protocol: str) -> None:
    react, failure = KINDS[kind]
    with Loopback(react) as server:
        router = open_model(protocol, server.url, FakeTime(), concurrency=2)
        numbers = range(6)
        replies = asyncio.run(ask_all(router, [request(f"p{number}") for number in numbers]))
        assert server.connections == len(server.seen)
    for number, reply in zip(numbers, replies, strict=True):
        assert OTHER not in reply.text
        if failure:
            assert reply.status == "provider_error"
            assert failure in reply.error
        else:
            assert (reply.status, reply.text) == ("finished", ranking(f"p{number}"))


@pytest.mark.slow
def test_a_sweep_over_a_server_that_answers_twice_now_and_then() -> None:
    """Of 200 calls, each second response comes at another time; none shifts the answers that follow."""

    def react(seen: Seen) -> Reaction:
        pauses = (None, 0.0, 0.0005, 0.002, 0.01)
        pause = pauses[seen.number % len(pauses)]
        return own(seen) if pause is None else own(seen).but(tail=[(pause, second(seen))])

    with Loopback(react) as server:
        router = open_model("openai", server.url, FakeTime(), concurrency=3)
        replies = asyncio.run(ask_all(router, [request(f"p{number}") for number in range(200)]))
    done = [(reply.text, ranking(f"p{number}")) for number, reply in enumerate(replies) if reply.status == "finished"]
    assert [text for text, _ in done] == [expected for _, expected in done]
    assert len(done) >= 150


def test_an_answer_before_the_question_is_refused() -> None:
    async def go() -> Fetched | Failure:
        async def eager(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
            await reader.read(1)
            writer.close()

        async with await asyncio.start_server(eager, "127.0.0.1", 0) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            connected = asyncio.open_connection

            async def slowly(*args: object, **named: object) -> object:
                both = await connected(*args, **named)  # type: ignore[arg-type]
                await asyncio.sleep(0.05)
                return both

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(asyncio, "open_connection", slowly)
                return await fetch(ConnectionPerCall(url), httpx.Request("POST", url), Endpoint(url))

    found = asyncio.run(go())
    assert isinstance(found, Failure)
    assert "an answer before the question" in found.message


# --- Any bytes at all ---

OWN = b'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{"n": %d}'
PIECES = st.one_of(
    st.just("own"),
    st.sampled_from([
        b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.0 500 No\r\n\r\n", b"content-length: 5\r\n",
        b"transfer-encoding: chunked\r\n", b"\r\n", b"\r\n\r\n", b"0\r\n\r\n", b"5\r\nhello\r\n", b"{}", b"\n", b" ",
    ]),
    st.binary(max_size=20),
)  # fmt: skip
SCRIPTS = st.lists(st.tuples(PIECES, st.booleans()), max_size=6)


async def _play(scripts: Sequence[Sequence[tuple[str | bytes, bool]]]) -> list[Fetched | Failure]:
    """Ask once for each script, two at a time, of a server that plays it; a flag asks for a pause after a piece."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            number = int(head.split(b" ")[1].removeprefix(b"/"))
            for piece, pauses in scripts[number]:
                writer.write(OWN % (100 + number) if isinstance(piece, str) else piece)
                await writer.drain()
                if pauses:
                    await asyncio.sleep(0.001)
            await asyncio.sleep(0.001)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        transport, turns = ConnectionPerCall(url), asyncio.Semaphore(2)

        async def one(number: int) -> Fetched | Failure:
            async with turns:
                return await fetch(transport, httpx.Request("POST", f"{url}/{number}"), Endpoint(url, timeout=60))

        found = await asyncio.gather(*(one(number) for number in range(len(scripts))))
        await asyncio.sleep(0.002)
        return found


@given(st.lists(SCRIPTS, min_size=1, max_size=6))
def test_no_bytes_of_a_server_become_the_answer_to_another_question(
    scripts: list[list[tuple[str | bytes, bool]]],
) -> None:
    found = asyncio.run(_play(scripts))
    for number, (script, one) in enumerate(zip(scripts, found, strict=True)):
        others = [b'{"n": %d}' % (100 + other) for other in range(len(scripts)) if other != number]
        if isinstance(one, Fetched):
            assert not any(other in one.body for other in others)
        else:
            assert one.kind in ("retry", "costly", "fatal")
        if [piece for piece, _ in script] == ["own"]:
            assert isinstance(one, Fetched)
            assert one.body == b'{"n": %d}' % (100 + number)
