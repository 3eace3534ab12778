"""What others wrote, read so that no link leads elsewhere and nothing later stumbles over a number or a text in it."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence
from typing import Any

from skill_health.core.files import at_once

_MOST = 1 << 64


def read_file(path: str, most: int) -> bytes | None:
    """The bytes of a regular file; None where it holds more than `most`. Raises OSError where it is something else."""
    # Opening a pipe must not wait for somebody to write, and no device says how long it is.
    with open(path, "rb", opener=at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("not a regular file")
        raw = file.read(most + 1)
    return raw if len(raw) <= most else None


def open_below(folder: str, names: Sequence[str]) -> int:
    """A handle to read the file that plain names lead to below a folder, through no link, even one put there just now.

    Raises OSError where there is none. A pipe in its place does not wait for a writer: the caller looks what it is.
    """
    if os.open not in os.supports_dir_fd:
        return os.open(os.path.join(folder, *names), _FLAGS)
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for name in names[:-1]:
        try:
            inner = os.open(name, _FLAGS | os.O_DIRECTORY, dir_fd=at)
        finally:
            os.close(at)
        at = inner
    try:
        return os.open(names[-1], _FLAGS, dir_fd=at)
    finally:
        os.close(at)


_FLAGS = os.O_RDONLY
for _name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
    _FLAGS |= getattr(os, _name, 0)


def loads(raw: bytes) -> Any:
    """JSON in UTF-8 whose numbers can be reckoned with and whose texts can be written again.

    Raises ValueError or RecursionError for anything else: NaN, a number beyond 64 bits such as 1e999, half a pair.
    """
    found = json.loads(raw.decode("utf-8"), parse_constant=_refuse, parse_int=_whole, parse_float=_fraction)
    # Half a surrogate pair in an escape can neither be compared with a file's name nor be written again.
    json.dumps(found, ensure_ascii=False).encode("utf-8")
    return found


def _whole(text: str) -> int:
    number = int(text)
    return number if -_MOST <= number <= _MOST else _refuse(text)


def _fraction(text: str) -> float:
    number = float(text)
    return number if -_MOST <= number <= _MOST else _refuse(text)


def _refuse(text: str) -> Any:
    raise ValueError(text[:20])
