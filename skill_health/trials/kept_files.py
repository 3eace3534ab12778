"""What runs have kept below the folder of the reports: read and linked only where nothing on the way is a link."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from urllib.parse import quote

Way = tuple[str, ...]
"""The names that lead from the folder of the reports to a folder or file below it."""
_MOST_ENTRIES = 500
_MOST_NAMES = 12


@dataclass(frozen=True, slots=True)
class FileLink:
    """A link to a kept file: what to call it, and its percent-encoded address, relative to the page."""

    text: str
    to: str


@dataclass(frozen=True, slots=True)
class ReportFolders:
    """The folder of the reports, and the folder that the page is written to; both absolute, "" for none.

    Each folder is looked at once, so that a page takes its links from one moment.
    """

    folder: str
    base: str
    _real: dict[Way, bool] = field(default_factory=dict)
    _listed: dict[Way, Mapping[str, int]] = field(default_factory=dict)

    def files(self, way: Way) -> Mapping[str, int]:
        """The sizes in bytes of the regular files in a folder, by name; none where a link leads to it."""
        if way not in self._listed:
            self._listed[way] = self._files(way) if self._is_real(way) else {}
        return self._listed[way]

    def link(self, way: Way, text: str) -> FileLink | None:
        """A link to a regular file below the folder; None where there is none to link to."""
        if not self.base or way[-1] not in self.files(way[:-1]):
            return None
        try:
            above = os.path.relpath(self.folder, self.base)
        except ValueError:
            return None
        names = ([] if above == "." else above.split(os.sep)) + list(way)
        return FileLink(text, "/".join(quote(name, safe="", errors="surrogateescape") for name in names))

    def read(self, way: Way, most: int) -> tuple[bytes, int] | None:
        """The first `most` bytes of a regular file and its size; None where it cannot be read or is linked."""
        if way[-1] not in self.files(way[:-1]):
            return None
        try:
            handle = open_below(self.folder, way)
        except OSError:
            return None
        with open(handle, "rb") as stream:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                return None
            try:
                return stream.read(most), found.st_size
            except OSError:
                return None

    def _is_real(self, way: Way) -> bool:
        """Whether each part of the way is a plain name, and a folder that is no link."""
        if not way:
            return bool(self.folder)
        if way not in self._real:
            self._real[way] = (
                len(way) <= _MOST_NAMES and is_plain_name(way[-1]) and self._is_real(way[:-1]) and self._is_folder(way)
            )
        return self._real[way]

    def _is_folder(self, way: Way) -> bool:
        try:
            return stat.S_ISDIR(os.lstat(os.path.join(self.folder, *way)).st_mode)
        except (OSError, ValueError):
            return False

    def _files(self, way: Way) -> Mapping[str, int]:
        found = {}
        try:
            with os.scandir(os.path.join(self.folder, *way)) as entries:
                for entry in islice(entries, _MOST_ENTRIES):
                    if entry.is_file(follow_symlinks=False):
                        found[entry.name] = entry.stat(follow_symlinks=False).st_size
        except OSError:
            return {}
        return found


def open_below(folder: str, names: Sequence[str]) -> int:
    """A handle to read the file that plain names lead to below a folder, through no link, even one put there just now.

    Raises OSError where there is none. A pipe in its place does not wait for a writer: the caller looks what it is.
    """
    if os.open not in os.supports_dir_fd:
        return os.open(os.path.join(folder, *names), _FLAGS)
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for name in names[:-1]:
        try:
            inner = os.open(name, _FLAGS | os.O_DIRECTORY, dir_fd=at)
        finally:
            os.close(at)
        at = inner
    try:
        return os.open(names[-1], _FLAGS, dir_fd=at)
    finally:
        os.close(at)


_FLAGS = os.O_RDONLY
for _name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
    _FLAGS |= getattr(os, _name, 0)


def is_plain_name(name: str) -> bool:
    """Whether a name is that of something in a folder, and leads nowhere else."""
    return name not in ("", ".", "..") and not any(each in name for each in "/\\\0") and len(name) <= 255
