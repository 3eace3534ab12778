"""Which paths `.gitignore` files and the configured `exclude` globs leave out.

The grammar is git's own (gitignore(5), read 2026-11): `#` comments, `!` to take back, a trailing slash for folders
only, a slash elsewhere ties the pattern to its file's folder, globs as in `globs`; the last match wins. Callers walk
from the top and never enter what is left out, as git does, so a pattern is only ever asked about the path itself and
not about the folders above it.

It is written here rather than taken from a library because a hook has to answer in less time than importing one takes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from skill_health.core.globs import glob_matcher

MAX_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class _Pattern:
    """One line: what it matches (a name, or a path where it holds a slash) and what a match means."""

    matches: Callable[[str], object]
    ignore: bool
    folders_only: bool


@dataclass(frozen=True, slots=True)
class Patterns:
    """The patterns of one file, asked about paths relative to the root of the walk.

    `lead` is prepended to such a path and `cut` characters are dropped from it to get the path relative to the folder
    that the patterns belong to.
    """

    named: tuple[tuple[int, _Pattern], ...]
    placed: tuple[tuple[int, _Pattern], ...]
    lead: str = ""
    cut: int = 0
    _known: dict[tuple[str, bool], tuple[int, bool]] = field(default_factory=dict, compare=False, repr=False)

    def decide(self, path: str, name: str, folder: bool) -> bool | None:
        """Whether this path, whose last part is `name`, is left out; None where no pattern speaks of it."""
        known = self._known.get((name, folder))
        if known is None:
            known = self._known[name, folder] = self._by_name(name, folder)
        best, verdict = known
        if self.placed:
            inner = self.lead + path[self.cut :]
            for at, pattern in reversed(self.placed):
                if at < best:
                    break
                if (folder or not pattern.folders_only) and pattern.matches(inner):
                    return pattern.ignore
        return verdict if best >= 0 else None

    def _by_name(self, name: str, folder: bool) -> tuple[int, bool]:
        """The place and the verdict of the last pattern without a slash that matches this name, or (-1, False)."""
        for at, pattern in reversed(self.named):
            if (folder or not pattern.folders_only) and pattern.matches(name):
                return at, pattern.ignore
        return -1, False


def compile_patterns(lines: Iterable[str], lead: str = "", cut: int = 0) -> Patterns | None:
    """The patterns of these lines; None where there are none. A pattern that can match nothing is dropped."""
    named: list[tuple[int, _Pattern]] = []
    placed: list[tuple[int, _Pattern]] = []
    for at, line in enumerate(lines):
        glob = _trimmed(line)
        if not glob or glob.startswith("#"):
            continue
        ignore = not glob.startswith("!")
        glob = glob if ignore else glob[1:]
        folders_only = glob.endswith("/")
        glob = glob[:-1] if folders_only else glob
        by_path = "/" in glob
        matches = glob_matcher(glob.removeprefix("/"), by_path)
        if matches is None:
            continue
        (placed if by_path else named).append((at, _Pattern(matches, ignore, folders_only)))
    return Patterns(tuple(named), tuple(placed), lead, cut) if named or placed else None


def read_patterns(path: str, lead: str = "", cut: int = 0) -> Patterns | None:
    """The patterns of a file such as `.gitignore`; None where it is missing or holds none.

    Raises OSError where it cannot be read or is larger than `MAX_BYTES`, which no honest file is.
    """
    try:
        with open(path, "rb") as handle:
            data = handle.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if len(data) > MAX_BYTES:
        raise OSError(f"larger than {MAX_BYTES // 1024} KiB")
    return compile_patterns(os.fsdecode(data.removeprefix(b"\xef\xbb\xbf")).split("\n"), lead, cut)


def ignored(stack: Sequence[Patterns], path: str, name: str, folder: bool) -> bool:
    """Whether a path is left out by the first of these files, the most specific ahead, that speaks of it."""
    for patterns in stack:
        verdict = patterns.decide(path, name, folder)
        if verdict is not None:
            return verdict
    return False


def ignored_within(stack: Sequence[Patterns], path: str, folder: bool) -> bool:
    """Whether a path, or a folder above it up to the root, is left out."""
    parts = path.split("/") if path else []
    for n, name in enumerate(parts, start=1):
        if ignored(stack, "/".join(parts[:n]), name, folder or n < len(parts)):
            return True
    return False


def _trimmed(line: str) -> str:
    """The line without its carriage return and without trailing spaces, unless one is escaped."""
    line = line.removesuffix("\r")
    bare = line.rstrip(" ")
    slashes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if slashes % 2 and len(bare) < len(line) else bare
