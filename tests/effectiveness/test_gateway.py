"""Calls that go through a gateway, over real sockets: what reaches the server, what comes back, what is measured."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import stat
from collections.abc import Callable, Coroutine
from functools import wraps
from pathlib import Path
from typing import Any

import httpx
import pytest
from gateway_servers import (
    DOLLARS,
    KEY,
    KEY_HEADER,
    PATH,
    PROTOCOLS,
    STAND_IN,
    STREAM_PATH,
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

from skill_health.bench.http.messages import Usage


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """The test as a function that runs it in a loop of its own."""
    return wraps(test)(lambda *args, **given: asyncio.run(test(*args, **given)))


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_loop
async def test_a_call_passes_and_is_measured(protocol: str, stream: bool) -> None:
    async with Server(works) as server, opened(server, protocol) as gateway:
        answer = await ask(gateway, protocol, stream)
    name, form = KEY_HEADER[protocol]
    (got,) = server.got
    assert answer.status_code == 200
    assert got.headers[name] == form.format(KEY)
    assert STAND_IN not in str(got)
    assert got.path == (STREAM_PATH if stream else PATH)[protocol]
    assert got.headers["accept-encoding"] == "identity"
    assert KEY not in str(answer.headers) + answer.text
    if not stream:
        assert answer.json() == answered(protocol)
    elif protocol == "openai":
        # The usage was asked for by us: the agent sees its own answer and no more.
        assert got.json == {**asking(protocol, stream=True), "stream_options": {"include_usage": True}}
        assert answer.content == b"".join(b"\n" if b"usage" in event else event for event in streamed(protocol))
    else:
        assert got.json == asking(protocol, stream=stream)
        assert answer.content == b"".join(streamed(protocol))
    seen = gateway.seen
    assert (seen.requests, seen.answered, seen.unmetered, seen.refused, seen.errors) == (1, 1, 0, 0, 0)
    assert (seen.usage, seen.models, seen.failure) == (USAGE, ("resolved",), "")
    assert seen.cost_usd == pytest.approx(DOLLARS)
    assert json.loads(seen.first_request) == asking(protocol, stream=stream)


@in_loop
async def test_a_stream_is_not_held_back() -> None:
    read = asyncio.Event()

    async def react(got: Got, reply: Reply) -> None:
        first, *rest = streamed("anthropic")
        await reply.events([first], end=False)
        await read.wait()
        await reply.events(rest, begin=False)

    async with Server(react) as server, opened(server, "anthropic") as gateway, agent(gateway) as client:
        async with client.stream("POST", "/v1/messages", json=asking("anthropic", stream=True)) as answer:
            pieces = answer.aiter_bytes()
            assert await anext(pieces) == streamed("anthropic")[0]
            read.set()
            assert b"".join([piece async for piece in pieces]) == b"".join(streamed("anthropic")[1:])
        assert gateway.seen.usage == USAGE


@in_loop
async def test_the_sum_of_several_calls_at_once() -> None:
    async with Server(works) as server, opened(server, "openai-responses") as gateway:
        calls = (ask(gateway, "openai-responses", stream=number % 2 > 0) for number in range(8))
        answers = await asyncio.gather(*calls)
    assert {answer.status_code for answer in answers} == {200}
    assert gateway.seen.usage == Usage(960, 240, 800, None, 80)
    assert gateway.seen.cost_usd == pytest.approx(8 * DOLLARS)


@pytest.mark.parametrize(
    "options", [{"include_usage": True}, None, {}, {"include_usage": False}, {"include_usage": 1, "other": True}, "no"]
)
@in_loop
async def test_an_agent_sees_its_usage_only_where_it_asks_for_it_and_is_measured(options: Any) -> None:
    body = asking("openai", stream=True) | {"stream_options": options}
    async with Server(works) as server, opened(server, "openai", max_usd=1.0) as gateway:
        answer = await ask(gateway, "openai", True, body)
    more = {key: value for key, value in options.items() if key == "other"} if isinstance(options, dict) else {}
    assert server.got[0].json == {**body, "stream_options": {**more, "include_usage": True}}
    asked = options == {"include_usage": True}
    assert answer.content == b"".join(streamed("openai")) if asked else b"usage" not in answer.content
    assert (gateway.seen.usage, gateway.seen.unmetered) == (USAGE, 0)


@in_loop
async def test_a_server_that_does_not_know_the_option_is_asked_without_it() -> None:
    async def react(got: Got, reply: Reply) -> None:
        if "stream_options" in got.json:
            await reply.send(422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"]}]})
        else:
            await reply.events([event for event in streamed("openai") if b"usage" not in event])

    async with Server(react) as server, opened(server, "openai") as gateway:
        for _ in range(2):
            answer = await ask(gateway, "openai", True)
            assert answer.status_code == 200
            assert b"usage" not in answer.content
    assert [("stream_options" in got.json) for got in server.got] == [True, False, False]
    seen = gateway.seen
    assert (seen.requests, seen.answered, seen.unmetered, seen.errors, seen.cost_usd) == (2, 2, 2, 0, None)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_loop
async def test_without_the_stand_in_key_nothing_passes(protocol: str) -> None:
    async with Server(works) as server, opened(server, protocol) as gateway:
        for key in ("", "wrong", STAND_IN + "x", KEY):
            async with agent(gateway, key, protocol) as client:
                answer = await client.post(PATH[protocol], json=asking(protocol))
                listing = await client.get("/v1/models")
            assert (answer.status_code, listing.status_code) == (401, 401)
            assert "message" in answer.json()["error"]
    assert server.got == []
    assert (gateway.seen.requests, gateway.seen.refused, gateway.seen.offered) == (0, 8, None)


@pytest.mark.parametrize(
    ("protocol", "path", "headers"),
    [
        ("anthropic", "/v1/messages", {"authorization": f"Bearer {STAND_IN}"}),
        ("gemini", f"/v1beta/models/some-model:generateContent?key={STAND_IN}", {}),
    ],
)
@in_loop
async def test_other_places_of_the_key(protocol: str, path: str, headers: dict[str, str]) -> None:
    async with Server(works) as server, opened(server, protocol) as gateway, agent(gateway, "") as client:
        answer = await client.post(path, json=asking(protocol), headers=headers)
    assert answer.status_code == 200
    assert STAND_IN not in str(server.got)
    assert server.got[0].headers[KEY_HEADER[protocol][0]] == KEY


@in_loop
async def test_only_some_headers_go_either_way() -> None:
    async def react(got: Got, reply: Reply) -> None:
        more = {"request-id": "r-1", "anthropic-ratelimit-requests-remaining": "9", "set-cookie": "a=b", "server": "x"}
        await reply.send(200, answered("anthropic"), more)

    sent = {
        "anthropic-beta": "one,two", "cookie": "c=d", "x-forwarded-for": "10.0.0.1", "x-http-method-override": "GET",
    }  # fmt: skip
    async with Server(react) as server, opened(server, "anthropic") as gateway, agent(gateway) as client:
        answer = await client.post("/v1/messages", json=asking("anthropic"), headers=sent)
    passed = {"accept", "anthropic-beta", "content-type", "user-agent", "x-api-key"}
    assert set(server.got[0].headers) == passed | {"host", "connection", "content-length", "accept-encoding"}
    assert set(answer.headers) == {
        "content-type", "request-id", "anthropic-ratelimit-requests-remaining", "transfer-encoding",
    }  # fmt: skip


async def echoing(got: Got, reply: Reply) -> None:
    """A server that repeats the key wherever it can, in pieces of one byte."""
    words = json.dumps({"model": f"m-{KEY}", "text": f"{KEY} and {KEY}", "usage": {"input_tokens": 1, KEY: KEY}})
    if got.json.get("stream"):
        await reply.events([bytes((byte,)) for byte in f"data: {words}\n\ndata: {KEY}".encode()])
    elif "fail" in got.body.decode():
        await reply.send(418, {"error": {"message": f"wrong key {KEY}"}}, {"x-request-id": f"id-{KEY}"})
    else:
        headers = {"content-type": f"application/json; k={KEY}", "x-request-id": f"id-{KEY}"}
        await reply.send(200, words.encode(), headers)


@pytest.mark.parametrize("protocol", PROTOCOLS[:3])
@in_loop
async def test_a_server_that_repeats_the_key(protocol: str) -> None:
    async with Server(echoing) as server, opened(server, protocol) as gateway:
        bodies = [asking(protocol), asking(protocol, stream=True), asking(protocol, "fail")]
        answers = [await ask(gateway, protocol, body=body) for body in bodies]
    assert [answer.status_code for answer in answers] == [200, 200, 418]
    for answer in answers:
        assert "SECRET" not in str(answer.headers) + answer.text
        assert "***" in answer.text
    assert gateway.seen.models == ("m-***",)
    assert "wrong key ***" in gateway.seen.trouble


@pytest.mark.parametrize("packed", [True, False], ids=["gzip", "plain"])
@in_loop
async def test_a_request_passes_as_it_was_before_it_was_packed(packed: bool) -> None:
    plain = json.dumps(asking("anthropic", "Compress me. " * 100) | {"tools": [{"name": "a"}]}).encode()
    sent = gzip.compress(plain) if packed else plain
    headers = {"content-encoding": "gzip"} if packed else {}

    async with Server(works) as server, opened(server, "anthropic") as gateway, agent(gateway) as client:
        answer = await client.post("/v1/messages", content=sent, headers=headers)
    # Two who unpack need not read the same: nobody unpacks but us.
    assert (server.got[0].body, "content-encoding" in server.got[0].headers) == (plain, False)
    assert answer.status_code == 200
    assert gateway.seen.first_request == plain


@in_loop
async def test_a_compressed_request_to_which_something_is_added() -> None:
    sent = gzip.compress(json.dumps(asking("openai", stream=True)).encode())
    async with (
        Server(works) as server,
        opened(server, "openai") as gateway,
        agent(gateway, protocol="openai") as client,
    ):
        answer = await client.post(PATH["openai"], content=sent, headers={"content-encoding": "gzip"})
    assert answer.status_code == 200
    assert "content-encoding" not in server.got[0].headers
    assert server.got[0].json == {**asking("openai", stream=True), "stream_options": {"include_usage": True}}
    assert gateway.seen.usage == USAGE


@in_loop
async def test_a_key_that_an_agent_got_hold_of_is_not_kept() -> None:
    async with Server(works) as server, opened(server, "anthropic") as gateway:
        await ask(gateway, "anthropic", body=asking("anthropic", f"I found {KEY}."))
    assert b"I found ***." in gateway.seen.first_request


@pytest.mark.parametrize(("encoding", "status"), [("gzip", 200), ("br", 502)])
@in_loop
async def test_a_compressed_answer_is_unpacked(encoding: str, status: int) -> None:
    async def react(got: Got, reply: Reply) -> None:
        raw = gzip.compress(json.dumps(answered("openai")).encode())
        await reply.send(200, raw, {"content-encoding": encoding})

    async with Server(react) as server, opened(server, "openai") as gateway:
        answer = await ask(gateway, "openai")
    assert answer.status_code == status
    assert gateway.seen.usage == (USAGE if status == 200 else Usage())
    assert ("encoding 'br'" in gateway.seen.trouble) == (status == 502)


@in_loop
async def test_lists_of_models_and_counts_of_tokens_pass_and_count_for_nothing() -> None:
    async def react(got: Got, reply: Reply) -> None:
        await reply.send(200 if got.method == "POST" else 403, {"input_tokens": 7} if got.method == "POST" else b"")

    terms = {"max_requests": 0}
    async with Server(react) as server, opened(server, "anthropic", **terms) as gateway, agent(gateway) as client:
        count = await client.post("/v1/messages/count_tokens", json=asking("anthropic"))
        models = await client.get("/v1/models?limit=1000")
        head = await client.head("/v1/models")
    assert (count.json(), count.status_code) == ({"input_tokens": 7}, 200)
    assert (models.status_code, head.status_code) == (403, 403)
    assert [got.path for got in server.got] == ["/v1/messages/count_tokens", "/v1/models?limit=1000", "/v1/models"]
    seen = gateway.seen
    assert (seen.requests, seen.answered, seen.failure, seen.cost_usd, seen.offered) == (0, 0, "", 0.0, None)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_loop
async def test_closed_means_that_no_server_is_asked(protocol: str) -> None:
    tools: dict[str, Any] = {"tools": [{"name": "skill", "description": "tidy: Tidies tables."}]}
    watch = {"tidy": "Tidies tables.", "other": "Is another."}
    async with Server(works) as server, opened(server, protocol, closed=True, watch=watch) as gateway:
        first = await ask(gateway, protocol)
        answer = await ask(gateway, protocol, body=asking(protocol) | tools)
        async with agent(gateway, protocol=protocol) as client:
            models = await client.get("/v1/models")
            one = await client.get("/v1/models/some-model")
            count = "/v1/models/some-model:countTokens" if protocol == "gemini" else "/v1/messages/count_tokens"
            tokens = await client.post(count, json=asking(protocol))
    assert server.got == []
    assert (first.status_code, answer.status_code) == (400, 400)
    assert answer.headers["x-should-retry"] == "false"
    assert "probe" in answer.json()["error"]["message"]
    assert (models.status_code, one.status_code) == (200, 200)
    assert "some-model" in one.text
    assert tokens.status_code == (404 if protocol.startswith("openai") else 200)
    seen = gateway.seen
    assert (seen.requests, seen.answered, seen.offered, seen.failure, seen.cost_usd) == (2, 0, ("tidy",), "", 0.0)
    assert json.loads(seen.first_request) == asking(protocol) | tools


@in_loop
async def test_a_unix_socket(tmp_path: Path) -> None:
    path = str(tmp_path / "gateway.sock")
    async with Server(works) as server, opened(server, "anthropic", path) as gateway:
        assert gateway.port == 0
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        async with agent(path) as client:
            answers = [await client.post("/v1/messages", json=asking("anthropic")) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert gateway.seen.usage == Usage(240, 60, 200, None, 20)
    assert not os.path.exists(path)


@in_loop
async def test_whoever_only_looks_is_answered() -> None:
    async with Server(works) as server, opened(server, "anthropic") as gateway, agent(gateway, "") as client:
        answers = [
            await client.head("/"), await client.get("/"), await client.get("/v1/files"), await client.post("/v1/x"),
        ]  # fmt: skip
        last: httpx.Response = answers[-1]
        assert [answer.status_code for answer in answers] == [200, 200, 404, 404]
        assert last.json()["error"]["type"] == "not_found_error"
        assert b" 400 " in await rawly(gateway, b"GET http://other.example/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"}}")
    assert server.got == []
    assert gateway.seen.refused == 3
    assert "other.example" not in gateway.seen.trouble
