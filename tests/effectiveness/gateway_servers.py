"""For tests: a model's server on 127.0.0.1 that a test steers event by event, and an agent that asks a gateway.

    async with Server(react) as server, opened(server, "anthropic") as gateway:
        answer = await ask(gateway, "anthropic")

`react(got, reply)` is a coroutine function; it answers with `reply.send`, `reply.events` or raw bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from skill_health.bench.http.endpoint import Endpoint
from skill_health.bench.http.messages import Usage
from skill_health.bench.prices import Rates, TieredPrice
from skill_health.bench.providers._load import load_provider
from skill_health.effectiveness.gateway._api import GatewayLimits, Upstream
from skill_health.effectiveness.gateway.server import Gateway, open_gateway

PROTOCOLS = ("anthropic", "openai", "openai-responses", "gemini")
KEY = "sk-real-SECRET/0123456789abcdef"
STAND_IN = "stand-in-for-this-trial"
PRICE = TieredPrice((Rates(3.0, 15.0, 0.3, 3.75),))
"""A million tokens: 3 dollars in, 15 out, 0.3 read from a cache."""
_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

PATH = {
    "anthropic": "/v1/messages?beta=true",
    "openai": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "gemini": "/v1beta/models/some-model:generateContent",
}
STREAM_PATH = {**PATH, "gemini": "/v1beta/models/some-model:streamGenerateContent?alt=sse"}
KEY_HEADER = {
    "anthropic": ("x-api-key", "{}"), "openai": ("authorization", "Bearer {}"),
    "openai-responses": ("authorization", "Bearer {}"), "gemini": ("x-goog-api-key", "{}"),
}  # fmt: skip
USAGE = Usage(120, 30, 100, None, 10)
"""What every answer below tells."""
DOLLARS = (20 * 3 + 100 * 0.3 + 30 * 15) / 1e6


def asking(protocol: str, text: str = "Hello", stream: bool = False) -> dict[str, Any]:
    """A request of the protocol."""
    body: dict[str, Any]
    if protocol == "gemini":
        return {"contents": [{"role": "user", "parts": [{"text": text}]}]}
    if protocol == "openai-responses":
        body = {"model": "some-model", "input": [{"role": "user", "content": text}]}
    else:
        body = {"model": "some-model", "max_tokens": 1000, "messages": [{"role": "user", "content": text}]}
    return {**body, "stream": True} if stream else body


def _told(protocol: str) -> tuple[str, dict[str, Any]]:
    """USAGE in the words of the protocol."""
    if protocol == "anthropic":
        details = {"output_tokens_details": {"thinking_tokens": 10}}
        return "usage", {"input_tokens": 20, "cache_read_input_tokens": 100, "output_tokens": 30, **details}
    if protocol == "gemini":
        return "usageMetadata", {
            "promptTokenCount": 120, "candidatesTokenCount": 20, "thoughtsTokenCount": 10, "cachedContentTokenCount": 100,
            "totalTokenCount": 150,
        }  # fmt: skip
    names = ("prompt_tokens", "completion_tokens") if protocol == "openai" else ("input_tokens", "output_tokens")
    return "usage", {
        names[0]: 120, names[1]: 30, f"{names[0]}_details": {"cached_tokens": 100},
        f"{names[1]}_details": {"reasoning_tokens": 10},
    }  # fmt: skip


def answered(protocol: str, text: str = "Done.", told: bool = True) -> dict[str, Any]:
    """A whole answer."""
    data: dict[str, Any] = {
        "anthropic": {"type": "message", "model": "resolved", "content": [{"type": "text", "text": text}]},
        "openai": {"model": "resolved", "choices": [{"index": 0, "message": {"content": text}}]},
        "openai-responses": {
            "object": "response",
            "model": "resolved",
            "status": "completed",
            "output": [{"text": text}],
        },
        "gemini": {"modelVersion": "resolved", "candidates": [{"content": {"parts": [{"text": text}]}}]},
    }[protocol]
    return {**data, **dict([_told(protocol)])} if told else data


def streamed(protocol: str, text: str = "Done, and well.") -> list[bytes]:
    """The same as events, a word of the text in each."""
    name, usage = _told(protocol)
    words: list[Any] = text.split(" ")
    if protocol == "anthropic":
        first = {"input_tokens": 20, "cache_read_input_tokens": 100, "output_tokens": 1}
        events = [
            {"type": "message_start", "message": {"model": "resolved", "content": [], "usage": first}},
            *({"type": "content_block_delta", "delta": {"type": "text_delta", "text": word}} for word in words),
            {"type": "message_delta", "usage": {k: v for k, v in usage.items() if k.startswith("output")}},
            {"type": "message_stop"},
        ]
        return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]
    if protocol == "openai":
        choices = [*([{"delta": {"content": word}}] for word in words), [{"delta": {}, "finish_reason": "stop"}]]
        events = [{"model": "resolved", "choices": each} for each in choices]
        events.append({"model": "resolved", "choices": [], name: usage})
        return [*(f"data: {json.dumps(event)}\n\n".encode() for event in events), b"data: [DONE]\n\n"]
    if protocol == "openai-responses":
        events = [
            {"type": "response.created", "response": {"model": "resolved", "usage": None, "error": None}},
            *({"type": "response.output_text.delta", "delta": word} for word in words),
            {"type": "response.completed", "response": {"model": "resolved", "error": None, "output": [], name: usage}},
        ]
        return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]
    part = {"promptTokenCount": 120, "cachedContentTokenCount": 100, "totalTokenCount": 120}
    events = [{"modelVersion": "resolved", "candidates": [{"content": {"parts": [{"text": word}]}}]} for word in words]
    return [
        f"data: {json.dumps({**event, name: usage if event is events[-1] else part})}\r\n\r\n".encode()
        for event in events
    ]


@dataclass
class Got:
    """One request as the server got it."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Reply:
    """The way to answer one request. `gone` says when the gateway has closed the connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        fields = {"content-type": "application/json", "content-length": str(len(raw))}
        await self.head(status, {**fields, **(headers or {})})
        await self.raw(raw)

    async def head(self, status: int, headers: Mapping[str, str]) -> None:
        fields = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        await self.raw(f"HTTP/1.1 {status} Whatever\r\n{fields}\r\n".encode("latin-1"))

    async def events(self, events: Sequence[bytes], end: bool = True, begin: bool = True) -> None:
        if begin:
            await self.head(200, {"content-type": "text/event-stream; charset=utf-8", "transfer-encoding": "chunked"})
        for event in events:
            await self.raw(b"%x\r\n%s\r\n" % (len(event), event))
        if end:
            await self.raw(b"0\r\n\r\n")

    async def raw(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def gone(self) -> None:
        with contextlib.suppress(OSError):
            await asyncio.wait_for(self.reader.read(), 600)

    def reset(self) -> None:
        """Close with RST, as a crashed peer does."""
        plain = self.writer.get_extra_info("socket")
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


React = Callable[[Got, Reply], Awaitable[None]]


@dataclass
class Server:
    """A model's server. `got` holds every request in order of arrival."""

    react: React
    got: list[Got] = field(default_factory=list)
    url: str = ""

    async def __aenter__(self) -> Server:
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                method, path, _ = lines[0].split(" ", 2)
                pairs = (line.partition(":") for line in lines[1:] if line)
                headers = {name.lower(): value.strip() for name, _, value in pairs}
                got = Got(method, path, headers, await reader.readexactly(int(headers.get("content-length", 0))))
                self.got.append(got)
                await self.react(got, Reply(reader, writer))
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()


