"""Reads files without surprises, and writes them so that nobody ever sees half of one."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import BinaryIO, Literal

from skill_health.core.errors import UsageError

MAX_BYTES = 1 << 20
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
"""What keeps `os.open` from following a link at the end of a path, where the system knows that."""
LONGEST_LINE = 64 << 20
_CHUNK = 1 << 14
_OPEN = os.O_RDONLY
for _name in ("O_NONBLOCK", "O_BINARY", "O_CLOEXEC", "O_NOCTTY"):
    _OPEN |= getattr(os, _name, 0)
_ABSENT = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EINVAL))
"""The failures which say that there can be nothing of this name."""
_STEADY = _ABSENT | {errno.EACCES, errno.EPERM, errno.EISDIR, errno.EXDEV, errno.EFBIG, errno.ENXIO, errno.ENODEV}
"""Those that will be the same tomorrow; any other, such as that of a disk or a share, says nothing of what is there."""
_NOTHING_THERE = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG))
"""Those of them which also say that nothing is hidden behind it, as it is behind links that lead in a circle."""
_STANDARD = ("/dev/stdin", "/dev/stdout", "/dev/stderr")
_DESCRIPTORS = ("/dev/fd", "/proc/self/fd")


def here(path: str) -> str:
    """A path as the user would name it: relative if it is below the current directory."""
    try:
        short = os.path.relpath(path)
    except ValueError:  # another drive
        return path
    return path if short == os.pardir or short.startswith(os.pardir + os.sep) else short


def file_state(path: str) -> str:
    """What differs when a file is another one or was written to, without a look into it; "" where it is not there."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return ""
    return f"{status.st_mtime_ns} {status.st_size} {status.st_ino} {status.st_mode}"


def kind_of(path: str, links: bool = True) -> Literal["file", "folder", "link", "other", "nothing", "unknown"]:
    """What is at a path; with `links` what a link leads to. "unknown" if the system does not tell, as of a bad disk."""
    try:
        mode = (os.stat if links else os.lstat)(path).st_mode
    except OSError as error:
        return "nothing" if error.errno in _ABSENT else "unknown"
    except ValueError:  # a name with NUL or half of a surrogate pair
        return "nothing"
    if stat.S_ISREG(mode):
        return "file"
    return "folder" if stat.S_ISDIR(mode) else "link" if stat.S_ISLNK(mode) else "other"


def is_there(path: str, links: bool = True) -> bool:
    """Whether something is, or may be, at a path; with `links` False a link is something whatever it leads to.

    os.path.exists says "no" of what could not be looked at, which is then taken for new, and written over. Here that
    counts as there: whoever opens it is told what is wrong.
    """
    return kind_of(path, links) != "nothing"


def has_entry(path: str) -> bool:
    """Whether a folder has an entry of this name, whatever it is. Raises UsageError where the system does not tell."""
    return _mode(path, os.lstat) is not None


def is_folder(path: str) -> bool:
    """Whether a path leads to a folder. Raises UsageError where the system does not tell."""
    return stat.S_ISDIR(_mode(path, os.stat) or 0)


def _mode(path: str, look: Callable[[str], os.stat_result]) -> int | None:
    """The mode of what is at a path, None for nothing. Raises UsageError where the system does not tell."""
    try:
        return look(path).st_mode
    except ValueError:  # a name with NUL or half of a surrogate pair
        return None
    except OSError as error:
        if is_absence(error):
            return None
        raise cannot_read(path, error) from None


def is_absence(error: OSError) -> bool:
    """Whether a failure says that nothing is there, and not that it cannot be looked at."""
    return error.errno in _NOTHING_THERE


class UnreadableError(UsageError):
    """Something is there, or may be, and cannot be read: to go on as if it were not would tell lies."""


def cannot_read(path: str, error: OSError) -> UnreadableError:
    """The error for a path that is not known to lead nowhere."""
    return UnreadableError(f"cannot read {here(path)}: {error.strerror or error}; make it readable, or move it away")


def refuse_failing(path: str, error: OSError) -> None:
    """Raise UsageError if looking at a path failed in a way from which nothing follows about what is there."""
    if error.errno is not None and error.errno not in _STEADY:
        raise cannot_read(path, error) from error


def may_be_file(path: str) -> bool:
    """Whether a path leads to a regular file, or may: False only if it is known that it does not."""
    return kind_of(path) in ("file", "unknown")


