"""The messages in a stream of Claude Code, as steps of a trajectory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from skill_health.bench.http.json_values import added, mapping, objects, optional, part_of, text
from skill_health.bench.http.messages import Usage
from skill_health.effectiveness.agents._api import ToolUse, TrajectoryStep
from skill_health.effectiveness.agents._stream import words_of

SYNTHETIC = "<synthetic>"
"""The model of a message that the program itself wrote, such as one about an error."""


@dataclass(slots=True)
class _Draft:
    """One message of the model, which comes in several events, one for each block."""

    model: str | None
    usage: Usage | None
    at: str | None
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    tools: list[ToolUse] = field(default_factory=list)


def steps_of(events: Iterable[Mapping[str, Any]]) -> tuple[TrajectoryStep, ...]:
    """The steps, with the results of tools beside their calls; those of agents that it started itself among them.

    The usage of a step has no output tokens: what a message says of them is not final.
    """
    drafts: list[_Draft | TrajectoryStep] = []
    known: dict[str, _Draft] = {}
    results: dict[str, tuple[str, bool | None]] = {}
    for event in events:
        message = mapping(event.get("message"))
        at = optional(event.get("timestamp"))
        if event.get("type") == "assistant":
            if message.get("model") == SYNTHETIC:
                drafts.append(TrajectoryStep("system", words_of(message.get("content")), at=at))
            else:
                message_id = text(message.get("id")) or f"event {len(drafts)}"
                if message_id not in known:
                    known[message_id] = _Draft(optional(message.get("model")), _input(message.get("usage")), at)
                    drafts.append(known[message_id])
                _add(known[message_id], message)
        elif event.get("type") == "user":
            plain = []
            for block in _blocks(message.get("content")):
                if block.get("type") == "tool_result":
                    results[text(block.get("tool_use_id"))] = (words_of(block.get("content")), _failed(block))
                else:
                    plain.append(words_of(block))
            if any(plain):
                drafts.append(TrajectoryStep("system" if event.get("isSynthetic") else "user", "\n".join(plain), at=at))
    return tuple(draft if isinstance(draft, TrajectoryStep) else _step(draft, results) for draft in drafts)


def _add(draft: _Draft, message: Mapping[str, Any]) -> None:
    for block in _blocks(message.get("content")):
        kind = block.get("type")
        if kind == "tool_use":
            arguments = mapping(block.get("input"))
            draft.tools.append(ToolUse(text(block.get("id")), text(block.get("name")), arguments))
        elif kind == "thinking":
            draft.thoughts.append(text(block.get("thinking")))
        elif kind == "text":
            draft.texts.append(text(block.get("text")))


def _step(draft: _Draft, results: Mapping[str, tuple[str, bool | None]]) -> TrajectoryStep:
    tools = tuple(
        ToolUse(tool.call_id, tool.name, tool.arguments, *results.get(tool.call_id, (None, None)))
        for tool in draft.tools
    )
    return TrajectoryStep(
        "agent", "\n".join(filter(None, draft.texts)), tools, "\n".join(filter(None, draft.thoughts)),
        draft.model, draft.usage, draft.at,
    )  # fmt: skip


def _blocks(content: Any) -> list[Mapping[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)


def _failed(block: Mapping[str, Any]) -> bool | None:
    failed = block.get("is_error", False)
    return failed if isinstance(failed, bool) else None


def _input(raw: Any) -> Usage | None:
    given = mapping(raw)
    cached, written = given.get("cache_read_input_tokens"), given.get("cache_creation_input_tokens")
    inputs = added(given.get("input_tokens"), cached, written)
    if inputs is None:
        return None
    return Usage(inputs, None, part_of(cached, inputs), part_of(written, inputs))
