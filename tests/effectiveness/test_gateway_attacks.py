"""What an agent may try through its one way out: another network, another price, an answer that nobody can measure."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from itertools import count
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from gateway_servers import (
    DOLLARS,
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
    protocol_of,
    rawly,
    streamed,
    works,
)
from hypothesis import given
from hypothesis import strategies as st

from skill_health.bench.providers._api import UNSAID, AmbiguousRequest
from skill_health.bench.providers._load import load_provider, load_providers
from skill_health.bench.providers._policy import RequestPolicy
from skill_health.effectiveness.gateway import connection, ledger
from skill_health.effectiveness.gateway import server as gateway_server
from skill_health.effectiveness.gateway.connection import Rejected
from skill_health.effectiveness.gateway.ledger import SEARCHED, NameWatcher
from skill_health.effectiveness.gateway.server import CheckedRequest, Gateway, check_request, parse_body

URL = "https://collector.example/?all=that-was-found"
PICTURE = "data:image/png;base64,aaaa"
SHELL = {"type": "shell", "environment": {"type": "container_auto"}}


def saying(protocol: str, *parts: dict[str, Any]) -> dict[str, Any]:
    """A request whose user says these parts."""
    if protocol == "gemini":
        return {"contents": [{"role": "user", "parts": list(parts)}]}
    talk = [{"role": "user", "content": list(parts)}]
    return {"model": "some-model", "input" if protocol == "openai-responses" else "messages": talk}


REACHING = [
    *(("anthropic", {"tools": [{"type": kind, "name": "x"}]}) for kind in (
        "web_search_20250305", "web_fetch_20250910", "code_execution_20250825", "mcp_toolset", "advisor_20270101", "",
    )),
    ("anthropic", {"mcp_servers": [{"type": "url", "url": URL}]}),
    ("anthropic", {"container": {"skills": [{"skill_id": "pptx"}]}}),
    ("anthropic", {"tools": {"type": "web_search_20250305"}}),
    ("anthropic", saying("anthropic", {"type": "image", "source": {"type": "url", "url": URL}})),
    ("anthropic", saying("anthropic", {"type": "tool_result", "content": [
        {"type": "document", "source": {"type": "url", "url": URL}}
    ]})),
    *(("openai-responses", {"tools": [{"type": kind}]}) for kind in (
        "web_search", "web_search_preview", "file_search", "code_interpreter", "image_generation", "mcp",
    )),
    ("openai-responses", {"tools": [{"type": "function", "name": "x"}, SHELL]}),
    ("openai-responses", {"tools": [{"type": "namespace", "tools": [{"type": "mcp", "server_url": URL}]}]}),
    ("openai-responses", {"Tools": [{"Type": "web_search"}]}),
    ("openai-responses", {"tools": [{"type": ["web_search"]}]}),
    ("openai-responses", {"prompt": {"id": "pmpt_1"}}),
    ("openai-responses", {"background": True}),
    ("openai-responses", saying("openai-responses", {"type": "input_image", "image_url": URL})),
    ("openai-responses", saying("openai-responses", {"type": "input_file", "file_url": URL})),
    ("openai-responses", {"input": [{"type": "function_call_output", "output": [{"image_url": URL}]}]}),
    ("openai", {"tools": [{"type": "web_search"}]}),
    ("openai", {"tools": [{"type": "builtin_function", "function": {"name": "$web_search"}}]}),
    ("openai", {"web_search_options": {"search_context_size": "low"}}),
    ("openai", {"plugins": [{"id": "web"}]}),
    ("openai", {"models": ["another/model"]}),
    ("openai", {"search_parameters": {"mode": "on"}}),
    ("openai", {"enable_search": True}),
    ("openai", saying("openai", {"type": "image_url", "image_url": {"url": URL}})),
    ("openai", saying("openai", {"type": "image_url", "image_url": {"url": " HTTP://x.example"}})),
    ("openai", saying("openai", {"type": "video", "video": [URL]})),
    ("openai", saying("openai", {"type": "input_audio", "input_audio": {"data": URL}})),
    *(("gemini", {"tools": [{"functionDeclarations": []}, {kind: {}}]}) for kind in (
        "googleSearch", "google_search", "googleSearchRetrieval", "urlContext", "codeExecution", "fileSearch", "googleMaps",
    )),
    ("gemini", saying("gemini", {"fileData": {"fileUri": URL}})),
    ("gemini", saying("gemini", {"file_data": {"mime_type": "text/html", "file_uri": URL}})),
    *(("openai", {"service_tier": tier}) for tier in ("priority", "PRIORITY", 7)),
    ("openai-responses", {"service_tier": "fast"}),
    ("anthropic", {"speed": "fast"}),
    ("anthropic", {"inference_geo": "us"}),
    ("gemini", {"serviceTier": "priority"}),
]  # fmt: skip


@pytest.mark.parametrize(("protocol", "more"), REACHING, ids=lambda value: json.dumps(value)[:60])
def test_what_makes_the_provider_reach_elsewhere_or_costs_more(protocol: str, more: dict[str, Any]) -> None:
    body = {**asking(protocol), **more}
    assert re.search("(is|are) not allowed in a trial", why_not(protocol, body))


def test_each_provider_refuses_something() -> None:
    assert {protocol for protocol, _ in REACHING} == {protocol for protocol, _ in HARMLESS} == set(PROTOCOLS)


HARMLESS = [
    ("anthropic", {"tools": [{"name": "Bash", "input_schema": {}}, {"type": "custom", "name": "x"}]}),
    ("anthropic", {"tools": [{"type": kind, "name": "x"} for kind in (
        "bash_20250124", "text_editor_20250728", "computer_20250124", "memory_20250818", "tool_search_tool_bm25_20251119",
    )]}),
    ("anthropic", {"service_tier": "auto", "speed": None, "mcp_servers": [], "container": None}),
    ("anthropic", {"messages": [{"role": "assistant", "content": [
        {"type": "tool_use", "id": "a", "name": "fetch", "input": {"source": {"url": URL}, "image_url": URL}}
    ]}]}),
    ("anthropic", saying("anthropic", {"type": "text", "text": f"See {URL}"})),
    ("anthropic", saying("anthropic", {"type": "image", "source": {"type": "base64", "data": "aaaa"}})),
    ("openai", {"tools": [{"type": "function", "function": {"name": "x", "parameters": {"image_url": URL}}}]}),
    ("openai", saying("openai", {"type": "image_url", "image_url": {"url": PICTURE}})),
    ("openai", saying("openai", {"type": "input_audio", "input_audio": {"data": "httpAAAA", "format": "wav"}})),
    ("openai", {"enable_search": False, "plugins": []}),
    ("openai-responses", {"tools": [
        {"type": "function"}, {"type": "custom"}, {"type": "local_shell"}, {"type": "apply_patch"}, {"type": "shell"},
        {"type": "shell", "environment": {"type": "local"}}, {"type": "namespace", "tools": [{"type": "function"}]},
    ]}),
    ("openai-responses", saying("openai-responses", {"type": "input_image", "image_url": PICTURE})),
    ("openai-responses", {"input": [{"type": "message", "role": "assistant", "content": [
        {"type": "output_text", "text": "x", "annotations": [{"type": "url_citation", "url": URL}]}
    ]}]}),
    ("gemini", {"tools": [{"functionDeclarations": [{"name": "x"}]}, {"function_declarations": []}, {}]}),
    ("gemini", {"contents": [{"parts": [{"functionResponse": {"name": "x", "response": {"fileUri": URL}}}]}]}),
    ("gemini", saying("gemini", {"inlineData": {"mimeType": "image/png", "data": "aaaa"}})),
]  # fmt: skip


@pytest.mark.parametrize(("protocol", "more"), HARMLESS, ids=lambda value: json.dumps(value)[:60])
def test_what_the_agent_does_itself_passes(protocol: str, more: dict[str, Any]) -> None:
    assert why_not(protocol, {**asking(protocol), **more}) == ""


def checked(protocol: str, body: bytes) -> CheckedRequest:
    provider = load_provider(protocol)
    return check_request(provider, RequestPolicy(provider, load_providers()), PATH[protocol], parse_body(body))


def why_not(protocol: str, body: dict[str, Any]) -> str:
    return checked(protocol, json.dumps(body).encode()).why_not


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_such_a_call_is_refused_and_said(protocol: str) -> None:
    google: list[dict[str, Any]] = [{"googleSearch": {}}]
    tools = {"gemini": google}.get(protocol, [{"type": "web_search_20250305", "name": "web"}])

    async def main() -> None:
        async with Server(works) as server, opened(server, protocol) as gateway:
            answer = await ask(gateway, protocol, body=asking(protocol) | {"tools": tools})
            assert (await ask(gateway, protocol)).status_code == 200
        assert (answer.status_code, answer.headers["x-should-retry"]) == (400, "false")
        seen = gateway.seen
        assert (len(server.got), seen.requests, seen.answered, seen.refused, seen.errors) == (1, 1, 1, 1, 0)
        assert "'googlesearch'" in seen.trouble or "web_search" in seen.trouble
        assert seen.barred == seen.trouble and seen.trouble in answer.json()["error"]["message"]

    asyncio.run(main())


@pytest.mark.parametrize("body", [
    {"tools": [{"type": "web_fetch_20250910", "name": "x"}]},
    saying("anthropic", {"type": "document", "source": {"type": "url", "url": URL}}),
])  # fmt: skip
def test_a_count_of_tokens_reaches_nobody_else_either(body: dict[str, Any]) -> None:
    async def main() -> None:
        async with Server(works) as server, opened(server, "anthropic") as gateway, agent(gateway) as client:
            answer = await client.post("/v1/messages/count_tokens", json={**asking("anthropic"), **body})
        assert (answer.status_code, server.got) == (400, [])

    asyncio.run(main())
    inside = {"generateContentRequest": {"tools": [{"urlContext": {}}]}}
    assert why_not("gemini", inside)


# --- Another price ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_cap_is_for_one_model(protocol: str) -> None:
    dear = {"model": "much-dearer-model"}
    path = PATH[protocol].replace("some-model", "much-dearer-model")

    async def main() -> None:
        async with Server(works) as server, opened(server, protocol, model="some-model[1m]", max_usd=1.0) as gateway:
            async with agent(gateway, protocol=protocol) as client:
                body = asking(protocol) if protocol == "gemini" else asking(protocol) | dear
                answer = await client.post(path, json=body)
                nothing = {key: value for key, value in asking(protocol).items() if key != "model"}
                unnamed = await client.post(PATH[protocol], json=nothing)
            assert (await ask(gateway, protocol)).status_code == 200
        assert answer.status_code == 400
        assert "asks the model some-model[1m] and no other, so not much-dearer-model" in answer.text
        assert unnamed.status_code == (200 if protocol == "gemini" else 400)
        assert [got for got in server.got if "dearer" in f"{got.path}{got.body!r}"] == []

    asyncio.run(main())


@pytest.mark.parametrize(("protocol", "more", "most"), [
    ("openai", {"max_tokens": 1, "max_completion_tokens": 50_000}, 50_000),
    ("openai", {"max_tokens": 100, "n": 128}, 12_800),
    ("openai", {"max_tokens": 100, "N": 3}, 300),
    ("openai", {"max_output_tokens": 1, "max_tokens": None}, UNSAID),
    ("anthropic", {"max_tokens": 700, "max_completion_tokens": 1}, 700),
    ("openai-responses", {"max_output_tokens": -5}, UNSAID),
    ("openai-responses", {"max_output_tokens": True}, UNSAID),
    ("gemini", {"generationConfig": {"maxOutputTokens": 10, "candidateCount": 8}}, 80),
    ("gemini", {"generation_config": {"max_output_tokens": 10}}, 10),
    ("gemini", {"generationConfig": [1]}, UNSAID),
])  # fmt: skip
def test_how_much_a_call_may_cost_at_most(protocol: str, more: dict[str, Any], most: int) -> None:
    body = {**({} if protocol == "gemini" else {"model": "m"}), **more}
    assert checked(protocol, json.dumps(body).encode()).call.most_tokens == most


@pytest.mark.parametrize("text", [
    '{"background": true, "background": false}', '{"tools": [{"type": "custom", "type": "web_search"}]}',
    '{"max_tokens": 1, "maxTokens": 100000}',
])  # fmt: skip
def test_a_body_that_two_readers_would_read_differently(text: str) -> None:
    with pytest.raises((Rejected, AmbiguousRequest)):
        checked("openai", text.encode())


@pytest.mark.slow
@pytest.mark.parametrize("reads", ["nothing", "the words"])
def test_an_agent_that_leaves_before_the_tokens_are_told_pays_for_them(reads: str) -> None:
    """A cap in dollars holds even where each answer is broken off before it says what it has cost."""

    async def react(got: Got, reply: Reply) -> None:
        if reads == "the words":
            await reply.events(streamed("openai")[:2], end=False)
        await reply.gone()

    async def leaves(gateway: Gateway) -> int:
        """The status of an answer that is left alone as soon as there is something of it."""
        async with agent(gateway, protocol="openai") as client:
            body = asking("openai", stream=True)
            try:
                async with client.stream("POST", PATH["openai"], json=body, timeout=0.1) as answer:
                    if answer.status_code == 200:
                        await anext(answer.aiter_raw())
                    return answer.status_code
            except httpx.TimeoutException:
                return 0

    async def main() -> None:
        async with Server(react) as server, opened(server, "openai", max_usd=0.03) as gateway:
            codes = []
            for _ in range(4):
                codes.append(await leaves(gateway))
                await asyncio.sleep(0.02)
        assert codes[2:] == [400, 400]
        assert (len(server.got), gateway.seen.failure) == (2, "capped")

    asyncio.run(main())


def test_the_option_is_not_given_up_for_an_error_that_an_agent_has_worded() -> None:
    async def react(got: Got, reply: Reply) -> None:
        if got.json.get("temperature"):
            await reply.send(400, {"error": {"message": f"temperature must not be {got.json['temperature']}"}})
        else:
            await works(got, reply)

    async def main() -> None:
        async with Server(react) as server, opened(server, "openai") as gateway:
            body = asking("openai", stream=True)
            bad = await ask(gateway, "openai", body=body | {"temperature": "stream_options"})
            assert bad.status_code == 400
            assert (await ask(gateway, "openai", body=body)).status_code == 200
        assert "stream_options" in server.got[-1].json
        assert (gateway.seen.usage, gateway.seen.cost_usd) == (USAGE, pytest.approx(DOLLARS))

    asyncio.run(main())


# --- Another form ----------------------------------------------------------------------------------------------------


def test_what_an_agent_says_of_its_request_is_not_passed_on() -> None:
    """A body, an encoding and a form of the answer that only we have read cannot mean something else to the server."""
    packed = gzip.compress(json.dumps(asking("gemini")).encode()) + gzip.compress(b" ")
    sent = {
        "content-encoding": "gzip", "content-type": "text/plain", "accept": "application/x-protobuf",
        "x-goog-fieldmask": "candidates",
    }  # fmt: skip

    async def main() -> None:
        async with (
            Server(works) as server,
            opened(server, "gemini") as gateway,
            agent(gateway, protocol="gemini") as client,
        ):
            assert (
                await client.post(PATH["gemini"] + "?fields=candidates", content=packed, headers=sent)
            ).status_code == 200
        (got,) = server.got
        assert (got.json, got.path) == (asking("gemini"), PATH["gemini"])
        assert got.headers["content-type"] == "application/json"
        assert not {"accept", "content-encoding", "x-goog-fieldmask"} & set(got.headers)

    asyncio.run(main())


@pytest.mark.parametrize("name", ["User-Agent", "OpenAI-Beta", "Accept"])
def test_headers_that_no_server_can_read(name: str) -> None:
    body = json.dumps(asking("openai")).encode()
    head = f"POST {PATH['openai']} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {STAND_IN}\r\n"
    data = head.encode() + name.encode() + b": caf\xe9\tx\r\nContent-Length: %d\r\n\r\n" % len(body) + body

    async def main() -> None:
        async with Server(works) as server, opened(server, "openai") as gateway:
            assert (await rawly(gateway, data, b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        assert name.lower() not in server.got[0].headers

    asyncio.run(main())


def test_a_header_of_the_server_that_must_be_cut() -> None:
    async def react(got: Got, reply: Reply) -> None:
        await reply.send(
            200, answered("openai"), {"x-request-id": "a" * 999 + " b", "retry-after": f"{'b' * 990}{KEY}"}
        )

    async def main() -> None:
        async with Server(react) as server, opened(server, "openai") as gateway:
            answer = await ask(gateway, "openai")
        assert answer.headers["x-request-id"] == "a" * 999
        assert KEY[:10] not in answer.headers["retry-after"]

    asyncio.run(main())


# --- Time and memory -------------------------------------------------------------------------------------------------


def test_what_is_unpacked_takes_room_like_what_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small requests that each unpack to the most that may be: only as many as there is room for are held."""
    monkeypatch.setattr(connection, "MEMORY", 600_000)
    body = gzip.compress(json.dumps(asking("anthropic", " " * 140_000)).encode())

    async def main() -> None:
        held = asyncio.Event()

        async def react(got: Got, reply: Reply) -> None:
            await held.wait()
            await reply.send(200, answered("anthropic"))

        async with Server(react) as server, opened(server, "anthropic") as gateway, agent(gateway) as client:
            headers = {"content-encoding": "gzip"}
            calls = [
                asyncio.ensure_future(client.post("/v1/messages", content=body, headers=headers)) for _ in range(6)
            ]
            while sum(call.done() for call in calls) < 2:
                await asyncio.sleep(0.01)
            held.set()
            codes = sorted([(await call).status_code for call in calls])
        assert codes == [200] * 4 + [503] * 2

    asyncio.run(main())


