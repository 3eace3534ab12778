"""Durable writes, repair of truncated lines, and locks that admit one process at a time."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from skill_health.core.errors import AbortedError, UsageError
from skill_health.core.files import open_to_write, read_each_line, read_head, replace_file
from skill_health.core.history import append_history, read_backwards


def replace(path: str, data: bytes) -> None:
    """Replace a file in a folder that is locked by these bytes, also when the power fails. Raises OSError."""
    replace_file(path, data, durable=True, temporary=f"{path}.tmp")


def open_to_append(path: str) -> int:
    """Open a descriptor that appends to the file, which is created if missing. Raises OSError."""
    return open_to_write(path, os.O_WRONLY | os.O_APPEND)


def write_all(handle: int, data: bytes) -> None:
    """Write all bytes, though a system may accept fewer at once. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def check_there(path: str, handle: int) -> None:
    """Raise OSError if the open file is no longer the one at its path: what is written to it may be lost."""
    gone = FileNotFoundError(errno.ENOENT, "it was moved or removed meanwhile", path)
    try:
        same = os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        raise gone from None
    if not same:
        raise gone


def to_json(record: Any) -> str:
    """One line of JSON with sorted keys. Raises ValueError for a number that is not JSON."""
    return json.dumps(record, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def read_objects(path: str, problems: list[str]) -> Iterator[dict[str, Any]]:
    """Read the JSON objects of a JSONL file, one per line; an absent file has none.

    A line that is not an object is left out and named in `problems`. An unfinished last line is left out silently,
    unless it only lacks its line ending: no proper prefix of an object is one. Raises AbortedError if the file cannot
    be read.
    """
    try:
        for number, line in enumerate(read_each_line(path), 1):
            found = _object(line)
            if found is not None:
                yield found
            elif line.endswith(b"\n") and line.strip():
                problems.append(f"{os.path.basename(path)}:{number} is not a JSON object; the line is left out")
    except FileNotFoundError:
        return
    except OSError as error:
        raise AbortedError(f"cannot read {path}: {error.strerror or error}") from error


def repair_last_line(path: str) -> int:
    """Make a file end with a line ending: complete its last line, or cut it off. Returns how many bytes were cut.

    Raises OSError; an absent file is left absent.
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


NAME = ".lock"
_NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}


@contextmanager
def locked(folder: str) -> Iterator[None]:
    """Hold the lock of a folder; the system releases it when the process dies.

    Without advisory locks, the existence of the file is the lock, which then outlives a killed process. Raises
    UsageError, naming the other process, if the lock is held, and AbortedError if the file cannot be created.
    """
    path = os.path.join(folder, NAME)
    try:
        handle = _flocked(path)
        if handle is None:
            handle = _created(path)
        with suppress(OSError):  # it only tells others whose lock it is
            os.ftruncate(handle, 0)
            os.write(handle, f"{os.getpid()}\n".encode())
    except OSError as error:
        raise AbortedError(f"cannot lock {path}: {error.strerror or error}") from error
    try:
        yield
    finally:
        _let_go(path, handle)


def _flocked(path: str) -> int | None:
    """The descriptor of the locked file; None if this system or file system has no such locks."""
    try:
        import fcntl
    except ImportError:
        return None
    while True:
        handle = open_to_write(path, os.O_RDWR)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(handle)
            if error.errno in _NO_LOCKS:
                return None
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise _held(path) from None
            raise
        # Its last holder may have removed the file after we opened it, so that somebody else can lock a new one.
        if _is_still(path, handle):
            return handle
        os.close(handle)


def _created(path: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        raise _held(path, f"; where that process is gone, remove {path}") from None


def _held(path: str, hint: str = "") -> UsageError:
    try:
        number = read_head(path, 20).decode("ascii", "replace").strip()
    except OSError:
        number = ""
    who = f"process {number}" if number.isdigit() else "another process"
    return UsageError(f"{os.path.dirname(path)} is in use by {who}: wait for it, or stop it{hint}")


def _is_still(path: str, handle: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False


def _let_go(path: str, handle: int) -> None:
    try:
        if _is_still(path, handle):
            os.unlink(path)
        os.close(handle)
    except PermissionError:  # Windows removes no open file
        os.close(handle)
        os.unlink(path)


def append_once(path: str, lines: Sequence[Mapping[str, Any]], fields: Sequence[str]) -> int:
    """Append the lines of one run that a history lacks; returns how many.

    Two lines with the same texts or numbers in all of these `fields` are the same line. Raises UsageError if the
    history cannot be read or written.
    """
    there = {key for line in lines[:1] for key in _keys_of(path, str(line["run_id"]), fields)}
    lacking = [line for line in lines if tuple(line[name] for name in fields) not in there]
    for line in lacking:
        append_history(path, dict(line))
    return len(lacking)


def _keys_of(path: str, run_id: str, fields: Sequence[str]) -> Iterator[tuple[str | int | None, ...]]:
    """These fields of the history's lines of a run. Lines that are not ours are ignored."""
    needle = json.dumps(run_id, ensure_ascii=False).encode("utf-8", "surrogatepass")
    for _, raw in read_backwards(path):
        if needle not in raw:
            continue
        try:
            record = json.loads(raw)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and record.get("run_id") == run_id:
            found = tuple(record.get(name) for name in fields)
            if all(each is None or isinstance(each, str | int) for each in found):
                yield found
