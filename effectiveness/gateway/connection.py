"""One connection of an agent: requests in, answers out, within bounds of time and memory, whatever it sends."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import h11

Headers = Iterable[tuple[bytes, bytes]]
REQUEST = 64 << 20
"""So many bytes may be in the body of one request."""
MEMORY = 2 * REQUEST
"""So many in all requests of a gateway that are read or answered at the same time."""
JSON = (b"content-type", b"application/json")
_HEAD = 64 << 10
_PIECE = 64 << 10
_PIECES = 100_000
_IDLE, _READ, _WRITE, _CLOSE = 600.0, 60.0, 120.0, 2.0


class AgentGone(Exception):
    """The agent has closed its connection, or reads no more."""


class BrokenAnswer(Exception):
    """An answer has begun and cannot be ended; the connection is cut, so that the agent sees that too."""


class Rejected(Exception):
    """A request that is answered with an error, `status`, before anybody looks at what it asks."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(slots=True)
class BodyMemory:
    """Memory that all connections of a gateway share: the bytes of bodies that are being read or answered."""

    held: int = 0

    def take(self, size: int) -> None:
        """Take room for so many bytes. Raises Rejected where there is no more."""
        if self.held + size > MEMORY:
            raise Rejected(503, "too many large requests at the same time")
        self.held += size


