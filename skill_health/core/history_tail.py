"""The lines of a history from the last to the first, without holding the file: it grows with every run."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import BinaryIO

from skill_health.core.errors import UsageError
from skill_health.core.files import at_once

_BLOCK = 1 << 20
_LONGEST = 64 << 20


def read_backwards(path: str, block: int = _BLOCK) -> Iterator[tuple[int, bytes]]:
    """The number, from 1, and the bytes of every line that is not blank, the last one first.

    An absent file has none. A file that is replaced meanwhile is read as it was. Raises UsageError where it cannot be
    read.
    """
    try:
        with open(path, "rb", opener=at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UsageError(f"cannot read {path}: it is no regular file")
            yield from _backwards(file, block)
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error


def _backwards(file: BinaryIO, block: int) -> Iterator[tuple[int, bytes]]:
    number = 1 + sum(part.count(b"\n") for part in iter(lambda: file.read(block), b""))
    at = file.seek(0, os.SEEK_END)
    rest: list[bytes] = []
    while at > 0:
        size = min(block, at)
        at -= size
        file.seek(at)
        head, *lines = file.read(size).split(b"\n")
        for line in reversed(lines):
            whole = line + b"".join(reversed(rest))
            rest.clear()
            if whole.strip():
                yield number, whole
            number -= 1
        rest.append(head)
        if len(rest) * block > _LONGEST + block:
            raise UsageError(f"cannot read {file.name}: a line of it is longer than {_LONGEST >> 20} MiB")
    first = b"".join(reversed(rest))
    if first.strip():
        yield number, first