def test_bodies_are_read_one_after_the_other_with_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others are served between two of them, and for three times as long as reading takes."""
    ticks, rests = count(), []

    async def rest(seconds: float) -> None:
        rests.append(seconds)

    monkeypatch.setattr(gateway_server, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
    monkeypatch.setattr(gateway_server, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": rest}))

    async def main() -> None:
        async with Server(works) as server, opened(server, "openai") as gateway:
            await asyncio.gather(*(rawly(gateway, _posted(b'{"x":[{}]}'), b"\r\n\r\n") for _ in range(5)))
        assert len(server.got) == 5

    asyncio.run(main())
    # The clock ticks before and after each, and when the next one asks how long it has to wait.
    assert rests == [0, *[gateway_server._REST - 1] * 4]


def _posted(body: bytes) -> bytes:
    head = f"POST {PATH['openai']} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAuthorization: Bearer {STAND_IN}\r\n"
    return head.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body


@pytest.mark.parametrize("filler", ["ab ", "&amp; ", "alpha ", "  \n"])
def test_texts_that_keep_a_search_busy(filler: str) -> None:
    text = "alpha " + filler * (3 * SEARCHED // len(filler))
    watch = {"alpha": "alpha ab & alpha " * 4, **{f"alpha-{number}": "ab alpha" for number in range(10)}}
    evidence = NameWatcher(load_provider("openai"), watch)
    evidence.read_request(b"alpha", {"messages": [{"role": "user", "content": text}]})
    assert evidence.found == ()


def test_the_key_is_not_used_to_flood_its_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "_IN_A_ROW", 3)
    monkeypatch.setattr(gateway_server, "_ASIDES", 3)

    async def react(got: Got, reply: Reply) -> None:
        if got.method == "GET":
            await reply.send(200, {"data": []})
        else:
            fails = "fail" in got.body.decode()
            await reply.send(400 if fails else 200, {"error": {}} if fails else answered(protocol_of(got.path)))

    async def main() -> None:
        async with Server(react) as server, opened(server, "openai") as gateway:
            texts = ["fail", "fail", "well", "fail", "fail", "fail", "well"]
            codes = [(await ask(gateway, "openai", body=asking("openai", text))).status_code for text in texts]
            async with agent(gateway, protocol="openai") as client:
                lists = [(await client.get("/v1/models")).status_code for _ in range(4)]
        assert (codes, lists) == ([400, 400, 200, 400, 400, 400, 400], [200, 200, 200, 429])
        assert len(server.got) == 9
        assert gateway.seen.failure == ""

    asyncio.run(main())


# --- What is offered -------------------------------------------------------------------------------------------------

LINE = "- beta: Turns tables into charts that people can read at once."
RESULTS: list[tuple[str, dict[str, Any]]] = [
    ("openai", {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}, {"role": "user", "content": LINE}]}),
    ("openai", {"messages": [{"role": "system", "content": "x"}, {"role": "tool", "content": LINE}]}),
    ("openai-responses", {"input": [{"role": "user", "content": "x"}, {"type": "function_call", "arguments": LINE}]}),
    ("openai-responses", {"input": [{"role": "user", "content": "x"}, {"type": "function_call_output", "output": LINE}]}),
    ("openai-responses", {"input": [{"type": "reasoning"}, {"type": "custom_tool_call_output", "output": LINE}]}),
    ("gemini", {"contents": [{"role": "user", "parts": []}, {"role": "model", "parts": []}, {"role": "user", "parts": [{"text": LINE}]}]}),
    ("openai", {"messages": [{"role": {"odd": 1}, "type": 7}, {"role": "assistant"}, {"content": LINE}]}),
]  # fmt: skip


@pytest.mark.parametrize(("protocol", "data"), RESULTS, ids=[protocol for protocol, _ in RESULTS])
def test_a_file_that_names_other_skills_is_no_offer(protocol: str, data: dict[str, Any]) -> None:
    """A skill that tells of its neighbours, or a task about skills, does not end the run when an agent reads it."""
    watch = {"beta": LINE.partition(": ")[2]}
    evidence = NameWatcher(load_provider(protocol), watch)
    evidence.read_request(json.dumps(data).encode(), data)
    assert evidence.found == ()
    evidence.read_request(json.dumps(data).encode(), {**data, "tools": [{"name": "skill", "description": LINE}]})
    assert evidence.found == ("beta",)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(["", "data:x", URL, "alpha describes", "assistant"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["model", "tools", "type", "role", "content", "source", "url", "input", "image_url", "environment", "stream_options"]
    ), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
TOP = ["model", "tools", "messages", "input", "contents", "n", "stream", "stream_options", "generationConfig", "speed"]


@given(st.dictionaries(st.sampled_from(TOP), VALUES, max_size=5), st.sampled_from(PROTOCOLS))
def test_any_values_whatever(body: dict[str, Any], protocol: str) -> None:
    raw = json.dumps(body).encode()
    NameWatcher(load_provider(protocol), {"alpha": "describes"}).read_request(raw, parse_body(raw))
    asked = checked(protocol, raw)
    assert asked.call.most_tokens > 0
    assert not asked.told or json.loads(asked.told)["stream_options"]["include_usage"] is True
