"""Runs git without running anything that a repository configures, and says which commit a collection is at."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from skill_health.core.errors import UsageError

# A bare repository inside a clone may be a trap: its configuration is the work of whoever wrote the clone.
_SAFE = (
    "--no-optional-locks", "--no-pager", "-c", "safe.bareRepository=explicit", "-c", "core.fsmonitor=false",
    "-c", f"core.hooksPath={os.devnull}",
)  # fmt: skip
_ENVIRONMENT = {"GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}


class GitOutput(NamedTuple):
    """What git printed: its exit code, its output, and the line that says why it failed ("" where it did not)."""

    code: int
    output: bytes
    reason: str = ""


def run_git(folder: str, *arguments: str, given: bytes = b"") -> GitOutput:
    """Run git in a folder, with `given` as its input. Raises UsageError where git is not installed.

    No hook, file-system monitor, pager or fetch of a partial clone is started, and no lock is taken that can be left.
    """
    import subprocess

    command = ["git", *_SAFE, "-C", folder, *arguments]
    try:
        done = subprocess.run(command, input=given, capture_output=True, check=False, env=os.environ | _ENVIRONMENT)
    except OSError:
        raise UsageError("git is needed for this, and is not installed") from None
    if not done.returncode:
        return GitOutput(0, done.stdout)
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    fatal = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return GitOutput(done.returncode, done.stdout, next(iter([*fatal, *lines[-1:]]), "no reason given"))


def ask_git(folder: str, *arguments: str, missing: int = 0) -> bytes:
    """What git prints; nothing if it ends with the exit code `missing`. Raises UsageError for any other failure."""
    done = run_git(folder, *arguments)
    if done.code not in (0, missing):
        raise UsageError(f"git cannot tell what has changed: {done.reason}")
    return b"" if done.code else done.output


def resolve_commit(folder: str, revision: str) -> str:
    """The id of the commit that a revision names. Raises UsageError if git does not know it."""
    if revision.startswith("-"):
        raise UsageError(f"{revision!r} is not a git revision")
    done = run_git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if done.code:
        raise UsageError(f"git does not know the revision {revision!r}")
    return done.output.decode("ascii").strip()


@dataclass(frozen=True, slots=True)
class Revision:
    """The git state of a collection. `commit` is None outside git, before the first commit and without git.

    `dirty` says whether the root differs from the commit; None if unknown. `note` says why git could not tell, if users
    should know.
    """

    commit: str | None = None
    dirty: bool | None = None
    note: str = ""


def read_revision(root: str, in_git: bool, own: Sequence[str] = ()) -> Revision:
    """Ask git about `root`. Changes to the files or folders `own`, relative to it, do not count."""
    if not in_git:
        return Revision()
    ignored = [f":(exclude,literal){path}" for path in own]
    try:
        commit = run_git(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        changes = run_git(root, "status", "--porcelain=v1", "-z", "--no-renames", "--", ".", *ignored)
    except UsageError:
        return Revision(note=_note(root, "git is not installed"))
    # Without a commit yet, rev-parse fails silently while status works.
    found = "" if commit.code else commit.output.decode("ascii", "replace").strip()
    if changes.code:
        return Revision(found or None, None, _note(root, changes.reason))
    return Revision(found or None, bool(changes.output))


def _note(root: str, why: str) -> str:
    return f"git cannot tell the state of {os.path.basename(root) or root}: {why}"
