"""Which skills differ from a git revision."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from skill_health.core.errors import UsageError


def changed_paths(root: str, revision: str, paths: Sequence[str]) -> tuple[str, ...]:
    """The files below `paths` that differ from `revision`, untracked ones included.

    For a deleted file the SKILL.md stands that it belonged to, if that is still there. Raises UsageError outside
    a git repository and for a revision that git does not know.
    """
    if revision.startswith("-"):
        raise UsageError(f"{revision!r} is not a git revision")
    top = _git(root, "rev-parse", "--show-toplevel").decode("utf-8", "surrogateescape").rstrip("\n")
    commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}", say=revision)
    base = commit.decode().strip()
    names = _git(top, "diff", "--name-only", "-z", "--no-renames", base, "--")
    names += _git(top, "ls-files", "-z", "--others", "--exclude-standard")
    found = {os.path.join(top, os.fsdecode(name)) for name in names.split(b"\0") if name}
    wanted = [os.path.realpath(path) for path in paths]
    owners = {path: owner for path in found if (owner := _owner(path, root))}
    inside = (path for path in owners if any(_below(os.path.realpath(path), folder) for folder in wanted))
    return tuple(sorted({path if os.path.lexists(path) else owners[path] for path in inside}))


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _owner(path: str, root: str) -> str:
    """The SKILL.md of the nearest folder above that has one; "" where there is none within the root."""
    folder = os.path.dirname(path)
    while _below(os.path.realpath(folder), root):
        try:
            names = os.listdir(folder)
        except OSError:
            names = []
        for name in sorted(names):
            if name.lower() == "skill.md":
                return os.path.join(folder, name)
        if os.path.realpath(folder) == root:
            return ""
        folder = os.path.dirname(folder)
    return ""


def _git(folder: str, *arguments: str, say: str = "") -> bytes:
    try:
        done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, check=False)
    except FileNotFoundError as error:
        raise UsageError("git is needed to tell what has changed, and is not installed") from error
    if done.returncode:
        if say:
            raise UsageError(f"git does not know the revision {say!r}")
        reason = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise UsageError(f"git cannot tell what has changed: {reason[-1] if reason else 'no reason given'}")
    return done.stdout
