"""One request of an agent and the way to answer it, apart from how it came over the wire."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field

import h11

Headers = Iterable[tuple[bytes, bytes]]
REQUEST = 64 << 20
"""So many bytes may be in the body of one request; twice as many in all requests of a gateway at a time."""
JSON = (b"content-type", b"application/json")


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
        if self.held + size > 2 * REQUEST:
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

    async def whole(self, status: int, body: bytes, headers: Headers = ()) -> None:
        """Answer at once. Raises Gone."""
        fields = [*headers, (b"content-length", b"%d" % len(body))]
        shown = [h11.Data(data=body)] if body and self.method != "HEAD" else []
        await self._send(h11.Response(status_code=status, headers=fields), *shown, h11.EndOfMessage())

    async def begin(self, status: int, headers: Headers) -> None:
        """Begin an answer of unknown length. Raises Gone."""
        await self._send(h11.Response(status_code=status, headers=list(headers)))

    async def piece(self, data: bytes) -> None:
        """Send a part of it. Raises Gone."""
        if self.method != "HEAD":
            await self._send(h11.Data(data=data))

    async def end(self) -> None:
        """End it. Raises Gone."""
        await self._send(h11.EndOfMessage())
