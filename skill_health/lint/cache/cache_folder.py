"""The folder of the caches: a marked one of our own, in which nothing but our own files is read, written or removed.

Whoever may write into it could tell us what to find, so a folder or file of another owner, one that others may write to
and a symbolic link are no cache: nothing is read from them, and nothing is written.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, BinaryIO

from skill_health.core.files import blake2b, is_there, open_regular, replace_file

MARK = "CACHEDIR.TAG"
_TAG = b"""Signature: 8a477f597d28d172789f06886806bc55
# skill-health keeps here what its linter has found. The folder may be deleted at any time.
"""
URLS, TASKS, VECTORS = "urls.json", "effectiveness-check.json", "vectors.bin"
_FIXED = (MARK, URLS, TASKS, VECTORS)
_ENDING, INDEX_ENDING = ".lint", ".index"
_HEX = frozenset("0123456789abcdef")
_TEMPORARY = (".skill-health-", ".tmp")
_MAX_FILES = 64
_MAX_OF_ROOT = 8
_MAX_BYTES = 2 << 30
_MAX_INDEXES, _MAX_INDEX_BYTES = 16, 2 << 30
_MAX_SEALED = 256 << 20
_DAY = 86_400


def directory() -> str:
    """The folder of our own, inside SKILL_HEALTH_CACHE_DIR, else inside the user's cache folder."""
    base = os.environ.get("SKILL_HEALTH_CACHE_DIR")
    if not base:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        base = os.path.join(home, "skill-health")
    return os.path.join(base, "lint-cache")


def name_of(root: str, base: str) -> str:
    """The name of the file about a collection (a digest of 32 hexadecimal digits) under a configuration (another)."""
    return f"{root}-{base}{_ENDING}"


def is_ours(name: str) -> bool:
    """Whether a file has a name that we give: only such files are ever written or removed."""
    if name.startswith(_TEMPORARY[0]) and name.endswith(_TEMPORARY[1]):
        return True
    return name in _FIXED or _is_collection(name) or _is_index(name)


def open_cached(name: str) -> BinaryIO | None:
    """A file of the cache, open to be read; None where there is none, and where it is not ours alone or too large."""
    folder = directory()
    path = os.path.join(folder, name)
    try:
        if not _is_own(os.lstat(folder), folder=True):
            return None
        file = os.fdopen(open_regular(path, links=False), "rb")
        status = os.fstat(file.fileno())
        if not _is_own(status) or status.st_size > _MAX_BYTES:
            file.close()
            return None
        if status.st_mtime + _DAY < time.time():
            # What is used is not the first to be pruned.
            os.utime(file.fileno() if os.utime in os.supports_fd else path)
        return file
    except OSError:
        return None


def write_cached(name: str, chunks: Iterable[bytes]) -> None:
    """Replace a file of the cache. A cache that cannot be written is no reason to fail."""
    path = own_path(name)
    if path is None:
        return
    # A name that no other run has at this time. `tempfile` would find one too, but takes longer to import.
    unique = f"{os.getpid()}-{id(chunks):x}-{time.time_ns():x}"
    with suppress(OSError):
        replace_file(path, chunks, private=True, temporary=os.path.join(os.path.dirname(path), unique.join(_TEMPORARY)))
        _prune(os.path.dirname(path))


def read_sealed(name: str) -> dict[str, Any]:
    """The mapping that `write_sealed` wrote; {} where there is none, and where a bit of it has changed."""
    file = open_cached(name)
    if file is None:
        return {}
    with file:
        head, _, line = file.read(_MAX_SEALED).partition(b"\n")
    try:
        values = json.loads(line) if head == line_sum(name, line).encode() else None
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def write_sealed(name: str, values: dict[str, Any]) -> None:
    """Replace a file by a mapping, below a digest of it."""
    line = json.dumps(values, ensure_ascii=True, separators=(",", ":")).encode()
    write_cached(name, [line_sum(name, line).encode(), b"\n", line])


def line_sum(name: str, line: bytes) -> str:
    """The digest that a line of a file is held against; it covers what the line is about."""
    return blake2b(name.encode("utf-8", "surrogateescape") + b"\0" + line, digest_size=12).hexdigest()


def own_path(name: str) -> str | None:
    """Where a file of the cache may be read and replaced, in a folder made where necessary; None where it may not."""
    folder = directory()
    path = os.path.join(folder, name)
    try:
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        with suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        if not _is_own(os.lstat(folder), folder=True) or not _is_marked(folder):
            return None
        return path if not is_there(path, links=False) or _is_own(os.lstat(path)) else None
    except OSError:
        return None


def own_folder(name: str) -> str | None:
    """A marked folder of ours beside that of the linter, made where necessary; None where it is not ours alone."""
    folder = os.path.join(os.path.dirname(directory()), name)
    try:
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        with suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        if not _is_own(os.lstat(folder), folder=True):
            return None
        with suppress(FileExistsError), open(os.path.join(folder, MARK), "xb") as file:
            file.write(_TAG)
        return folder
    except OSError:
        return None


def _is_marked(folder: str) -> bool:
    """Whether the folder has our mark, which a folder without foreign files is given."""
    mark = os.path.join(folder, MARK)
    if os.path.lexists(mark):
        return True
    if not all(map(is_ours, os.listdir(folder))):
        return False
    with suppress(FileExistsError), open(mark, "xb") as file:
        file.write(_TAG)
    return True


def _is_own(status: os.stat_result, folder: bool = False) -> bool:
    """Whether this is a regular file (or a folder) of the user's that nobody else may write to."""
    right = stat.S_ISDIR(status.st_mode) if folder else stat.S_ISREG(status.st_mode)
    if not right or not hasattr(os, "geteuid"):
        return right
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _is_collection(name: str) -> bool:
    root, _, rest = name.partition("-")
    base = rest.removesuffix(_ENDING)
    return base != rest and len(root) == len(base) == 32 and _HEX.issuperset(root + base)


def _is_index(name: str) -> bool:
    """Whether this is what a router has indexed: a digest of 32 hexadecimal digits."""
    key = name.removesuffix(INDEX_ENDING)
    return key != name and len(key) == 32 and _HEX.issuperset(key)


def _prune(folder: str) -> None:
    """Remove our files that are too many, those used last left, and what interrupted runs left behind."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if is_ours(entry.name) and entry.name not in _FIXED and entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                found.append((status.st_mtime_ns, status.st_size, entry.name))
    total, count, of_root = 0, 0, dict[str, int]()
    indexes, index_bytes = 0, 0
    for time_ns, size, name in sorted(found, reverse=True):
        if _is_collection(name):
            root = name.partition("-")[0]
            total, count, of_root[root] = total + size, count + 1, of_root.get(root, 0) + 1
            gone = count > _MAX_FILES or total > _MAX_BYTES or of_root[root] > _MAX_OF_ROOT
        elif _is_index(name):
            indexes, index_bytes = indexes + 1, index_bytes + size
            gone = indexes > _MAX_INDEXES or (indexes > 1 and index_bytes > _MAX_INDEX_BYTES)
        else:
            gone = time_ns + _DAY * 10**9 < time.time_ns()
        if gone:
            with suppress(OSError):
                os.unlink(os.path.join(folder, name))
