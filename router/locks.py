"""One process at a time in one folder."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from skill_health.core.errors import AbortedError, UsageError

NAME = ".lock"
_NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}


@contextmanager
def locked(folder: str) -> Iterator[None]:
    """Hold the lock of a folder; the system lets go of it when the process dies.

    Where there are no advisory locks, the existence of the file is the lock, and then outlives a killed process.
    Raises UsageError, naming the other process, where the lock is held, and AbortedError where no file can be made.
    """
    path = os.path.join(folder, NAME)
    try:
        handle = _flocked(path)
        if handle is None:
            handle = _created(path)
        try:
            os.ftruncate(handle, 0)
            os.write(handle, f"{os.getpid()}\n".encode())
            yield
        finally:
            _let_go(path, handle)
    except OSError as error:
        raise AbortedError(f"cannot lock {path}: {error.strerror}") from error


def _flocked(path: str) -> int | None:
    """The descriptor of the locked file; None where this system or file system has no such locks."""
    try:
        import fcntl
    except ImportError:
        return None
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(handle)
            if error.errno in _NO_LOCKS:
                return None
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise _held(path) from None
            raise
        # Its last holder may have removed the file after we opened it: then somebody else can lock a new one.
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
        with open(path, encoding="ascii", errors="replace") as file:
            number = file.read(20).strip()
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
