"""Folders of trials that a killed process left in the temporary folder are found again, and removed.

A folder is locked as long as its process lives, and the system lets go of the lock when it dies. What is locked, what
is young and what is somebody else's is left alone.
"""

from __future__ import annotations

import os
import stat
import time
from functools import cache

from skill_health.effectiveness.check_workspace import remove_tree

_YOUNG = 120.0
_held: dict[str, int] = {}


def hold(base: str) -> None:
    """Lock a folder until `let_go` or the end of the process; without such locks here nothing is done."""
    handle = _locked(base)
    if handle is not None:
        _held[base] = handle


def let_go(base: str) -> None:
    """Unlock a folder, if it is locked."""
    handle = _held.pop(base, None)
    if handle is not None:
        os.close(handle)


@cache
def sweep(root: str, prefix: str) -> int:
    """Remove folders of dead processes below `root`, once for each process of ours; returns how many there were."""
    count = 0
    for name in os.listdir(root):
        place = os.path.join(root, name)
        if name.startswith(prefix) and place not in _held and _is_old(place):
            handle = _locked(place)
            if handle is not None:
                count += 1
                remove_tree(place)
                os.close(handle)
    return count


def _is_old(place: str) -> bool:
    """Whether this is a folder of ours, not a link, that was made some time ago."""
    try:
        state = os.lstat(place)
    except OSError:
        return False
    ours = stat.S_ISDIR(state.st_mode) and state.st_uid == os.getuid() and stat.S_IMODE(state.st_mode) == 0o700
    # What is in it tells that it is one of a trial, and not of somebody who likes the same name.
    known = all(os.path.lexists(os.path.join(place, inner)) for inner in ("workspace", "home", "tmp", "final.txt"))
    return ours and known and time.time() - state.st_mtime > _YOUNG


def _locked(place: str) -> int | None:
    """The open folder with its lock; None where somebody has it, or where there are none."""
    try:
        import fcntl
    except ImportError:
        return None
    try:
        handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle
