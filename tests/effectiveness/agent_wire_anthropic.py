"""Anthropic's Messages API, as a server speaks it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_play import USAGE, Asked, Call, Play, strings

Events = list[tuple[str, Any]]


def asked(body: Mapping[str, Any], path: str) -> Asked:
    content = [block for turn in body.get("messages", []) for block in _blocks(turn.get("content"))]
    return Asked(
        "\n".join(strings(body)),
        {tool["name"]: tool.get("input_schema", {}) for tool in body.get("tools", []) if "name" in tool},
        sum(block.get("type") == "tool_result" for block in content),
        bool(body.get("stream")),
        "output_config" in body and "format" in body["output_config"],
        str(body.get("model")),
    )


def answer(said: Call | str, asked: Asked, play: Play, nth: int) -> Events | dict[str, Any]:
    """The whole answer, or its events where a stream was asked for."""
    stop = "refusal" if play.refuses else "tool_use" if isinstance(said, Call) else "end_turn"
    block: dict[str, Any] = (
        {"type": "tool_use", "id": f"toolu_{nth}_{said.call_id}", "name": said.name, "input": dict(said.arguments)}
        if isinstance(said, Call)
        else {"type": "text", "text": said}
    )
    message = {
        "id": f"msg_{nth}", "type": "message", "role": "assistant", "model": asked.model, "stop_reason": stop,
        "stop_sequence": None, "content": [] if play.refuses else [block], "usage": usage(USAGE.output_tokens),
    }  # fmt: skip
    if not asked.stream:
        return message
    start = {**message, "content": [], "stop_reason": None, "usage": usage(1)}
    empty = {**block, "input": {}} if isinstance(said, Call) else {"type": "text", "text": ""}
    delta = (
        {"type": "input_json_delta", "partial_json": said.raw}
        if isinstance(said, Call)
        else {"type": "text_delta", "text": said}
    )
    told = {"output_tokens": USAGE.output_tokens}
    content = [
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
    ]
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": start},
        *([] if play.refuses else content),
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": told},
        {"type": "message_stop"},
    ]
    return [(event["type"], event) for event in events]


def usage(output: int | None) -> dict[str, Any]:
    """Cached tokens are not in input_tokens here."""
    cached, written = USAGE.cached_tokens or 0, USAGE.cache_write_tokens or 0
    told = {"input_tokens": (USAGE.input_tokens or 0) - cached - written, "output_tokens": output}
    return {**told, "cache_read_input_tokens": cached, "cache_creation_input_tokens": written}


def _blocks(content: Any) -> list[Mapping[str, Any]]:
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
