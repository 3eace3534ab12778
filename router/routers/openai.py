"""OpenAI's Chat Completions, which many servers speak: OpenRouter, vLLM, Ollama, llama.cpp and others.

Read from the vendors' references, 2026-11. `temperature` is never sent: newer models refuse it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from skill_health.bench.http.failures import Failure
from skill_health.bench.http.json_values import (
    added,
    arguments,
    count,
    mapping,
    objects,
    optional,
    part_of,
    text,
    without,
)
from skill_health.bench.http.messages import (
    Completion,
    Conversation,
    End,
    Outgoing,
    ProviderProtocol,
    ToolCall,
    Turn,
    Usage,
)
from skill_health.router.routers._api import Setup
from skill_health.router.routers._provider import ProviderRouter, open_provider

TITLE = "OpenAI's Chat API and every server that speaks it (OpenRouter, vLLM, Ollama, llama.cpp)"
KIND = "provider"
EXTRA = "bench"
IMPORTS = ("httpx",)

ENDS: Mapping[str, End] = {"length": "truncated", "content_filter": "refusal", "tool_calls": "tools"}
REFUSED_KEYWORDS = ("$schema", "$id", "uniqueItems")
"""Keywords that the strict mode of structured output does not take."""


def below_version(base_url: str, path: str) -> str:
    """The path of an endpoint, with `/v1` before it where the base URL names no version of the API itself."""
    versioned = re.search(r"/v[0-9]+[a-z0-9]*(?:/|$)", urlsplit(base_url).path)
    return path if versioned else f"/v1{path}"


def outgoing(conversation: Conversation, base_url: str) -> Outgoing:
    """The request of a conversation."""
    messages = [{"role": "system", "content": conversation.system}] if conversation.system else []
    for turn in conversation.turns:
        messages.extend(_messages(turn))
    # OpenAI's newer models know only the one name, most other servers only the other.
    host = urlsplit(base_url).hostname or ""
    own = host == "api.openai.com" or host.endswith((".api.openai.com", ".openai.azure.com"))
    limit = "max_completion_tokens" if own else "max_tokens"
    body: dict[str, Any] = {
        "model": conversation.model, "messages": messages, limit: conversation.max_output_tokens,
    }  # fmt: skip
    if conversation.schema is not None:
        schema = without(conversation.schema, REFUSED_KEYWORDS)
        body["response_format"] = {
            "type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema},
        }  # fmt: skip
    if conversation.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
            }
            for tool in conversation.tools
        ]
    return Outgoing(below_version(base_url, "/chat/completions"), body, {})


def _messages(turn: Turn) -> list[dict[str, Any]]:
    if turn.role == "assistant":
        if not turn.calls:
            return [{"role": "assistant", "content": turn.text}]
        calls = turn.native or [
            {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.raw}}
            for call in turn.calls
        ]
        return [{"role": "assistant", "content": turn.text or None, "tool_calls": calls}]
    results = [{"role": "tool", "tool_call_id": result.call_id, "content": result.text} for result in turn.results]
    return [*results, {"role": "user", "content": turn.text}] if turn.text or not results else results


def completion(data: Mapping[str, Any]) -> Completion | Failure:
    """Read the body of a successful answer."""
    choices = objects(data.get("choices"))
    if not choices:
        return Failure("fatal", "sent no choices in its answer: base-url may be that of another API")
    message, reason = mapping(choices[0].get("message")), optional(choices[0].get("finish_reason"))
    if reason == "error":
        said = text(mapping(choices[0].get("error")).get("message"))
        return Failure("costly", f"broke off its answer{': ' + said if said else ''}")
    calls = objects(message.get("tool_calls"))
    refusal = text(message.get("refusal"))
    end: End = "refusal" if refusal else ENDS.get(reason or "", "tools" if calls else "finished")
    return Completion(
        text=_content(message.get("content")) or refusal,
        end=end,
        stop_reason="refusal" if refusal else reason,
        calls=tuple(_call(call) for call in calls),
        usage=_usage(data.get("usage")),
        model=optional(data.get("model")),
        request_id=optional(data.get("id")),
        native=calls or None,
    )


def _content(content: Any) -> str:
    return "".join(text(part.get("text")) for part in objects(content)) if isinstance(content, list) else text(content)


def _call(call: Mapping[str, Any]) -> ToolCall:
    function = mapping(call.get("function"))
    raw = text(function.get("arguments"))
    return ToolCall(text(call.get("id")), text(function.get("name")), arguments(raw), raw)


def _usage(raw: Any) -> Usage:
    given = mapping(raw)
    read, written = mapping(given.get("prompt_tokens_details")), mapping(given.get("completion_tokens_details"))
    inputs, outputs = count(given.get("prompt_tokens")), count(given.get("completion_tokens"))
    thoughts = count(written.get("reasoning_tokens"))
    # xAI leaves the reasoning out of completion_tokens; the total tells.
    if thoughts and inputs is not None and given.get("total_tokens") == added(inputs, outputs, thoughts):
        outputs = added(outputs, thoughts)
    cached = read.get("cached_tokens", given.get("prompt_cache_hit_tokens"))
    return Usage(
        inputs, outputs, part_of(cached, inputs), part_of(read.get("cache_write_tokens"), inputs),
        part_of(thoughts, outputs), given or None,
    )  # fmt: skip


WIRE = ProviderProtocol(
    protocol="openai",
    base_url="https://api.openai.com/v1",
    key_env="OPENAI_API_KEY",
    key_header=lambda key: ("authorization", f"Bearer {key}"),
    outgoing=outgoing,
    completion=completion,
)


def open_router(setup: Setup) -> ProviderRouter:
    """Open a model behind a Chat API. Raises UsageError (see `open_provider`)."""
    return open_provider(setup, WIRE)