def open_regular(path: str, links: bool = True) -> int:
    """A handle to read a regular file; with `links` False no link. Raises OSError for anything else.

    A pipe does not wait for its writer, and a device is not even opened: some act when they are.
    """
    try:
        mode = (os.stat if links else os.lstat)(path).st_mode
        if stat.S_ISREG(mode):
            handle = os.open(path, _OPEN if links else _OPEN | NO_FOLLOW)
            if stat.S_ISREG(os.fstat(handle).st_mode):
                return handle
            os.close(handle)
    except ValueError:  # a name with NUL or half of a surrogate pair
        raise OSError(errno.ENOENT, "there can be no file of this name") from None
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, "it is a symbolic link")
    raise _not_regular(mode)


def _not_regular(mode: int) -> OSError:
    if stat.S_ISDIR(mode):
        return IsADirectoryError(errno.EISDIR, "Is a directory")
    return OSError(errno.EINVAL, "it is not a regular file")


def open_to_write(path: str, flags: int) -> int:
    """A handle to write to a regular file, which is made if missing. Raises OSError for anything else, links too."""
    handle = os.open(path, _OPEN | os.O_CREAT | NO_FOLLOW | flags, 0o666)
    if not stat.S_ISREG(mode := os.fstat(handle).st_mode):
        os.close(handle)
        raise _not_regular(mode)
    return handle


def is_stream(path: str) -> bool:
    """Whether what is written to a path replaces nothing: a device, a pipe, or a descriptor such as `/dev/stdout`."""
    if _descriptor(path) is not None:
        return True
    try:
        mode = os.lstat(path).st_mode
    except (OSError, ValueError):  # whoever writes there finds out why
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def _descriptor(path: str) -> int | None:
    """The number of the descriptor that a path names, by its text alone: a link that leads to one is only a link."""
    place = os.path.abspath(path)
    folder, name = os.path.split(place)
    if folder in _DESCRIPTORS and name.isdecimal() and len(name) < 6:
        return int(name)
    return _STANDARD.index(place) if place in _STANDARD else None


def _open_stream(path: str) -> int:
    number = _descriptor(path)
    if number is not None:
        if not os.get_inheritable(number):  # one of our own, which no caller can mean
            raise OSError(errno.EBADF, "Bad file descriptor")
        for stream in (sys.stdout, sys.stderr):  # what was printed before comes before
            if stream is not None:
                stream.flush()
        return os.dup(number)
    try:
        # Without waiting, since a pipe that nobody reads would hold us for ever.
        handle = os.open(path, _OPEN | os.O_WRONLY | NO_FOLLOW)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        raise OSError(errno.ENXIO, "nobody reads from it") from error
    if hasattr(os, "O_NONBLOCK"):
        os.set_blocking(handle, True)
    return handle


def read_head(path: str, most: int, links: bool = True) -> bytes:
    """The first `most` bytes of a regular file, whatever size it claims to have. Raises OSError, as `open_regular`."""
    handle = open_regular(path, links)
    try:
        chunk = max(os.fstat(handle).st_size + 1, _CHUNK)
        parts: list[bytes] = []
        while most > 0 and (part := os.read(handle, min(most, chunk))):
            parts.append(part)
            most -= len(part)
    finally:
        os.close(handle)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def read_limited(path: str, most: int = MAX_BYTES, links: bool = True) -> bytes | None:
    """The bytes of a regular file; None where there are more than `most`. Raises OSError, as `open_regular`."""
    data = read_head(path, most + 1, links)
    return data if len(data) <= most else None


def read_whole(path: str, most: int = MAX_BYTES) -> bytes:
    """The bytes of a regular file. Raises OSError, also where there are more than `most`."""
    data = read_limited(path, most)
    if data is None:
        raise OSError(errno.EFBIG, f"it is larger than {most >> 20} MiB")
    return data


def read_if_there(path: str, most: int) -> bytes | None:
    """The bytes of a regular file; None where there is none, or more than `most`. Raises UsageError if unreadable."""
    try:
        return read_limited(path, most)
    except OSError as error:
        if is_absence(error):
            return None
        raise cannot_read(path, error) from None


def read_bytes(path: str) -> tuple[bytes, str]:
    """Read a SKILL.md: (its bytes, one more than `MAX_BYTES` at most, "" or the defect that made it unreadable)."""
    try:
        return read_head(path, MAX_BYTES + 1), ""
    except OSError as error:
        return b"", name_defect(error)


