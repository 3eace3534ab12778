"""Which skills differ from a git revision."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from skill_health.core.errors import UsageError


def changed_paths(root: str, revision: str, paths: Sequence[str]) -> tuple[str, ...]:
    """The files below `paths` that differ from `revision`, untracked ones included, deleted ones left out.

    Raises UsageError outside a git repository and for a revision that git does not know.
    """
    if revision.startswith("-"):
        raise UsageError(f"{revision!r} is not a git revision")
    top = _git(root, "rev-parse", "--show-toplevel").decode("utf-8", "surrogateescape").rstrip("\n")
    commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}", say=revision)
    base = commit.decode().strip()
    names = _git(top, "diff", "--name-only", "-z", "--no-renames", "--diff-filter=d", base, "--")
    names += _git(top, "ls-files", "-z", "--others", "--exclude-standard")
    found = {os.path.join(top, os.fsdecode(name)) for name in names.split(b"\0") if name}
    wanted = [os.path.realpath(path) for path in paths]
    inside = (path for path in found if any(_below(os.path.realpath(path), top_path) for top_path in wanted))
    return tuple(sorted(path for path in inside if _in_skill(path, root)))


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _in_skill(path: str, root: str) -> bool:
    folder = os.path.dirname(path)
    while _below(os.path.realpath(folder), root):
        try:
            if any(name.lower() == "skill.md" for name in os.listdir(folder)):
                return True
        except OSError:
            return False
        if os.path.realpath(folder) == root:
            return False
        folder = os.path.dirname(folder)
    return False


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
