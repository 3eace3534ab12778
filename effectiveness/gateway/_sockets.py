"""What gateway, proxy and tunnel have in common: listening as long as a context lasts, and passing bytes on."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

from skill_health.core.errors import AbortedError

_LONGEST_PATH = 107
_PIECE = 1 << 16
Accept = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None] | None]


@contextlib.asynccontextmanager
async def listening(
    accept: Accept, socket: str, what: str, host: str = "127.0.0.1", limit: int = 1 << 16
) -> AsyncIterator[int]:
    """Listen on a Unix socket that is ours alone, or on a free port of the address `host` where `socket` is "".

    Gives the port, 0 with a socket. A line has `limit` bytes at most. Raises AbortedError where nothing can listen
    there; `what` is who cannot.
    """
    try:
        server = await _listen(accept, socket, host, limit)
    except OSError as reason:
        raise AbortedError(f"{what} cannot listen on {socket or host}: {reason}") from None
    try:
        yield 0 if socket else server.sockets[0].getsockname()[1]
    finally:
        server.close()
        if socket:
            with contextlib.suppress(OSError):
                os.unlink(socket)


async def _listen(accept: Accept, socket: str, host: str, limit: int) -> asyncio.Server:
    if not socket:
        return await asyncio.start_server(accept, host, 0, limit=limit)
    if len(os.fsencode(socket)) > _LONGEST_PATH:
        raise OSError(f"the path of a socket has {_LONGEST_PATH} bytes at most")
    server = await asyncio.start_unix_server(accept, socket)
    os.chmod(socket, 0o600)
    return server


def begin_task(tasks: set[asyncio.Task[None]], work: Coroutine[Any, Any, None]) -> None:
    """Do the work of a connection beside everything else, as one of the tasks for as long as it takes."""
    task = asyncio.ensure_future(work)
    tasks.add(task)
    task.add_done_callback(tasks.discard)


@contextlib.asynccontextmanager
async def ended(tasks: set[asyncio.Task[None]]) -> AsyncIterator[None]:
    """Cancel what is under way when the context ends, and wait until it has ended."""
    try:
        yield
    finally:
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def pass_on(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Pass all bytes on, and the end of them."""
    with contextlib.suppress(OSError):
        while data := await source.read(_PIECE):
            target.write(data)
            await target.drain()
        if target.can_write_eof():
            target.write_eof()
