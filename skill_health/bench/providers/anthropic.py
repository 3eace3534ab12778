"""Anthropic's Messages API. Read from the vendor's reference, 2026-11. `temperature` is never sent."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from skill_health.bench.http.failures import Failure, judge
from skill_health.bench.http.json_values import added, count, mapping, objects, optional, part_of, text, without
from skill_health.bench.http.messages import (
    Completion,
    Conversation,
    End,
    Outgoing,
    PlainRequest,
    ToolCall,
    Turn,
    Usage,
)
from skill_health.bench.providers._api import MODEL_NAME, ProviderProtocol, RoutePattern
from skill_health.bench.providers._batch import (
    BatchAnswer,
    BatchProtocol,
    BatchShares,
    BatchState,
    describe,
    is_batch_id,
    no_batch,
    read_answer,
)

_VERSION = "2023-06-01"
_ENDS: Mapping[str, End] = {
    "max_tokens": "truncated", "model_context_window_exceeded": "truncated", "refusal": "refusal", "tool_use": "tools",
}  # fmt: skip
# Keywords that structured output refuses with 400; the vendor's own libraries drop them too.
_REFUSED_KEYWORDS = (
    "$schema", "$id", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength",
    "maxLength", "minItems", "maxItems", "uniqueItems",
)  # fmt: skip
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    413: "request_too_large",
}


_STATUSES = {
    **{kind: status for status, kind in _ERRORS.items()}, "billing_error": 402, "permission_error": 403,
    "rate_limit_error": 429, "api_error": 500, "timeout_error": 504, "overloaded_error": 529,
}  # fmt: skip


class AnthropicBatches(BatchProtocol):
    """Message Batches: all calls in one request, answers as JSON lines in any order. A batch has no name.

    Read from the vendor's reference, 2026-11: half the list price, also of what is read from a cache or written to one;
    what errs, expires or is cancelled is not charged.
    """

    most_requests = 100_000
    most_bytes = 256_000_000
    shares = BatchShares(0.5, 0.5)
    headers = {"anthropic-version": _VERSION}  # noqa: RUF012 - nobody changes it
    folder = "/messages/batches"
    paging = ("limit", "after_id")

    def write_call(self, custom_id: str, outgoing: Outgoing) -> bytes:
        """One element of the list, with what separates it from the next."""
        call = {"custom_id": custom_id, "params": outgoing.body}
        return json.dumps(call, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b","

    def create(
        self, protocol: ProviderProtocol, base_url: str, name: str, model: str, calls: Sequence[bytes], file: str
    ) -> PlainRequest:
        """All calls in one body."""
        content = b'{"requests":[' + b"".join(calls)[:-1] + b"]}"
        return PlainRequest(protocol.place_path(base_url, self.folder), "POST", content)

    def read_state(self, protocol: ProviderProtocol, base_url: str, data: Any) -> BatchState | Failure:
        """Read a batch object. Its results are where the reference says: an address in an answer could be anyone's."""
        given = mapping(data)
        batch_id, word = given.get("id"), text(given.get("processing_status"))
        if not is_batch_id(batch_id) or not word:
            return no_batch("batch")
        counts = mapping(given.get("request_counts"))
        numbers = {
            name: count(counts.get(name)) or 0 for name in ("processing", "succeeded", "errored", "canceled", "expired")
        }
        return BatchState(
            batch_id=str(batch_id),
            phase="ended" if word == "ended" else "waiting",
            word=word,
            total=sum(numbers.values()) if counts else None,
            done=numbers["succeeded"],
            failed=numbers["errored"] + numbers["canceled"] + numbers["expired"],
            created=text(given.get("created_at")),
            results=(PlainRequest(self.look(protocol, base_url, str(batch_id)).path + "/results"),),
            cancelled=bool(given.get("cancel_initiated_at")),
        )

    def read_line(self, protocol: ProviderProtocol, line: Mapping[str, Any]) -> BatchAnswer:
        """Read a line of the results."""
        custom_id, result = text(line.get("custom_id")), mapping(line.get("result"))
        kind = result.get("type")
        if kind == "succeeded":
            return BatchAnswer(custom_id, read_answer(protocol, result.get("message")))
        if kind == "canceled":
            return BatchAnswer(
                custom_id, Failure("retry", "did not come to this call before its batch was cancelled"), True
            )
        if kind == "expired":
            return BatchAnswer(custom_id, Failure("retry", "did not come to this call before its batch expired"))
        error = mapping(result.get("error"))
        inner = mapping(error.get("error")) or error
        if kind == "errored" and (status := _STATUSES.get(text(inner.get("type")))):
            return BatchAnswer(custom_id, judge(status, {"error": dict(inner)}))
        return BatchAnswer(custom_id, Failure("costly", f"failed this call: {describe(inner)}"))


