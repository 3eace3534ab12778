"""A real HTTP server on 127.0.0.1 that speaks all four protocols and misbehaves as it is told.

    with Loopback(lambda seen: answer(seen, ranking("tidy"))) as server:
        ... Provider(protocol="openai", base_url=server.url, key_env="SOME_KEY") ...
    assert [seen.model for seen in server.seen] == ["some-model"]

`react` is called for each request, in the server's thread, and says what happens: `answer` and `failure` give it in
the words of the protocol that the request came in; `Reaction` is whatever bytes a test needs. It imports the standard
library only, so it runs as a process of its own too: `python loopback.py --latency 0.2` prints its URL and serves until
its standard input ends.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import re
import socket
import struct
import sys
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Headers = Sequence[tuple[str, str]]
JSON_TYPE = "application/json; charset=utf-8"
PROTOCOLS = ("openai", "openai-responses", "anthropic", "gemini")


@dataclass(frozen=True)
class Seen:
    """One request as it arrived. `number` counts from 1; `protocol` is "" for an unknown path."""

    number: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    protocol: str
    model: str
    text: str
    raw: bytes = b""


@dataclass(frozen=True)
class Reaction:
    """What happens to one request; by default an empty 200.

    `delay` seconds pass before the first byte; `drip` = (bytes, seconds) sends the body in such pieces; after `cut`
    bytes of the body (or of `raw`) the connection is reset; `hang` never answers; `raw` replaces the whole response,
    status line included, after which the connection is closed; `close` ends the connection after the answer; the
    `tail` is (seconds, bytes) that follow it, on a connection that stays open whatever the client asked for: with no
    seconds together with the answer, else that long after the client has read it and ended its side.
    """

    status: int = 200
    body: bytes = b""
    headers: Headers = ()
    content_type: str | None = JSON_TYPE
    delay: float = 0.0
    drip: tuple[int, float] | None = None
    cut: int | None = None
    hang: bool = False
    raw: bytes | None = None
    close: bool = False
    tail: Sequence[tuple[float, bytes]] = ()

    def but(self, **changes: Any) -> Reaction:
        """The same with other settings."""
        return replace(self, **changes)


def listed(seen: Seen) -> list[str]:
    """The names that a question lists, in its order."""
    return re.findall(r"(?m)^\d+\. (.+)$", seen.text)


def ranking(*names: str, confidence: float = 0.9, rationale: str = "It fits.") -> str:
    """The text of a well-formed answer."""
    return json.dumps({"ranking": list(names), "confidence": confidence, "rationale": rationale})


def answer(
    seen: Seen,
    text: str,
    *,
    end: str = "finished",
    usage: tuple[int, int] | None = (120, 30),
    model: str = "",
    request_id: str = "req-loopback",
    headers: Headers = (),
    extra: Mapping[str, Any] | None = None,
) -> Reaction:
    """A successful answer in the request's protocol; `end` is finished, truncated or refusal."""
    data = _RENDER[seen.protocol](text, end, usage, model or f"{seen.model}-resolved")
    body = json.dumps(data | dict(extra or {})).encode()
    name = {"anthropic": "request-id", "gemini": "x-goog-request-id"}.get(seen.protocol, "x-request-id")
    return Reaction(body=body, headers=((name, request_id), *headers))


