"""What lies inside a repository: no link that leads out of it is followed, and nothing outside is asked about."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator

from skill_health.core.files import MAX_BYTES, is_there, read_bytes, read_head, read_limited, refuse_failing

_LONGEST = 4096
INSIDE, MISSING, OUTSIDE = "yes", "", "out"
"""What a path leads to: something, nothing, or out of the repository, of which nothing more is known."""


def upward(folder: str) -> Iterator[str]:
    """A folder and all folders above it; above a relative path the last one is ""."""
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def git_top(folder: str) -> str | None:
    """The top of the git work tree that a folder is in."""
    return next((above for above in upward(folder) if is_there(os.path.join(above, ".git"), links=False)), None)


def git_link(top: str) -> str:
    """The folder, with `/`, that holds the state of this checkout, as its `.git` names it; "" where that is the folder.

    `.git` is a file in a linked work tree and in a submodule. Relative to the top. Raises UsageError on a failing disk.
    """
    try:
        named = os.fsdecode(read_head(os.path.join(top, ".git"), _LONGEST))
    except OSError as error:
        refuse_failing(os.path.join(top, ".git"), error)
        return ""
    return named.strip().removeprefix("gitdir:").strip().replace("\\", "/")


def shared_state(link: str) -> str:
    """In a linked work tree, whose link this is, the folder of the state that all checkouts share; else ""."""
    above, _, name = link.rpartition("/worktrees/")
    return "" if "/" in name.strip("/") else above


class Boundary:
    """The border of the repository that `root` (absolute and real) is in: the top of its git work tree, else the root.

    Paths are absolute, or relative to the root; `..` in them is taken off before links are followed. What is learnt of
    folders is remembered, so a boundary lives no longer than the run that asks.
    """

    def __init__(self, root: str) -> None:
        self.root = root
        self.top = git_top(root) or root
        self._folders = {self.top: True}

    def leads_out(self, path: str) -> bool:
        """Whether a path leads out of the repository, by itself or through a link. Nothing outside is looked at."""
        place = self._place(path)
        return not self._is_within(place) or (os.path.islink(place) and not self._is_below(_real(place)))

    def lures_out(self, path: str) -> bool:
        """Whether a path that by its name is inside leads out through a link."""
        return self._is_below(self._place(path)) and self.leads_out(path)

    def find(self, path: str) -> str:
        """Whether something is at a path: INSIDE, MISSING or OUTSIDE. Raises UsageError on a failing disk."""
        place = self._place(path)
        if not self._is_within(place):
            return OUTSIDE
        try:
            mode = os.lstat(place).st_mode
        except OSError as error:
            refuse_failing(path, error)
            return MISSING
        except ValueError:  # a name with NUL or half of a surrogate pair
            return MISSING
        if not stat.S_ISLNK(mode):
            return INSIDE
        if not self._is_below(_real(place)):
            return OUTSIDE
        return INSIDE if is_there(place) else MISSING

    def read(self, path: str, most: int = MAX_BYTES) -> bytes | None:
        """The bytes of a regular file inside; None where there are more than `most`.

        Raises OSError for anything else, PermissionError with EXDEV for what leads out.
        """
        place = self._place(path)
        if self._is_within(place):
            try:
                return read_limited(place, most, links=False)
            except OSError as error:
                if error.errno != errno.ELOOP:
                    raise
            if self._is_below(real := _real(place)):
                return read_limited(real, most, links=False)
        raise PermissionError(errno.EXDEV, "it leads out of the repository")

    def read_small(self, path: str) -> bytes | None:
        """The bytes of a file inside of at most 1 MiB; None if it is missing, larger, unreadable or outside.

        Raises UsageError on a failing disk.
        """
        try:
            return self.read(path)
        except OSError as error:
            refuse_failing(path, error)
            return None

    def read_skill(self, path: str) -> tuple[bytes, str]:
        """What `read_bytes` makes of a SKILL.md that the search has found inside; its path is relative to the root."""
        return read_bytes(os.path.join(self.root, path))

    def unsaved(self, path: str) -> bytes | None:
        """The text that stands in place of what a file has on disk; None where that counts."""
        return None

    def is_executable(self, path: str) -> bool:
        """Whether a file inside may be run by its name, as far as its mode says; all may where there are no modes."""
        if os.name == "nt":
            return True
        try:
            return self.find(path) == INSIDE and bool(os.stat(self._place(path)).st_mode & 0o111)
        except OSError:
            return False

    def _place(self, path: str) -> str:
        return os.path.normpath(os.path.join(self.root, path))

    def _is_below(self, place: str) -> bool:
        return place == self.top or place.startswith(self.top.rstrip(os.sep) + os.sep)

    def _is_within(self, place: str) -> bool:
        """Whether the folder that a path names something in is inside."""
        if place == self.top or not self._is_below(place):
            return place == self.top
        # Nothing can be at a longer path, and to look at each folder on it would take long.
        return len(place) > _LONGEST or self._holds(os.path.dirname(place))

    def _holds(self, folder: str) -> bool:
        unknown = []
        while (known := self._folders.get(folder)) is None:
            unknown.append(folder)
            folder = os.path.dirname(folder)
        for each in reversed(unknown):
            if known and os.path.islink(each):
                known = self._is_below(_real(each))
            self._folders[each] = known
        return known


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except ValueError:
        return ""
