"""The gateway of a trial that is made elsewhere: it stays here with the key, and the agent's worker passes bytes to it.

    async with open_far_end(host, upstream, limits_of, most) as line:       here; `line` goes to the worker
    async with borrow_line(line, wish, socket) as borrowed:                 there; the agent's calls arrive here

A connection begins with one line of JSON that shows the line's token. One that opens a gateway stays until the worker
is done with it, and is told then what has passed; each of the others is one connection of the agent. Nothing of it is
encrypted: it is for machines of one network, as Ray itself is.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from hmac import compare_digest
from secrets import token_hex

import msgspec

from skill_health.effectiveness.gateway._api import GatewayLimits, GatewayTrace, Upstream
from skill_health.effectiveness.gateway._sockets import begin_task, ended, listening, pass_on
from skill_health.effectiveness.gateway.server import Gateway
from skill_health.effectiveness.sandbox._run import SandboxError

_LONGEST = 4 << 20
_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class FarLine:
    """Where the gateways of one trial are reached, and the token that is to be shown there."""

    host: str
    port: int
    token: str = field(repr=False)


class LineWish(msgspec.Struct, frozen=True):
    """The gateway that a worker wants: the stand-in for the key, skills to look for beside those of the cell.

    A `closed` one refuses every call of a model.
    """

    key: str
    skills: dict[str, str] = {}
    closed: bool = False


class _Opening(msgspec.Struct, frozen=True):
    """The first line of a connection: a gateway is opened as `wish` says, or `session` is connected to."""

    token: str
    wish: LineWish | None = None
    session: int = -1


class _Answer(msgspec.Struct, frozen=True):
    """What a connection that opens a gateway is told: first its number, then what has passed."""

    session: int = -1
    error: str = ""
    trace: GatewayTrace | None = None


@contextlib.asynccontextmanager
async def open_far_end(
    host: str, upstream: Upstream, limits_of: Callable[[LineWish], GatewayLimits], most: int
) -> AsyncIterator[FarLine]:
    """Open at most so many gateways, one after the other, for whoever has the line, until the context ends.

    `limits_of` says what each may do. Raises AbortedError where nothing can listen on the address `host`.
    """
    end = _FarEnd(upstream, limits_of, most)
    async with ended(end.tasks), listening(end.accept, "", "the gateway to the model", host, _LONGEST) as port:
        yield FarLine(host, port, end.token)
    if end.bugs:
        raise end.bugs[0]


class _FarEnd:
    """The end of a line where the gateways are."""

    def __init__(self, upstream: Upstream, limits_of: Callable[[LineWish], GatewayLimits], most: int) -> None:
        self.token = token_hex(24)
        self.tasks: set[asyncio.Task[None]] = set()
        self.bugs: list[Exception] = []
        self._upstream, self._limits_of, self._most = upstream, limits_of, most
        self._gateways: list[Gateway] = []

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection."""
        begin_task(self.tasks, self._serve(reader, writer))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handed_on = False
        try:
            async with asyncio.timeout(_SECONDS):
                asked = msgspec.json.decode(await reader.readline(), type=_Opening)
            if not compare_digest(asked.token, self.token):
                return
            if asked.wish is not None:
                await self._open(asked.wish, reader, writer)
            elif 0 <= asked.session < len(self._gateways):
                handed_on = True
                self._gateways[asked.session].accept(reader, writer)
        except (OSError, ValueError, msgspec.MsgspecError, TimeoutError):
            return
        finally:
            if not handed_on:
                writer.close()

    async def _open(self, wish: LineWish, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._gateways) >= self._most:
            await _tell(writer, _Answer(error=f"a trial like this one asks through {self._most} gateways at most"))
            return
        gateway = Gateway(self._upstream, self._limits_of(wish))
        self._gateways.append(gateway)
        try:
            await _tell(writer, _Answer(session=len(self._gateways) - 1))
            # It says nothing more: the end of its line is the end of the gateway.
            await reader.read(1)
        finally:
            await gateway.aclose()
            with contextlib.suppress(Exception):
                gateway.raise_bug()
                await _tell(writer, _Answer(trace=gateway.seen))
        try:
            gateway.raise_bug()
        except Exception as bug:
            self.bugs.append(bug)


@dataclass(slots=True)
class BorrowedLine:
    """The near end of a line: its port on 127.0.0.1 (0 with a socket), and what has passed in the end."""

    port: int
    trace: GatewayTrace | None = None


@contextlib.asynccontextmanager
async def borrow_line(line: FarLine, wish: LineWish, socket: str = "") -> AsyncIterator[BorrowedLine]:
    """Have a gateway opened at the far end, and listen for its agent here until the context ends.

    Raises SandboxError where the far end is not there (any more), AbortedError where nothing can listen here.
    """
    tasks: set[asyncio.Task[None]] = set()
    reader, writer = await _dial(line)
    try:
        await _tell(writer, _Opening(line.token, wish))
        opened = await _hear(reader)
        if opened.error or opened.session < 0:
            raise SandboxError(opened.error or _gone(line))

        async def connect(near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
            try:
                far, there = await _dial(line)
            except SandboxError:
                back.transport.abort()
                return
            try:
                await _tell(there, _Opening(line.token, session=opened.session))
                await asyncio.gather(pass_on(near, there), pass_on(far, back))
            except OSError:
                back.transport.abort()
            finally:
                there.close()
                back.close()

        def accept(near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
            begin_task(tasks, connect(near, back))

        async with ended(tasks), listening(accept, socket, "the agent's way to its model") as port:
            borrowed = BorrowedLine(port)
            yield borrowed
        writer.write_eof()
        borrowed.trace = (await _hear(reader)).trace
        if borrowed.trace is None:
            raise SandboxError(_gone(line))
    except OSError as error:
        raise SandboxError(f"{_gone(line)}: {error.strerror or error}") from None
    finally:
        writer.close()


async def _dial(line: FarLine) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    try:
        async with asyncio.timeout(_SECONDS):
            return await asyncio.open_connection(line.host, line.port, limit=64 << 20)
    except (OSError, TimeoutError) as error:
        raise SandboxError(f"{_gone(line)}: {getattr(error, 'strerror', None) or 'no answer'}") from None


def _gone(line: FarLine) -> str:
    return f"the gateway of the trial, at {line.host}:{line.port}, cannot be reached from its worker"


async def _tell(writer: asyncio.StreamWriter, message: _Opening | _Answer) -> None:
    writer.write(msgspec.json.encode(message) + b"\n")
    await writer.drain()


async def _hear(reader: asyncio.StreamReader) -> _Answer:
    """The next answer; an empty one where the far end is gone."""
    line = await reader.readline()
    try:
        return msgspec.json.decode(line, type=_Answer)
    except msgspec.MsgspecError:
        return _Answer()
