"""A way out for an agent that asks servers of its own: connections for TLS to hosts of given domains, and to no others.

The agent is told of it as its proxy for HTTPS (RFC 9110, CONNECT), and in its sandbox there is no other way out. What
passes is encrypted from end to end: nobody here sees, counts or caps it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Collection

from skill_health.core.errors import AbortedError
from skill_health.effectiveness.gateway.server import listening

_TLS = 443
_LONGEST = 8 << 10
_CONNECTIONS = 64
_SECONDS = 30.0
_PIECE = 1 << 16
dial = asyncio.open_connection
"""Opens a connection to a host that is allowed."""


@contextlib.asynccontextmanager
async def open_tunnel(domains: Collection[str], socket: str = "") -> AsyncIterator[int]:
    """Listen on a Unix socket, or on a free port of 127.0.0.1 where `socket` is "", until the context ends.

    Gives the port, 0 with a socket. Without any domain every connection is refused. The end closes all of them. Raises
    AbortedError where nothing can listen there.
    """
    tasks: set[asyncio.Task[None]] = set()
    slots = asyncio.Semaphore(_CONNECTIONS)

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with slots:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
                await _pass(reader, writer, domains)
        writer.close()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(accept(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    try:
        server = await listening(begin, socket)
    except OSError as reason:
        raise AbortedError(f"the agent's way out cannot listen on {socket or '127.0.0.1'}: {reason}") from None
    try:
        yield 0 if socket else server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if socket:
            with contextlib.suppress(OSError):
                os.unlink(socket)


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, domains: Collection[str]) -> None:
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _SECONDS)
    host = allowed(head.partition(b"\r\n")[0] if len(head) <= _LONGEST else b"", domains)
    if not host:
        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        return
    try:
        beyond, behind = await asyncio.wait_for(dial(host, _TLS), _SECONDS)
    except (OSError, TimeoutError):
        writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        return
    try:
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await writer.drain()
        await asyncio.gather(_copy(reader, behind), _copy(beyond, writer))
    finally:
        behind.close()


def allowed(line: bytes, domains: Collection[str]) -> str:
    """The host that a request's first line asks for; "" where it may not be asked, or where the line is none."""
    try:
        method, place, version = line.decode("ascii").split(" ")
    except (UnicodeDecodeError, ValueError):
        return ""
    host, _, port = place.rpartition(":")
    host = host.casefold()
    if method != "CONNECT" or not version.startswith("HTTP/1.") or port != str(_TLS):
        return ""
    return host if any(host == domain or host.endswith(f".{domain}") for domain in domains) else ""


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(_PIECE):
            target.write(data)
            await target.drain()
        if target.can_write_eof():
            target.write_eof()
