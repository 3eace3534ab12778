"""What lies inside a repository is found and read; of what lies outside nothing is learnt."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from skill_health.core.boundary import INSIDE, MISSING, OUTSIDE, Boundary, git_top

SECRET = b"the text of somebody else\n"
# What a link leads to, and what is known of it. Each is asked about a target that is there and one that is not.
LINKS = {
    "shared/rules.md": INSIDE, "skills/../shared/rules.md": INSIDE, "shared/gone.md": MISSING, "loop": MISSING,
    "../outside/secret.md": OUTSIDE, "../outside/gone.md": OUTSIDE, "../outside": OUTSIDE,
    "../repository-too/secret.md": OUTSIDE, "/etc/passwd": OUTSIDE, "/nowhere/at/all": OUTSIDE,
    "/proc/self/environ": OUTSIDE, "/dev/zero": OUTSIDE, "chain": OUTSIDE, "folder/secret.md": OUTSIDE,
    "folder/../outside/secret.md": OUTSIDE,
}  # fmt: skip
PATHS = {
    "shared/rules.md": INSIDE, "shared": INSIDE, "": INSIDE, "shared/../shared/rules.md": INSIDE,
    "inner/rules.md": INSIDE, "gone.md": MISSING, "a\0b.md": MISSING, "\ud800.md": MISSING,
    "../outside/secret.md": OUTSIDE, "../outside/gone.md": OUTSIDE, "../repository-too/secret.md": OUTSIDE,
    "../..": OUTSIDE, "/etc/passwd": OUTSIDE, "folder/secret.md": OUTSIDE, "folder/gone.md": OUTSIDE,
    "folder/deeper/still/gone.md": OUTSIDE, "folder": OUTSIDE, "chain": OUTSIDE,
}  # fmt: skip


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name in ("outside", "repository-too", "repository/shared", "repository/.git", "repository/skills"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("outside", "repository-too"):
        (tmp_path / name / "secret.md").write_bytes(SECRET)
    root = tmp_path / "repository"
    (root / "shared/rules.md").write_text("# Rules\n")
    for name, target in {
        "inner": "shared",
        "folder": "../outside",
        "chain": "folder/secret.md",
        "loop": "loop",
    }.items():
        (root / name).symlink_to(target)
    return root


def learnt(boundary: Boundary, path: str) -> str:
    """What asking in each way tells of a path; all of them agree."""
    found = boundary.find(path)
    assert boundary.leads_out(path) == (found == OUTSIDE)
    data = boundary.read_small(path)
    assert data is None or found == INSIDE
    if found == OUTSIDE:
        with pytest.raises(PermissionError, match="repository"):
            boundary.read(path)
    return found


@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_inside_missing_or_outside(path: str, repository: Path) -> None:
    assert learnt(Boundary(str(repository)), path) == PATHS[path]


@pytest.mark.parametrize("target", LINKS)
def test_a_link_is_what_it_leads_to(target: str, repository: Path) -> None:
    (repository / "link").symlink_to(target)
    assert learnt(Boundary(str(repository)), "link") == LINKS[target]
    assert Boundary(str(repository)).lures_out("link") == (LINKS[target] == OUTSIDE)


def test_nothing_outside_is_looked_at_or_opened(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where links lead is learnt from the links."""
    asked: list[str] = []
    for name in ("stat", "open"):
        real = getattr(os, name)

        def ask(path: str, *rest: int, real: Any = real) -> Any:
            asked.append(path)
            return real(path, *rest)

        monkeypatch.setattr(os, name, ask)
    boundary = Boundary(str(repository))
    for path in PATHS:
        boundary.find(path)
        boundary.read_small(path)
    assert asked
    assert [path for path in asked if not os.path.realpath(path).startswith(str(repository))] == []


def test_the_border_is_the_top_of_git_or_the_root(repository: Path) -> None:
    inner = repository / "skills"
    assert git_top(str(inner)) == str(repository)
    assert Boundary(str(inner)).find("../shared/rules.md") == INSIDE
    (repository / ".git").rmdir()
    assert Boundary(str(inner)).find("../shared/rules.md") == OUTSIDE


def test_more_than_the_limit_is_not_read(repository: Path) -> None:
    (repository / "big").write_bytes(b"x" * 11)
    assert [Boundary(str(repository)).read("big", most) for most in (10, 11)] == [None, b"x" * 11]


@pytest.mark.parametrize("depth", [1_000, 200_000])
def test_a_path_may_be_of_any_depth(depth: int, repository: Path) -> None:
    boundary = Boundary(str(repository))
    path = "a/" * depth + "b.md"
    assert boundary.find(path) == MISSING and not boundary.leads_out(path) and boundary.read_small(path) is None
