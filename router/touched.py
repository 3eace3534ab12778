"""Asked of git before anything is read: is there an earlier commit, and has anything changed that is listed?"""

from __future__ import annotations

import subprocess

from skill_health.core.errors import UsageError
from skill_health.discovery import plugins
from skill_health.discovery.roots import git_top

HEAD = "HEAD"
# What a listing comes from: the skills, and what decides which of them are read and how they are called.
_FILES = ("SKILL.md", "skill-health.toml", "pyproject.toml", ".gitignore", *plugins.FILES)


def base_of(root: str, since: str) -> str | None:
    """The commit where the current branch left `since`; None where nothing has been committed yet.

    Raises UsageError outside a git repository and for a revision that git does not know.
    """
    if git_top(root) is None:
        raise UsageError(f"{root} is in no git repository: there is no earlier version to compare with")
    if since.startswith("-"):
        raise UsageError(f"{since!r} is not a git revision")
    head = _commit(root, HEAD)
    commit = _commit(root, since)
    if not head:
        return None
    if not commit:
        raise UsageError(f"git does not know the revision {since!r}")
    # Histories that have nothing in common have no such commit.
    return _git(root, "merge-base", commit, head, missing=1) or commit


def is_touched(root: str, commit: str, untracked: bool = True) -> bool:
    """Whether a file that listings come from differs from `commit` or is new, where `untracked` even to git.

    Raises UsageError where git fails.
    """
    where = [f":(top,icase,glob)**/{name}" for name in _FILES]
    differs = _git(root, "diff", "--name-only", "--no-ext-diff", "--no-renames", commit, "--", *where)
    return bool(differs or (untracked and _git(root, "ls-files", "--others", "--exclude-standard", "--", *where)))


def _commit(root: str, revision: str) -> str:
    return _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}", missing=1)


def _git(root: str, *arguments: str, missing: int = 0) -> str:
    """What git prints, without the line's end; "" where it ends with the exit code `missing`.

    Nothing that the repository configures is run. Raises UsageError for any other exit code.
    """
    command = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", root, *arguments]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError:
        raise UsageError("git is needed to tell what has changed, and is not installed") from None
    if done.returncode not in (0, missing):
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise UsageError(f"git cannot tell what has changed: {lines[0] if lines else 'no reason given'}")
    return "" if done.returncode else done.stdout.decode("utf-8", "surrogateescape").strip()
