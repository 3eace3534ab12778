"""Which commit a collection is at, and whether its files are the commit's."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Revision:
    """`commit` is None outside git, before the first commit and where git is absent.

    `dirty` is whether the root differs from the commit, None where that is not known. `note` says why git could not
    tell, where somebody should know.
    """

    commit: str | None = None
    dirty: bool | None = None
    note: str = ""


def read_revision(root: str, in_git: bool, own: Sequence[str] = ()) -> Revision:
    """Ask git about `root`. Changes of the files or folders `own`, relative to it, are not counted as such.

    Nothing that the repository configures is run, and its index is left as it is.
    """
    if not in_git:
        return Revision()
    commit, reason = _git(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    ignored = [f":(exclude,literal){path}" for path in own]
    changes, why = _git(root, "status", "--porcelain=v1", "-z", "--no-renames", "--", ".", *ignored)
    # Without a commit yet, rev-parse fails silently while status works.
    note = f"git cannot tell the state of {os.path.basename(root) or root}: {why or reason}" if changes is None else ""
    found = commit.decode("ascii", "replace").strip() if commit else None
    return Revision(found or None, None if changes is None else bool(changes), note)


def _git(folder: str, *arguments: str) -> tuple[bytes | None, str]:
    command = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", folder, *arguments]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError:
        return None, "git is not installed"
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return None, lines[0] if lines else "no reason given"
    return done.stdout, ""
