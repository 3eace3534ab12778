"""A file is replaced only by another of its kind: what somebody else wrote, or a link leads to, stays as it is."""

from __future__ import annotations

import os
import stat

from skill_health.core.errors import UsageError
from skill_health.core.files import at_once


def check(path: str, head: bytes) -> None:
    """Raise UsageError where something is at `path` that is neither empty nor a regular file that begins with `head`.

    An output may be a link in somebody else's repository, that leads to a file of the user's, or to where there will
    be one.
    """
    if not os.path.lexists(path):
        return
    try:
        with open(path, "rb", opener=at_once) as file:
            fits = stat.S_ISREG(os.fstat(file.fileno()).st_mode) and file.read(len(head)) in (b"", head)
    except OSError:
        fits = False
    if not fits:
        raise foreign(path)


def foreign(path: str) -> UsageError:
    """What is said of a file that somebody else wrote."""
    return UsageError(f"{path} was not made by this command, and is left as it is: name another --output")
