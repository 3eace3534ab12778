"""A server that does everything wrong, over real sockets, in all four protocols.

Every call ends with the right status, nothing raises, nothing takes forever, and the key is in nothing that is kept.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import Callable
from dataclasses import asdict
from email.utils import formatdate
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from callers import KEY, MODEL, FakeTime, _key, ask, ask_all, open_model, request  # noqa: F401
from loopback import PROTOCOLS, Loopback, Reaction, Seen, answer, failure, ranking
from thinned import thinned

from skill_health.router.records import Reply, Status

React = Callable[[Seen], Reaction]
SECRET = KEY.partition("SECRET")[2]
TEXT = ranking("tidy")


class Case(NamedTuple):
    """What the server does, and what must come of it. `requests` None: as many as it takes."""

    react: React
    status: Status = "provider_error"
    stop: str = ""
    requests: int | None = 1
    error: str = ""
    text: str = ""
    limits: dict[str, Any] = {}  # noqa: RUF012


def bent(change: Callable[[Seen, Reaction], Reaction]) -> React:
    """A good answer, then changed."""
    return lambda seen: change(seen, answer(seen, TEXT))


def deep(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


@cache
def bomb(packed: Callable[[bytes], bytes]) -> bytes:
    return packed(b" " * (16 << 20) + b"{}")


def stream(*chunks: bytes, head: bytes = b"transfer-encoding: chunked\r\n") -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n" + head + b"\r\n" + b"".join(chunks)


def echo(seen: Seen) -> Reaction:
    """A server that repeats the key in every field that it has."""
    good = answer(seen, f"{TEXT} {KEY}", model=f"m-{KEY}", request_id=f"id-{KEY}")
    data = json.loads(good.body)
    usage = next((name for name in ("usage", "usageMetadata") if name in data), "usage")
    data[usage] |= {f"k {KEY}": [KEY, {"deep": f"x{KEY}x"}], "token": KEY}
    data["system_fingerprint"] = KEY
    body = json.dumps(data).replace("SECRET", "\\u0053ECRET")
    return good.but(body=body.encode(), headers=(*good.headers, ("x-key", KEY), ("set-cookie", f"k={KEY}")))


def escaped_error(seen: Seen) -> Reaction:
    words = f"\\u001b[2Jno\\u202e \\ud800 key {KEY}\\nsecond line " + "x" * 100_000
    return Reaction(status=400, body=f'{{"error": {{"message": "{words}"}}}}'.encode())


DEAR = ("hang", "slow drip", "pause in mid-body", "gzip bomb", "deflate bomb")
CASES: dict[str, Case] = {
    "server error": Case(lambda seen: failure(seen, "server_error"), requests=6, error="500 Internal Server Error"),
    "overloaded": Case(lambda seen: failure(seen, "overloaded"), requests=6),
    "bad gateway in HTML": Case(
        lambda seen: Reaction(502, b"<html>", content_type="text/html"), requests=6, error="502 Bad Gateway"
    ),
    "status that nobody knows": Case(lambda seen: Reaction(599, b"?"), requests=6, error="answered 599 (after 6"),
    "hang": Case(
        lambda seen: Reaction(hang=True), requests=3, error="did not answer in full within 0.2 s",
        limits={"timeout": 0.2},
    ),
    "slow drip": Case(
        bent(lambda seen, good: good.but(drip=(1, 0.05))), requests=3, error="within 0.3 s",
        limits={"timeout": 0.3},
    ),
    "pause in mid-body": Case(
        bent(lambda seen, good: good.but(drip=(20, 5.0))), requests=3,
        error="sent nothing for 0.1 s in the middle of its answer", limits={"timeout": 5, "idle_timeout": 0.1},
    ),
    "drip of headers": Case(
        lambda seen: Reaction(raw=b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000), requests=6, error="rules of HTTP"
    ),
    "reset in mid-body": Case(
        bent(lambda seen, good: good.but(cut=20)), requests=3, error="broke the connection in the middle of its answer"
    ),
    "reset before the answer": Case(
        lambda seen: Reaction(raw=b"", cut=0), requests=6, error="before its answer"
    ),
    "closed before the answer": Case(
        lambda seen: Reaction(raw=b""), requests=6, error="disconnected without sending a response"
    ),
    "body shorter than it says": Case(
        lambda seen: Reaction(raw=stream(b'{"a": 1', head=b"content-length: 1000\r\n")), requests=3,
        error="rules of HTTP",
    ),
    "truncated JSON": Case(
        bent(lambda seen, good: good.but(body=good.body[:-9])), requests=3, error="not JSON"
    ),
    "empty body": Case(bent(lambda seen, good: good.but(body=b"")), requests=3, error="not JSON"),
    "oversized": Case(bent(lambda seen, good: good.but(body=b" " * (9 << 20))), error="more than 8,388,608 bytes"),
    "oversized error": Case(lambda seen: Reaction(400, b" " * (9 << 20)), error="400 Bad Request"),
    "oversized, no length": Case(
        lambda seen: Reaction(raw=stream(b" " * (9 << 20), head=b"")), error="more than 8,388,608 bytes"
    ),
    "gzip bomb": Case(
        bent(lambda seen, good: good.but(body=bomb(gzip.compress), headers=[("content-encoding", "gzip")])),
        error="more than 8,388,608 bytes",
    ),
    "deflate bomb": Case(
        bent(lambda seen, good: good.but(body=bomb(zlib.compress), headers=[("content-encoding", "deflate")])),
        error="more than 8,388,608 bytes",
    ),
    "gzip that is none": Case(
        bent(lambda seen, good: good.but(headers=[("content-encoding", "gzip")])), requests=3, error="damaged gzip"
    ),
    "gzip that was cut": Case(
        bent(lambda seen, good: good.but(body=gzip.compress(good.body)[:-12], headers=[("content-encoding", "gzip")])),
        requests=3, error="damaged gzip",
    ),
    "unknown encoding": Case(
        bent(lambda seen, good: good.but(headers=[("content-encoding", "br, gzip")])), error="encoding 'br, gzip'"
    ),
    "deep JSON": Case(bent(lambda seen, good: good.but(body=deep(100_000))), error="nested too deeply"),
    "deep JSON in an error": Case(lambda seen: Reaction(400, deep(100_000)), error="400 Bad Request"),
    "key of the answer twice": Case(
        bent(lambda seen, good: good.but(body=b'{"model": "x", ' + good.body[1:-1] + b', "model": "y"}')),
        error="a key stands twice",
    ),
    "key far inside twice": Case(
        bent(lambda seen, good: good.but(body=good.body[:-1] + b', "x": [{"a": 1, "a": 2}]}')), error="stands twice"
    ),
    "JSON list": Case(bent(lambda seen, good: good.but(body=b"[1]")), error="not an object"),
    "JSON of something else": Case(bent(lambda seen, good: good.but(body=b'{"hello": []}')), error="base-url"),
    "number of 5,000 digits": Case(
        bent(lambda seen, good: good.but(body=b'{"n": ' + b"9" * 5000 + b"}")), requests=3, error="too many digits"
    ),
    "invalid UTF-8": Case(
        bent(lambda seen, good: good.but(body=good.body.replace(b"ranking", b"r\xffnking"))), error="not UTF-8"
    ),
    "UTF-16": Case(bent(lambda seen, good: good.but(body=good.body.decode().encode("utf-16"))), error="not UTF-8"),
    "wrong content type": Case(
        bent(lambda seen, good: good.but(content_type="text/html; charset=utf-8")), error="sent text/html, not JSON"
    ),
    "event stream": Case(
        lambda seen: Reaction(body=b"data: {}\n\n", content_type="text/event-stream"), error="text/event-stream"
    ),
    "chunked garbage": Case(lambda seen: Reaction(raw=stream(b"zz\r\nhello\r\n")), requests=3, error="rules of HTTP"),
    "chunk without end": Case(lambda seen: Reaction(raw=stream(b"ffff\r\n{}")), requests=3, error="rules of HTTP"),
    "not HTTP": Case(lambda seen: Reaction(raw=b"SSH-2.0-OpenSSH_9.6\r\n"), requests=6, error="rules of HTTP"),
    "header injection": Case(
        lambda seen: Reaction(raw=stream(b"0\r\n\r\n", head=b"x-request-id: a\rb: c\r\ntransfer-encoding: chunked\r\n")),
        requests=6, error="rules of HTTP",
    ),
    "model gone": Case(lambda seen: failure(seen, "no_model"), "model_unavailable", error=f"{MODEL}"),
    "no such path": Case(lambda seen: Reaction(404, b"404 page not found", content_type="text/plain"), error="404 Not Found; base-url"),
    "bad request": Case(lambda seen: failure(seen, "bad_request"), error="400 Bad Request"),
    "wrong key": Case(lambda seen: failure(seen, "wrong_key"), stop="auth", error="***"),
    "forbidden": Case(lambda seen: Reaction(403, b"<html>no</html>", content_type="text/html"), stop="auth"),
    "exhausted credit": Case(lambda seen: failure(seen, "no_credit"), stop="quota"),
    "payment required": Case(lambda seen: Reaction(402, b"{}"), stop="quota", error="402 Payment Required"),
    "error inside a success": Case(
        lambda seen: Reaction(body=b'{"error": {"code": 402, "message": "Insufficient credits"}}'), stop="quota"
    ),
    "server error inside a success": Case(
        lambda seen: Reaction(body=b'{"error": {"code": 503, "message": "upstream"}}'), requests=6, error="503"
    ),
    "escapes in an error": Case(escaped_error, error="\\x1b[2Jno"),
    "refusal": Case(lambda seen: answer(seen, "No.", end="refusal"), "refusal", error="refused"),
    "truncated answer": Case(lambda seen: answer(seen, '{"rank', end="truncated"), "truncated", text='{"rank'),
    "unknown fields": Case(
        lambda seen: answer(seen, TEXT, extra={"new": {"a": [1]}, "service_tier": None}), "finished", text=TEXT
    ),
    "lone surrogate": Case(
        bent(lambda seen, good: good.but(body=good.body.replace(b"fits.", b"fits \\\\ud83d\\ud83d."))), "finished",
        text=TEXT.replace("fits.", "fits \\ud83d\ufffd."),
    ),
    "NaN": Case(
        lambda seen: answer(seen, TEXT, extra={"logprob": float("nan"), "huge": [float("inf")]}), "finished", text=TEXT
    ),
    "BOM, no content type": Case(
        bent(lambda seen, good: good.but(body=b"\xef\xbb\xbf" + good.body, content_type=None)), "finished", text=TEXT
    ),
    "gzip nobody asked for": Case(
        bent(lambda seen, good: good.but(body=gzip.compress(good.body), headers=[("content-encoding", "gzip")])),
        "finished", text=TEXT,
    ),
    "bare deflate": Case(
        bent(
            lambda seen, good: good.but(
                body=zlib.compress(good.body, wbits=-15), headers=[("content-encoding", "deflate")]
            )
        ), "finished", text=TEXT,
    ),
    "key echoed everywhere": Case(echo, "finished", text=f"{TEXT} ***"),
}  # fmt: skip


def assert_clean(reply: Reply) -> None:
    """No key, nothing that cannot be written, one bounded line where one is due."""
    whole = json.dumps(asdict(reply), ensure_ascii=False, allow_nan=False)
    whole.encode()
    assert KEY not in whole
    assert SECRET not in whole
    assert SECRET not in repr(reply)
    for line in (reply.error, reply.model or "", reply.request_id or "", reply.stop_reason or ""):
        assert line.isprintable()
        assert len(line) < 500


@pytest.mark.parametrize(
    ("name", "protocol"),
    thinned(
        (
            pytest.param(name, protocol, marks=pytest.mark.slow if name in DEAR and protocol != PROTOCOLS[0] else [])
            for at, name in enumerate(CASES)
            # Each begins with another one, which is the one that is fast, or all of them would be of one protocol.
            for protocol in (PROTOCOLS if name in DEAR else PROTOCOLS[at % 4 :] + PROTOCOLS[: at % 4])
        ),
        2,
    ),
)
def test_a_call_ends_as_it_should(name: str, protocol: str) -> None:
    case = CASES[name]
    with Loopback(case.react) as server:
        reply = ask(protocol, server.url, **case.limits)
        assert (reply.status, reply.stop, reply.requests) == (case.status, case.stop, case.requests), reply
        assert len(server.seen) == case.requests
        assert case.error in reply.error
        assert reply.text == case.text or case.status == "refusal"
        assert bool(reply.error) == (case.status not in ("finished", "truncated"))
        assert_clean(reply)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("form", ["retry-after-ms", "retry-after", "date", "body", "none"])
def test_a_storm_of_429_is_waited_out(form: str, protocol: str) -> None:
    time = FakeTime()
    date = formatdate(time.start, usegmt=True)
    headers = {
        "retry-after-ms": [("retry-after-ms", "2500"), ("retry-after", "90")],
        "retry-after": [("retry-after", "2.5")],
        "date": [("date", date), ("retry-after", formatdate(time.start + 3, usegmt=True))],
    }.get(form, [])
    delay = "2.5s" if form == "body" else ""

    def react(seen: Seen) -> Reaction:
        limited = seen.number <= 4
        return failure(seen, "rate_limit", headers=headers, retry_delay=delay) if limited else answer(seen, TEXT)

    with Loopback(react) as server:
        reply = ask(protocol, server.url, time)
    assert (reply.status, reply.requests, reply.text) == ("finished", 5, TEXT)
    if form == "none":
        steps = (1, 2, 4, 8)
        assert all(0.75 * step <= wait <= 1.25 * step for step, wait in zip(steps, time.slept, strict=True))
    else:
        asked = 3.0 if form == "date" else 2.5
        assert all(asked <= wait <= 1.1 * asked + 1e-9 for wait in time.slept)
        assert len(time.slept) == 4


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_endless_storm_ends(protocol: str) -> None:
    time = FakeTime()
    with Loopback(lambda seen: failure(seen, "rate_limit", headers=[("retry-after", "30")])) as server:
        reply = ask(protocol, server.url, time)
    assert (reply.status, reply.stop, reply.requests) == ("provider_error", "", 6)
    assert "429 Too Many Requests" in reply.error
    assert "(after 6 requests)" in reply.error
    assert time.passed < 6 * 34


@pytest.mark.parametrize("wait", ["3600", "999999999999", "121"])
def test_a_wait_without_reason_is_not_waited_for(wait: str) -> None:
    time = FakeTime()
    with Loopback(lambda seen: failure(seen, "rate_limit", headers=[("retry-after", wait)])) as server:
        reply = ask("openai", server.url, time)
    assert (reply.status, reply.requests, time.slept) == ("provider_error", 1, [])
    assert f"it asks to wait {int(wait):,} s, which is too long" in reply.error


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(protocol: str, status: int) -> None:
    with Loopback() as other:
        target = f"http://user:pass@127.0.0.1:{other.port}/v1/elsewhere?k=1"
        with Loopback(lambda seen: Reaction(status, b"", headers=[("location", target)])) as server:
            reply = ask(protocol, server.url)
            assert len(server.seen) == 1
        assert other.connections == 0
    assert (reply.status, reply.stop, reply.requests) == ("provider_error", "", 1)
    assert f"a redirect to 127.0.0.1:{other.port}; redirects are not followed" in reply.error
    assert_clean(reply)


def test_the_environment_cannot_divert_the_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("default login someone password else\n", encoding="utf-8")
    with Loopback() as proxy, Loopback() as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        monkeypatch.setenv("NETRC", str(netrc))
        assert ask("openai", server.url).status == "finished"
        assert (proxy.connections, server.seen[0].headers["authorization"]) == (0, f"Bearer {KEY}")


@pytest.mark.parametrize("kind", ["wrong_key", "no_credit"])
def test_after_the_end_nothing_more_is_sent(kind: str) -> None:
    with Loopback(lambda seen: failure(seen, kind)) as server:
        router = open_model("openai", server.url, concurrency=1)
        replies = asyncio.run(ask_all(router, [request(f"p{i}") for i in range(20)]))
        assert len(server.seen) == 1
    assert {reply.stop for reply in replies} == {"auth" if kind == "wrong_key" else "quota"}
    assert [reply.requests for reply in replies] == [1] + [0] * 19
    assert len({reply.error for reply in replies}) == 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_missing_usage_is_missing(protocol: str) -> None:
    with Loopback(lambda seen: answer(seen, TEXT, usage=None)) as server:
        usage = ask(protocol, server.url).usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.raw) == (None, None, None, None)


def test_a_connection_that_is_refused() -> None:
    with Loopback() as server:
        gone = server.url
    reply = ask("openai", gone)
    assert (reply.status, reply.requests) == ("provider_error", 6)
    assert "cannot be reached" in reply.error


@pytest.mark.slow
def test_https_where_there_is_none() -> None:
    with Loopback() as server:
        reply = ask("openai", server.url.replace("http://", "https://"), timeout=0.2)
        assert server.seen == []
    assert (reply.status, reply.requests) == ("provider_error", 6)
    assert "(no connection in time)" in reply.error


def test_a_client_survives_what_it_cancelled() -> None:
    """Cancelled calls free their slots and leave no connection behind that a later call could trip over."""

    async def go(url: str) -> Reply:
        router = open_model("openai", url, concurrency=2)
        tasks = [asyncio.create_task(router.ask(request(f"hang{i}"))) for i in range(4)]
        while len(server.seen) < 2:
            await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(one, asyncio.CancelledError) for one in done)
        return (await ask_all(router, [request("after")]))[0]

    with Loopback(lambda seen: Reaction(hang=True) if "hang" in seen.text else answer(seen, TEXT)) as server:
        assert asyncio.run(go(server.url)).status == "finished"
