"""OpenAI's Responses API. Read from the vendor's reference, 2026-11. `temperature` is never sent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from skill_health.bench.http.failures import Failure
from skill_health.bench.http.json_values import arguments, count, mapping, objects, optional, part_of, text, without
from skill_health.bench.http.messages import Completion, Conversation, End, Outgoing, ToolCall, Turn, Usage
from skill_health.bench.providers._api import RequestFields, RoutePattern, list_objects
from skill_health.bench.providers.openai import MODELS, REFUSED_KEYWORDS, OpenAIBatches, OpenAIProtocol


class OpenAIResponses(OpenAIProtocol):
    """The Responses API."""

    batches = OpenAIBatches("/v1/responses")
    title = "OpenAI's Responses API"
    routes = (RoutePattern("call", "POST", "/responses"), MODELS)
    conversation = ("input",)
    instructions = ("instructions",)
    output_limits = ("max_output_tokens",)
    own_tools = (
        "function", "custom", "namespace", "local_shell", "shell", "apply_patch", "tool_search", "computer",
        "computer_use", "computer_use_preview",
    )  # fmt: skip
    # A prompt stored at the provider, and an answer fetched later.
    reaching_fields = ("prompt", "background")
    event_field = "response"

    def build_request(self, conversation: Conversation, base_url: str) -> Outgoing:
        """The request of a conversation.

        Nothing is stored at the provider, except with tools: their calls must be answered together with the thoughts
        that led to them, which the provider knows only by id.
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
        return Outgoing(self.place_path(base_url, "/responses"), body, {})

    def read_completion(self, data: Mapping[str, Any]) -> Completion | Failure:
        """Read the body of a successful answer."""
        status = text(data.get("status"))
        if status in ("failed", "cancelled"):
            return Failure("costly", f"says that its answer {status}, but not why")
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
            usage=self.read_usage(data.get("usage")),
            model=optional(data.get("model")),
            request_id=optional(data.get("id")),
            native=output if calls else None,
        )

    def read_usage(self, raw: Any) -> Usage:
        """The tokens."""
        given = mapping(raw)
        read, written = mapping(given.get("input_tokens_details")), mapping(given.get("output_tokens_details"))
        inputs, outputs = count(given.get("input_tokens")), count(given.get("output_tokens"))
        return Usage(
            inputs, outputs, part_of(read.get("cached_tokens"), inputs), part_of(read.get("cache_write_tokens"), inputs),
            part_of(written.get("reasoning_tokens"), outputs), given or None,
        )  # fmt: skip

    def list_tools(self, fields: RequestFields) -> Iterator[RequestFields]:
        """Every tool that a request offers, including nested ones."""
        waiting = list_objects(fields.get("tools"))
        while waiting:
            tool = RequestFields(waiting.pop())
            yield tool
            if tool.get("type") == "namespace":
                waiting += list_objects(tool.get("tools"))

    def find_foreign_tool(self, tool: RequestFields) -> str:
        """The kind of a tool that is not the agent's own. A shell is the agent's if it runs there."""
        if tool.get("type") == "shell" and mapping(tool.get("environment")).get("type", "local") != "local":
            return "shell in a container"
        return super().find_foreign_tool(tool)

    def is_answer(self, turn: Mapping[str, Any]) -> bool:
        """Whether an item is the model's, or follows from one."""
        kind = str(turn.get("type", ""))
        return super().is_answer(turn) or kind.endswith(("_call", "_call_output", "reasoning"))


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


PROVIDER = OpenAIResponses()
