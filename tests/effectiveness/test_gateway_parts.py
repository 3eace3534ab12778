"""The pure parts of a gateway: paths, keys and tokens in streams, and what shows that a skill was offered."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from gateway_servers import KEY, PROTOCOLS, USAGE, answered, streamed
from hypothesis import given
from hypothesis import strategies as st

from skill_health.bench.providers._load import load_provider
from skill_health.bench.providers.openai import PROVIDER as CHAT
from skill_health.bench.redact import MASK, KeyFilter
from skill_health.effectiveness.gateway import ledger
from skill_health.effectiveness.gateway.forward import AnswerFilter
from skill_health.effectiveness.gateway.ledger import KEPT, AnswerMeter, NameWatcher
from skill_health.effectiveness.gateway.server import GatewayRoute, find_route

HOST = "https://host.example"


@pytest.mark.parametrize(
    ("protocol", "base", "request_line", "path"),
    [
        ("anthropic", HOST, "POST /v1/messages", "/v1/messages"),
        ("anthropic", HOST, "POST /messages?beta=true", "/v1/messages?beta=true"),
        ("anthropic", f"{HOST}/api/v1", "POST /v1/messages", "/messages"),
        ("anthropic", f"{HOST}/anthropic", "POST /v1/messages/count_tokens", "/v1/messages/count_tokens"),
        ("anthropic", HOST, "GET /v1/models/claude-x?limit=1&a=1", "/v1/models/claude-x?limit=1"),
        ("openai", f"{HOST}/v1", "POST /v1/chat/completions", "/chat/completions"),
        ("openai", f"{HOST}/v1", "POST /chat/completions", "/chat/completions"),
        ("openai", HOST, "POST /chat/completions", "/v1/chat/completions"),
        ("openai", f"{HOST}/v1beta/openai", "POST /v1/chat/completions", "/chat/completions"),
        ("openai", f"{HOST}/api/v1", "GET /v1/models/vendor/model:free", "/models/vendor/model:free"),
        ("openai-responses", f"{HOST}/v1", "POST /responses", "/responses"),
        ("openai-responses", f"{HOST}/v1", "HEAD /v1/models", "/models"),
        ("gemini", HOST, "POST /v1beta/models/g-2.5:generateContent", "/v1beta/models/g-2.5:generateContent"),
        ("gemini", HOST, "POST /v1/models/g:countTokens?key=abc", "/v1/models/g:countTokens"),
        ("gemini", HOST, "POST /models/g:generateContent", "/v1beta/models/g:generateContent"),
        (
            "gemini", f"{HOST}/google/v1", "POST /v1beta/models/g:streamGenerateContent?alt=sse&KEY=abc&%6bey=x&$x=1",
            "/models/g:streamGenerateContent?alt=sse",
        ),
        # Google leaves the tokens out of an answer, or gives it another form, for whoever asks it to.
        ("gemini", HOST, "POST /models/g:generateContent?fields=candidates&alt=proto&callback=f&%24fields=a&prettyPrint=1",
         "/v1beta/models/g:generateContent"),
        ("gemini", HOST, "GET /v1beta/models?pageSize=5&access_token=1", "/v1beta/models?pageSize=5"),
    ],
)  # fmt: skip
def test_paths_that_pass(protocol: str, base: str, request_line: str, path: str) -> None:
    method, _, target = request_line.partition(" ")
    found = find_route(load_provider(protocol), base, method, target)
    kind = "models" if method != "POST" else "count" if "count" in path.lower() else "call"
    assert found == GatewayRoute(kind, path)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("protocol", "request_line"),
    [
        ("anthropic", "GET /v1/messages"), ("anthropic", "POST /v1/messages/"), ("anthropic", "POST /v1/messages/batches"),
        ("anthropic", "POST /v1/complete"), ("anthropic", "POST /v1/files"), ("anthropic", "POST /v1//messages"),
        ("anthropic", "POST /V1/messages"), ("anthropic", "POST /v1/messages#a"), ("anthropic", "POST /v1/chat/completions"),
        ("anthropic", "PUT /v1/messages"), ("anthropic", "GET /v1/models/.."), ("anthropic", "GET /v1/models/a/../../files"),
        ("anthropic", "GET /v1/models/a%2f..%2fb"), ("openai", "POST /v1/embeddings"), ("openai", "POST /v1/responses"),
        ("openai", "POST /v1/models"), ("openai", "DELETE /v1/models/a"), ("openai", "POST /v1/v1/chat/completions"),
        ("openai-responses", "GET /v1/responses/resp_1"), ("openai-responses", "POST /v1/responses/resp_1/cancel"),
        ("openai-responses", "POST /v1/chat/completions"), ("gemini", "POST /v1beta/models/g:embedContent"),
        ("gemini", "POST /v1beta/models/../cachedContents:generateContent"), ("gemini", "POST /v1beta/files"),
        ("gemini", "POST /v1beta/models/a/b:generateContent"), ("gemini", "GET /v1beta/models/g:generateContent"),
        ("gemini", "POST /v2/models/g:generateContent"), ("gemini", "POST /upload/v1beta/models/g:generateContent"),
    ],
)  # fmt: skip
def test_paths_that_do_not_pass(protocol: str, request_line: str) -> None:
    method, _, target = request_line.partition(" ")
    assert find_route(load_provider(protocol), HOST, method, target) is None


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


PLACES = st.lists(st.integers(0, 5000), max_size=30)


@given(st.lists(st.sampled_from([KEY, KEY[:9], KEY[3:], KEY.replace("/", "\\/"), "s", "sk-", "\n", "text "])), PLACES)
def test_the_key_goes_wherever_a_stream_is_cut(words: list[str], places: list[int]) -> None:
    data = "".join(words).encode()
    key = KeyFilter(KEY)
    passed = b"".join([*map(key.feed, cut(data, places)), key.finish()])
    assert passed == data.replace(KEY.encode(), MASK.encode()).replace(KEY.replace("/", "\\/").encode(), MASK.encode())
    assert KEY.encode() not in passed


def test_what_is_no_key_stays() -> None:
    for key in ("", "EMPTY", "a b"):
        assert KeyFilter(key).whole(b"EMPTY a b") == b"EMPTY a b"
    assert KeyFilter(KEY).feed(b"text sk-real") == b"text "
    assert KeyFilter(KEY).feed(b"data: {}\n\n") == b"data: {}\n\n"


@pytest.mark.parametrize("hide", [False, True])
@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(places=PLACES, end=st.sampled_from([b"", b"data: [DONE]", b'data: {"a"', b": comment\n"]))
def test_tokens_of_a_stream_wherever_it_is_cut(protocol: str, hide: bool, places: list[int], end: bytes) -> None:
    data = b"".join(streamed(protocol)) + end
    meter = AnswerMeter(load_provider(protocol), True, hide)
    passed = b"".join([*map(meter.feed, cut(data, places)), meter.finish()])
    assert (meter.usage, meter.model, meter.error, meter.size) == (USAGE, "resolved", {}, len(data))
    hidden = hide and protocol == "openai"
    assert passed == (b"\n".join(line for line in data.split(b"\n") if b"usage" not in line) if hidden else data)


@given(
    st.lists(st.sampled_from([*streamed("openai"), b"\n", b"data:", b"data: [1]\n", b"{}", b"\xff\n"])),
    PLACES,
    st.booleans(),
)
def test_any_stream_passes_as_it_is(parts: list[bytes], places: list[int], hide: bool) -> None:
    data = b"".join(part for part in parts if not hide or b"usage" not in part)
    passing = AnswerFilter(AnswerMeter(CHAT, True, hide), KEY)
    shown = [part for piece in cut(data, places) for part in passing.feed(piece)]
    assert b"".join([*shown, passing.finish()]) == data


def test_a_list_of_events_without_a_stream() -> None:
    events = [json.loads(event.partition(b" ")[2]) for event in streamed("gemini")]
    meter = AnswerMeter(load_provider("gemini"), False)
    for byte in json.dumps(events, indent=1).encode():
        meter.feed(bytes((byte,)))
    meter.finish()
    assert (meter.usage, meter.model) == (USAGE, "resolved")


def test_a_line_that_is_too_long_is_passed_and_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "_LINE", 1000)
    monkeypatch.setattr(ledger, "_WHOLE", 1000)
    long = b'data: {"model": "m", "usage": {"prompt_tokens": 1, "completion_tokens": 1}, "x": "%s"}' % (b"y" * 2000)
    for hide in (False, True):
        meter = AnswerMeter(CHAT, True, hide)
        pieces = [long[:700], long[700:1500], long[1500:], b"\n\n", *streamed("openai")[-2:]]
        passed = b"".join([*map(meter.feed, pieces), meter.finish()])
        assert passed.startswith(long)
        assert meter.usage == USAGE
    whole = AnswerMeter(CHAT, False)
    assert whole.feed(json.dumps(answered("openai", "z" * 2000)).encode()).endswith(b"}")
    whole.finish()
    assert whole.usage is None


NAME = "csv-cleaning"
DESCRIPTION = (
    "Cleans CSV files & tables: quotes, encodings, <empty> rows.\nUse it when a file from a person is to be read."
)
OTHERS = {"csv": "Reads files that hold comma-separated values, and nothing but those.", "tidy": "Tidies."}
SPOKEN = {"system": "anthropic", "systemInstruction": "gemini", "input": "openai-responses"}
FLAT = " ".join(DESCRIPTION.split())
ESCAPED = FLAT.replace("&", "&amp;").replace("<", "&lt;")


def asked(text: Any) -> dict[str, Any]:
    return {"messages": [{"role": "system", "content": text}], "tools": []}


@pytest.mark.parametrize(
    ("data", "offered"),
    [
        (asked(f"Skills:\n- {NAME}: {DESCRIPTION}\n"), True),
        (asked(f"- {NAME}: {FLAT[:61]}… (file: /w/.codex/skills/{NAME}/SKILL.md)"), True),
        (asked(f"<name>{NAME}</name>\n<description>{ESCAPED}</description>"), True),
        (asked([{"type": "text", "text": NAME}, {"type": "text", "text": f"  {DESCRIPTION}"}]), True),
        ({"system": "You are.", "tools": [{"name": "skill", "description": f"Available:\n\t{NAME}:   {FLAT}"}]}, True),
        ({"systemInstruction": {"parts": [{"text": json.dumps({NAME: FLAT})}]}}, True),
        ({"input": "x", "tools": [{"skills": {NAME: {"about": FLAT}}}]}, True),
        (asked(f"- {NAME}: {FLAT[:59]}…"), False),
        (asked(f"- {NAME}-extra: {DESCRIPTION}"), False),
        (asked(f"- my-{NAME}: {DESCRIPTION}"), False),
        (asked(f"- {DESCRIPTION}"), False),
        (asked(f"- {NAME}: Does something else."), False),
        (asked("Nothing."), False),
        ({"model": NAME, "metadata": DESCRIPTION}, None),
        ({}, None),
    ],
)
def test_what_shows_that_a_skill_is_offered(data: dict[str, Any], offered: bool | None) -> None:
    name = next((name for field, name in SPOKEN.items() if field in data), "openai")
    for form in (json.dumps(data), json.dumps(data, ensure_ascii=False, indent=2)):
        evidence = NameWatcher(load_provider(name), {**OTHERS, NAME: DESCRIPTION})
        evidence.read_request(form.encode(), data)
        assert evidence.found == (None if offered is None else (NAME,) if offered else ())


def test_all_requests_count_and_the_first_with_tools_is_kept() -> None:
    evidence = NameWatcher(CHAT, {NAME: DESCRIPTION, **OTHERS})
    title = asked("Give this session a title.")
    main = asked(f"tidy: Tidies. csv: {OTHERS['csv']}") | {"tools": [{"name": "run"}]}
    later = asked(f"{NAME}: {DESCRIPTION}") | {"tools": [{"name": "run"}], "filler": "x" * KEPT}
    for data, found, first in ((title, (), title), (main, ("csv", "tidy"), main), (later, (NAME, "csv", "tidy"), main)):
        evidence.read_request(json.dumps(data).encode(), data)
        assert (evidence.found, json.loads(evidence.first)) == (found, first)
    only = NameWatcher(CHAT, {})
    only.read_request(json.dumps(later).encode(), later)
    assert (only.found, len(only.first)) == ((), KEPT)


def test_a_name_that_json_may_escape() -> None:
    evidence = NameWatcher(CHAT, {"größe": "Misst die Größe von Dingen."})
    data = asked("größe: Misst die Größe von Dingen.")
    evidence.read_request(json.dumps(data).encode(), data)
    assert evidence.found == ("größe",)