_DEFECTS = {
    errno.EISDIR: "directory", errno.ENOENT: "dangling", errno.ENOTDIR: "dangling", errno.ELOOP: "loop",
    errno.EXDEV: "outside",
}  # fmt: skip


def open_binary(path: str) -> BinaryIO:
    """A regular file, open to be read. Raises OSError, as `open_regular`."""
    return os.fdopen(open_regular(path), "rb")


def read_each_line(path: str) -> Iterator[bytes]:
    """The lines of a regular file with their ends. Raises OSError, also for a line longer than any of ours."""
    with open_binary(path) as file:
        while line := file.readline(LONGEST_LINE + 1):
            if len(line) > LONGEST_LINE:
                raise OSError(errno.EFBIG, f"a line is longer than {LONGEST_LINE >> 20} MiB")
            yield line


def name_defect(error: OSError) -> str:
    """The kind of defect of a SKILL.md that could not be read."""
    return _DEFECTS.get(error.errno or 0, "unreadable")


def read_small(path: str) -> bytes | None:
    """The bytes of a file of at most 1 MiB; None if it is missing, larger or unreadable."""
    try:
        return read_limited(path)
    except OSError:
        return None


def make_folder(folder: str) -> None:
    """Make a folder and those above it, as far as they are missing. Raises OSError, or UsageError as `is_folder`.

    os.makedirs says of a folder that it cannot look at that it exists, and is none.
    """
    try:
        os.makedirs(folder, exist_ok=True)
    except FileExistsError:
        if not is_folder(folder):
            raise


def write_text(path: str, text: str) -> None:
    """Replace a file by this text (UTF-8, line endings as given). Raises UsageError if that fails."""
    write_bytes(path, text.encode("utf-8", "surrogateescape"))


def write_bytes(path: str, data: bytes | Iterable[bytes]) -> None:
    """Replace a file by these bytes, keeping its permissions; missing folders are made.

    A device, a pipe or an open descriptor is written to and stays what it is. Raises UsageError where that is not
    possible.
    """
    try:
        folder = os.path.dirname(os.path.abspath(path))
        if is_stream(path):
            with os.fdopen(_open_stream(path), "wb") as file:
                file.writelines([data] if isinstance(data, bytes) else data)
        else:
            make_folder(folder)
            replace_file(path, data)
    except FileExistsError as error:
        raise UsageError(f"cannot write {path}: {folder} is no folder") from error
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error


def replace_file(
    path: str, data: bytes | Iterable[bytes], durable: bool = False, temporary: str = "", private: bool = False
) -> None:
    """Replace a file by these bytes, whole or not at all, keeping its permissions, and its owner as far as we may.

    Raises OSError. A symbolic link is refused: whoever made it would choose which file is lost. So is all else that is
    no regular file: a device that is renamed over is lost to the whole machine. If it is `durable` the bytes are on the
    disk when the call returns, also when the power fails then. They are first written to `temporary`, a fixed name in
    the same folder for a caller who holds a lock on it, else to a file with a name of its own. A new file that is
    `private` is for its owner alone.
    """
    folder = os.path.dirname(path) or "."
    try:
        old = os.lstat(path)
        if stat.S_ISLNK(old.st_mode):
            raise OSError(errno.ELOOP, "it is a symbolic link; remove it, or name the file that it leads to", path)
        if not stat.S_ISREG(old.st_mode):
            raise _not_regular(old.st_mode)
        mode: int | None = old.st_mode & 0o7777
    except FileNotFoundError:
        old, mode = None, 0o600 if private else None
    if temporary:
        handle = open_to_write(temporary, os.O_WRONLY | os.O_TRUNC)
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
        if old is not None:
            _keep_owner(temporary, old)
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    if durable:
        sync_folder(folder)


def _keep_owner(path: str, old: os.stat_result) -> None:
    new = os.stat(path)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid) and hasattr(os, "chown"):
        with suppress(PermissionError):  # only root gives files away
            os.chown(path, old.st_uid, old.st_gid)


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
    """Raise UsageError if `path` has a file that is not empty and does not begin with `head`, or is a folder or a link.

    In somebody else's repository, an output path may be a link to a present or future file of the user's.
    """
    if is_stream(path) or not is_there(path, links=False):
        return
    try:
        fits = read_head(path, len(head)) in (b"", head)
    except OSError:
        fits = False
    if not fits:
        raise foreign(path)


def foreign(path: str) -> UsageError:
    """The error for a file that this command did not write."""
    return UsageError(f"{path} was not made by this command, and is left as it is: name another --output")
