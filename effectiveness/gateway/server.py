"""The gateway of one trial: listens for its agent, and lets calls of its model through.

async with open_gateway(upstream, terms, socket) as gateway:
    ... the agent runs, with http://127.0.0.1:{gateway.port} as its base URL and terms.key as its key ...
gateway.seen
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator

from skill_health.core.errors import AbortedError
from skill_health.effectiveness.gateway._api import GatewayLimits, GatewayTrace, Upstream
from skill_health.effectiveness.gateway.connection import Connection
from skill_health.effectiveness.gateway.desk import GatewayHandler
from skill_health.effectiveness.gateway.exchange import BodyMemory

_CONNECTIONS = 64
_SOCKET = 107


@contextlib.asynccontextmanager
async def open_gateway(upstream: Upstream, terms: GatewayLimits, socket: str = "") -> AsyncIterator[Gateway]:
    """Listen on a Unix socket, or on a free port of 127.0.0.1 where `socket` is "", until the context ends.

    The end of it closes every connection, whatever is under way. Raises AbortedError where nothing can listen there.
    """
    gateway = Gateway(upstream, terms)
    try:
        server = await _listening(gateway, socket)
    except OSError as reason:
        raise AbortedError(f"the gateway to the model cannot listen on {socket or '127.0.0.1'}: {reason}") from None
    try:
        if not socket:
            gateway.port = server.sockets[0].getsockname()[1]
        yield gateway
    finally:
        server.close()
        await gateway.aclose()
        if socket:
            with contextlib.suppress(OSError):
                os.unlink(socket)
    gateway.blame()


async def _listening(gateway: Gateway, socket: str) -> asyncio.Server:
    if not socket:
        return await asyncio.start_server(gateway.accept, "127.0.0.1", 0)
    if len(os.fsencode(socket)) > _SOCKET:
        raise OSError(f"the path of a socket has {_SOCKET} bytes at most")
    server = await asyncio.start_unix_server(gateway.accept, socket)
    os.chmod(socket, 0o600)
    return server


class Gateway:
    """A gateway while it is open. `port` is where it listens on 127.0.0.1, 0 with a socket."""

    def __init__(self, upstream: Upstream, terms: GatewayLimits) -> None:
        self.port = 0
        self._desk = GatewayHandler(upstream, terms)
        self._room = BodyMemory()
        self._tasks: set[asyncio.Task[None]] = set()
        self._bugs: list[Exception] = []
        self._closed = False

    @property
    def seen(self) -> GatewayTrace:
        """What has passed so far."""
        return self._desk.seen

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a new connection; one too many is closed at once."""
        if self._closed:
            writer.transport.abort()
            return
        if len(self._tasks) >= _CONNECTIONS:
            self._desk.turned_away(f"more than {_CONNECTIONS} connections at a time")
            writer.transport.abort()
            return
        connection = Connection(reader, writer, self._room)
        task = asyncio.ensure_future(connection.serve(self._desk.answer, self._desk.reject))
        self._tasks.add(task)
        task.add_done_callback(self._done)

    async def aclose(self) -> None:
        """End everything that is under way, and wait until it has ended."""
        self._closed = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._desk.aclose()

    def blame(self) -> None:
        """Raise what went wrong in the gateway itself: no agent and no server may be blamed for it."""
        if self._bugs:
            raise self._bugs[0]

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and isinstance(bug := task.exception(), Exception):
            self._bugs.append(bug)
