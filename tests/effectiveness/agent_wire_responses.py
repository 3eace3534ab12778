"""OpenAI's Responses API, as a server speaks it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agent_play import USAGE, Asked, Call, Play, strings

Events = list[tuple[str, Any]]


def asked(body: Mapping[str, Any], path: str) -> Asked:
    items = [item for item in body.get("input", []) if isinstance(item, dict)]
    return Asked(
        "\n".join(strings(body)),
        {
            f"{space}{tool.get('name') or tool['type']}": tool.get("parameters", {})
            for space, tool in _tools(body)
            if tool.get("type") == "function"
        },
        sum(str(item.get("type", "")).endswith("_output") for item in items),
        bool(body.get("stream")),
        body.get("text", {}).get("format", {}).get("type", "text") != "text",
        str(body.get("model")),
    )


def _tools(body: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The tools, each with the name of its server in front where it has one."""
    for tool in body.get("tools", []):
        if tool.get("type") == "namespace" and str(tool.get("name")).startswith("mcp__"):
            yield from ((f"{tool['name']}/", each) for each in tool["tools"])
        else:
            yield "", tool


def answer(said: Call | str, asked: Asked, play: Play, nth: int) -> Events | dict[str, Any]:
    """The whole answer, or its events where a stream was asked for."""
    if isinstance(said, Call):
        item: dict[str, Any] = {
            "type": "function_call", "id": f"fc_{nth}", "call_id": f"{said.call_id}_{nth}", "arguments": said.raw,
            **dict(zip(("name", "namespace"), said.name.split("/")[::-1], strict=False)),
        }  # fmt: skip
    else:
        block: dict[str, Any] = {"type": "output_text", "text": said, "annotations": []}
        if play.refuses:
            block = {"type": "refusal", "refusal": "I cannot help with that."}
        item = {"type": "message", "id": f"msg_{nth}", "role": "assistant", "content": [block]}
    item["status"] = "completed"
    start = {"id": f"resp_{nth}", "object": "response", "created_at": 1, "model": asked.model}
    whole = {**start, "status": "completed", "output": [item], "usage": usage()}
    if not asked.stream:
        return whole
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**start, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]
    return [(event["type"], {**event, "sequence_number": at}) for at, event in enumerate(events)]


def usage() -> dict[str, Any]:
    return {
        "input_tokens": USAGE.input_tokens,
        "input_tokens_details": {"cached_tokens": USAGE.cached_tokens},
        "output_tokens": USAGE.output_tokens,
        "output_tokens_details": {"reasoning_tokens": USAGE.reasoning_tokens},
        "total_tokens": (USAGE.input_tokens or 0) + (USAGE.output_tokens or 0),
    }
