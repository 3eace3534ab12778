"""Versioned JSONL histories: an append writes a whole line or nothing, even under kill -9 or with two writers.

A single write to a file opened for appending can be cut short by SIGKILL between two pages. So `append_history` writes
the whole new file beside the old one and renames it into place, under an advisory lock on the folder; readers need no
lock. A line left torn by another program stays in place and is reported. Lines that mean nothing until a history names
them are appended in place by `append_lines`, and a caller that was killed and comes again goes on where it stopped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from typing import Any, BinaryIO

from skill_health.core.errors import UsageError
from skill_health.core.files import cannot_read, make_folder, open_binary, open_to_write, replace_file, sync_folder

_BLOCK = 1 << 20
_LONGEST = 64 << 20


class LineTooLongError(UsageError):
    """A line is longer than any that we write."""


def append_history(path: str, record: dict[str, Any]) -> None:
    """Append one record as one line of JSON with sorted keys. Raises UsageError if the file cannot be written."""
    line = json.dumps(record, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"
    folder = os.path.dirname(os.path.abspath(path))
    try:
        make_folder(folder)
        with _locked(folder):
            replace_file(path, _with_line(path, line.encode("utf-8", "surrogatepass")), durable=True)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error


def _with_line(path: str, line: bytes) -> Iterator[bytes]:
    """What a file holds, in blocks, and one more line."""
    last = b"\n"
    with suppress(FileNotFoundError), open_binary(path) as file:
        while part := file.read(_BLOCK):
            yield part
            last = part
    yield line if last.endswith(b"\n") else b"\n" + line


def append_lines(path: str, lines: bytes) -> None:
    """Append whole lines in place: nothing but these is written, however long the file is.

    If the file ends with the first part of them, left by a process that was killed, only the rest is written. Raises
    UsageError if the file cannot be written, or is none.
    """
    folder = os.path.dirname(os.path.abspath(path))
    try:
        make_folder(folder)
        with _locked(folder), os.fdopen(open_to_write(path, os.O_RDWR | os.O_APPEND), "r+b", buffering=0) as file:
            _append(file, lines)
        sync_folder(folder)
    except OSError as error:
        why = "it is a link" if os.path.islink(path) else error.strerror
        raise UsageError(f"cannot write {path}: {why}") from error


def _append(file: FileIO, lines: bytes) -> None:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - len(lines)))
    end = file.read(len(lines)) or b""
    there = _begun(end, lines)
    rest = memoryview(lines[there:] if there or not end or end.endswith(b"\n") else b"\n" + lines)
    try:
        while rest:
            rest = rest[file.write(rest) :]
        os.fsync(file.fileno())
    except OSError:
        file.truncate(size)
        raise


def _begun(end: bytes, lines: bytes) -> int:
    """How many bytes at this end of a file are the first ones of `lines`."""
    first = lines[: lines.find(b"\n") + 1]
    for start in (end.find(first), end.rfind(b"\n") + 1):
        if start >= 0 and lines.startswith(end[start:]):
            return len(end) - start
    return 0


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


def read_backwards(path: str, block: int = _BLOCK) -> Iterator[tuple[int, bytes]]:
    """The number, from 1, and the bytes of every non-blank line, last one first.

    An absent file has none. If the file is replaced meanwhile, the old one is read. Raises UsageError if it cannot be
    read, LineTooLongError (which is one) at a line of more than 64 MiB.
    """
    try:
        with open_binary(path) as file:
            yield from _backwards(file, block)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise cannot_read(path, error) from error


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
            raise LineTooLongError(f"cannot read {file.name}: a line is longer than {_LONGEST >> 20} MiB")
    first = b"".join(reversed(rest))
    if first.strip():
        yield number, first
