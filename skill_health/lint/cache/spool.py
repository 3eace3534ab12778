"""Bytes put aside: in memory while they are few, then in a file without a name."""

from __future__ import annotations

from typing import BinaryIO, Protocol

from skill_health.core.errors import AbortedError

_HELD = 16 << 20


class Source(Protocol):
    """What bytes can be had from again."""

    def read(self, at: int, length: int) -> bytes:
        """The bytes from this place on; fewer where there are no more."""


class Spool:
    """What was added can be read again until the process ends; whatever ends it, nothing is left behind."""

    def __init__(self) -> None:
        self.size = 0
        self._memory = bytearray()
        self._file: BinaryIO | None = None

    def add(self, data: bytes) -> int:
        """Put bytes aside: the place where they begin. Raises AbortedError where there is no room for them."""
        at = self.size
        try:
            if self._file is None and at + len(data) > _HELD:
                self._open()
            if self._file is None:
                self._memory += data
            else:
                self._file.seek(at)
                self._file.write(data)
                self._file.flush()
        except OSError as error:
            raise AbortedError(
                f"cannot write a temporary file: {error.strerror or error}; name a folder with room in TMPDIR"
            ) from None
        self.size += len(data)
        return at

    def _open(self) -> None:
        import tempfile

        self._file = tempfile.TemporaryFile(prefix="skill-health-")  # noqa: SIM115 (open until `close`)
        self._file.write(self._memory)
        self._memory = bytearray()

    def read(self, at: int, length: int) -> bytes:
        """The bytes from this place on; fewer where there are no more."""
        if self._file is None:
            return bytes(self._memory[at : at + length])
        self._file.seek(at)
        return self._file.read(length)

    def close(self) -> None:
        """Give the memory and the file back."""
        self.size, self._memory = 0, bytearray()
        if self._file is not None:
            self._file.close()
            self._file = None
