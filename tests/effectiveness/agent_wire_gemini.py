"""Google's generateContent, as a server speaks it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_play import USAGE, Asked, Call, Play, strings

Events = list[tuple[str, Any]]


def asked(body: Mapping[str, Any], path: str) -> Asked:
    declared = [
        function
        for tool in body.get("tools", [])
        for function in tool.get("functionDeclarations", tool.get("function_declarations", []))
    ]
    parts = [part for turn in body.get("contents", []) for part in turn.get("parts", [])]
    made = body.get("generationConfig", {})
    return Asked(
        "\n".join(strings(body)),
        {one["name"]: one.get("parametersJsonSchema") or _lower(one.get("parameters", {})) for one in declared},
        sum("functionResponse" in part for part in parts),
        "streamGenerateContent" in path,
        "responseJsonSchema" in made or "responseSchema" in made or "json" in made.get("responseMimeType", ""),
        path.rpartition("/models/")[2].partition(":")[0],
    )


def answer(said: Call | str, asked: Asked, play: Play, nth: int) -> Events | dict[str, Any]:
    """The whole answer, or its only event where a stream was asked for."""
    part: dict[str, Any] = (
        {"functionCall": {"id": f"{said.call_id}_{nth}", "name": said.name, "args": dict(said.arguments)}}
        if isinstance(said, Call)
        else {"text": said}
    )
    candidate = {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
    if play.refuses:
        candidate = {"index": 0, "finishReason": "SAFETY"}
    whole = {
        "candidates": [candidate],
        "usageMetadata": usage(),
        "modelVersion": asked.model,
        "responseId": f"resp_{nth}",
    }
    return [("", whole)] if asked.stream else whole


def usage() -> dict[str, Any]:
    """Thoughts are not in candidatesTokenCount here."""
    thoughts = USAGE.reasoning_tokens or 0
    return {
        "promptTokenCount": USAGE.input_tokens,
        "cachedContentTokenCount": USAGE.cached_tokens,
        "candidatesTokenCount": (USAGE.output_tokens or 0) - thoughts,
        "thoughtsTokenCount": thoughts,
        "totalTokenCount": (USAGE.input_tokens or 0) + (USAGE.output_tokens or 0),
    }


def _lower(schema: Any) -> Any:
    """Google's own form of a schema writes types in capitals."""
    if isinstance(schema, list):
        return [_lower(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: value.lower() if key == "type" and isinstance(value, str) else _lower(value)
        for key, value in schema.items()
    }
