"""Bytes put aside: in memory while they are few, then in a file without a name."""

from __future__ import annotations

from typing import BinaryIO, Protocol

_HELD = 16 << 20


class Source(Protocol):
    """What bytes can be had from again."""

    def read(self, at: int, length: int) -> bytes:
        """The bytes from this place on; fewer where there are no more."""


class Spool:
    """What was added can be read again until the process ends; whatever ends it, nothing is left behind."""

    def __init__(self, held: int = _HELD) -> None:
        self.size, self._held = 0, held
        self._memory = bytearray()
        self._file: BinaryIO | None = None

    def add(self, data: bytes) -> int:
        """Put bytes aside: the place where they begin. Raises OSError where the disk is full."""
        at = self.size
        self.size += len(data)
        if self._file is None and self.size > self._held:
            self._open()
        if self._file is None:
            self._memory += data
        else:
            self._file.seek(at)
            self._file.write(data)
        return at

    def _open(self) -> None:
        import tempfile

        self._file = tempfile.TemporaryFile(prefix="skill-health-")  # noqa: SIM115 (open until `close`)
        self._file.write(self._memory)
        self._memory = bytearray()

    def read(self, at: int, length: int) -> bytes:
        """The bytes from this place on."""
        if self._file is None:
            return bytes(self._memory[at : at + length])
        self._file.seek(at)
        return self._file.read(length)

    def close(self) -> None:
        """Give the memory and the file back."""
        self._memory = bytearray()
        if self._file is not None:
            self._file.close()
