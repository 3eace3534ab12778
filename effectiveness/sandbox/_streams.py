"""What a program prints: its first bytes are kept, the rest is dropped, and the supervisor's last words are found."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

STDOUT, STDERR = 1, 2
# More than what the supervisor says at last.
_TAIL = 8 << 10


class Streams(asyncio.SubprocessProtocol):
    """Both streams of a process. `limit` is in bytes for each, 0 for none."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.kept = {STDOUT: bytearray(), STDERR: bytearray()}
        self.total = {STDOUT: 0, STDERR: 0}
        self.tail = b""
        self.ended = asyncio.Event()
        self.closed = asyncio.Event()

    @property
    def most(self) -> int:
        """How much the busier of the two has printed."""
        return max(self.total.values())

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep what there is room for."""
        kept = self.kept[fd]
        self.total[fd] += len(data)
        kept += data[: max(0, self.limit - len(kept))] if self.limit else data
        if fd == STDERR:
            self.tail = (self.tail + data)[-_TAIL:]

    def has(self, nonce: str) -> bool:
        """Whether the supervisor has said its last words."""
        return _mark(nonce) in self.tail

    def process_exited(self) -> None:
        """The process has ended; its streams may still hold something."""
        self.ended.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """The process has ended, and all is read."""
        self.ended.set()
        self.closed.set()


@dataclass(frozen=True, slots=True)
class LastWords:
    """How the supervisor says that the program ended; `error` is why it could not be started."""

    exit_code: int
    stopped: str
    error: str


def last_words(streams: Streams, nonce: str) -> LastWords | None:
    """What the supervisor said at last, taken out of stderr; None where it said nothing.

    It speaks when all others are dead, so nobody can write anything behind its words.
    """
    mark = _mark(nonce)
    at = streams.tail.rfind(mark)
    if at < 0:
        return None
    length = len(streams.tail) - at
    end = streams.total[STDERR] - length
    streams.total[STDERR] = end
    del streams.kept[STDERR][end:]
    try:
        code, stopped, error = streams.tail[at + len(mark) :].decode("utf-8", "replace").split(" ", 2)
        return LastWords(int(code), "" if stopped == "-" else stopped, error.strip())
    except ValueError:
        return None


def _mark(nonce: str) -> bytes:
    return f"\0{nonce} ".encode()
