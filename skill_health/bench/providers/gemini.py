"""Google's Gemini API, `generateContent`. Read from the vendor's reference, 2026-11. `temperature` is never sent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from skill_health.bench.http.failures import Failure, judge
from skill_health.bench.http.json_values import added, count, mapping, objects, optional, parsed, part_of, text, without
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
from skill_health.bench.providers._api import CallRequest, ProviderProtocol, RequestFields, RoutePattern, normalize_name
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

_BLOCKED = ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "LANGUAGE")
_ENDS: Mapping[str, End] = {"MAX_TOKENS": "truncated", **dict.fromkeys(_BLOCKED, "refusal")}
_REFUSED_KEYWORDS = ("$schema", "uniqueItems")
_MODEL = r"/(?:models|tunedModels)/[\w.@-]+"
# A tool has one field for each kind.
_OWN_TOOLS = frozenset(map(normalize_name, ("functionDeclarations", "computerUse")))
_ERRORS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    404: "NOT_FOUND",
    502: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


# The codes of google.rpc.Code, which errors of single calls have.
_CANCELLED = 1
_CALL = "generateContent"
_RPC = {
    3: 400,
    4: 504,
    5: 404,
    6: 409,
    7: 403,
    8: 429,
    9: 400,
    10: 409,
    11: 400,
    12: 501,
    13: 500,
    14: 503,
    16: 401,
}
_FOLDER = "batches/"


class GeminiBatches(BatchProtocol):
    """The method `batchGenerateContent`, with the calls and their answers within the operation, each with its key.

    Read from the vendor's reference, 2026-11: at most 20 MB in one request, half the list price of what is read and
    written, and the whole price of what comes from a cache. A batch that expires after 48 hours has no results.
    """

    most_requests = 50_000
    most_bytes = 20_000_000
    shares = BatchShares(0.5, 1.0)
    paging = ("pageSize", "pageToken")
    cancelling = (":cancel", b"{}")

    def write_call(self, custom_id: str, outgoing: Outgoing) -> bytes:
        """One element of the list, with what separates it from the next."""
        call = {"request": outgoing.body, "metadata": {"key": custom_id}}
        return json.dumps(call, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b","

    def create(
        self, protocol: ProviderProtocol, base_url: str, name: str, model: str, calls: Sequence[bytes], file: str
    ) -> PlainRequest:
        """All calls in one body, to one model."""
        content = b'{"batch":{"display_name":%s,"input_config":{"requests":{"requests":[%s]}}}}' % (
            json.dumps(name).encode(), b"".join(calls)[:-1],
        )  # fmt: skip
        path = model if "/" in model else f"models/{model}"
        return PlainRequest(protocol.place_path(base_url, f"/{quote(path)}:batchGenerateContent"), "POST", content)

    def read_state(self, protocol: ProviderProtocol, base_url: str, data: Any) -> BatchState | Failure:
        """Read an operation. One that has succeeded is over only when its answers are there."""
        given = mapping(data)
        about = mapping(given.get("metadata"))
        name = text(given.get("name"))
        batch_id, word = name.removeprefix(_FOLDER), text(about.get("state")) or text(given.get("state"))
        if not name.startswith(_FOLDER) or not is_batch_id(batch_id):
            return no_batch("batch")
        state, done = word.rpartition("_")[2], given.get("done") is True
        error = given.get("error")
        ended = state in ("CANCELLED", "EXPIRED") or (state == "SUCCEEDED" and (done or _inlined(given) is not None))
        failed = state == "FAILED" or (done and bool(error) and not ended)
        stats = {name: _whole(about, f"{name}RequestCount") for name in ("successful", "failed")}
        return BatchState(
            batch_id=batch_id,
            phase="failed" if failed else "ended" if ended or done else "waiting",
            word=word,
            name=text(about.get("displayName")),
            total=_whole(about, "requestCount"),
            done=stats["successful"] or 0,
            failed=stats["failed"] or 0,
            created=text(about.get("createTime")),
            results=(self.look(protocol, base_url, batch_id),) if state != "EXPIRED" else (),
            error=_judged(error) if failed else None,
            expired=state == "EXPIRED",
            cancelled=state == "CANCELLED",
        )

    def read_page(self, protocol: ProviderProtocol, base_url: str, data: Any) -> tuple[list[BatchState], str]:
        """Read a page, and the mark of the next."""
        given = mapping(data)
        return self.read_states(protocol, base_url, given.get("operations")), text(given.get("nextPageToken"))

    def read_results(self, protocol: ProviderProtocol, data: bytes) -> Iterator[BatchAnswer | Failure]:
        """Read the answers in an operation."""
        found = parsed(data)
        if isinstance(found, Failure):
            yield found
            return
        for each in objects(_inlined(mapping(found))):
            yield self.read_line(protocol, each)

    def read_line(self, protocol: ProviderProtocol, line: Mapping[str, Any]) -> BatchAnswer:
        """Read one answer. The place in the list says nothing: only the key does."""
        custom_id, error = text(mapping(line.get("metadata")).get("key")), line.get("error")
        if error and mapping(error).get("code") in (_CANCELLED, 499):
            return BatchAnswer(
                custom_id, Failure("retry", "did not come to this call before its batch was cancelled"), True
            )
        if error:
            return BatchAnswer(custom_id, _judged(error))
        return BatchAnswer(custom_id, read_answer(protocol, line.get("response")))


def _inlined(given: Mapping[str, Any]) -> Any:
    """The list of answers in an operation, wherever it stands; None where there is none."""
    output = mapping(mapping(given.get("metadata")).get("output"))
    for holder in (mapping(given.get("response")), output):
        found = holder.get("inlinedResponses")
        found = found.get("inlinedResponses") if isinstance(found, dict) else found
        if isinstance(found, list):
            return found
    return None


def _whole(about: Mapping[str, Any], name: str) -> int | None:
    """A count, which Google writes as text."""
    value = mapping(about.get("batchStats")).get(name)
    return count(int(value)) if isinstance(value, str) and value.isdecimal() and len(value) < 12 else count(value)


def _judged(error: Any) -> Failure:
    given = mapping(error)
    code = count(given.get("code")) or 0
    status = code if code >= 400 else _RPC.get(code)
    return judge(status, {"error": dict(given)}) if status else Failure("costly", f"failed: {describe(given)}")


class GeminiContent(ProviderProtocol):
    """The method `generateContent`. The key goes into a header: a URL ends up in logs."""

    batches = GeminiBatches()
    title = "Google's Gemini API"
    base_url = "https://generativelanguage.googleapis.com"
    key_env = "GEMINI_API_KEY"
    price_vendor = "google"
    fewest_cached = 4096
    version = "/v1beta"
    request_ids = ("x-request-id", "x-goog-request-id")

    routes = (
        RoutePattern("call", "POST", f"{_MODEL}:(?:generate|streamGenerate)Content"),
        RoutePattern("count", "POST", f"{_MODEL}:countTokens"),
        RoutePattern("models", "GET", r"/models(?:/[\w.@-]+)?"),
    )
    versions = "/v1[a-z0-9]*"
    # On request, Google omits the tokens from an answer or changes its form.
    parameters = ("pageSize", "pageToken", "alt=sse", "alt=json")
    answer_headers = ("x-goog-request-id", *ProviderProtocol.answer_headers)
    conversation = ("contents",)
    instructions = ("systemInstruction",)
    output_limits = ("maxOutputTokens",)
    answer_counts = ("candidateCount",)
    free_fields = ("args", "response")
    usual_values = (("serviceTier", ("standard", "flex")),)
    address_fields = ("fileUri",)
    usage_field = "usageMetadata"
    model_field = "modelVersion"

    def build_key_header(self, key: str) -> tuple[str, str]:
        """The header that carries the key."""
        return "x-goog-api-key", key

    def build_request(self, conversation: Conversation, base_url: str) -> Outgoing:
        """The request of a conversation."""
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
        return Outgoing(self.place_path(base_url, f"/{quote(model)}:generateContent"), body, {})

    def list_models(self, base_url: str, after: str) -> PlainRequest:
        """A page of at most 1,000 models."""
        more = f"&pageToken={quote(after, safe='')}" if after else ""
        return PlainRequest(f"{self.place_path(base_url, '/models')}?pageSize=1000{more}")

    def read_models(self, data: Any) -> tuple[list[str], str]:
        """Read a page; models that only embed, or make pictures, are left out."""
        given = mapping(data)
        listed = [
            each for each in objects(given.get("models")) if _CALL in (each.get("supportedGenerationMethods") or ())
        ]
        return [text(each.get("name")).removeprefix("models/") for each in listed], text(given.get("nextPageToken"))

    def read_completion(self, data: Mapping[str, Any]) -> Completion | Failure:
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
            usage=self.read_usage(data.get("usageMetadata")),
            model=optional(data.get("modelVersion")),
            request_id=optional(data.get("responseId")),
            native=parts if calls else None,
        )

    def read_usage(self, raw: Any) -> Usage:
        """The tokens. Google leaves out what is zero, such as the answer of a model that only thought."""
        given = mapping(raw)
        inputs = added(given.get("promptTokenCount"), given.get("toolUsePromptTokenCount"))
        spoken, thoughts, total = (
            given.get(name) for name in ("candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount")
        )
        outputs = added(spoken, thoughts)
        if spoken is None and inputs is not None and (whole := count(total)) is not None and whole >= inputs:
            outputs = whole - inputs
        return Usage(
            inputs, outputs, part_of(given.get("cachedContentTokenCount"), inputs), None, part_of(thoughts, outputs),
            given or None,
        )  # fmt: skip

    def find_keys(self, headers: Mapping[str, str], parameters: Mapping[str, Sequence[str]]) -> list[str]:
        """The key, in its header or in the URL."""
        return [headers.get("x-goog-api-key", ""), *parameters.get("key", ())[:1]]

    def read_call(self, path: str, fields: RequestFields) -> CallRequest:
        """What a request asks for; its model is named in the path."""
        model = path.partition("?")[0].rpartition("/")[2].partition(":")[0]
        return CallRequest(model, self.count_tokens(RequestFields(fields.get("generationConfig"))))

    def list_inner_requests(self, fields: RequestFields) -> list[RequestFields]:
        """The call that a count of tokens may contain."""
        return [RequestFields(fields.get("generateContentRequest"))]

    def find_foreign_tool(self, tool: RequestFields) -> str:
        """The first kind of tool that is not the agent's own."""
        return next((name for name in tool.names() if name not in _OWN_TOOLS), "")

    def write_error(self, status: int, message: str) -> Mapping[str, Any]:
        """An error as the vendor words it."""
        code = _ERRORS.get(status, "INVALID_ARGUMENT" if status < 500 else "INTERNAL")
        return {"error": {"code": status, "message": message, "status": code}}

    def write_models(self, name: str) -> Mapping[str, Any]:
        """A list of no models, or one model."""
        methods = ["generateContent", "streamGenerateContent", "countTokens"]
        one = {"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": methods}
        return one if name else {"models": []}

    def write_count(self, tokens: int) -> Mapping[str, Any]:
        """The answer to a count of tokens."""
        return {"totalTokens": tokens}


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


def _call(given: Mapping[str, Any]) -> ToolCall:
    values = mapping(given.get("args"))
    return ToolCall(text(given.get("id")), text(given.get("name")), values, json.dumps(values))


PROVIDER = GeminiContent()
