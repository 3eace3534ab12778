"""OpenAI's Chat Completions, as a server speaks it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_play import USAGE, Asked, Call, Play, strings

Events = list[tuple[str, Any]]


def asked(body: Mapping[str, Any], path: str) -> Asked:
    functions = [tool["function"] for tool in body.get("tools", []) if "function" in tool]
    return Asked(
        "\n".join(strings(body)),
        {function["name"]: function.get("parameters", {}) for function in functions},
        sum(turn.get("role") == "tool" for turn in body.get("messages", [])),
        bool(body.get("stream")),
        body.get("response_format", {}).get("type", "text") != "text",
        str(body.get("model")),
    )


def answer(said: Call | str, asked: Asked, play: Play, nth: int) -> Events | dict[str, Any]:
    """The whole answer, or its chunks where a stream was asked for."""
    calling = isinstance(said, Call)
    call = (
        {"id": f"{said.call_id}_{nth}", "type": "function", "function": {"name": said.name, "arguments": said.raw}}
        if isinstance(said, Call)
        else {}
    )
    message: dict[str, Any] = {"role": "assistant", "content": None if calling else said}
    finish = "content_filter" if play.refuses else "tool_calls" if calling else "stop"
    base = {"id": f"chat_{nth}", "created": 1, "model": asked.model}
    if not asked.stream:
        whole = {**message, "tool_calls": [call]} if calling else message
        choice = {"index": 0, "message": whole, "finish_reason": finish}
        return {**base, "object": "chat.completion", "choices": [choice], "usage": usage()}
    first = {**message, "tool_calls": [{"index": 0, **call}]} if calling else message
    base["object"] = "chat.completion.chunk"
    return [
        ("", {**base, "choices": [{"index": 0, "delta": first, "finish_reason": None}]}),
        ("", {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}),
        ("", {**base, "choices": [], "usage": usage()}),
        ("", "[DONE]"),
    ]


def usage() -> dict[str, Any]:
    return {
        "prompt_tokens": USAGE.input_tokens,
        "completion_tokens": USAGE.output_tokens,
        "total_tokens": (USAGE.input_tokens or 0) + (USAGE.output_tokens or 0),
        "prompt_tokens_details": {"cached_tokens": USAGE.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": USAGE.reasoning_tokens},
    }