async def works(got: Got, reply: Reply) -> None:
    """The server that answers well whatever it is asked, in a stream where that is asked for."""
    protocol = protocol_of(got.path)
    if "stream" in got.path or (got.body and got.json.get("stream")):
        await reply.events(streamed(protocol))
    else:
        await reply.send(200, answered(protocol))


def protocol_of(path: str) -> str:
    if path.partition("?")[0].endswith("/messages"):
        return "anthropic"
    if path.endswith("/chat/completions"):
        return "openai"
    return "openai-responses" if path.endswith("/responses") else "gemini"


def upstream(url: str, protocol: str, **more: Any) -> Upstream:
    """The server at the URL, with the real key."""
    return Upstream(Endpoint(url, KEY, load_provider(protocol).build_key_header(KEY), **more), protocol)


@contextlib.asynccontextmanager
async def opened(server: Server | str, protocol: str, path: str = "", **terms: Any) -> AsyncIterator[Gateway]:
    """A gateway before the server. What it kept is looked through for the key when it is closed."""
    limits = {name: terms.pop(name) for name in ("timeout", "idle_timeout") if name in terms}
    where = server if isinstance(server, str) else server.url
    given = GatewayLimits(STAND_IN, **{"price": PRICE, **terms})
    async with open_gateway(upstream(where, protocol, **limits), given, path) as gateway:
        yield gateway
    assert "SECRET" not in repr(gateway.seen)


def agent(gateway: Gateway | str, key: str = STAND_IN, protocol: str = "anthropic") -> httpx.AsyncClient:
    """An agent's HTTP library."""
    path = gateway if isinstance(gateway, str) else None
    url = "http://127.0.0.1" if path else f"http://127.0.0.1:{gateway.port}"  # type: ignore[union-attr]
    name, form = KEY_HEADER[protocol]
    transport = httpx.AsyncHTTPTransport(verify=_TLS, uds=path, trust_env=False)
    return httpx.AsyncClient(
        base_url=url, headers={name: form.format(key)} if key else {}, transport=transport, trust_env=False, timeout=600
    )


async def ask(gateway: Gateway, protocol: str, stream: bool = False, body: Any = None) -> httpx.Response:
    """Make one call and read all of its answer."""
    path = STREAM_PATH[protocol] if stream else PATH[protocol]
    async with agent(gateway, protocol=protocol) as client:
        return await client.post(path, json=asking(protocol, stream=stream) if body is None else body)


async def rawly(gateway: Gateway, data: bytes, until: bytes = b"", eof: bool = False) -> bytes:
    """Send bytes as they are; what comes back, up to `until` or to the end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    try:
        writer.write(data)
        if eof:
            writer.write_eof()
        back = b""
        with contextlib.suppress(OSError):
            while (piece := await asyncio.wait_for(reader.read(1 << 16), 600)) and not (
                until and until in back + piece
            ):
                back += piece
            back += piece
        return back
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
