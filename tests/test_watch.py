"""`lint --watch`: one report for each change and no more, until it is interrupted."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fixture_types import Run, Write

from skill_health.commands import _watch

HEAD = "---\nname: tidy\ndescription: Tidies lists. Use when a list is out of order.\n---\n# Tidy\n\n"


@pytest.fixture
def watched(run: Run, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run `lint --watch`, making one change after the other when it waits, and interrupt it then."""

    def call(root: Path, changes: Iterator[Callable[[], object]], *args: str) -> Any:
        def wait() -> None:
            change = next(changes, None)
            if change is None:
                raise KeyboardInterrupt
            change()

        monkeypatch.setattr(_watch, "wait", wait)
        return run("lint", "--watch", "--format", "concise", *args, cwd=root)

    return call


@pytest.mark.slow
def test_each_change_is_one_run(write: Write, watched: Callable[..., Any]) -> None:
    root = write({"skills/tidy/SKILL.md": HEAD + "See [gone](gone.md).\n", "skill-health.toml": ""})
    skill, settings = root / "skills/tidy/SKILL.md", root / "skill-health.toml"
    changes = [
        lambda: None,
        lambda: skill.write_text(HEAD + "A bell\x07.\n"),
        lambda: (root / "notes.txt").write_text("no file of a skill"),
        lambda: skill.write_text(HEAD + "See [gone](gone.md) again.\n"),
        lambda: (root / "skills/tidy/gone.md").write_text("# There\n"),
        lambda: settings.write_text("ignore = [\n"),
        lambda: None,
        lambda: settings.write_text('extend-select = ["ST007"]\n'),
        lambda: skill.unlink(),
        lambda: skill.write_text(HEAD + "A bell\x07.\n"),
    ]
    done = watched(root, iter(changes))
    assert done.returncode == 130
    assert [line.split()[1] for line in done.stdout.splitlines() if "SKILL.md" in line] == [
        "LI001", "FM008", "LI001", "LI013", "FM008",
    ]  # fmt: skip
    said = done.stderr.splitlines()
    assert [("skill-health.toml" in line, "no skill" in line) for line in said] == [
        (True, False), (False, True), (False, False),
    ]  # fmt: skip
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("other", ["--fix", "--diff", "--staged", "--add-ignore", "--output=x", "--write-baseline=x"])
def test_what_happens_once_is_refused(other: str, run: Run, write: Write) -> None:
    done = run("lint", "--watch", other, cwd=write({"skills/tidy/SKILL.md": HEAD}))
    assert done.returncode == 2 and other.split("=")[0] in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.slow
def test_the_keyboard_ends_it(write: Write) -> None:
    root = write({"skills/tidy/SKILL.md": HEAD + "See [gone](gone.md).\n"})
    command = [sys.executable, "-m", "skill_health", "lint", "--watch", "--format", "concise"]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stderr
        assert "LI001" in process.stdout.readline()
        (root / "skills/tidy/SKILL.md").write_text(HEAD + "A bell\x07.\n")
        assert "FM008" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == "skill-health: interrupted\n"
        assert process.wait() == 130
