"""Google's Gemini API, `generateContent`. Read from the vendor's reference, 2026-11. `temperature` is never sent."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

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

TITLE = "Google's Gemini API"
KIND = "provider"
EXTRA = "bench"
IMPORTS = ("httpx",)

_BLOCKED = ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "LANGUAGE")
_ENDS: Mapping[str, End] = {"MAX_TOKENS": "truncated", **dict.fromkeys(_BLOCKED, "refusal")}
_REFUSED_KEYWORDS = ("$schema", "uniqueItems")


def outgoing(conversation: Conversation, base_url: str) -> Outgoing:
    """The request of a conversation. The key goes into a header: a URL ends up in logs."""
    config: dict[str, Any] = {"maxOutputTokens": conversation.max_output_tokens}
    if conversation.schema is not None:
        config["responseMimeType"] = "application/json"
        config["responseJsonSchema"] = without(conversation.schema, _REFUSED_KEYWORDS)
    body: dict[str, Any] = {
        "contents": [
            {"role": "model" if turn.role == "assistant" else "user", "parts": _parts(turn)}
            for turn in conversation.turns
        ],
        "generationConfig": config,
    }
    if conversation.system:
        body["systemInstruction"] = {"parts": [{"text": conversation.system}]}
    if conversation.tools:
        declared = [
            {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.schema}
            for tool in conversation.tools
        ]
        body["tools"] = [{"functionDeclarations": declared}]
    model = conversation.model if "/" in conversation.model else f"models/{conversation.model}"
    path = f"/{quote(model)}:generateContent"
    versioned = re.search(r"/v[0-9]+[a-z0-9]*(?:/|$)", urlsplit(base_url).path)
    return Outgoing(path if versioned else f"/v1beta{path}", body, {})


def _parts(turn: Turn) -> Any:
    if turn.native:
        return turn.native
    parts: list[dict[str, Any]] = []
    for result in turn.results:
        response = {"name": result.name, "response": {"error" if result.failed else "result": result.text}}
        parts.append({"functionResponse": {"id": result.call_id, **response} if result.call_id else response})
    if turn.text or not (turn.results or turn.calls):
        parts.append({"text": turn.text})
    return [*parts, *({"functionCall": {"name": call.name, "args": call.arguments or {}}} for call in turn.calls)]


def completion(data: Mapping[str, Any]) -> Completion | Failure:
    """Read the body of a successful answer."""
    candidates = objects(data.get("candidates"))
    blocked = optional(mapping(data.get("promptFeedback")).get("blockReason"))
    if not candidates and not blocked:
        return Failure("fatal", "sent no candidates in its answer: base-url may be that of another API")
    first = candidates[0] if candidates else {}
    parts = objects(mapping(first.get("content")).get("parts"))
    reason = optional(first.get("finishReason")) or blocked
    calls = tuple(_call(mapping(part["functionCall"])) for part in parts if "functionCall" in part)
    end: End = "refusal" if blocked else _ENDS.get(reason or "", "tools" if calls else "finished")
    return Completion(
        text="".join(text(part.get("text")) for part in parts if part.get("thought") is not True),
        end=end,
        stop_reason=reason,
        calls=calls,
        usage=_usage(data.get("usageMetadata")),
        model=optional(data.get("modelVersion")),
        request_id=optional(data.get("responseId")),
        native=parts if calls else None,
    )


def _call(given: Mapping[str, Any]) -> ToolCall:
    values = mapping(given.get("args"))
    return ToolCall(text(given.get("id")), text(given.get("name")), values, json.dumps(values))


def _usage(raw: Any) -> Usage:
    given = mapping(raw)
    inputs = added(given.get("promptTokenCount"), given.get("toolUsePromptTokenCount"))
    spoken, thoughts, total = (
        given.get(name) for name in ("candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount")
    )
    outputs = added(spoken, thoughts)
    if spoken is None and inputs is not None and (whole := count(total)) is not None and whole >= inputs:
        # Google leaves out what is zero, such as the answer of a model that only thought.
        outputs = whole - inputs
    return Usage(
        inputs, outputs, part_of(given.get("cachedContentTokenCount"), inputs), None, part_of(thoughts, outputs),
        given or None,
    )  # fmt: skip


WIRE = ProviderProtocol(
    protocol="gemini",
    base_url="https://generativelanguage.googleapis.com",
    key_env="GEMINI_API_KEY",
    key_header=lambda key: ("x-goog-api-key", key),
    outgoing=outgoing,
    completion=completion,
    request_id=("x-request-id", "x-goog-request-id"),
)


def open_router(setup: Setup) -> ProviderRouter:
    """Open a model behind the Gemini API. Raises UsageError (see `open_provider`)."""
    return open_provider(setup, WIRE)
