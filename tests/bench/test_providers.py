"""Each protocol as pure functions: the request that it sends, the answer that it reads, the tokens that it counts.

Bodies are in the form that the vendors' references give them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from callers import KEY, MODEL, _key, ask, ask_all, open_model, request  # noqa: F401
from gateway_servers import PROTOCOLS as GATEWAY_PROTOCOLS
from hypothesis import given
from hypothesis import strategies as st
from loopback import PROTOCOLS, Loopback, answer, ranking

from skill_health.bench.http.client import read as receive
from skill_health.bench.http.failures import Failure
from skill_health.bench.http.fetch import Fetched
from skill_health.bench.http.messages import Completion, Conversation, Tool, ToolCall, ToolResult, Turn, Usage
from skill_health.bench.providers._load import list_providers, load_provider
from skill_health.bench.redact import Scrubber

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "ranking": {"type": "array", "items": {"type": "string", "enum": ["a", "none"]}, "minItems": 1, "uniqueItems": True},
        "minimum": {"type": "number", "minimum": 0, "maximum": 1},
    },
    "required": ["ranking", "minimum"],
    "additionalProperties": False,
}  # fmt: skip


def test_every_provider_is_in_the_tables_of_the_tests() -> None:
    assert set(PROTOCOLS) == set(GATEWAY_PROTOCOLS) == set(list_providers())
    assert set(PLAIN) == set(CALLS) == set(BASE) == set(PROTOCOLS)


TOOL = Tool("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}})


def sent(protocol: str, base: str = "https://host.example", **more: Any) -> Any:
    conversation = Conversation(**({"model": "m", "turns": (Turn("user", "Hello"),)} | more))
    return load_provider(protocol).build_request(conversation, base)


def read(protocol: str, data: Mapping[str, Any]) -> Completion:
    found = load_provider(protocol).read_completion(data)
    assert isinstance(found, Completion), found
    return found


PLAIN = {
    "openai": {"model": "m", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1024},
    "openai-responses": {
        "model": "m", "input": [{"role": "user", "content": "Hello"}], "max_output_tokens": 1024, "store": False,
    },
    "anthropic": {"model": "m", "max_tokens": 1024, "messages": [{"role": "user", "content": "Hello"}]},
    "gemini": {
        "contents": [{"role": "user", "parts": [{"text": "Hello"}]}], "generationConfig": {"maxOutputTokens": 1024},
    },
}  # fmt: skip


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_plain_request_says_no_more_than_it_must(protocol: str) -> None:
    assert sent(protocol).body == PLAIN[protocol]


@pytest.mark.parametrize(
    ("protocol", "base", "url"),
    [
        ("openai", "https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
        ("openai", "https://api.openai.com", "https://api.openai.com/v1/chat/completions"),
        ("openai", "http://127.0.0.1:8080", "http://127.0.0.1:8080/v1/chat/completions"),
        ("openai", "https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1/chat/completions"),
        ("openai", "https://h.example/v1beta/openai", "https://h.example/v1beta/openai/chat/completions"),
        ("openai", "https://h.example/api/paas/v4", "https://h.example/api/paas/v4/chat/completions"),
        ("openai", "https://v1.example/models", "https://v1.example/models/v1/chat/completions"),
        ("openai-responses", "https://api.openai.com/v1", "https://api.openai.com/v1/responses"),
        ("anthropic", "https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
        ("anthropic", "https://api.anthropic.com/v1", "https://api.anthropic.com/v1/messages"),
        ("gemini", "https://g.example", "https://g.example/v1beta/models/m:generateContent"),
        ("gemini", "https://g.example/v1beta", "https://g.example/v1beta/models/m:generateContent"),
    ],
)
def test_urls(protocol: str, base: str, url: str) -> None:
    assert base + sent(protocol, base).path == url


def test_a_model_cannot_leave_its_place_in_the_path() -> None:
    assert sent("gemini", model="a b?key=1#x").path == "/v1beta/models/a%20b%3Fkey%3D1%23x:generateContent"
    assert sent("gemini", model="tunedModels/t").path == "/v1beta/tunedModels/t:generateContent"


@pytest.mark.parametrize(
    ("base", "name"),
    [
        ("https://api.openai.com/v1", "max_completion_tokens"),
        ("https://eu.api.openai.com/v1", "max_completion_tokens"),
        ("https://mine.openai.azure.com/openai/v1", "max_completion_tokens"),
        ("https://openrouter.ai/api/v1", "max_tokens"),
        ("https://api.openai.com.evil.example/v1", "max_tokens"),
    ],
)
def test_the_limit_has_the_name_that_the_server_knows(base: str, name: str) -> None:
    body = sent("openai", base, max_output_tokens=77).body
    assert {key: value for key, value in body.items() if "tokens" in key} == {name: 77}


def test_schemas_are_sent_where_each_protocol_wants_them() -> None:
    strict = {key: value for key, value in SCHEMA.items() if key != "$schema"}
    strict["properties"] = json.loads(json.dumps(SCHEMA["properties"]))
    del strict["properties"]["ranking"]["uniqueItems"]
    bare = json.loads(json.dumps(strict))
    del bare["properties"]["ranking"]["minItems"]
    bare["properties"]["minimum"] = {"type": "number"}
    chat = sent("openai", schema=SCHEMA).body["response_format"]
    assert chat == {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": strict}}
    responses = sent("openai-responses", schema=SCHEMA).body["text"]
    assert responses == {"format": {"type": "json_schema", "name": "answer", "strict": True, "schema": strict}}
    claude = sent("anthropic", schema=SCHEMA).body["output_config"]
    assert claude == {"format": {"type": "json_schema", "schema": bare}}
    config = sent("gemini", schema=SCHEMA).body["generationConfig"]
    assert config == {"maxOutputTokens": 1024, "responseMimeType": "application/json", "responseJsonSchema": strict}


def test_the_version_of_anthropics_api_is_sent() -> None:
    assert sent("anthropic").headers == {"anthropic-version": "2023-06-01"}


# What each vendor sends for a text, a call of a tool, and then wants back with the result.
CALLS: dict[str, dict[str, Any]] = {
    "openai": {
        "answer": {
            "model": "m-1", "choices": [{"finish_reason": "tool_calls", "message": {
                "content": "Let me look.", "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": "x"}'}}]}}],
        },
        "tools": [{"type": "function", "function": {
            "name": "look", "description": "Looks.", "parameters": TOOL.schema}}],
        "turns": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Go"},
            {"role": "assistant", "content": "Let me look.", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": "x"}'}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "seen"},
        ],
    },
    "openai-responses": {
        "answer": {
            "status": "completed", "model": "m-1", "output": [
                {"type": "reasoning", "id": "rs_1", "summary": []},
                {"type": "message", "content": [{"type": "output_text", "text": "Let me look."}]},
                {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at": "x"}'}],
        },
        "tools": [{"type": "function", "name": "look", "description": "Looks.", "parameters": TOOL.schema,
                   "strict": False}],
        "turns": [
            {"role": "user", "content": "Go"},
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "message", "content": [{"type": "output_text", "text": "Let me look."}]},
            {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at": "x"}'},
            {"type": "function_call_output", "call_id": "c1", "output": "seen"},
        ],
    },
    "anthropic": {
        "answer": {
            "model": "m-1", "stop_reason": "tool_use", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "Let me look."},
                {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "x"}}],
        },
        "tools": [{"name": "look", "description": "Looks.", "input_schema": TOOL.schema}],
        "turns": [
            {"role": "user", "content": "Go"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "Let me look."},
                {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "x"}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "seen", "is_error": False}]},
        ],
    },
    "gemini": {
        "answer": {
            "modelVersion": "m-1", "candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [
                {"text": "private", "thought": True},
                {"text": "Let me look."},
                {"functionCall": {"id": "c1", "name": "look", "args": {"at": "x"}}, "thoughtSignature": "s"}]}}],
        },
        "tools": [{"functionDeclarations": [
            {"name": "look", "description": "Looks.", "parametersJsonSchema": TOOL.schema}]}],
        "turns": [
            {"role": "user", "parts": [{"text": "Go"}]},
            {"role": "model", "parts": [
                {"text": "private", "thought": True},
                {"text": "Let me look."},
                {"functionCall": {"id": "c1", "name": "look", "args": {"at": "x"}}, "thoughtSignature": "s"}]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "c1", "name": "look", "response": {"result": "seen"}}}]},
        ],
    },
}  # fmt: skip
TURNS = {"openai": "messages", "openai-responses": "input", "anthropic": "messages", "gemini": "contents"}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_conversation_with_tools(protocol: str) -> None:
    case = CALLS[protocol]
    found = read(protocol, case["answer"])
    assert (found.end, found.text, found.model) == ("tools", "Let me look.", "m-1")
    assert [(call.call_id, call.name, call.arguments) for call in found.calls] == [("c1", "look", {"at": "x"})]
    turns = (Turn("user", "Go"), found.turn(), Turn("user", results=(ToolResult("c1", "look", "seen"),)))
    body = sent(protocol, turns=turns, system="Be brief.", tools=(TOOL,)).body
    assert body[TURNS[protocol]] == case["turns"]
    assert body["tools"] == case["tools"]
    if protocol != "openai":
        system = {"openai-responses": "instructions", "anthropic": "system", "gemini": "systemInstruction"}[protocol]
        assert body[system] == ({"parts": [{"text": "Be brief."}]} if protocol == "gemini" else "Be brief.")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_conversation_that_another_protocol_began(protocol: str) -> None:
    """A turn without `native` is written anew."""
    call = ToolCall("c1", "look", {"at": "x"}, '{"at": "x"}')
    turns = (Turn("user", "Go"), Turn("assistant", "", (call,)), Turn("user", "And?", results=(
        ToolResult("c1", "look", "blind", failed=True),)))  # fmt: skip
    text = json.dumps(sent(protocol, turns=turns, tools=(TOOL,)).body)
    assert text.count('"look"') >= 2
    assert text.index("Go") < text.index("blind") < text.index("And?")


def test_arguments_that_are_no_object_are_none() -> None:
    for raw in ("{", "[1]", '"x"', "nul", "[" * 100_000):
        call = {"id": "c", "function": {"name": "look", "arguments": raw}}
        data = {"choices": [{"message": {"tool_calls": [call]}}]}
        assert [(one.arguments, one.raw) for one in read("openai", data).calls] == [(None, raw)]


CHAT = {"message": {"content": "x"}}
ENDS: list[tuple[str, dict[str, Any], str, str | None, str]] = [
    ("openai", {"choices": [CHAT | {"finish_reason": "stop"}]}, "finished", "stop", "x"),
    ("openai", {"choices": [CHAT | {"finish_reason": "length"}]}, "truncated", "length", "x"),
    ("openai", {"choices": [CHAT | {"finish_reason": "content_filter"}]}, "refusal", "content_filter", "x"),
    ("openai", {"choices": [CHAT]}, "finished", None, "x"),
    ("openai", {"choices": [{"message": {"content": None}, "finish_reason": "length"}]}, "truncated", "length", ""),
    ("openai", {"choices": [{"message": {"refusal": "No.", "content": None}}]}, "refusal", "refusal", "No."),
    ("openai", {"choices": [{"message": {"content": [{"type": "text", "text": "a"}, {"text": "b"}]}}]}, "finished", None, "ab"),
    ("openai", {"choices": [{"message": "nonsense"}]}, "finished", None, ""),
    ("openai-responses", {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": []},
     "truncated", "max_output_tokens", ""),
    ("openai-responses", {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}, "output": []},
     "refusal", "content_filter", ""),
    ("openai-responses", {"status": "completed", "output": [
        {"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}]}, "refusal", "refusal", "No."),
    ("openai-responses", {"status": "completed", "output": [
        {"type": "message", "content": [{"type": "output_text", "text": "a"}]},
        {"type": "message", "content": [{"type": "output_text", "text": "b"}]}]}, "finished", "completed", "ab"),
    ("anthropic", {"stop_reason": "end_turn", "content": [{"type": "text", "text": "x"}]}, "finished", "end_turn", "x"),
    ("anthropic", {"stop_reason": "max_tokens", "content": []}, "truncated", "max_tokens", ""),
    ("anthropic", {"stop_reason": "model_context_window_exceeded", "content": []}, "truncated",
     "model_context_window_exceeded", ""),
    ("anthropic", {"stop_reason": "refusal", "content": []}, "refusal", "refusal", ""),
    ("anthropic", {"stop_reason": "end_turn", "content": [
        {"type": "thinking", "thinking": "hm", "text": "no"}, {"type": "text", "text": "x"}]}, "finished", "end_turn", "x"),
    ("gemini", {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}, "refusal", "PROHIBITED_CONTENT", ""),
    ("gemini", {"candidates": [{"finishReason": "SAFETY"}]}, "refusal", "SAFETY", ""),
    ("gemini", {"candidates": [{"finishReason": "RECITATION"}]}, "refusal", "RECITATION", ""),
    ("gemini", {"candidates": [{"finishReason": "MAX_TOKENS", "content": {"role": "model"}}]}, "truncated", "MAX_TOKENS", ""),
    ("gemini", {"candidates": [{"finishReason": "STOP", "content": {"parts": [{"text": "a"}, {"text": "b"}]}}]},
     "finished", "STOP", "ab"),
]  # fmt: skip


@pytest.mark.parametrize(("protocol", "data", "end", "reason", "text"), ENDS)
def test_how_an_answer_ended(protocol: str, data: dict[str, Any], end: str, reason: str | None, text: str) -> None:
    found = read(protocol, data)
    assert (found.end, found.stop_reason, found.text) == (end, reason, text)


FAILED: list[tuple[str, dict[str, Any], str, str]] = [
    ("openai", {"choices": [{"finish_reason": "error", "error": {"message": "upstream"}}]}, "costly", "upstream"),
    ("openai", {"choices": []}, "fatal", "no choices"),
    ("openai-responses", {"status": "failed", "error": {"code": "server_error", "message": "oops"}}, "retry", "oops"),
    ("openai-responses", {"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "slow"}}, "retry", "slow"),
    ("openai-responses", {"status": "failed", "error": {"code": "invalid_prompt", "message":
        "Your prompt was flagged as potentially violating our usage policy."}}, "refusal", "flagged"),
    ("openai-responses", {"status": "failed", "error": None}, "costly", "not why"),
    ("openai-responses", {"status": "completed"}, "fatal", "no output"),
    ("anthropic", {"type": "message"}, "fatal", "no content"),
    ("gemini", {"candidates": []}, "fatal", "no candidates"),
]  # fmt: skip


@pytest.mark.parametrize(("protocol", "data", "kind", "words"), FAILED)
def test_failures_that_look_like_answers(protocol: str, data: dict[str, Any], kind: str, words: str) -> None:
    fetched = Fetched(200, {"content-type": "application/json"}, json.dumps(data).encode())
    found = receive(load_provider(protocol), fetched, Scrubber(""), 0.0)
    assert isinstance(found, Failure)
    assert found.kind == kind
    assert words in found.message


BASE: dict[str, dict[str, Any]] = {
    "openai": {"choices": [CHAT]},
    "openai-responses": {"status": "completed", "output": [{"type": "message", "content": []}]},
    "anthropic": {"content": []},
    "gemini": {"candidates": [{}]},
}
FIELD = {"gemini": "usageMetadata"}
# protocol, what the provider said, (input, output, cached, cache_write, reasoning)
USAGES: list[tuple[str, dict[str, Any], tuple[int | None, ...]]] = [
    ("openai", {"prompt_tokens": 100, "completion_tokens": 20}, (100, 20, None, None, None)),
    ("openai", {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
                "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 10},
                "completion_tokens_details": {"reasoning_tokens": 15}}, (100, 20, 64, 10, 15)),
    ("openai", {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 135,
                "completion_tokens_details": {"reasoning_tokens": 15}}, (100, 35, None, None, 15)),
    ("openai", {"prompt_tokens": 100, "completion_tokens": 20, "prompt_cache_hit_tokens": 50}, (100, 20, 50, None, None)),
    ("openai", {"prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 101}},
     (100, 20, None, None, None)),
    ("openai", {"prompt_tokens": 0, "completion_tokens": 0}, (0, 0, None, None, None)),
    ("openai", {"prompt_tokens": 100.0, "completion_tokens": 1.5}, (100, None, None, None, None)),
    ("openai", {"prompt_tokens": -1, "completion_tokens": "20"}, (None, None, None, None, None)),
    ("openai", {"prompt_tokens": True, "completion_tokens": 10**12}, (None, None, None, None, None)),
    ("openai", {"prompt_tokens": [1], "completion_tokens": {}, "prompt_tokens_details": 3}, (None,) * 5),
    ("openai-responses", {"input_tokens": 100, "output_tokens": 20, "input_tokens_details": {"cached_tokens": 64},
                          "output_tokens_details": {"reasoning_tokens": 5}}, (100, 20, 64, None, 5)),
    ("openai-responses", {"input_tokens": None, "output_tokens": 20}, (None, 20, None, None, None)),
    ("anthropic", {"input_tokens": 10, "output_tokens": 20}, (10, 20, None, None, None)),
    ("anthropic", {"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 80,
                   "cache_creation_input_tokens": 5}, (95, 20, 80, 5, None)),
    ("anthropic", {"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": None}, (10, 20, None, None, None)),
    ("anthropic", {"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": -80}, (None, 20, None, None, None)),
    ("anthropic", {"cache_read_input_tokens": 80, "output_tokens": 20}, (None, 20, 80, None, None)),
    ("gemini", {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}, (100, 20, None, None, None)),
    ("gemini", {"promptTokenCount": 100, "candidatesTokenCount": 20, "thoughtsTokenCount": 30, "totalTokenCount": 150,
                "cachedContentTokenCount": 40}, (100, 50, 40, None, 30)),
    ("gemini", {"promptTokenCount": 100, "thoughtsTokenCount": 30, "totalTokenCount": 130}, (100, 30, None, None, 30)),
    ("gemini", {"promptTokenCount": 100, "totalTokenCount": 100}, (100, 0, None, None, None)),
    ("gemini", {"promptTokenCount": 100, "toolUsePromptTokenCount": 7, "candidatesTokenCount": 1}, (107, 1, None, None, None)),
    ("gemini", {"promptTokenCount": 100}, (100, None, None, None, None)),
]  # fmt: skip


@pytest.mark.parametrize(("protocol", "said", "tokens"), USAGES)
def test_usage(protocol: str, said: dict[str, Any], tokens: tuple[int | None, ...]) -> None:
    usage = read(protocol, BASE[protocol] | {FIELD.get(protocol, "usage"): said}).usage
    assert usage == Usage(*tokens, raw=said)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("said", [None, [], "many", 7, {}])
def test_usage_that_is_none(protocol: str, said: Any) -> None:
    assert read(protocol, BASE[protocol] | {FIELD.get(protocol, "usage"): said}).usage == Usage()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
WORDS = st.sampled_from(
    ["choices", "message", "content", "tool_calls", "function", "usage", "output", "type", "text", "status", "error",
     "candidates", "parts", "functionCall", "usageMetadata", "promptTokenCount", "prompt_tokens", "prompt_tokens_details",
     "incomplete_details", "promptFeedback", "finish_reason", "input", "output_tokens_details", "totalTokenCount"]
)  # fmt: skip
SHAPED = st.recursive(
    JSON, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=5), max_leaves=25
)


@given(st.sampled_from(PROTOCOLS), st.dictionaries(WORDS, SHAPED, max_size=6))
def test_no_body_raises(protocol: str, data: dict[str, Any]) -> None:
    found = load_provider(protocol).read_completion(data)
    assert isinstance(found, Completion | Failure)
    if isinstance(found, Completion):
        assert isinstance(found.text, str)
        assert all(value is None or value >= 0 for value in (found.usage.input_tokens, found.usage.output_tokens))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_whole_call(protocol: str) -> None:
    """Over a real socket: what is sent, and every field of the reply."""
    with Loopback(lambda seen: answer(seen, ranking("tidy"), request_id=f"id-{seen.model}")) as server:
        reply = ask(protocol, f"{server.url}/", max_output_tokens=77)
        (seen,) = server.seen
    assert (seen.protocol, seen.model, seen.text) == (protocol, MODEL, "Which skill fits? (p1)")
    assert b"temperature" not in seen.raw
    assert b"77" in seen.raw
    assert KEY.encode() not in seen.raw
    assert KEY not in seen.path
    assert [value for value in seen.headers.values() if KEY in value] in ([KEY], [f"Bearer {KEY}"])
    assert (reply.status, reply.text, reply.model) == ("finished", ranking("tidy"), f"{MODEL}-resolved")
    assert (reply.request_id, reply.requests, reply.error, reply.stop) == (f"id-{MODEL}", 1, "", "")
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (120, 30)
    assert reply.usage.raw
    assert reply.stop_reason in ("stop", "completed", "end_turn", "STOP")
    assert reply.duration_ms is not None
    assert 0 < reply.duration_ms < 10_000


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_schema_of_a_request_is_sent(protocol: str) -> None:
    import asyncio

    with Loopback() as server:
        asyncio.run(ask_all(open_model(protocol, server.url), [request(schema=SCHEMA), request()]))
        schemas = [b"additionalProperties" in seen.raw for seen in sorted(server.seen, key=lambda seen: -len(seen.raw))]
    assert schemas == [True, False]