@dataclass(slots=True)
class Exchange:
    """One request, and the way to answer it. Names of headers are in lower case; the first of several counts."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    _send: Callable[..., Awaitable[None]] = field(repr=False)
    _take: Callable[[int], None] = field(repr=False)

    def unpack(self, body: bytes) -> None:
        """Put the body without its encoding into the place of what came. Raises Rejected where there is no room."""
        self._take(max(0, len(body) - len(self.body)))
        self.body = body

    async def answer(self, status: int, body: bytes, headers: Headers = ()) -> None:
        """Answer at once. Raises AgentGone."""
        fields = [*headers, (b"content-length", b"%d" % len(body))]
        shown = [h11.Data(data=body)] if body and self.method != "HEAD" else []
        await self._send(h11.Response(status_code=status, headers=fields), *shown, h11.EndOfMessage())

    async def begin_answer(self, status: int, headers: Headers) -> None:
        """Begin an answer of unknown length. Raises AgentGone."""
        await self._send(h11.Response(status_code=status, headers=list(headers)))

    async def send_piece(self, data: bytes) -> None:
        """Send a part of it. Raises AgentGone."""
        if self.method != "HEAD":
            await self._send(h11.Data(data=data))

    async def end_answer(self) -> None:
        """End it. Raises AgentGone."""
        await self._send(h11.EndOfMessage())


Answer = Callable[[Exchange], Coroutine[Any, Any, None]]
Reject = Callable[[int, str], bytes]


class Connection:
    """Serves the requests of one connection, one after the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, room: BodyMemory) -> None:
        self._reader, self._writer, self._room = reader, writer, room
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD)
        self._reading: asyncio.Task[bytes] | None = None
        self._held = 0

    async def serve(self, answer: Answer, reject: Reject) -> None:
        """Answer until either side has enough. `reject` words the error for a request that cannot be read."""
        polite = False
        try:
            while (exchange := await self._next(reject)) is not None:
                await self._while_there(answer(exchange))
                self._release()
                if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
                    break
                self._http.start_next_cycle()
            polite = True
        except (AgentGone, BrokenAnswer, TimeoutError, OSError):
            pass
        finally:
            self._release()
            await self._close(polite)

    async def _next(self, reject: Reject) -> Exchange | None:
        try:
            return await self._request()
        except Rejected as error:
            status, message = error.status, str(error)
        except h11.RemoteProtocolError as error:
            status, message = error.error_status_hint, f"the request is no HTTP: {error}"
        if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = reject(status, message)
            fields = [JSON, (b"content-length", b"%d" % len(body)), (b"connection", b"close")]
            await self._send(h11.Response(status_code=status, headers=fields), h11.Data(data=body), h11.EndOfMessage())
        return None

    async def _request(self) -> Exchange | None:
        """The next request with its body; None where the agent has closed the connection."""
        head: h11.Request | None = None
        parts: list[bytes] = []
        begun = False
        async with asyncio.timeout(_IDLE) as timer:
            while True:
                event = self._http.next_event()
                if event is h11.NEED_DATA:
                    if self._http.they_are_waiting_for_100_continue:
                        await self._send(h11.InformationalResponse(status_code=100, headers=[]))
                    if not (data := await self._read()):
                        return None
                    if not begun:
                        begun = True
                        timer.reschedule(asyncio.get_running_loop().time() + _READ)
                    self._http.receive_data(data)
                elif isinstance(event, h11.Request):
                    head = event
                    self._expect(head)
                elif isinstance(event, h11.Data):
                    parts.append(bytes(event.data))
                    await self._hold(len(event.data), len(parts))
                elif isinstance(event, h11.EndOfMessage) and head is not None:
                    return self._exchange(head, b"".join(parts))
                else:
                    return None

    def _expect(self, head: h11.Request) -> None:
        """Raise Rejected for a body that is announced as too large."""
        for name, value in head.headers:
            if name == b"content-length" and int(value) > REQUEST:
                raise Rejected(413, f"a request may have {REQUEST:,} bytes at most")

    async def _hold(self, size: int, pieces: int) -> None:
        self._take(size)
        if self._held > REQUEST or pieces > _PIECES:
            raise Rejected(413, f"a request may have {REQUEST:,} bytes and {_PIECES:,} pieces at most")
        if pieces % 500 == 0:
            # Whoever sends a body in single bytes must not keep all others waiting.
            await asyncio.sleep(0)

    def _take(self, size: int) -> None:
        self._room.take(size)
        self._held += size

    def _release(self) -> None:
        self._room.held -= self._held
        self._held = 0

    def _exchange(self, head: h11.Request, body: bytes) -> Exchange:
        pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in reversed(list(head.headers))]
        return Exchange(
            head.method.decode("latin-1"), head.target.decode("latin-1"), dict(pairs), body, self._send, self._take
        )

    async def _read(self) -> bytes:
        task, self._reading = self._reading or asyncio.ensure_future(self._reader.read(_PIECE)), None
        return await task

    async def _while_there(self, answer: Coroutine[Any, Any, None]) -> None:
        """Run to the end, or until the agent closes the connection. Raises AgentGone then.

        Who sends the next request before the answer has come is taken at its word, and no longer watched.
        """
        task = asyncio.ensure_future(answer)
        reading = self._reading = self._reading or asyncio.ensure_future(self._reader.read(_PIECE))
        try:
            await asyncio.wait((task, reading), return_when=asyncio.FIRST_COMPLETED)
            if not task.done() and (reading.exception() is not None or not reading.result()):
                raise AgentGone
            await task
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def _send(self, *events: h11.Event) -> None:
        try:
            self._writer.write(b"".join(self._http.send(event) or b"" for event in events))
            async with asyncio.timeout(_WRITE):
                await self._writer.drain()
        except (OSError, TimeoutError) as error:
            raise AgentGone from error

    async def _close(self, polite: bool) -> None:
        """Close the connection: after all was sent and taken, or at once where there is nobody to read it."""
        try:
            if self._reading is not None:
                self._reading.cancel()
                await asyncio.gather(self._reading, return_exceptions=True)
            if polite:
                with contextlib.suppress(OSError, TimeoutError):
                    async with asyncio.timeout(_CLOSE):
                        await self._linger()
        finally:
            self._writer.transport.abort()
            with contextlib.suppress(OSError):
                await self._writer.wait_closed()

    async def _linger(self) -> None:
        """Read on until the agent closes, too: to close before would destroy an answer that it has not yet read."""
        self._writer.write_eof()
        await self._writer.drain()
        while await self._reader.read(_PIECE):
            pass
