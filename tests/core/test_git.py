"""What a repository configures is not run, whoever unpacked it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from skill_health.core.errors import UsageError
from skill_health.core.git import read_revision, run_git


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository that runs a program wherever git lets it."""
    root = tmp_path / "clone"
    root.mkdir()
    git(root, "init", "-q")
    (root / "a.txt").write_text("a\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "one")
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    for name in ("post-index-change", "pre-auto-gc", "reference-transaction"):
        (root / ".git/hooks" / name).write_text(trap.read_text())
        (root / ".git/hooks" / name).chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "pager.diff", "core.sshCommand"):
        git(root, "config", key, str(trap))
    os.utime(root / "a.txt", (1, 1))
    (tmp_path / "sprung").unlink(missing_ok=True)
    return root


def test_no_monitor_hook_or_pager_is_started(repository: Path) -> None:
    assert read_revision(str(repository), True).dirty is False
    assert run_git(str(repository), "diff", "--no-ext-diff", "--name-only").output == b""
    assert run_git(str(repository), "update-ref", "refs/heads/other", "HEAD").code == 0
    assert not (repository.parent / "sprung").exists()


def test_a_bare_repository_inside_a_clone_is_none(repository: Path) -> None:
    inside = repository / "skills"
    git(repository, "init", "-q", "--bare", "skills")
    git(inside, "config", "core.fsmonitor", str(repository.parent / "trap"))
    done = run_git(str(inside), "status")
    assert (done.code, done.output) == (128, b"") and "safe.bareRepository" in done.reason
    assert read_revision(str(inside), True).note.startswith("git cannot tell the state of skills: fatal: ")
    assert not (repository.parent / "sprung").exists()


def test_why_git_failed_is_its_own_word(tmp_path: Path) -> None:
    done = run_git(str(tmp_path), "rev-parse", "--show-toplevel")
    assert done.code == 128 and done.reason.startswith("fatal: not a git repository")
    assert run_git(str(tmp_path), "rev-parse", "--verify", "--quiet", "x").reason != ""


def test_a_machine_without_git_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="git is needed for this, and is not installed"):
        run_git(str(tmp_path), "status")
    assert read_revision(str(tmp_path), True).note.endswith(": git is not installed")


def test_input_is_given(repository: Path) -> None:
    done = run_git(str(repository), "hash-object", "--stdin", given=b"a\n")
    assert done.output.strip() == b"78981922613b2afb6025042ff6bd878ac1994e85"
