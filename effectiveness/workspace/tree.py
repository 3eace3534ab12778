"""What lies in a folder that somebody else has written: nothing is followed, nothing special opened, all is bounded."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

MAX_ENTRIES = 200_000
MAX_DEPTH = 100
_CHUNK = 1 << 20

Kind = Literal["file", "folder", "link", "special"]


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One path of a tree, relative and as the system decodes it. `target` is where a link points to.

    `what` names the kind of a special file. `size` is that of a file in bytes, however little of it is on the disk.
    """

    path: str
    kind: Kind
    mode: int = 0
    size: int = 0
    target: str = ""
    what: str = ""

    @property
    def executable(self) -> bool:
        """Whether the owner may run it."""
        return bool(self.mode & stat.S_IXUSR)


@dataclass(frozen=True, slots=True)
class FolderTree:
    """A folder's entries in the order of their paths, and what could not be looked at, one line each."""

    folder: str
    entries: tuple[TreeEntry, ...]
    problems: tuple[str, ...] = ()


def read_tree(folder: str) -> FolderTree:
    """Everything below a folder; what lies too deep or is too much is left out and said."""
    found: list[TreeEntry] = []
    problems: list[str] = []
    waiting = [""]
    while waiting:
        inner = waiting.pop()
        if inner.count("/") >= MAX_DEPTH or len(inner) > 3_000:
            problems.append("folders lie deeper than is looked into")
            continue
        try:
            with os.scandir(os.path.join(folder, inner)) as entries:
                for entry in entries:
                    if len(found) >= MAX_ENTRIES:
                        problems.append(f"there are more than {MAX_ENTRIES:,} files")
                        return _tree(folder, found, problems)
                    one = _entry(entry, f"{inner}/{entry.name}" if inner else entry.name)
                    found.append(one)
                    if one.kind == "folder":
                        waiting.append(one.path)
        except OSError as error:
            problems.append(f"a folder cannot be read ({error.strerror or 'unknown error'})")
    return _tree(folder, found, problems)


def contents(folder: str, entry: TreeEntry, limit: int) -> bytes | None:
    """The bytes of a file, None where there are more than `limit` or it cannot be read."""
    if entry.kind != "file" or entry.size > limit:
        return None
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(os.path.join(folder, entry.path), flags)
        with os.fdopen(handle, "rb") as stream:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return None
            data = stream.read(limit + 1)
    except OSError:
        return None
    return data if len(data) <= limit else None


def pieces(folder: str, entry: TreeEntry) -> Iterator[bytes]:
    """The bytes of a file, piece by piece. Raises OSError."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(os.open(os.path.join(folder, entry.path), flags), "rb") as stream:
        while data := stream.read(_CHUNK):
            yield data


def remove_special(folder: str, tree: FolderTree) -> list[str]:
    """Delete special files, on which whoever opens them could wait for ever; returns a line for each kind."""
    for entry in tree.entries:
        if entry.kind == "special":
            _unlink(os.path.join(folder, entry.path))
    counts: dict[str, int] = {}
    for entry in tree.entries:
        if entry.kind == "special":
            counts[entry.what] = counts.get(entry.what, 0) + 1
    return [f"{count} special files of the kind {what} were removed" for what, count in sorted(counts.items())]


def _unlink(path: str) -> None:
    """Delete a file, be it in a folder in which nobody may write."""
    above = os.path.dirname(path)
    try:
        os.unlink(path)
    except PermissionError:
        mode = stat.S_IMODE(os.lstat(above).st_mode)
        os.chmod(above, mode | stat.S_IRWXU)
        os.unlink(path)
        os.chmod(above, mode)


def _tree(folder: str, found: list[TreeEntry], problems: list[str]) -> FolderTree:
    ordered = sorted(found, key=lambda entry: os.fsencode(entry.path))
    return FolderTree(folder, tuple(ordered), tuple(dict.fromkeys(problems)))


def _entry(entry: os.DirEntry[str], path: str) -> TreeEntry:
    state = entry.stat(follow_symlinks=False)
    mode = state.st_mode
    if stat.S_ISLNK(mode):
        return TreeEntry(path, "link", mode, target=os.readlink(entry.path))
    if stat.S_ISDIR(mode):
        return TreeEntry(path, "folder", mode)
    if stat.S_ISREG(mode):
        return TreeEntry(path, "file", mode, state.st_size)
    what = "fifo" if stat.S_ISFIFO(mode) else "socket" if stat.S_ISSOCK(mode) else "device"
    return TreeEntry(path, "special", mode, what=what)
