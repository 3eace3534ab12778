"""A state of a repository as its files: a commit, what is staged, or the work tree. Nothing is checked out by git.

Of a state as much is laid out in a folder as is to be checked; whatever else a rule asks about is answered from git.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from skill_health.core.boundary import INSIDE, MISSING, OUTSIDE, Boundary
from skill_health.core.errors import UsageError
from skill_health.core.files import MAX_BYTES, name_defect
from skill_health.core.git import GitRepository, StoredFile, blob_id
from skill_health.discovery.listing import is_skill_name

MOST_BYTES = 16 << 20
ON_DISK = b""
_MOST_LINKS = 40
# What git lets nobody check out, but a commit may hold all the same.
_FORBIDDEN = frozenset(("", ".", "..", ".git"))


class FileChange(NamedTuple):
    """A path relative to the top of the repository, and what two states have there (None: nothing)."""

    path: str
    old: StoredFile | None
    new: StoredFile | None

    @property
    def is_module(self) -> bool:
        """Whether it is about a submodule: what is in it is checked where it comes from."""
        return any(file is not None and file.is_module for file in (self.old, self.new))

    def swapped(self) -> FileChange:
        """The same change, made back."""
        return FileChange(self.path, self.new, self.old)


class Tree:
    """The files of a state by their paths, relative to the top of the repository."""

    def __init__(self, repository: GitRepository, files: Mapping[str, StoredFile]) -> None:
        self.repository, self.files = repository, files
        self._read: dict[str, bytes | None] = {}

    def changed(self, changes: Iterable[FileChange]) -> Tree:
        """The state after some changes."""
        files = dict(self.files)
        for change in changes:
            if change.new is None:
                files.pop(change.path, None)
            else:
                files[change.path] = change.new
        return Tree(self.repository, files)

    @cached_property
    def folders(self) -> frozenset[str]:
        """Every folder above a file; "" is the top."""
        found = {""}
        for path in self.files:
            while (path := path.rpartition("/")[0]) and path not in found:
                found.add(path)
        return frozenset(found)

    @cached_property
    def skills(self) -> dict[str, str]:
        """The folders that hold a SKILL.md, and its path."""
        return {path[:-9]: path for path in self.files if is_skill_name(path[-8:]) and path[-9:-8] in ("", "/")}

    @cached_property
    def links(self) -> dict[str, str]:
        """The symbolic links and what stands in them."""
        paths = [path for path, file in self.files.items() if file.is_link]
        return {path: os.fsdecode(data or b"") for path, data in self.read_all(paths)}

    @cached_property
    def modules(self) -> tuple[str, ...]:
        """The submodules, each with a closing slash."""
        return tuple(path + "/" for path, file in self.files.items() if file.is_module)

    def find(self, path: str) -> str:
        """What a path, relative to the top, leads to: INSIDE, MISSING or OUTSIDE, as a `Boundary` has it."""
        for _ in range(_MOST_LINKS):
            if path in self.files and not self.files[path].is_link:
                return INSIDE
            link = self._link_on(path)
            if not link:
                return INSIDE if path in self.folders or self._in_module(path) else MISSING
            path = self._follow(path, link)
            if path.startswith(("/", "..")):
                return OUTSIDE
        return MISSING

    def resolve(self, path: str) -> str:
        """Where a path leads by the links on it, "" where that is nowhere or the top."""
        for _ in range(_MOST_LINKS):
            link = self._link_on(path)
            if not link:
                return path
            path = self._follow(path, link)
            if path.startswith(("/", "..")):
                return ""
        return ""

    def _link_on(self, path: str) -> str:
        return next((way for way in _ways(path) if (file := self.files.get(way)) and file.is_link), "")

    def _follow(self, path: str, link: str) -> str:
        """The path after a link on it is followed; it begins with `..` or a slash where that leads out."""
        target = posixpath.normpath(posixpath.join(posixpath.dirname(link), self.links[link] or "/"))
        rest = path[len(link) :]
        return rest[1:] if target == "." else target + rest

    def read(self, path: str, most: int) -> bytes | None:
        """The bytes of a file; None where there are more than `most`. Raises OSError where there is none."""
        place = self.resolve(path)
        if place not in self.files or self.files[place].is_module:
            raise FileNotFoundError(path)
        if place not in self._read:
            self._read.update(self.read_all([place]))
        data = self._read[place]
        return data if data is not None and len(data) <= most else None

    def read_all(self, paths: Iterable[str], most: int = MOST_BYTES) -> Iterator[tuple[str, bytes | None]]:
        """These files and their bytes, None where there are more than `most`; of a link, what stands in it."""
        found: dict[str, bytes | None] = {}
        stored = []
        for path in paths:
            oid = self.files[path].oid
            data = self._read_on_disk(path, most)
            # Most files are on disk as they are here, and git costs more to ask than they do to read.
            if oid == ON_DISK or (data is not None and blob_id(oid, data) == oid):
                found[path] = data
            else:
                stored.append(path)
        if stored:
            blobs = self.repository.read_blobs([self.files[path].oid for path in stored], most)
            found.update(zip(stored, blobs, strict=True))
        yield from found.items()

    def _read_on_disk(self, path: str, most: int) -> bytes | None:
        """What stands at a path of the work tree; None where nothing does, or more than `most` bytes.

        Raises UsageError where only the work tree has it, and it cannot be read.
        """
        try:
            if self.files[path].is_link:
                return os.fsencode(os.readlink(os.path.join(self.repository.top, path)))
            return self._disk.read(path, most)
        except OSError as error:
            if self.files[path].oid == ON_DISK and name_defect(error) == "unreadable":
                raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
            return None

    @cached_property
    def _disk(self) -> Boundary:
        return Boundary(self.repository.top)

    def _in_module(self, path: str) -> bool:
        if not path.startswith(self.modules):
            return False
        return self._disk.find(path) == INSIDE

    def lay_out(self, folder: str, wanted: Callable[[str], bool]) -> None:
        """Write the wanted files, and what links among them lead to, below a folder that stands for the top.

        A file too large to be read anywhere has its size and no content. Raises UsageError where that fails.
        """
        paths = self._with_targets({path for path, file in self.files.items() if not file.is_module and wanted(path)})
        paths = {path for path in paths if _FORBIDDEN.isdisjoint(path.lower().split("/"))}
        # Links come last, so that nothing is written through one.
        for path, data in sorted(self.read_all(paths), key=lambda found: (self.files[found[0]].is_link, found[0])):
            place = os.path.join(folder, path)
            try:
                os.makedirs(os.path.dirname(place), exist_ok=True)
                if self.files[path].is_link:
                    os.symlink(os.fsdecode(data or b""), place)
                    continue
                with open(place, "xb") as file:
                    file.write(data or b"")
                    if data is None:
                        file.truncate(MOST_BYTES + 1)
            except (OSError, ValueError) as error:
                raise UsageError(f"cannot lay out {path} to check it: {error}") from None

    def _with_targets(self, paths: set[str]) -> set[str]:
        waiting = [path for path in paths if self.files[path].is_link]
        while waiting:
            target = self.resolve(waiting.pop())
            found = [path for path in self.files if path == target or path.startswith(target + "/")] if target else []
            new = {path for path in found if not self.files[path].is_module} - paths
            paths |= new
            waiting += [path for path in new if self.files[path].is_link]
        return paths


class TreeBoundary(Boundary):
    """The border of a state of which a part is laid out: what is not there is looked up in the tree."""

    def __init__(self, root: str, tree: Tree) -> None:
        super().__init__(root)
        self.tree = tree

    def find(self, path: str) -> str:
        """As for files on disk."""
        found = super().find(path)
        return self.tree.find(self._inner(path)) if found == MISSING else found

    def read(self, path: str, most: int = MAX_BYTES) -> bytes | None:
        """As for files on disk."""
        try:
            return super().read(path, most)
        except FileNotFoundError:
            return self.tree.read(self._inner(path), most)

    def is_executable(self, path: str) -> bool:
        """As git has it: what is laid out has no mode of its own."""
        file = self.tree.files.get(self.tree.resolve(self._inner(path)))
        return file is not None and file.is_executable

    def _inner(self, path: str) -> str:
        inner = os.path.relpath(self._place(path), self.top).replace(os.sep, "/")
        return "" if inner == "." else inner


def _ways(path: str) -> Iterator[str]:
    """The folders on the way to a path from the top down, and the path itself."""
    at = path.find("/")
    while at >= 0:
        yield path[:at]
        at = path.find("/", at + 1)
    yield path
