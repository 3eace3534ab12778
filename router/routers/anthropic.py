"""Anthropic's Messages API. Read from the vendor's reference, 2026-11. `temperature` is never sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from skill_health.bench.http.failures import Failure
from skill_health.bench.http.json_values import added, count, mapping, objects, optional, part_of, text, without
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
from skill_health.router.routers.openai import below_version

TITLE = "Anthropic's Messages API"
KIND = "provider"
EXTRA = "bench"
IMPORTS = ("httpx",)

_VERSION = "2023-06-01"
_ENDS: Mapping[str, End] = {
    "max_tokens": "truncated", "model_context_window_exceeded": "truncated", "refusal": "refusal", "tool_use": "tools",
}  # fmt: skip
# Keywords that structured output refuses with 400; the vendor's own libraries drop them too.
_REFUSED_KEYWORDS = (
    "$schema", "$id", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength",
    "maxLength", "minItems", "maxItems", "uniqueItems",
)  # fmt: skip


def outgoing(conversation: Conversation, base_url: str) -> Outgoing:
    """The request of a conversation."""
    body: dict[str, Any] = {
        "model": conversation.model,
        "max_tokens": conversation.max_output_tokens,
        "messages": [{"role": turn.role, "content": _content(turn)} for turn in conversation.turns],
    }
    if conversation.system:
        body["system"] = conversation.system
    if conversation.schema is not None:
        schema = without(conversation.schema, _REFUSED_KEYWORDS)
        body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    if conversation.tools:
        body["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
            for tool in conversation.tools
        ]
    return Outgoing(below_version(base_url, "/messages"), body, {"anthropic-version": _VERSION})


def _content(turn: Turn) -> Any:
    if turn.native:
        return turn.native
    blocks: list[dict[str, Any]] = [
        {"type": "tool_result", "tool_use_id": result.call_id, "content": result.text, "is_error": result.failed}
        for result in turn.results
    ]
    if not blocks and not turn.calls:
        return turn.text
    if turn.text:
        blocks.append({"type": "text", "text": turn.text})
    for call in turn.calls:
        blocks.append({"type": "tool_use", "id": call.call_id, "name": call.name, "input": call.arguments or {}})
    return blocks


def completion(data: Mapping[str, Any]) -> Completion | Failure:
    """Read the body of a successful answer."""
    if not isinstance(data.get("content"), list):
        return Failure("fatal", "sent no content in its answer: base-url may be that of another API")
    blocks = objects(data["content"])
    reason = optional(data.get("stop_reason"))
    calls = tuple(
        ToolCall(
            text(block.get("id")), text(block.get("name")), mapping(given := block.get("input")), json.dumps(given)
        )
        for block in blocks
        if block.get("type") == "tool_use"
    )
    return Completion(
        text="".join(text(block.get("text")) for block in blocks if block.get("type") == "text"),
        end=_ENDS.get(reason or "", "finished"),
        stop_reason=reason,
        calls=calls,
        usage=_usage(data.get("usage")),
        model=optional(data.get("model")),
        request_id=optional(data.get("id")),
        native=blocks if calls else None,
    )


def _usage(raw: Any) -> Usage:
    given = mapping(raw)
    cached, written = given.get("cache_read_input_tokens"), given.get("cache_creation_input_tokens")
    # What was read from a cache or written to one is not in input_tokens.
    inputs, outputs = added(given.get("input_tokens"), cached, written), count(given.get("output_tokens"))
    thoughts = mapping(given.get("output_tokens_details")).get("thinking_tokens")
    return Usage(
        inputs, outputs, part_of(cached, inputs), part_of(written, inputs), part_of(thoughts, outputs), given or None
    )


WIRE = ProviderProtocol(
    protocol="anthropic",
    base_url="https://api.anthropic.com",
    key_env="ANTHROPIC_API_KEY",
    key_header=lambda key: ("x-api-key", key),
    outgoing=outgoing,
    completion=completion,
    request_id=("request-id", "x-request-id"),
)


def open_router(setup: Setup) -> ProviderRouter:
    """Open a model behind the Messages API. Raises UsageError (see `open_provider`)."""
    return open_provider(setup, WIRE)
