"""Bytes that are on the disk when the call returns, and lines that lost their end in a crash."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from typing import Any

from skill_health.core.errors import AbortedError


def replace(path: str, data: bytes) -> None:
    """Replace a file by these bytes, whole or not at all, also when the power fails. Raises OSError.

    Only for folders that are locked: the temporary file beside it has a fixed name.
    """
    temporary = f"{path}.tmp"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY, 0o666)
    try:
        write_all(handle, data)
        os.fsync(handle)
    finally:
        os.close(handle)
    os.replace(temporary, path)
    sync_folder(os.path.dirname(path))


def open_to_append(path: str) -> int:
    """A descriptor whose writes go to the end of the file, which is made where it is missing. Raises OSError."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _BINARY, 0o666)


def write_all(handle: int, data: bytes) -> None:
    """Write all bytes: a system may take fewer at once. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def check_there(path: str, handle: int) -> None:
    """Raise OSError where the open file is not the one at its path any more: what is written to it may be lost."""
    gone = FileNotFoundError(errno.ENOENT, "it was moved or removed meanwhile", path)
    try:
        same = os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        raise gone from None
    if not same:
        raise gone


def sync_folder(folder: str) -> None:
    """Make new names in a folder durable, where the system can."""
    try:
        handle = os.open(folder or ".", os.O_RDONLY)
    except OSError:  # Windows opens no folders, and needs no sync of them
        return
    try:
        os.fsync(handle)
    except OSError:  # some file systems cannot
        pass
    finally:
        os.close(handle)


def to_json(record: Any) -> str:
    """One line of JSON with sorted keys. Raises ValueError for a number that JSON does not know."""
    return json.dumps(record, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def read_objects(path: str, problems: list[str]) -> Iterator[dict[str, Any]]:
    """The JSON objects of a JSONL file, one a line; an absent file has none.

    A line that is none is left out and named in `problems`. An unfinished last line is left out silently, unless it
    only lacks its line end: no proper prefix of an object is one. Raises AbortedError where the file cannot be read.
    """
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                found = _object(line)
                if found is not None:
                    yield found
                elif line.endswith(b"\n") and line.strip():
                    problems.append(f"{os.path.basename(path)}:{number} is no JSON object; the line is left out")
    except FileNotFoundError:
        return
    except OSError as error:
        raise AbortedError(f"cannot read {path}: {error.strerror}") from error


def mend(path: str) -> int:
    """Make a file end with a line end: complete its last line, or cut it off. Returns how many bytes were cut.

    Raises OSError; an absent file is right as it is.
    """
    try:
        with open(path, "r+b") as file:
            end = file.seek(0, os.SEEK_END)
            start = _start_of_last_line(file, end)
            file.seek(start)
            tail = file.read()
            if not tail:
                return 0
            if _object(tail) is not None:
                file.write(b"\n")
                tail = b""
            else:
                file.truncate(start)
            file.flush()
            os.fsync(file.fileno())
            return len(tail)
    except FileNotFoundError:
        return 0


def _start_of_last_line(file: Any, end: int, block: int = 1 << 16) -> int:
    at = end
    while at > 0:
        size = min(block, at)
        file.seek(at - size)
        found = file.read(size).rfind(b"\n")
        if found >= 0:
            return int(at - size + found + 1)
        at -= size
    return 0


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


_BINARY = getattr(os, "O_BINARY", 0)
