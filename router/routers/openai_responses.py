"""OpenAI's Responses API. Read from the vendor's reference, 2026-11. `temperature` is never sent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from skill_health.bench.http.failures import Failure
from skill_health.bench.http.json_values import arguments, count, mapping, objects, optional, part_of, text, without
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
from skill_health.router.routers.openai import REFUSED_KEYWORDS, below_version

TITLE = "OpenAI's Responses API"
KIND = "provider"
EXTRA = "bench"
IMPORTS = ("httpx",)


def outgoing(conversation: Conversation, base_url: str) -> Outgoing:
    """The request of a conversation.

    Nothing is stored at the provider, except with tools: their calls must be answered together with the thoughts that
    led to them, which are known there by their ids only.
    """
    body: dict[str, Any] = {
        "model": conversation.model,
        "input": [item for turn in conversation.turns for item in _items(turn)],
        "max_output_tokens": conversation.max_output_tokens,
        "store": bool(conversation.tools),
    }
    if conversation.system:
        body["instructions"] = conversation.system
    if conversation.schema is not None:
        schema = without(conversation.schema, REFUSED_KEYWORDS)
        body["text"] = {"format": {"type": "json_schema", "name": "answer", "strict": True, "schema": schema}}
    if conversation.tools:
        body["tools"] = [
            {
                "type": "function", "name": tool.name, "description": tool.description, "parameters": tool.schema,
                "strict": False,
            }
            for tool in conversation.tools
        ]  # fmt: skip
    return Outgoing(below_version(base_url, "/responses"), body, {})


def _items(turn: Turn) -> Iterable[Any]:
    if turn.native:
        yield from turn.native
        return
    for result in turn.results:
        yield {"type": "function_call_output", "call_id": result.call_id, "output": result.text}
    if turn.text or not (turn.results or turn.calls):
        yield {"role": turn.role, "content": turn.text}
    for call in turn.calls:
        yield {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.raw}


def completion(data: Mapping[str, Any]) -> Completion | Failure:
    """Read the body of a successful answer."""
    status = text(data.get("status"))
    if status in ("failed", "cancelled"):
        return Failure("costly", f"says that its answer {status}, and not why")
    output = objects(data.get("output"))
    if not output and status != "incomplete":
        return Failure("fatal", "sent no output in its answer: base-url may be that of another API")
    parts = [part for item in output if item.get("type") == "message" for part in objects(item.get("content"))]
    refusals = [text(part.get("refusal")) for part in parts if part.get("type") == "refusal"]
    calls = tuple(_call(item) for item in output if item.get("type") == "function_call")
    reason = optional(mapping(data.get("incomplete_details")).get("reason"))
    return Completion(
        text="".join(text(part.get("text")) for part in parts if part.get("type") == "output_text")
        or "".join(refusals),
        end=_end(status, reason, bool(refusals), bool(calls)),
        stop_reason="refusal" if refusals else reason or optional(status),
        calls=calls,
        usage=_usage(data.get("usage")),
        model=optional(data.get("model")),
        request_id=optional(data.get("id")),
        native=output if calls else None,
    )


def _end(status: str, reason: str | None, refused: bool, calls: bool) -> End:
    if refused or reason == "content_filter":
        return "refusal"
    if status == "incomplete":
        return "truncated"
    return "tools" if calls else "finished"


def _call(item: Mapping[str, Any]) -> ToolCall:
    raw = item.get("arguments")
    raw = json.dumps(raw) if isinstance(raw, dict) else text(raw)
    return ToolCall(text(item.get("call_id")), text(item.get("name")), arguments(raw), raw)


def _usage(raw: Any) -> Usage:
    given = mapping(raw)
    read, written = mapping(given.get("input_tokens_details")), mapping(given.get("output_tokens_details"))
    inputs, outputs = count(given.get("input_tokens")), count(given.get("output_tokens"))
    return Usage(
        inputs, outputs, part_of(read.get("cached_tokens"), inputs), part_of(read.get("cache_write_tokens"), inputs),
        part_of(written.get("reasoning_tokens"), outputs), given or None,
    )  # fmt: skip


WIRE = ProviderProtocol(
    protocol="openai-responses",
    base_url="https://api.openai.com/v1",
    key_env="OPENAI_API_KEY",
    key_header=lambda key: ("authorization", f"Bearer {key}"),
    outgoing=outgoing,
    completion=completion,
)


def open_router(setup: Setup) -> ProviderRouter:
    """Open a model behind the Responses API. Raises UsageError (see `open_provider`)."""
    return open_provider(setup, WIRE)
