"""OpenAI's Chat Completions, which many servers speak: OpenRouter, vLLM, Ollama, llama.cpp and others.

Read from the vendors' references, 2026-11. `temperature` is never sent: newer models refuse it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlsplit

from skill_health.bench.http.failures import Failure, judge
from skill_health.bench.http.json_values import (
    added,
    arguments,
    count,
    mapping,
    objects,
    optional,
    part_of,
    text,
    without,
)
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

REFUSED_KEYWORDS = ("$schema", "$id", "uniqueItems")
"""Keywords that the strict mode of structured output does not accept."""
MODELS = RoutePattern("models", "GET", rf"/models(?:/{MODEL_NAME})?")
_ENDS: Mapping[str, End] = {"length": "truncated", "content_filter": "refusal", "tool_calls": "tools"}
# OpenAI's newer models know only one name of the limit, most other servers only the other.
_LIMIT, _NEW_LIMIT = "max_tokens", "max_completion_tokens"


class OpenAIBatches(BatchProtocol):
    """The Batch API: a file of calls to one endpoint and one model, and files of answers and errors in any order.

    Read from the vendor's reference, 2026-11. Half the list price is the vendor's rule ("a 50 % discount"); its tables
    have no rate of their own for what comes from a cache, for some models.
    """

    most_requests = 50_000
    most_bytes = 200_000_000
    shares = BatchShares(0.5, 1.0)

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint

    def write_call(self, custom_id: str, outgoing: Outgoing) -> bytes:
        """One line of the file."""
        line = {"custom_id": custom_id, "method": "POST", "url": self._endpoint, "body": outgoing.body}
        return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"

    def upload(self, protocol: ProviderProtocol, base_url: str, name: str, calls: Sequence[bytes]) -> PlainRequest:
        """The file, as a form with its purpose."""
        part = f'--{name}\r\nContent-Disposition: form-data; name="'
        head = (
            f'{part}purpose"\r\n\r\nbatch\r\n{part}file"; filename="{name}.jsonl"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        )
        content = b"".join((head.encode(), *calls, f"\r\n--{name}--\r\n".encode()))
        return PlainRequest(
            protocol.place_path(base_url, "/files"), "POST", content, f"multipart/form-data; boundary={name}"
        )

    def create(
        self, protocol: ProviderProtocol, base_url: str, name: str, model: str, calls: Sequence[bytes], file: str
    ) -> PlainRequest:
        """The batch of an uploaded file; its name is in the metadata."""
        body = {
            "input_file_id": file,
            "endpoint": self._endpoint,
            "completion_window": "24h",
            "metadata": {"skill-health": name},
        }
        return PlainRequest(protocol.place_path(base_url, self.folder), "POST", json.dumps(body).encode())

    def read_state(self, protocol: ProviderProtocol, base_url: str, data: Any) -> BatchState | Failure:
        """Read a batch object."""
        given = mapping(data)
        batch_id, word = given.get("id"), text(given.get("status"))
        if not is_batch_id(batch_id) or not word:
            return no_batch("batch")
        counts = mapping(given.get("request_counts"))
        files = (given.get("output_file_id"), given.get("error_file_id"))
        errors = objects(mapping(given.get("errors")).get("data"))
        ended = word in ("completed", "expired", "cancelled")
        return BatchState(
            batch_id=str(batch_id),
            phase="failed" if word == "failed" else "ended" if ended else "waiting",
            word=word,
            name=text(mapping(given.get("metadata")).get("skill-health")),
            total=count(counts.get("total")),
            done=count(counts.get("completed")) or 0,
            failed=count(counts.get("failed")) or 0,
            created=_iso(given.get("created_at")),
            results=tuple(
                PlainRequest(protocol.place_path(base_url, f"/files/{quote(str(file), safe='')}/content"))
                for file in files
                if is_batch_id(file)
            ),
            error=_why_failed(errors) if word == "failed" else None,
            expired=word == "expired",
            cancelled=word == "cancelled",
        )

    def read_line(self, protocol: ProviderProtocol, line: Mapping[str, Any]) -> BatchAnswer:
        """Read a line of the output or the error file."""
        custom_id, response, error = text(line.get("custom_id")), line.get("response"), line.get("error")
        if isinstance(response, dict):
            status, body = count(response.get("status_code")) or 0, response.get("body")
            if status >= 400:
                return BatchAnswer(custom_id, judge(status, body))
            return BatchAnswer(custom_id, read_answer(protocol, body))
        code = text(mapping(error).get("code"))
        if code == "batch_cancelled":
            return BatchAnswer(
                custom_id, Failure("retry", "did not come to this call before its batch was cancelled"), True
            )
        if code == "batch_expired":
            return BatchAnswer(custom_id, Failure("retry", "did not come to this call before its batch expired"))
        return BatchAnswer(custom_id, Failure("costly", f"failed this call: {describe(error)}"))


def _iso(seconds: Any) -> str:
    """A time in seconds since 1970, in RFC 3339; "" for anything else."""
    if not isinstance(seconds, int) or not 0 < seconds < 1 << 36:
        return ""
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _why_failed(errors: Sequence[Mapping[str, Any]]) -> Failure:
    """Why a batch was not begun: limits of what may be queued pass, other errors do not."""
    first = errors[0] if errors else {}
    if "limit" in text(first.get("code")):
        return Failure("retry", f"takes no more calls for now: {describe(first)}", status=429)
    return judge(400, {"error": dict(first)}) if first else Failure("fatal", "failed the batch without a reason")


class OpenAIProtocol(ProviderProtocol):
    """What both protocols of OpenAI have in common."""

    base_url = "https://api.openai.com/v1"
    key_env = "OPENAI_API_KEY"
    price_vendor = "openai"
    fewest_cached = 1024
    request_headers = ("openai-beta",)
    free_fields = ("arguments",)
    # Groq has a tier of its own.
    usual_values = (("service_tier", ("auto", "default", "flex", "on_demand")),)
    address_fields = (
        "image_url", "image_url.url", "file_url", "file_url.url", "audio_url", "audio_url.url", "video_url",
        "video_url.url",
    )  # fmt: skip
    # Qwen accepts addresses there.
    data_fields = ("image", "video", "audio", "input_audio", "input_audio.data")

    def write_error(self, status: int, message: str) -> Mapping[str, Any]:
        """An error as the vendor words it."""
        kind = "invalid_request_error" if status < 500 else "server_error"
        code = "invalid_api_key" if status == 401 else None
        return {"error": {"message": message, "type": kind, "param": None, "code": code}}

    def write_models(self, name: str) -> Mapping[str, Any]:
        """A list of no models, or one model."""
        if name:
            return {"id": name, "object": "model", "created": 0, "owned_by": "unknown"}
        return {"object": "list", "data": []}


class OpenAIChat(OpenAIProtocol):
    """Chat Completions. `limit` is the name of the token limit; "" for the one that the server's name suggests."""

    batches = OpenAIBatches("/v1/chat/completions")
    title = "OpenAI's Chat API and every server that speaks it (OpenRouter, vLLM, Ollama, llama.cpp)"
    routes = (RoutePattern("call", "POST", "/chat/completions"), MODELS)
    output_limits = (_LIMIT, _NEW_LIMIT)
    # A stream reports tokens only on request.
    usage_option = ("stream_options", "include_usage")
    own_tools = ("function", "custom")
    # In this order: OpenAI, OpenRouter (two), xAI, Qwen (two), Zhipu, Azure.
    reaching_fields = (
        "web_search_options", "plugins", "models", "search_parameters", "enable_search", "search_options", "web_search",
        "data_sources",
    )  # fmt: skip

    def __init__(self, limit: str = "") -> None:
        self._limit = limit

    def build_request(self, conversation: Conversation, base_url: str) -> Outgoing:
        """The request of a conversation."""
        messages = [{"role": "system", "content": conversation.system}] if conversation.system else []
        for turn in conversation.turns:
            messages.extend(_messages(turn))
        host = urlsplit(base_url).hostname or ""
        own = host == "api.openai.com" or host.endswith((".api.openai.com", ".openai.azure.com"))
        limit = self._limit or (_NEW_LIMIT if own else _LIMIT)
        body: dict[str, Any] = {
            "model": conversation.model, "messages": messages, limit: conversation.max_output_tokens,
        }  # fmt: skip
        if conversation.schema is not None:
            schema = without(conversation.schema, REFUSED_KEYWORDS)
            body["response_format"] = {
                "type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema},
            }  # fmt: skip
        if conversation.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
                }
                for tool in conversation.tools
            ]
        return Outgoing(self.place_path(base_url, "/chat/completions"), body, {})

    def adapt(self, failure: Failure) -> ProviderProtocol | None:
        """The same with the other name of the limit, if a model asks for it: behind a gateway the server is unknown."""
        wanted = failure.status == 400 and _NEW_LIMIT in failure.message and self._limit != _NEW_LIMIT
        return OpenAIChat(_NEW_LIMIT) if wanted else None

    def read_completion(self, data: Mapping[str, Any]) -> Completion | Failure:
        """Read the body of a successful answer."""
        choices = objects(data.get("choices"))
        if not choices:
            return Failure("fatal", "sent no choices in its answer: base-url may be that of another API")
        message, reason = mapping(choices[0].get("message")), optional(choices[0].get("finish_reason"))
        if reason == "error":
            why = text(mapping(choices[0].get("error")).get("message"))
            return Failure("costly", f"broke off its answer{': ' + why if why else ''}")
        calls = objects(message.get("tool_calls"))
        refusal = text(message.get("refusal"))
        end: End = "refusal" if refusal else _ENDS.get(reason or "", "tools" if calls else "finished")
        return Completion(
            text=_content(message.get("content")) or refusal,
            end=end,
            stop_reason="refusal" if refusal else reason,
            calls=tuple(_call(call) for call in calls),
            usage=self.read_usage(data.get("usage")),
            model=optional(data.get("model")),
            request_id=optional(data.get("id")),
            native=calls or None,
        )

    def read_usage(self, raw: Any) -> Usage:
        """The tokens. xAI leaves reasoning out of completion_tokens; the total reveals it."""
        given = mapping(raw)
        read, written = mapping(given.get("prompt_tokens_details")), mapping(given.get("completion_tokens_details"))
        inputs, outputs = count(given.get("prompt_tokens")), count(given.get("completion_tokens"))
        thoughts = count(written.get("reasoning_tokens"))
        if thoughts and inputs is not None and given.get("total_tokens") == added(inputs, outputs, thoughts):
            outputs = added(outputs, thoughts)
        cached = read.get("cached_tokens", given.get("prompt_cache_hit_tokens"))
        return Usage(
            inputs, outputs, part_of(cached, inputs), part_of(read.get("cache_write_tokens"), inputs),
            part_of(thoughts, outputs), given or None,
        )  # fmt: skip

    def is_usage_only(self, event: Mapping[str, Any]) -> bool:
        """Whether this is the last event, which is sent only if tokens were asked for."""
        return event.get("choices") == [] and bool(event.get("usage"))


def _messages(turn: Turn) -> list[dict[str, Any]]:
    if turn.role == "assistant":
        if not turn.calls:
            return [{"role": "assistant", "content": turn.text}]
        calls = turn.native or [
            {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.raw}}
            for call in turn.calls
        ]
        return [{"role": "assistant", "content": turn.text or None, "tool_calls": calls}]
    results = [{"role": "tool", "tool_call_id": result.call_id, "content": result.text} for result in turn.results]
    return [*results, {"role": "user", "content": turn.text}] if turn.text or not results else results


def _content(content: Any) -> str:
    return "".join(text(part.get("text")) for part in objects(content)) if isinstance(content, list) else text(content)


def _call(call: Mapping[str, Any]) -> ToolCall:
    function = mapping(call.get("function"))
    raw = text(function.get("arguments"))
    return ToolCall(text(call.get("id")), text(function.get("name")), arguments(raw), raw)


PROVIDER = OpenAIChat()