class AnthropicMessages(ProviderProtocol):
    """The Messages API."""

    batches = AnthropicBatches()
    title = "Anthropic's Messages API"
    base_url = "https://api.anthropic.com"
    key_env = "ANTHROPIC_API_KEY"
    price_vendor = "anthropic"
    fewest_cached = 4096
    request_ids = ("request-id", "x-request-id")
    limit_headers = (
        *ProviderProtocol.limit_headers, ("anthropic-ratelimit-{}-remaining", "anthropic-ratelimit-{}-reset"),
    )  # fmt: skip

    routes = (
        RoutePattern("call", "POST", "/messages"),
        RoutePattern("count", "POST", "/messages/count_tokens"),
        RoutePattern("models", "GET", rf"/models(?:/{MODEL_NAME})?"),
    )
    parameters = ("beta", "limit", "after_id", "before_id")
    request_headers = ("anthropic-beta", "anthropic-version")
    answer_headers = ("request-id", "anthropic-ratelimit-", *ProviderProtocol.answer_headers)
    instructions = ("system",)
    output_limits = ("max_tokens",)
    free_fields = ("input",)
    own_tools = ("custom", "bash_", "text_editor_", "computer_", "memory_", "tool_search_tool_")
    reaching_fields = ("mcp_servers", "container")
    usual_values = (
        ("service_tier", ("auto", "standard", "standard_only")), ("speed", ("standard",)), ("inference_geo", ("global",)),
    )  # fmt: skip
    address_fields = ("source.url",)
    event_field = "message"

    def build_key_header(self, key: str) -> tuple[str, str]:
        """The header that carries the key."""
        return "x-api-key", key

    def build_request(self, conversation: Conversation, base_url: str) -> Outgoing:
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
        return Outgoing(self.place_path(base_url, "/messages"), body, {"anthropic-version": _VERSION})

    def list_models(self, base_url: str, after: str) -> PlainRequest:
        """A page of at most 1,000 models."""
        more = f"&after_id={quote(after, safe='')}" if after else ""
        path = f"{self.place_path(base_url, '/models')}?limit=1000{more}"
        return PlainRequest(path, headers={"anthropic-version": _VERSION})

    def read_models(self, data: Any) -> tuple[list[str], str]:
        """Read a page."""
        given = mapping(data)
        found, _ = super().read_models(data)
        return found, text(given.get("last_id")) if given.get("has_more") is True else ""

    def read_completion(self, data: Mapping[str, Any]) -> Completion | Failure:
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
            usage=self.read_usage(data.get("usage")),
            model=optional(data.get("model")),
            request_id=optional(data.get("id")),
            native=blocks if calls else None,
        )

    def read_usage(self, raw: Any) -> Usage:
        """The tokens; input_tokens does not include those read from a cache or written to one."""
        given = mapping(raw)
        cached, written = given.get("cache_read_input_tokens"), given.get("cache_creation_input_tokens")
        inputs, outputs = added(given.get("input_tokens"), cached, written), count(given.get("output_tokens"))
        thoughts = mapping(given.get("output_tokens_details")).get("thinking_tokens")
        return Usage(
            inputs,
            outputs,
            part_of(cached, inputs),
            part_of(written, inputs),
            part_of(thoughts, outputs),
            given or None,
        )

    def find_keys(self, headers: Mapping[str, str], parameters: Mapping[str, Sequence[str]]) -> list[str]:
        """The key; the vendor's libraries send it as a bearer token instead if they were given a "token"."""
        return [*super().find_keys(headers, parameters), headers.get("x-api-key", "")]

    def write_error(self, status: int, message: str) -> Mapping[str, Any]:
        """An error as the vendor words it."""
        return {"type": "error", "error": {"type": _ERRORS.get(status, "api_error"), "message": message}}

    def write_models(self, name: str) -> Mapping[str, Any]:
        """A list of no models, or one model."""
        if name:
            return {"type": "model", "id": name, "display_name": name, "created_at": "2025-01-01T00:00:00Z"}
        return {"data": [], "has_more": False, "first_id": None, "last_id": None}


def _content(turn: Turn) -> Any:
    if turn.native:
        return turn.native
    blocks: list[dict[str, Any]] = [
        {"type": "tool_result", "tool_use_id": result.call_id, "content": result.text, "is_error": result.failed}
        for result in turn.results
    ]
    if not blocks and not turn.calls:
        if not 0 < turn.shared < len(turn.text):
            return turn.text
        first, rest = turn.text[: turn.shared], turn.text[turn.shared :]
        return [{"type": "text", "text": first, "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": rest}]
    if turn.text:
        blocks.append({"type": "text", "text": turn.text})
    for call in turn.calls:
        blocks.append({"type": "tool_use", "id": call.call_id, "name": call.name, "input": call.arguments or {}})
    return blocks


PROVIDER = AnthropicMessages()