# kind -> protocol family -> (status, code / type / status, message)
_FAILURES: dict[str, dict[str, tuple[int, str, str]]] = {
    "rate_limit": {
        "openai": (429, "rate_limit_exceeded", "Rate limit reached for requests per min."),
        "anthropic": (429, "rate_limit_error", "This request would exceed your rate limit."),
        "gemini": (429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
    },
    "server_error": {
        "openai": (500, "server_error", "The server had an error."),
        "anthropic": (500, "api_error", "Internal server error"),
        "gemini": (500, "INTERNAL", "An internal error has occurred."),
    },
    "overloaded": {
        "openai": (503, "server_error", "Overloaded."),
        "anthropic": (529, "overloaded_error", "Overloaded"),
        "gemini": (503, "UNAVAILABLE", "The model is overloaded."),
    },
    "no_model": {
        "openai": (404, "model_not_found", "The model `{model}` does not exist or you do not have access to it."),
        "anthropic": (404, "not_found_error", "model: {model}"),
        "gemini": (404, "NOT_FOUND", "models/{model} is not found for API version v1beta."),
    },
    "wrong_key": {
        "openai": (401, "invalid_api_key", "Incorrect API key provided: {key}."),
        "anthropic": (401, "authentication_error", "invalid x-api-key {key}"),
        "gemini": (400, "API_KEY_INVALID", "API key not valid. Please pass a valid API key. {key}"),
    },
    "no_credit": {
        "openai": (
            429,
            "insufficient_quota",
            "You exceeded your current quota, please check your plan and billing details.",
        ),
        "anthropic": (400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
        "gemini": (429, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted."),
    },
    "bad_request": {
        "openai": (400, "invalid_request_error", "Unsupported parameter."),
        "anthropic": (400, "invalid_request_error", "max_tokens: too large"),
        "gemini": (400, "INVALID_ARGUMENT", "Invalid value at 'contents'."),
    },
}


def failure(seen: Seen, kind: str, *, headers: Headers = (), retry_delay: str = "") -> Reaction:
    """A failure as the vendor words it (the kinds of `_FAILURES`); the key of the request is echoed where {key} stands.

    `retry_delay` puts Google's RetryInfo into the body.
    """
    family = seen.protocol if seen.protocol in ("anthropic", "gemini") else "openai"
    status, code, words = _FAILURES[kind][family]
    key = seen.headers.get("x-api-key") or seen.headers.get("x-goog-api-key") or seen.headers.get("authorization", "")
    message = words.format(model=seen.model, key=key)
    error: dict[str, Any] = {"message": message}
    if family == "openai":
        error |= {"type": code, "param": None, "code": code}
    elif family == "anthropic":
        error |= {"type": code}
    else:
        reason = code == "API_KEY_INVALID"
        error |= {"code": status, "status": "INVALID_ARGUMENT" if reason else code, "details": []}
        if reason:
            error["details"].append({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": code})
    if retry_delay:
        info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": retry_delay}
        error.setdefault("details", []).append(info)
    data = {"type": "error", "error": error} if family == "anthropic" else {"error": error}
    return Reaction(status=status, body=json.dumps(data).encode(), headers=headers)


def _chat(text: str, end: str, usage: tuple[int, int] | None, model: str) -> dict[str, Any]:
    finish = {"finished": "stop", "truncated": "length", "refusal": "content_filter"}[end]
    message = {"role": "assistant", "content": text}
    data = {"id": "chatcmpl-1", "object": "chat.completion", "model": model,
            "choices": [{"index": 0, "message": message, "finish_reason": finish}]}  # fmt: skip
    if usage:
        data["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    return data


def _responses(text: str, end: str, usage: tuple[int, int] | None, model: str) -> dict[str, Any]:
    reason = {"truncated": "max_output_tokens", "refusal": "content_filter"}.get(end)
    content = [{"type": "output_text", "text": text, "annotations": []}]
    data: dict[str, Any] = {
        "id": "resp_1", "object": "response", "status": "incomplete" if reason else "completed", "error": None,
        "incomplete_details": {"reason": reason} if reason else None, "model": model,
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": content},
        ],
    }  # fmt: skip
    if usage:
        data["usage"] = {"input_tokens": usage[0], "output_tokens": usage[1], "total_tokens": sum(usage),
                         "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}  # fmt: skip
    return data


def _anthropic(text: str, end: str, usage: tuple[int, int] | None, model: str) -> dict[str, Any]:
    stop = {"finished": "end_turn", "truncated": "max_tokens", "refusal": "refusal"}[end]
    data = {"id": "msg_1", "type": "message", "role": "assistant", "model": model,
            "content": [{"type": "text", "text": text}], "stop_reason": stop, "stop_sequence": None}  # fmt: skip
    if usage:
        data["usage"] = {"input_tokens": usage[0], "output_tokens": usage[1]}
    return data


def _gemini(text: str, end: str, usage: tuple[int, int] | None, model: str) -> dict[str, Any]:
    finish = {"finished": "STOP", "truncated": "MAX_TOKENS", "refusal": "SAFETY"}[end]
    content = {"role": "model", "parts": [{"text": text}]}
    data = {"candidates": [{"content": content, "finishReason": finish, "index": 0}], "modelVersion": model,
            "responseId": "gemini-1"}  # fmt: skip
    if usage:
        data["usageMetadata"] = {
            "promptTokenCount": usage[0], "candidatesTokenCount": usage[1], "totalTokenCount": sum(usage),
        }  # fmt: skip
    return data


_RENDER = {"openai": _chat, "openai-responses": _responses, "anthropic": _anthropic, "gemini": _gemini}


def _protocol(path: str) -> str:
    if path.endswith("/chat/completions"):
        return "openai"
    if path.endswith("/responses"):
        return "openai-responses"
    if path.endswith("/messages"):
        return "anthropic"
    return "gemini" if path.endswith(":generateContent") else ""


def _prompt(protocol: str, body: Any) -> str:
    """The text of the last turn."""
    if protocol == "gemini":
        return "".join(part.get("text", "") for part in body["contents"][-1]["parts"])
    turns = body["input"] if protocol == "openai-responses" else body["messages"]
    content = turns[-1].get("content", "")
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _seen(number: int, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> Seen:
    protocol = _protocol(path.partition("?")[0])
    body = json.loads(raw) if raw and "json" in headers.get("content-type", "json") else None
    named = re.search(r"/models/([^:]+):", path)
    model = named[1] if named else (body or {}).get("model", "")
    return Seen(
        number, method, path, headers, body, protocol, model, _prompt(protocol, body) if protocol and body else "", raw
    )


def always_none(seen: Seen) -> Reaction:
    """The model that finds no skill fitting, ever."""
    return answer(seen, ranking("none")) if seen.protocol else Reaction(status=404, body=b'{"error": "no such path"}')


@dataclass
class Loopback:
    """The server, running while the `with` statement lasts. `seen` holds every request, in order of arrival."""

    react: Callable[[Seen], Reaction] = always_none
    seen: list[Seen] = field(default_factory=list)
    connections: int = 0
    open: int = 0
    port: int = 0

    @property
    def url(self) -> str:
        """The base URL, without a path; every protocol takes it."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Loopback:
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)), daemon=True)
        self._thread.start()
        if not ready.wait(600):
            raise RuntimeError("the loopback server did not start")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    async def _serve(self, ready: threading.Event) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._connected, "127.0.0.1", self.port, limit=1 << 20, backlog=512)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._stop.wait()
        server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        self.open += 1
        try:
            async for seen in self._requests(reader):
                if not await self._respond(seen, reader, writer):
                    break
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            self.open -= 1
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _requests(self, reader: asyncio.StreamReader) -> AsyncIterator[Seen]:
        while head := await self._head(reader):
            lines = head.decode("latin-1").split("\r\n")
            method, path, _ = lines[0].split(" ", 2)
            headers = {
                name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)
            }
            raw = await reader.readexactly(int(headers.get("content-length", 0)))
            seen = _seen(len(self.seen) + 1, method, path, headers, raw)
            self.seen.append(seen)
            yield seen

    async def _head(self, reader: asyncio.StreamReader) -> bytes:
        try:
            return await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return b""

    async def _respond(self, seen: Seen, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection lives on."""
        reaction = self.react(seen)
        if reaction.hang:
            await asyncio.sleep(3600)
        if reaction.delay:
            await asyncio.sleep(reaction.delay)
        if reaction.raw is not None:
            writer.write(reaction.raw[: reaction.cut])
            await writer.drain()
            if reaction.cut is not None:
                _reset(writer)
            return False
        fields = list(reaction.headers)
        if reaction.content_type is not None:
            fields.append(("content-type", reaction.content_type))
        fields.append(("content-length", str(len(reaction.body))))
        if reaction.close:
            fields.append(("connection", "close"))
        head = f"HTTP/1.1 {reaction.status} Whatever\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields)
        body = reaction.body if reaction.cut is None else reaction.body[: reaction.cut]
        size, pause = reaction.drip or (len(body) or 1, 0.0)
        # What follows without a pause leaves in one piece, as from a server that pipelines.
        later = list(reaction.tail)
        at_once = b"".join(later.pop(0)[1] for _ in reaction.tail if later and not later[0][0])
        writer.write(head.encode("latin-1") + b"\r\n" + (body + at_once if reaction.drip is None else b""))
        await writer.drain()
        for at in range(0, len(body) if reaction.drip else 0, size):
            writer.write(body[at : at + size])
            await writer.drain()
            await asyncio.sleep(pause)
        if later:
            await reader.read(1)
        for seconds, data in later:
            await asyncio.sleep(seconds)
            writer.write(data)
            await writer.drain()
        if reaction.cut is not None:
            _reset(writer)
        return not reaction.close and reaction.cut is None


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with RST, as a crashed peer does."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def main() -> None:
    """Serve until standard input ends; the first line that is printed is the URL."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--text", help="what each answer says (a ranking of nothing)")
    given = parser.parse_args()

    def react(seen: Seen) -> Reaction:
        said = always_none(seen) if given.text is None else answer(seen, given.text)
        return said.but(delay=given.latency)

    with Loopback(react) as server:
        print(server.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
