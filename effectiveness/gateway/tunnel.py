"""A way out for an agent that asks servers of its own: connections for TLS to hosts of given domains, and to no others.

The agent is told of it as its proxy for HTTPS (RFC 9110, CONNECT), and in its sandbox there is no other way out. What
passes is encrypted from end to end: nobody here sees, counts or caps it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection

from skill_health.effectiveness.gateway._sockets import begin_task, ended, listening, pass_on

_TLS = 443
_LONGEST = 8 << 10
_CONNECTIONS = 64
_SECONDS = 30.0
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
        begin_task(tasks, accept(reader, writer))

    async with ended(tasks), listening(begin, socket, "the agent's way out") as port:
        yield port


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, domains: Collection[str]) -> None:
    async with asyncio.timeout(_SECONDS):
        head = await reader.readuntil(b"\r\n\r\n")
    host = allowed(head.partition(b"\r\n")[0] if len(head) <= _LONGEST else b"", domains)
    if not host:
        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        return
    try:
        async with asyncio.timeout(_SECONDS):
            beyond, behind = await dial(host, _TLS)
    except (OSError, TimeoutError):
        writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        return
    try:
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await writer.drain()
        await asyncio.gather(pass_on(reader, behind), pass_on(beyond, writer))
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
