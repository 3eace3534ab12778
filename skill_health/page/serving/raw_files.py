"""A file below a folder by the path of a URL: found only where it is a plain file that no symbolic link leads to."""

from __future__ import annotations

import os
import stat
from typing import BinaryIO

from skill_health.page.data.loading import open_below

_SEPARATORS = ("/", "\\", "\0")
_MOST_NAMES = 64


def opened(folder: str, target: str) -> tuple[BinaryIO, int] | None:
    """The file that a URL's path (percent-encoded, with a slash before it) names below a folder, and its size in bytes.

    None for everything that is not a regular file there by this very path: a folder, a link or a file behind one, a
    hidden name or one in a hidden folder (a repository's, or keys), a path with an empty, parent or encoded-slash
    segment. The caller closes what is returned.
    """
    names = _names(target)
    if not names:
        return None
    try:
        base = os.path.realpath(folder)
        full = os.path.join(base, *names)
        # What the path leads to is where it says, unless a link is in it or the path is spelled in another way.
        if os.path.realpath(full) != full:
            return None
        handle = open_below(base, names)
    except (OSError, ValueError):
        return None
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        return None
    return os.fdopen(handle, "rb"), status.st_size


def _names(target: str) -> list[str] | None:
    """The segments of a path as file names; None where one of them is no such name."""
    from urllib.parse import unquote_to_bytes

    if not target.startswith("/"):
        return None
    names = [os.fsdecode(unquote_to_bytes(part)) for part in target[1:].split("/")]
    if len(names) > _MOST_NAMES or not all(map(_is_name, names)):
        return None
    # A colon names another stream or drive there.
    return None if os.name == "nt" and any(":" in name for name in names) else names


def _is_name(name: str) -> bool:
    return not name.startswith(".") and name != "" and not any(each in name for each in _SEPARATORS)
