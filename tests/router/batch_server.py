"""A provider of batches on 127.0.0.1: files, batches, lists, results and cancellation of three vendors, with faults.

    provider = BatchProvider(lambda call: ranking("tidy"))
    with Loopback(provider.react) as server: ...

Everything that is handed in is kept in `batches`, so that a test can count what was handed in twice. Calls one by one,
such as those of the instrument check, are answered by `answer` too, at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from loopback import _RENDER, Reaction, Seen, _prompt, answer

OPENAI = ("openai", "openai-responses")


@dataclass(frozen=True)
class Call:
    """One call of a batch as it arrived."""

    custom_id: str
    body: Any
    protocol: str
    model: str
    text: str


@dataclass
class Batch:
    """One batch. `over` says how it ended, "" while it is under way; `looks` how often somebody asked."""

    batch_id: str
    protocol: str
    name: str
    calls: list[Call]
    over: str = ""
    looks: int = 0
    fetched: int = 0
    cancelling: bool = False
    lines: list[Any] = field(default_factory=list)


Lines = list[Any]


@dataclass
class BatchProvider:
    """The provider. A batch is over after so many `looks`.

    `outcome` says how a batch ends: completed, expired, cancelled or failed. `done` says what becomes of each call: a
    text, or one of the words errored, expired, canceled, missing. `spoil` gets the lines of the results of a batch
    (bytes, without their ends) and returns others; `taken` is told of each request before it is answered, and may
    answer itself; `reply` may change what an answered one gets.
    """

    answer: Callable[[Call], str]
    looks: int = 2
    outcome: Callable[[Batch], str] = lambda batch: "completed"
    done: Callable[[Batch, Call], str] | None = None
    spoil: Callable[[Batch, list[bytes]], list[bytes]] = lambda batch, lines: lines
    taken: Callable[[Seen], Reaction | None] = lambda seen: None
    reply: Callable[[Seen, Reaction], Reaction] = lambda seen, reaction: reaction
    model: Callable[[Call], str] = lambda call: f"{call.model}-2026-01-01"
    usage: tuple[int, int] = (120, 30)
    batches: list[Batch] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    alone: int = 0

    # --- HTTP ---

    def react(self, seen: Seen) -> Reaction:
        if (early := self.taken(seen)) is not None:
            return early
        if seen.protocol:
            self.alone += 1
            call = Call("", seen.body, seen.protocol, seen.model, seen.text)
            return answer(seen, self.answer(call), usage=self.usage, model=self.model(call))
        return self.reply(seen, self._react(seen))

    def _react(self, seen: Seen) -> Reaction:
        url = urlsplit(seen.path)
        path = re.sub(r"^(/\w+)?/v1(beta)?", "", url.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        if path.startswith("/messages/batches"):
            return self._anthropic(seen, path.removeprefix("/messages/batches").strip("/"), query)
        if path.startswith("/files"):
            return self._file(seen, path)
        if "/v1beta/" in url.path:
            return self._gemini(seen, path, query)
        if path.startswith("/batches"):
            return self._openai(seen, path.removeprefix("/batches").strip("/"), query)
        return Reaction(status=404, body=b'{"error": {"message": "no such path"}}')

    def _file(self, seen: Seen, path: str) -> Reaction:
        if seen.method == "POST":
            boundary = seen.headers["content-type"].partition("boundary=")[2].encode()
            parts = seen.raw.split(b"--" + boundary)
            assert b'name="purpose"\r\n\r\nbatch\r\n' in parts[1] and parts[3] == b"--\r\n"
            head, _, content = parts[2].partition(b"\r\n\r\n")
            assert b'name="file"' in head and content.endswith(b"\r\n")
            name = f"file-{len(self.files) + 1}"
            self.files[name] = content[:-2]
            return say({"id": name, "object": "file", "purpose": "batch", "bytes": len(content) - 2})
        name = path.split("/")[2]
        if path.endswith("/content") and name in self.files:
            return Reaction(body=self.files[name], content_type="application/octet-stream")
        return Reaction(status=404, body=b'{"error": {"message": "No such File object"}}')

    # --- OpenAI ---

    def _openai(self, seen: Seen, rest: str, query: dict[str, str]) -> Reaction:
        mine = [batch for batch in self.batches if batch.protocol in OPENAI]
        if seen.method == "POST" and not rest:
            body = seen.body
            assert body["completion_window"] == "24h"
            assert len(body["metadata"]["skill-health"]) <= 512
            protocol = {"/v1/chat/completions": "openai", "/v1/responses": "openai-responses"}[body["endpoint"]]
            calls = []
            for line in self.files[body["input_file_id"]].splitlines():
                row = json.loads(line)
                assert row["method"] == "POST" and row["url"] == body["endpoint"]
                calls.append(call_of(row["custom_id"], row["body"], protocol, row["body"]["model"]))
            assert len({call.model for call in calls}) == 1, "a file is for one model"
            return say(self._openai_state(self._take(protocol, body["metadata"]["skill-health"], calls)))
        if not rest:
            return say(self._paged(mine, query.get("after"), query["limit"], self._openai_state))
        name, _, verb = rest.partition("/")
        batch = next((batch for batch in mine if batch.batch_id == name), None)
        if batch is None:
            return Reaction(status=404, body=b'{"error": {"message": "No batch found"}}')
        if verb == "cancel":
            if batch.over:
                return Reaction(status=409, body=b'{"error": {"message": "Cannot cancel a batch that is over"}}')
            batch.cancelling = True
        else:
            self._look(batch)
        return say(self._openai_state(batch))

    def _openai_state(self, batch: Batch) -> dict[str, Any]:
        status = batch.over or ("cancelling" if batch.cancelling else "in_progress" if batch.looks else "validating")
        found: dict[str, Any] = {
            "id": batch.batch_id, "object": "batch", "status": status, "created_at": 1_900_000_000,
            "metadata": {"skill-health": batch.name}, "output_file_id": None, "error_file_id": None,
            "request_counts": {"total": len(batch.calls), "completed": 0, "failed": 0}, "errors": None,
        }  # fmt: skip
        if batch.over == "failed":
            error = {"code": "invalid_json_line", "message": "This line is not parseable.", "line": 1, "param": None}
            found["errors"] = {"object": "list", "data": [error]}
        elif batch.over:
            good = [
                self._openai_line(call, word)
                for call, word in batch.lines
                if word not in ("errored", "expired", "canceled", "missing")
            ]
            bad = [
                self._openai_line(call, word)
                for call, word in batch.lines
                if word in ("errored", "expired", "canceled")
            ]
            for kind, rows in (("output_file_id", good), ("error_file_id", bad)):
                if rows:
                    name = f"file-{batch.batch_id}-{kind}"
                    lines = [json.dumps(row).encode() for row in rows]
                    self.files[name] = b"".join(line + b"\n" for line in self.spoil(batch, lines))
                    found[kind] = name
        return found

    def _openai_line(self, call: Call, word: str) -> dict[str, Any]:
        line: dict[str, Any] = {"id": "batch_req_1", "custom_id": call.custom_id, "response": None, "error": None}
        if word == "errored":
            error = {"message": "The server had an error.", "type": "server_error", "code": None}
            line["response"] = {"status_code": 500, "request_id": "req", "body": {"error": error}}
        elif word in ("expired", "canceled"):
            code = {"expired": "batch_expired", "canceled": "batch_cancelled"}[word]
            line["error"] = {"code": code, "message": "This request was not executed."}
        else:
            body = _RENDER[call.protocol](word, "finished", self.usage, self.model(call))
            line["response"] = {"status_code": 200, "request_id": "req", "body": body}
        return line

    # --- Anthropic ---

    def _anthropic(self, seen: Seen, rest: str, query: dict[str, str]) -> Reaction:
        assert seen.headers["anthropic-version"] == "2023-06-01"
        mine = [batch for batch in self.batches if batch.protocol == "anthropic"]
        if seen.method == "POST" and not rest:
            rows = seen.body["requests"]
            assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", row["custom_id"]) for row in rows)
            calls = [call_of(row["custom_id"], row["params"], "anthropic", row["params"]["model"]) for row in rows]
            return say(self._anthropic_state(self._take("anthropic", "", calls)))
        if not rest:
            return say(self._paged(mine, query.get("after_id"), query["limit"], self._anthropic_state))
        name, _, verb = rest.partition("/")
        batch = next((batch for batch in mine if batch.batch_id == name), None)
        if batch is None:
            return Reaction(
                status=404, body=b'{"type": "error", "error": {"type": "not_found_error", "message": "no"}}'
            )
        if verb == "results":
            assert batch.over, "results before the end"
            lines = [self._anthropic_line(call, word) for call, word in batch.lines if word != "missing"]
            data = self.spoil(batch, [json.dumps(line).encode() for line in lines])
            return Reaction(body=b"".join(line + b"\n" for line in data), content_type="application/x-jsonl")
        if verb == "cancel":
            batch.cancelling = True
        else:
            self._look(batch)
        return say(self._anthropic_state(batch))

    def _anthropic_state(self, batch: Batch) -> dict[str, Any]:
        words = [word for _, word in batch.lines]
        counts = {name: words.count(name) for name in ("errored", "canceled", "expired")}
        counts["processing"] = 0 if batch.over else len(batch.calls)
        counts["succeeded"] = len(batch.calls) - sum(counts.values())
        status = "ended" if batch.over else "canceling" if batch.cancelling else "in_progress"
        return {
            "id": batch.batch_id, "type": "message_batch", "processing_status": status, "request_counts": counts,
            "created_at": "2030-01-01T00:00:00Z", "expires_at": "2030-01-02T00:00:00Z", "archived_at": None,
            "cancel_initiated_at": "2030-01-01T00:00:00Z" if batch.cancelling else None,
            "results_url": "http://127.0.0.1:1/a-trap" if batch.over else None,
        }  # fmt: skip

    def _anthropic_line(self, call: Call, word: str) -> dict[str, Any]:
        result: dict[str, Any] = {"type": word}
        if word == "errored":
            error = {"type": "api_error", "message": "Internal server error"}
            result["error"] = {"type": "error", "error": error}
        elif word not in ("expired", "canceled"):
            message = _RENDER["anthropic"](word, "finished", self.usage, self.model(call))
            result = {"type": "succeeded", "message": message}
        return {"custom_id": call.custom_id, "result": result}

    # --- Gemini ---

    def _gemini(self, seen: Seen, path: str, query: dict[str, str]) -> Reaction:
        mine = [batch for batch in self.batches if batch.protocol == "gemini"]
        if path.endswith(":batchGenerateContent"):
            model = path.removeprefix("/models/").partition(":")[0]
            given = seen.body["batch"]
            rows = given["input_config"]["requests"]["requests"]
            calls = [call_of(row["metadata"]["key"], row["request"], "gemini", model) for row in rows]
            return say(self._gemini_state(self._take("gemini", given["display_name"], calls), False))
        if path == "/batches":
            return say(self._gemini_page(mine, query.get("pageToken", "")))
        name, _, verb = path.removeprefix("/batches/").partition(":")
        batch = next((batch for batch in mine if batch.batch_id == name), None)
        if batch is None:
            return Reaction(status=404, body=b'{"error": {"code": 404, "message": "no batch", "status": "NOT_FOUND"}}')
        if verb == "cancel":
            batch.cancelling = True
            return say({"name": f"batches/{name}"})
        self._look(batch)
        return say(self._gemini_state(batch, True))

    def _gemini_page(self, mine: list[Batch], token: str) -> dict[str, Any]:
        order, start = self._passing(mine), int(token or 0)
        page = {"operations": [self._gemini_state(batch, False) for batch in order[start : start + 2]]}
        return page | ({"nextPageToken": str(start + 2)} if start + 2 < len(order) else {})

    def _gemini_state(self, batch: Batch, whole: bool) -> dict[str, Any]:
        word = {"completed": "SUCCEEDED", "cancelled": "CANCELLED", "": "RUNNING"}.get(batch.over, batch.over.upper())
        found: dict[str, Any] = {
            "name": f"batches/{batch.batch_id}", "done": bool(batch.over),
            "metadata": {
                "displayName": batch.name, "state": f"BATCH_STATE_{word}", "createTime": "2030-01-01T00:00:00Z",
                "batchStats": {"requestCount": str(len(batch.calls)), "pendingRequestCount": str(len(batch.calls))},
            },
        }  # fmt: skip
        if batch.over == "failed":
            found["error"] = {"code": 3, "message": "Invalid request.", "status": "INVALID_ARGUMENT"}
        elif batch.over and whole and batch.over != "expired":
            rows = [self._gemini_line(call, word) for call, word in batch.lines if word != "missing"]
            lines = self.spoil(batch, [json.dumps(row).encode() for row in rows])
            return found | {"response": {"inlinedResponses": {"inlinedResponses": Raw(lines)}}}
        return found

    def _gemini_line(self, call: Call, word: str) -> dict[str, Any]:
        line: dict[str, Any] = {"metadata": {"key": call.custom_id}}
        codes = {"errored": 13, "expired": 4, "canceled": 1}
        if word in codes:
            return line | {"error": {"code": codes[word], "message": "An internal error has occurred."}}
        return line | {"response": _RENDER["gemini"](word, "finished", self.usage, self.model(call))}

    # --- What they share ---

    def _take(self, protocol: str, name: str, calls: list[Call]) -> Batch:
        assert len({call.custom_id for call in calls}) == len(calls), "an id stands twice"
        made = Batch(f"batch_{len(self.batches) + 1}", protocol, name, calls)
        self.batches.append(made)
        return made

    def _look(self, batch: Batch) -> None:
        batch.looks += 1
        if not batch.over and (batch.looks >= self.looks or batch.cancelling):
            batch.over = "cancelled" if batch.cancelling else self.outcome(batch)
            batch.lines = [(call, self._word(batch, call)) for call in reversed(batch.calls)]

    def _passing(self, mine: list[Batch]) -> list[Batch]:
        """The batches, the latest first; they go on whether they are listed or looked at."""
        for batch in mine:
            self._look(batch)
        return mine[::-1]

    def _word(self, batch: Batch, call: Call) -> str:
        if batch.over in ("cancelled", "expired") and self.done is None:
            return "canceled" if batch.over == "cancelled" else "expired"
        return self.done(batch, call) if self.done else self.answer(call)

    def _paged(
        self, mine: list[Batch], after: str | None, limit: str, show: Callable[[Batch], dict[str, Any]]
    ) -> dict[str, Any]:
        assert int(limit) == 100
        order = self._passing(mine)
        start = [batch.batch_id for batch in order].index(after) + 1 if after else 0
        page = order[start : start + 2]
        ids = [batch.batch_id for batch in page]
        return {
            "object": "list", "data": [show(batch) for batch in page], "has_more": start + 2 < len(order),
            "first_id": ids[0] if ids else None, "last_id": ids[-1] if ids else None,
        }  # fmt: skip

    # --- For tests ---

    def texts(self) -> list[str]:
        """What was asked in all batches, in order."""
        return [call.text for batch in self.batches for call in batch.calls]


class Raw(list[Any]):
    """Lines of JSON that stand in a list as they are."""


def say(data: Any) -> Reaction:
    """An answer of JSON."""
    return Reaction(body=_dump(data))


def _dump(data: Any) -> bytes:
    if isinstance(data, Raw):
        return b"[" + b",".join(data) + b"]"
    if isinstance(data, dict) and any(isinstance(each, dict | Raw) for each in data.values()):
        return b"{" + b",".join(json.dumps(key).encode() + b":" + _dump(value) for key, value in data.items()) + b"}"
    return json.dumps(data).encode()


def call_of(custom_id: str, body: Any, protocol: str, model: str) -> Call:
    """A call as it stood in a batch."""
    return Call(custom_id, body, protocol, model, _prompt(protocol, body))


def shuffled(lines: Iterable[bytes]) -> list[bytes]:
    """The lines in an order that nobody sent them in."""
    return sorted(lines, key=lambda line: line[::-1])
