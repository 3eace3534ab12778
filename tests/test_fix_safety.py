"""`--fix` changes what was asked for and loses nothing: no link, owner, permission or byte, and none under kill -9."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fixture_types import Run, Write
from thinned import repeated

from skill_health.config.settings import Config
from skill_health.core.boundary import Boundary
from skill_health.discovery.corpus import discover
from skill_health.lint.fixing import fixes
from skill_health.lint.fixing.fixes import FixPlan, SkillFixer, write_plan

TRAP = "---\nname: {0}\ndescription: Sorts lists: by size. Use when a list must be sorted.\n---\n\n# Sort\n\nSort it.\n"
FIXED = TRAP.replace(
    "Sorts lists: by size. Use when a list must be sorted.", '"Sorts lists: by size. Use when a list must be sorted."'
)


def test_a_file_with_hard_links_is_left_alone(run: Run, write: Write) -> None:
    root = write({"skills/trap/SKILL.md": TRAP.format("trap"), "skills/free/SKILL.md": TRAP.format("free")})
    os.link(root / "skills/trap/SKILL.md", root / "elsewhere.md")
    done = run("lint", "--fix", cwd=root)
    assert "skills/trap/SKILL.md: has 2 hard links, of which --fix would change one, left alone" in done.stderr
    assert os.path.samefile(root / "skills/trap/SKILL.md", root / "elsewhere.md")
    assert (root / "skills/trap/SKILL.md").read_text() == TRAP.format("trap")
    assert (root / "skills/free/SKILL.md").read_text() == FIXED.format("free")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_root_keeps_the_owner_and_the_permissions(run: Run, write: Write) -> None:
    root = write({"skills/trap/SKILL.md": TRAP.format("trap")})
    path = root / "skills/trap/SKILL.md"
    os.chown(path, 12345, 23456)
    path.chmod(0o640)
    run("lint", "--fix", cwd=root)
    state = path.stat()
    assert (state.st_uid, state.st_gid, state.st_mode & 0o7777) == (12345, 23456, 0o640)
    assert path.read_text() == FIXED.format("trap")


def test_a_link_that_stays_inside_is_fixed_where_it_leads(run: Run, write: Write) -> None:
    root = write({"shared/trap.md": TRAP.format("trap")})
    (root / "skills/trap").mkdir(parents=True)
    (root / "skills/trap/SKILL.md").symlink_to("../../shared/trap.md")
    run("lint", "--fix", cwd=root)
    assert (root / "skills/trap/SKILL.md").is_symlink()
    assert (root / "shared/trap.md").read_text() == FIXED.format("trap")


def test_the_file_of_another_user_is_left_alone(run: Run, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write({"skills/trap/SKILL.md": TRAP.format("trap")})
    monkeypatch.setattr(fixes.os, "geteuid", lambda: os.getuid() + 1)
    assert "belongs to another user, left alone" in run("lint", "--fix", cwd=root).stderr
    assert (root / "skills/trap/SKILL.md").read_text() == TRAP.format("trap")


@pytest.mark.slow
def test_a_file_of_which_only_the_head_is_read_is_not_cut(run: Run, write: Write) -> None:
    whole = TRAP.format("trap") + "words\n" * 200_000
    root = write({"skills/trap/SKILL.md": whole})
    run("lint", "--fix", "--unsafe-fixes", cwd=root)
    assert (root / "skills/trap/SKILL.md").read_text() == whole


@pytest.mark.parametrize("change", ["written", "gone", "pipe", "linked out", "folder linked out"])
def test_what_has_changed_since_it_was_read_is_left_alone(change: str, tmp_path: Path) -> None:
    root, outside = tmp_path / "repository", tmp_path / "outside"
    for folder in (root / "skills/trap", outside):
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(TRAP.format("trap"))
    path = root / "skills/trap/SKILL.md"
    found = discover([str(root)], Config(), str(root))
    plan = SkillFixer(Boundary(str(root)), Config(), unsafe=True).plan(found.entries)
    assert list(plan.changes) == ["skills/trap/SKILL.md"]
    if change == "written":
        path.write_text("somebody's work\n")
    elif change == "folder linked out":
        (root / "skills/trap").rename(root / "skills/old")
        (root / "skills/trap").symlink_to(outside)
    else:
        path.unlink()
        if change == "pipe":
            os.mkfifo(path)
        elif change == "linked out":
            path.symlink_to(outside / "SKILL.md")
    (note,) = write_plan(str(root), plan)
    assert note.startswith("skills/trap/SKILL.md: ")
    assert (outside / "SKILL.md").read_text() == TRAP.format("trap")
    assert change != "written" or path.read_text() == "somebody's work\n"


@pytest.mark.parametrize("there", ["file", "link to nothing"])
def test_a_new_name_is_never_that_of_something_else(there: str, tmp_path: Path) -> None:
    (tmp_path / "skill.md").write_text("x")
    if there == "file":
        (tmp_path / "SKILL.md").write_text("y")
    else:
        (tmp_path / "SKILL.md").symlink_to("nowhere")
    plan = FixPlan(renames=[("skill.md", "SKILL.md"), ("gone.md", "other.md")])
    assert len(write_plan(str(tmp_path), plan)) == 2
    assert (tmp_path / "skill.md").read_text() == "x"


SKILLS = 40


@pytest.mark.parametrize("kills", repeated(10, 100))
@pytest.mark.parametrize("command", [("lint", "--fix"), ("lint", "--jobs", "2")], ids=" ".join)
def test_kills_lose_nothing(command: tuple[str, ...], kills: int, run: Run, tmp_path: Path) -> None:
    """Killed at any moment, a file is what it was or what it becomes, and the next run ends the work."""
    paths = [tmp_path / f"repository/skills/s{n:02}/SKILL.md" for n in range(SKILLS)]
    env = {"SKILL_HEALTH_CACHE_DIR": str(tmp_path / "cache")}
    random_ = random.Random(7)

    def plant() -> None:
        for n, path in enumerate(paths):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(TRAP.format(f"s{n:02}"))

    words = [sys.executable, "-m", "skill_health", *command, "."]
    quiet = {"cwd": tmp_path / "repository", "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    for _ in range(kills // 2):
        plant()
        process = subprocess.Popen(words, env=os.environ | env, **quiet)  # type: ignore[call-overload]
        time.sleep(random_.uniform(0, 0.5))
        process.send_signal(signal.SIGKILL)
        process.wait()
        for n, path in enumerate(paths):
            assert path.read_text() in (TRAP.format(f"s{n:02}"), FIXED.format(f"s{n:02}"))
    done, again = (
        run(*command, ".", cwd=tmp_path / "repository", env=env | more)
        for more in ({}, {"SKILL_HEALTH_CACHE_DIR": str(tmp_path / "new")})
    )
    if "--fix" in command:
        assert [path.read_text() for path in paths] == [FIXED.format(f"s{n:02}") for n in range(SKILLS)]
    else:
        assert done.stdout == again.stdout
