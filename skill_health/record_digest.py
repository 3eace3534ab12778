"""What identifies a skill as agents get it: a hash over its name and every file.

It is the hash that the effectiveness benchmark keeps with each trial, so that what was tested can be told from what is
there now; a test holds the two against each other.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from typing import Any

from skill_health.core.corpus import Entry
from skill_health.core.digests import blake2b

SKILL = "SKILL.md"
LEFT_OUT = frozenset((".git", ".venv", "node_modules"))
_MOST_FILE, _MOST_ALL = 16 << 20, 64 << 20


def digests_now(root: str, entries: Iterable[Entry], facts: Mapping[str, Mapping[str, Any]]) -> dict[str, str | None]:
    """The digest of each skill by its name; None where a file cannot be read, or two skills share the name.

    `facts` are those of a lint run, by the path of each SKILL.md.
    """
    found: dict[str, str | None] = {}
    for entry in entries:
        if entry.path in facts:
            name = facts[entry.path]["summary"]["name"]
            found[name] = None if name in found else skill_digest(root, entry, name)
    return found


def skill_digest(root: str, entry: Entry, name: str) -> str | None:
    """The digest of one skill, 32 hexadecimal digits; None where a file of it cannot be read or is too large."""
    folder = os.path.join(root, entry.folder)
    named = {path: path for path in entry.files if not LEFT_OUT & set(path.split("/"))} | {SKILL: entry.file_name}
    try:
        total = blake2b(digest_size=16)
        _add(total, b"n", name.encode())
        left = _MOST_ALL
        for path in sorted(named):
            data, executable = _read(folder, named[path])
            left -= len(data)
            if left < 0:
                return None
            for part in (path.encode(), data, b"x" if executable else b""):
                _add(total, b"f", part)
    except (OSError, UnicodeEncodeError, ValueError):
        return None
    return str(total.hexdigest())


def _add(total: Any, mark: bytes, raw: bytes) -> None:
    total.update(mark + b"%d:" % len(raw) + raw)


def _read(folder: str, path: str) -> tuple[bytes, bool]:
    """The bytes of a regular file and whether it is executable. Raises OSError, or ValueError for a large one."""
    place = folder
    for part in path.split("/"):
        place = os.path.join(place, part)
        if os.path.islink(place):
            raise ValueError("a link")
    handle = os.open(
        os.path.join(folder, path), os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    )
    with os.fdopen(handle, "rb") as stream:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            raise ValueError("not a regular file")
        data = stream.read(_MOST_FILE + 1)
    if len(data) > _MOST_FILE:
        raise ValueError("too large")
    return data, bool(mode & stat.S_IXUSR)
