"""A model server on 127.0.0.1 that speaks four protocols and plays one model, to drive real agents without a real one.

    with AgentServer(Play(watched={"some-skill": "Use when ..."}, folder=".claude/skills", work="make")) as server:
        ... point the agent at server.url ...
        server.requests, server.bodies(), server.offered(), server.usage()

`server.play` may be replaced between two runs; `server.clear()` forgets what was asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from types import ModuleType, TracebackType
from typing import Any, Self

import agent_wire_anthropic
import agent_wire_gemini
import agent_wire_openai
import agent_wire_responses
from agent_play import USAGE, Call, Play, move, offered, strings

from skill_health.bench.http.messages import Usage

__all__ = ["USAGE", "AgentServer", "Call", "Play", "Request", "offered"]

WIRES: Mapping[str, ModuleType] = {
    "/messages": agent_wire_anthropic,
    "/responses": agent_wire_responses,
    "/chat/completions": agent_wire_openai,
    ":generateContent": agent_wire_gemini,
    ":streamGenerateContent": agent_wire_gemini,
}


@dataclass(frozen=True)
class Request:
    """What was asked. `body` is {} for what is no JSON object; `model_call` tells calls of a model from the rest."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    raw: bytes
    model_call: bool

    @property
    def text(self) -> str:
        """Every text in the body."""
        return "\n".join(strings(self.body))

    @property
    def has_tools(self) -> bool:
        """Whether this is a step of the work, not a side question such as that for a title."""
        return bool(self.body.get("tools"))


class AgentServer:
    """The server, in a thread of its own for as long as the context lasts."""

    def __init__(self, play: Play | None = None) -> None:
        self.play = play or Play()
        self.requests: list[Request] = []
        self.answered = 0
        self.faults: list[str] = []
        self._lock = Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def clear(self) -> None:
        """Forget what was asked."""
        with self._lock:
            self.requests, self.answered, self.faults = [], 0, []

    def bodies(self) -> list[Request]:
        """The calls of a model that offered it tools."""
        return [request for request in self.requests if request.model_call and request.has_tools]

    def offered(self) -> set[str]:
        """The watched skills that stood in any request with their descriptions."""
        return {name for request in self.requests for name in offered(self.play, request.text)}

    def usage(self) -> Usage:
        """The tokens of all answers since the last `clear`."""
        fields = ("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens")
        return Usage(**{name: self.answered * getattr(USAGE, name) for name in fields})

    def take(self, request: Request) -> tuple[int, Any]:
        """The status and what is sent: a JSON value, or a list of events."""
        path = request.path.partition("?")[0]
        wire = next((WIRES[end] for end in WIRES if path.endswith(end)), None)
        with self._lock:
            self.requests.append(request)
            play = self.play
            if wire is not None and play.error is None:
                self.answered += 1
            nth = self.answered
        if wire is None:
            return _aside(path)
        if play.error is not None:
            return play.error
        try:
            asked = wire.asked(request.body, request.path)
            return 200, wire.answer(move(play, asked), asked, play, nth)
        except Exception as error:  # shown by the test: a thread of a server cannot fail it
            self.faults.append(f"{path}: {error!r}")
            return 500, {"error": {"message": repr(error)}}


def _aside(path: str) -> tuple[int, Any]:
    if path.endswith("/count_tokens"):
        return 200, {"input_tokens": 1000}
    if path.endswith(":countTokens"):
        return 200, {"totalTokens": 1000}
    if path.endswith("/models"):
        return 200, {"object": "list", "data": [{"id": "mock", "object": "model"}], "models": []}
    return 404, {"error": {"message": "there is nothing here"}}


def _handler(server: AgentServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_HEAD(self) -> None:
            self._send(200, "text/plain", b"")

        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers.get("content-length") or 0)))

        def _answer(self, raw: bytes) -> None:
            try:
                body = json.loads(raw or b"{}")
            except ValueError:
                body = {}
            path = self.path.partition("?")[0]
            is_call = any(path.endswith(end) for end in WIRES)
            headers = {key.lower(): value for key, value in self.headers.items()}
            request = Request(self.command, self.path, headers, body if isinstance(body, dict) else {}, raw, is_call)
            status, sent = server.take(request)
            if isinstance(sent, list):
                self._send(status, "text/event-stream", b"".join(_event(name, data) for name, data in sent))
            else:
                self._send(status, "application/json", json.dumps(sent).encode())

        def _send(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler


def _event(name: str, data: Any) -> bytes:
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()
