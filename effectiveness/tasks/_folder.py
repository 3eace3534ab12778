"""The files of a task, read safely: no link is followed, nothing special is opened, everything has a limit."""

from __future__ import annotations

import os
import stat
from codecs import BOM_UTF8
from collections.abc import Container, Iterator
from dataclasses import dataclass, field

from skill_health.core.files import is_there
from skill_health.skill.decode import decode
from skill_health.skill.frontmatter import HANDLER

MAX_TEXT = 1 << 20
MAX_FILE = 16 << 20
MAX_TOTAL = 64 << 20
MAX_FILES = 5_000
MAX_DEPTH = 40
_SKIPPED = frozenset(("__pycache__", ".DS_Store"))


class RefusedFile(Exception):
    """A file of a task that is not read. `path` is relative to the task; `line` counts from 1."""

    def __init__(self, path: str, message: str, help: str = "", line: int = 1) -> None:
        super().__init__(message)
        self.path, self.message, self.help, self.line = path, message, help, line


@dataclass(frozen=True, slots=True)
class File:
    """A file as it is staged. `path` is relative, with `/`, and never leads out of the folder it is staged in."""

    path: str
    data: bytes = field(repr=False)
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that may be a task. `place` is absolute and real, `shown` is how messages name it.

    `top` is the folder at or above it that was named, which tasks of several folders may reach; "" for none.
    """

    place: str
    shown: str
    top: str = ""

    def has(self, path: str) -> bool:
        """Whether something stands at this path, be it a dangling link."""
        return is_there(os.path.join(self.place, path), links=False)

    def is_folder(self, path: str) -> bool:
        """Whether a folder stands at this path."""
        return os.path.isdir(os.path.join(self.place, path))

    def head(self, path: str, size: int = 4096) -> bytes:
        """The first bytes of a file; none where it cannot be read."""
        try:
            return self._open(path, size, cut=True)[0]
        except RefusedFile:
            return b""

    def is_fenced(self, path: str) -> bool:
        """Whether a text begins with a line of three hyphens, as frontmatter does."""
        return HANDLER.detect(decode(self.head(path))[0])

    def read(self, path: str) -> bytes:
        """The bytes of a text file of at most MAX_TEXT. Raises Refused."""
        return self._open(path, MAX_TEXT)[0]

    def text(self, path: str) -> str:
        """A UTF-8 text without its byte-order mark, with line endings as `\\n`. Raises Refused."""
        raw = self.read(path).removeprefix(BOM_UTF8)
        try:
            return raw.decode("utf-8").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            raise RefusedFile(path, "bytes that are not UTF-8", "Save the file as UTF-8.", line) from None

    def file(self, path: str, target: str) -> File:
        """One file, to be staged as `target`. Raises Refused."""
        data, executable = self._open(path, MAX_FILE)
        return File(target, data, executable)

    def tree(self, path: str, prefix: str = "", skip: Container[str] = ()) -> tuple[File, ...]:
        """The files below a folder in the order of their paths, staged below `prefix`; none where there is no folder.

        `skip` names entries of the folder itself that are left out, as byte code is. Raises Refused for links and other
        things that are no files, names that are not UTF-8 or hold control characters, and more than the limits.
        """
        if not self.has(path):
            return ()
        self._check(path)
        found: list[File] = []
        total = 0
        for inner in self._walk(path, skip):
            file = self.file(f"{path}/{inner}" if path else inner, f"{prefix}{inner}")
            total += len(file.data)
            found.append(file)
            if len(found) > MAX_FILES or total > MAX_TOTAL:
                limits = f"{MAX_FILES:,} files and {MAX_TOTAL >> 20} MiB are the limits"
                raise RefusedFile(path, f"the folder is too large for a task; {limits}")
        return tuple(sorted(found, key=lambda file: file.path))

    def _walk(self, path: str, skip: Container[str]) -> Iterator[str]:
        waiting = [""]
        while waiting:
            inner = waiting.pop()
            for name in sorted(_listed(os.path.join(self.place, path, inner), path)):
                below = f"{inner}/{name}" if inner else name
                if name in _SKIPPED or name.endswith(".pyc") or (not inner and name in skip):
                    continue
                shown = f"{path}/{below}" if path else below
                if not name.isprintable() or "\\" in name:
                    raise RefusedFile(path, f"the name {name!r} holds characters that names of files must not have")
                mode = os.lstat(os.path.join(self.place, shown)).st_mode
                if stat.S_ISDIR(mode):
                    if below.count("/") >= MAX_DEPTH:
                        raise RefusedFile(shown, f"folders more than {MAX_DEPTH} deep")
                    waiting.append(below)
                else:
                    yield below

    def _check(self, path: str) -> None:
        """Raise Refused where a part of the path is a link: what lies behind it is not the task's."""
        place = self.place
        for part in path.split("/") if path else ():
            place = os.path.join(place, part)
            if os.path.islink(place):
                raise RefusedFile(path, "a symbolic link; a task holds real files only", "Copy the file into the task.")

    def _open(self, path: str, limit: int, cut: bool = False) -> tuple[bytes, bool]:
        """The bytes of a regular file and whether it is executable. Raises Refused."""
        self._check(path)
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        try:
            handle = os.open(os.path.join(self.place, path), flags)
        except FileNotFoundError:
            raise RefusedFile(path, "the file is missing") from None
        except OSError as error:
            raise RefusedFile(path, f"the file cannot be read ({error.strerror or 'unknown error'})") from None
        with os.fdopen(handle, "rb") as stream:
            mode = os.fstat(handle).st_mode
            if not stat.S_ISREG(mode):
                raise RefusedFile(path, "not a regular file; a task holds plain files and folders only")
            data = stream.read(limit if cut else limit + 1)
        if len(data) > limit:
            raise RefusedFile(path, f"larger than {limit >> 20} MiB, which is the limit for this file of a task")
        return data, bool(mode & stat.S_IXUSR)


def is_inside(path: str) -> bool:
    """Whether a path that somebody wrote is relative, stays below its folder and names a file."""
    parts = path.split("/")
    return path.isprintable() and "\\" not in path and ":" not in parts[0] and not {"", ".", ".."}.intersection(parts)


def _listed(place: str, path: str) -> list[str]:
    try:
        return os.listdir(place)
    except OSError as error:
        raise RefusedFile(path, f"the folder cannot be read ({error.strerror or 'unknown error'})") from None
