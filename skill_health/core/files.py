"""Reads files without surprises, and writes them so that nobody ever sees half of one."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable

from skill_health.core.errors import UsageError

MAX_BYTES = 1 << 20
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
"""What keeps `os.open` from following a link at the end of a path, where the system knows that."""


def here(path: str) -> str:
    """A path as the user would name it: relative if it is below the current directory."""
    try:
        short = os.path.relpath(path)
    except ValueError:  # another drive
        return path
    return path if short == os.pardir or short.startswith(os.pardir + os.sep) else short


def at_once(path: str, flags: int) -> int:
    """An opener for `open` that does not block on a named pipe without a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_bytes(path: str) -> tuple[bytes, str]:
    """Read a file: (its bytes, "" or the kind of defect that made it unreadable)."""
    try:
        with open(path, "rb", opener=at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return b"", "unreadable"
            return file.read(), ""
    except IsADirectoryError:
        return b"", "directory"
    except FileNotFoundError:
        return b"", "dangling"
    except OSError as error:
        return b"", "loop" if "symbolic links" in str(error) else "unreadable"


def read_small(path: str) -> bytes | None:
    """The bytes of a file of at most 1 MiB; None if it is missing, larger or unreadable."""
    try:
        if os.path.getsize(path) > MAX_BYTES:
            return None
    except OSError:
        return None
    data, problem = read_bytes(path)
    return None if problem else data


def write_text(path: str, text: str) -> None:
    """Replace a file by this text (UTF-8, line endings as given). Raises UsageError if that fails."""
    write_bytes(path, text.encode("utf-8", "surrogateescape"))


def write_bytes(path: str, data: bytes) -> None:
    """Replace a file by these bytes, keeping its permissions; missing folders are made.

    Raises UsageError where that is not possible.
    """
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        replace_file(path, data)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def replace_file(
    path: str, data: bytes | Iterable[bytes], durable: bool = False, temporary: str = "", private: bool = False
) -> None:
    """Replace a file by these bytes, whole or not at all, keeping its permissions. Raises OSError.

    A symbolic link is refused: whoever made it would choose which file is lost.
    Where it is `durable` they are on the disk when the call returns, also when the power fails then. The bytes are
    first written to `temporary`, a fixed name in the same folder for a caller who holds a lock on it, else to a file
    with a name of its own. A new file that is `private` is for its owner alone.
    """
    folder = os.path.dirname(path) or "."
    try:
        info = os.lstat(path)
        if stat.S_ISLNK(info.st_mode):
            raise OSError(errno.ELOOP, "it is a symbolic link; remove it, or name the file that it leads to", path)
        mode: int | None = info.st_mode & 0o7777
    except FileNotFoundError:
        mode = 0o600 if private else None
    if temporary:
        handle = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | NO_FOLLOW | getattr(os, "O_BINARY", 0), 0o666
        )
    else:
        import tempfile

        handle, temporary = tempfile.mkstemp(prefix=".skill-health-", suffix=".tmp", dir=folder)
        mode = 0o666 & ~_umask() if mode is None else mode
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines([data] if isinstance(data, bytes) else data)
            if durable:
                file.flush()
                os.fsync(handle)
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    if durable:
        sync_folder(folder)


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


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


try:
    from _blake2 import blake2b
except ImportError:  # another interpreter keeps it elsewhere
    from hashlib import blake2b

__all__ = ["blake2b"]


def check(path: str, head: bytes) -> None:
    """Raise UsageError if `path` exists and is neither empty nor a regular file that begins with `head`.

    In somebody else's repository, an output path may be a link to a present or future file of the user's.
    """
    if not os.path.lexists(path):
        return
    try:
        with open(path, "rb", opener=at_once) as file:
            fits = stat.S_ISREG(os.fstat(file.fileno()).st_mode) and file.read(len(head)) in (b"", head)
    except OSError:
        fits = False
    if not fits:
        raise foreign(path)


def foreign(path: str) -> UsageError:
    """The error for a file that this command did not write."""
    return UsageError(f"{path} was not made by this command, and is left as it is: name another --output")
