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

from skill_health.core.files import read_limited
from skill_health.discovery.globs import glob_matcher, is_plain, tail_matcher

MAX_BYTES = 1 << 20


# A line: its place in the file, what it matches, whether that leaves out or takes back, whether it is for folders only.
_Line = tuple[int, Callable[[str], object], bool, bool]


class Patterns:
    """The patterns of one file, asked about paths relative to the root of the walk.

    Lines without a slash match names: `exact` are those without a wildcard, `ending` those like `*.log`, asked only
    about names that end in one of `endings`, `globs` the others. `placed` are the lines with a slash, which match
    paths, each with what its last part matches. `lead` is prepended to a path and `cut` characters are dropped from it
    to get the path relative to the folder that the patterns belong to.
    """

    def __init__(self, lead: str = "", cut: int = 0) -> None:
        self.exact: dict[str, list[_Line]] = {}
        self.endings: tuple[str, ...] = ()
        self.ending: list[_Line] = []
        self.globs: list[_Line] = []
        self.placed: list[tuple[Callable[[str], object], _Line]] = []
        self.lead, self.cut = lead, cut
        self.known: dict[tuple[str, bool], tuple[bool | None, tuple[_Line, ...]]] = {}

    def moved(self, lead: str, cut: int) -> Patterns:
        """The same patterns for paths that start elsewhere."""
        other = Patterns(lead, cut)
        other.exact, other.endings, other.ending = self.exact, self.endings, self.ending
        other.globs, other.placed = self.globs, self.placed
        return other

    def decide(self, path: str, name: str, folder: bool) -> bool | None:
        """Whether this path, whose last part is `name`, is left out; None where no pattern speaks of it."""
        known = self.known.get((name, folder))
        if known is None:
            known = self.known[name, folder] = self._by_name(name, folder)
        verdict, placed = known
        if placed:
            inner = self.lead + path[self.cut :]
            for _, matches, ignore, _ in placed:
                if matches(inner):
                    return ignore
        return verdict

    def _by_name(self, name: str, folder: bool) -> tuple[bool | None, tuple[_Line, ...]]:
        """What is known from a name alone: the verdict of its last line, and later lines that depend on the path."""
        best, verdict = -1, None
        lines = [*self.exact[name], *self.globs] if name in self.exact else self.globs
        if name.endswith(self.endings):
            lines = [*lines, *self.ending]
        for at, matches, ignore, folders_only in lines:
            if at > best and (folder or not folders_only) and matches(name):
                best, verdict = at, ignore
        if not self.placed:
            return verdict, ()
        later = [line for tail, line in self.placed if line[0] > best and (folder or not line[3]) and tail(name)]
        return verdict, tuple(reversed(later))


def compile_patterns(lines: Iterable[str], lead: str = "", cut: int = 0) -> Patterns | None:
    """The patterns of these lines; None where there are none. A pattern that can match nothing is dropped."""
    patterns = Patterns(lead=lead, cut=cut)
    endings: list[str] = []
    for at, text in enumerate(lines):
        glob = _trimmed(text)
        if not glob or glob.startswith("#"):
            continue
        ignore = not glob.startswith("!")
        glob = glob if ignore else glob[1:]
        folders_only = glob.endswith("/")
        glob = glob[:-1] if folders_only else glob
        by_path = "/" in glob
        glob = glob.removeprefix("/")
        matches = glob_matcher(glob, by_path)
        if matches is None:
            continue
        line = (at, matches, ignore, folders_only)
        if by_path:
            patterns.placed.append((tail_matcher(glob), line))
        elif is_plain(glob):
            patterns.exact.setdefault(glob, []).append(line)
        elif glob[0] == "*" and is_plain(glob[1:]):
            endings.append(glob[1:])
            patterns.ending.append(line)
        else:
            patterns.globs.append(line)
    patterns.endings = tuple(endings)
    return patterns if patterns.exact or patterns.ending or patterns.globs or patterns.placed else None


def read_patterns(path: str, lead: str = "", cut: int = 0) -> Patterns | None:
    """The patterns of a file such as `.gitignore`; None where it is missing or holds none.

    Raises OSError where it cannot be read or is larger than `MAX_BYTES`, which no honest file is.
    """
    try:
        data = read_limited(path, MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if data is None:
        raise OSError(f"larger than {MAX_BYTES >> 20} MiB")
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
    return any(
        ignored(stack, "/".join(parts[:n]), name, folder or n < len(parts)) for n, name in enumerate(parts, start=1)
    )


def _trimmed(line: str) -> str:
    """The line without its carriage return and without trailing spaces, unless one is escaped."""
    line = line.removesuffix("\r")
    bare = line.rstrip(" ")
    slashes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if slashes % 2 and len(bare) < len(line) else bare
