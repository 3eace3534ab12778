"""A model on 127.0.0.1 that says what a test tells it to, one answer after the other, in OpenAI's Chat protocol."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from loopback import Loopback, Reaction, Seen


def chat(text: str | None = None, *calls: tuple[str, Any], finish: str = "", tokens: int = 10) -> Reaction:
    """An answer with a text and calls of tools; arguments that are a text are sent as they are, others as JSON."""
    asked = [
        {
            "id": f"call-{number}",
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for number, (name, given) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": text, **({"tool_calls": asked} if asked else {})}
    choice = {"index": 0, "message": message, "finish_reason": finish or ("tool_calls" if asked else "stop")}
    usage = {"prompt_tokens": tokens, "completion_tokens": 1, "total_tokens": tokens + 1}
    return Reaction(body=json.dumps({"id": "c", "model": "mock-1", "choices": [choice], "usage": usage}).encode())


def says(reactions: Iterable[Reaction]) -> Loopback:
    """A server that reacts so, one after the other; after the last it says that it is done, for ever."""
    waiting = iter(reactions)
    return Loopback(lambda seen: next(waiting, chat("Done.")))


def results(seen: Seen) -> list[str]:
    """What the tools gave, as it stands in a request."""
    return [str(turn["content"]) for turn in seen.body["messages"] if turn["role"] == "tool"]
