"""JSON that others wrote, read so that nothing later stumbles over a number or a text in it."""

from __future__ import annotations

import json
import os
import stat
from typing import Any

_MOST = 1 << 64


def read_file(path: str, most: int) -> bytes | None:
    """The bytes of a regular file; None where it holds more than `most`. Raises OSError where it is something else."""
    # Opening a pipe must not wait for somebody to write, and no device says how long it is.
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("not a regular file")
        raw = file.read(most + 1)
    return raw if len(raw) <= most else None


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
