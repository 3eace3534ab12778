"""The SKILL.md files that git tracks: what it tracks is part of a repository, whatever its ignore files say.

The index is read as gitformat-index(5) describes it (git 2.51, read 2026-11), since starting git costs more than a hook
may take. Git is asked only where the index is split or of a kind that is not known here.
"""

from __future__ import annotations

import os

from skill_health.core.boundary import git_link, git_top
from skill_health.core.files import cannot_read, is_absence, read_limited

_NAME = b"skill.md"
_MOST = 1 << 28
_EXTENDED, _LENGTH = 0x4000, 0xFFF


def tracked_skills(root: str) -> tuple[str, ...]:
    """The paths of every tracked SKILL.md below a root (absolute and real), relative to it; none outside git.

    Raises UsageError where git's index cannot be read.
    """
    top = git_top(root)
    if top is None:
        return ()
    lead = os.fsencode(root[len(top) :].replace(os.sep, "/").strip("/"))
    lead += b"/" if lead else b""
    paths = _from_index(top)
    found = _from_git(top) if paths is None else paths
    return tuple(sorted(os.fsdecode(path[len(lead) :]) for path in found if path.startswith(lead)))


def git_folder(top: str) -> str:
    """The folder of this checkout's own state."""
    return os.path.join(top, git_link(top) or ".git")


def _from_index(top: str) -> list[bytes] | None:
    """What the index of a checkout names; None where it is better to ask git.

    Raises UsageError where there is one that cannot be read: what it names is not gone.
    """
    file = os.path.join(git_folder(top), "index")
    try:
        data = read_limited(file, _MOST)
    except OSError as error:
        if is_absence(error):
            return []
        raise cannot_read(file, error) from error
    if data is None or len(data) < 12 or data[:4] != b"DIRC":
        return None
    version = int.from_bytes(data[4:8])
    # Names are whole in it, but for version 4, which leaves out what a name shares with the one before.
    if version in (2, 3) and _NAME not in data.lower() and b"link" not in data:
        return []
    for hashed in (20, 32):
        try:
            return read_index(data, hashed) if version in (2, 3, 4) else None
        except (IndexError, ValueError):
            continue
    return None


def read_index(data: bytes, hashed: int = 20) -> list[bytes] | None:
    """The paths in an index that end in SKILL.md, in any case; None where the index is split.

    `hashed` is the length of an object id. Raises ValueError or IndexError where the data are no such index.
    """
    version, count = int.from_bytes(data[4:8]), int.from_bytes(data[8:12])
    found, at, path = [], 12, b""
    for _ in range(count):
        flags = (data[at + 40 + hashed] << 8) | data[at + 41 + hashed]
        start = at + 42 + hashed + (2 if flags & _EXTENDED else 0)
        if version == 4:
            dropped, start = _varint(data, start)
            end = data.index(0, start)
            path = path[: len(path) - dropped] + data[start:end]
            at = end + 1
        else:
            length = flags & _LENGTH
            end = start + length if length < _LENGTH else data.index(0, start + _LENGTH)
            path = data[start:end]
            at += (end - at + 8) & ~7
            if data[end]:
                raise ValueError("a name goes on where it should end")
        if path[-8:].lower() == _NAME and (len(path) == 8 or path[-9:-8] == b"/"):
            found.append(path)
    while at + 8 <= len(data) - hashed:
        if data[at : at + 4] == b"link":
            return None
        at += 8 + int.from_bytes(data[at + 4 : at + 8])
    if at != len(data) - hashed:
        raise ValueError("the extensions do not end where they should")
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number as git writes offsets in packs, and where it ends."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1


def _from_git(top: str) -> list[bytes]:
    from skill_health.core.git import open_repository

    found = open_repository(top).ask("ls-files", "-z", "--", ":(icase,glob)**/skill.md")
    return [path for path in found.split(b"\0") if path]
