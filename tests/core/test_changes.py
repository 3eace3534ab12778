"""Untracked files are those that git itself lists, ignore files of every kind and place considered."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from thinned import EXHAUSTIVE, SLOW, thinned

from skill_health.core.git import open_repository
from skill_health.discovery.changes import list_untracked

FOLDERS = ("", "a", "a/b", "a/b/c", "d", "d é", "build", "a/build", "d/.agents")
FILES = ("x", "y.tmp", "z.log", "keep.log", " lead", "SKILL.md", "new\nline", "[b]")
PATTERNS = (
    "*.tmp", "*.log", "!keep.log", "build/", "/build", "a/b/", "b", "**/c", "d*", "!d", "/a/b/x", "x", "!x", "*", "!*/",
    "\\[b]", "# x", "", "a/**/z.log", "c/*", "lead", "\\ lead", "S*.md",
)  # fmt: skip


def git(folder: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True).stdout


def by_git(root: Path) -> list[str]:
    """The oracle."""
    return sorted(
        os.fsdecode(name) for name in git(root, "ls-files", "-z", "-o", "--exclude-standard").split(b"\0")[:-1]
    )


def write(place: Path, lines: Sequence[str]) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("".join(f"{line}\n" for line in lines))


def plant(root: Path, rng: random.Random) -> None:
    """Files, folders, links and repositories within, some of them tracked, and ignore files in any folder."""
    for folder in FOLDERS:
        for name in rng.sample(FILES, rng.randrange(4)):
            write(root / folder / name, [name])
        if rng.random() < 0.2:
            (root / folder).mkdir(parents=True, exist_ok=True)
            (root / folder / "link").symlink_to(rng.choice(["x", "gone", ".", "/"]))
    for folder in rng.sample(FOLDERS, 2):
        if (root / folder).is_dir() and any(path.is_file() for path in (root / folder).iterdir()):
            git(root, "add", "-f", folder or ".")
    for folder in rng.sample(FOLDERS, rng.randrange(4)):
        write(root / folder / ".gitignore", rng.sample(PATTERNS, rng.randrange(1, 5)))
    if rng.random() < 0.3:
        inner = root / rng.choice(FOLDERS[1:]) / "inner"
        inner.mkdir(parents=True)
        git(inner, "init", "-q")
        write(inner / "x", ["x"])


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def root(tmp_path: Path, home: Path) -> Path:
    (tmp_path / "r").mkdir()
    git(tmp_path / "r", "init", "-q")
    return tmp_path / "r"


@pytest.mark.parametrize("seed", thinned(range(60), 6, SLOW, EXHAUSTIVE))
def test_untracked_files_are_those_that_git_lists(seed: int, root: Path, home: Path) -> None:
    rng = random.Random(seed)
    plant(root, rng)
    if seed % 4 == 0:
        write(root / ".git/info/exclude", rng.sample(PATTERNS, 2))
    if seed % 4 == 1:
        write(home / "git/ignore", rng.sample(PATTERNS, 2))
    if seed % 4 == 2:
        write(home / "of git", rng.sample(PATTERNS, 2))
        git(root, "config", "core.excludesFile", str(home / "of git"))
    assert list_untracked(open_repository(str(root))) == by_git(root)


def test_each_kind_of_ignore_file_is_read(root: Path, home: Path) -> None:
    for name in ("a", "b/a", "b/c", "d/e", "f", "g/.git/HEAD", "h/.git", "i"):
        write(root / name, [name])
    (root / "link").symlink_to("b")
    os.mkfifo(root / "pipe")
    write(root / "b/.gitignore", ["c"])
    write(root / ".git/info/exclude", ["d"])
    write(home / "git/ignore", ["f"])
    git(root, "add", "i")
    found = list_untracked(open_repository(str(root)))
    assert found == ["a", "b/.gitignore", "b/a", "g/", "h/", "link"]


def test_ignore_files_that_nobody_writes_to_say_nothing(root: Path, home: Path) -> None:
    write(root / "a/b", ["b"])
    (root / ".git/info/exclude").unlink()
    (home / "git").mkdir(parents=True)
    for path in (root / ".gitignore", root / "a/.gitignore", root / ".git/info/exclude", home / "git/ignore"):
        os.mkfifo(path)
    assert list_untracked(open_repository(str(root))) == ["a/b"]
