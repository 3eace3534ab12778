"""A skill that kills the process that checks it is a finding; every other skill is checked as ever."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fixture_types import Run, Write

from skill_health.lint import check

SKILL = (
    "---\nname: s{0}\ndescription: Sorts list {0} by size. Use when list {0} must be sorted.\n---\n\n# S\n\nSort it.\n"
)
N = 48
KILLERS = ("skills/s07/SKILL.md", "skills/s08/SKILL.md", "skills/s47/SKILL.md")


def die() -> None:
    os._exit(0)


def crash() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def starve() -> None:
    raise MemoryError


def dig() -> None:
    dig()


def plant_killer(patch: pytest.MonkeyPatch, kill: Callable[[], None], paths: tuple[str, ...] = KILLERS) -> None:
    """Have the parser meet something that it cannot survive in these files."""
    real = check.parse_skill

    def parse(data: bytes, path: str, *rest: Any) -> Any:
        if path in paths:
            kill()
        return real(data, path, *rest)

    patch.setattr(check, "parse_skill", parse)


def findings(done: subprocess.CompletedProcess[str]) -> list[tuple[str, str, str]]:
    return [(each["path"], each["code"], each["message"]) for each in json.loads(done.stdout)["findings"]]


def made(write: Write) -> Path:
    return write({f"skills/s{n:02}/SKILL.md": SKILL.format(f"{n:02}") for n in range(N)})


@pytest.mark.slow
@pytest.mark.parametrize("kill", [die, crash, starve, dig])
def test_a_skill_that_cannot_be_checked_is_a_finding(
    kill: Callable[[], None], run: Run, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = made(write)
    sound = run("lint", "--format", "json", "--jobs", "2", "--no-cache", cwd=root)
    with monkeypatch.context() as patched:
        plant_killer(patched, kill)
        hurt = run("lint", "--format", "json", "--jobs", "2", cwd=root)
        assert hurt.returncode == 1
        lost = [each for each in findings(hurt) if each[0] in KILLERS and each[1] == "FM006"]
        assert [path for path, _, _ in lost] == list(KILLERS)
        assert all("cannot be checked" in message for _, _, message in lost)
        # The other skills are judged by what they are; what compares skills knows nothing of the three.
        alone = {each for each in findings(sound) if each[0] not in KILLERS and each[1][:2] != "RT"}
        assert alone <= set(findings(hurt))
        assert {e["path"] for e in json.loads(hurt.stdout)["skills"]} == {
            e["path"] for e in json.loads(sound.stdout)["skills"]
        }
        if kill in (starve, dig):
            assert run("lint", "--format", "json", "--jobs", "1", cwd=root).stdout == hurt.stdout
        assert run("lint", "--format", "json", "--jobs", "2", cwd=root).stdout == hurt.stdout
    # Another try may succeed, so nothing of it was kept.
    assert run("lint", "--format", "json", "--jobs", "2", cwd=root).stdout == sound.stdout


@pytest.mark.slow
def test_a_collection_of_nothing_but_killers_comes_to_its_end(
    run: Run, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = made(write)
    plant_killer(monkeypatch, die, tuple(f"skills/s{n:02}/SKILL.md" for n in range(N)))
    done = run("lint", "--format", "json", "--jobs", "2", cwd=root)
    assert sum(code == "FM006" for _, code, _ in findings(done)) == N
