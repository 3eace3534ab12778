"""Versioned JSONL histories: an append writes a whole line or nothing, even under kill -9 or with two writers.

A single write to a file opened for appending can be cut short by SIGKILL between two pages. So an append writes the
whole new file beside the old one and renames it into place, under an advisory lock on the folder; readers need no lock.
A line left torn by another program stays in place and is reported.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from skill_health.core.errors import UsageError
from skill_health.core.files import open_binary, replace_file


def append_history(path: str, record: dict[str, Any]) -> None:
    """Append one record as one line of JSON with sorted keys. Raises UsageError if the file cannot be written."""
    line = json.dumps(record, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"
    folder = os.path.dirname(os.path.abspath(path))
    try:
        os.makedirs(folder, exist_ok=True)
        with _locked(folder):
            before = b""
            if os.path.exists(path):
                with open_binary(path) as file:
                    before = file.read()
            if before and not before.endswith(b"\n"):
                before += b"\n"
            replace_file(path, before + line.encode("utf-8", "surrogatepass"), durable=True)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


@contextmanager
def _locked(folder: str) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:  # no advisory locks on this system: the rename alone keeps lines whole
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


_BLOCK = 1 << 20
_LONGEST = 64 << 20


def read_backwards(path: str, block: int = _BLOCK) -> Iterator[tuple[int, bytes]]:
    """The number, from 1, and the bytes of every non-blank line, last one first.

    An absent file has none. If the file is replaced meanwhile, the old one is read. Raises UsageError if it cannot be
    read.
    """
    try:
        with open_binary(path) as file:
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
            raise UsageError(f"cannot read {file.name}: a line is longer than {_LONGEST >> 20} MiB")
    first = b"".join(reversed(rest))
    if first.strip():
        yield number, first
