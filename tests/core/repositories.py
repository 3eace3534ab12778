"""Git over the folders that tests make."""

from __future__ import annotations

import subprocess
from pathlib import Path


def git(root: Path, *words: str) -> str:
    """What git says in this folder."""
    return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True).stdout.strip()


def commit(root: Path) -> str:
    """Commit all that is there, in a new repository if there is none; the revision."""
    if not (root / ".git").exists():
        git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "As it is")
    return git(root, "rev-parse", "HEAD")
