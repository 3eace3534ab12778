"""Every command of docs/seeds.md runs, in its order, in a copy of the fixtures."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from skill_health.cli import main

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "seeds.md").read_text("utf-8")
COMMANDS = list(dict.fromkeys(re.findall(r"\| `(skill-health [^`]+)` \|$", PAGE, re.MULTILINE)))

MORE = ("00[3-57-9]-*", "01[0-57-9]-*", "020-*")
"""Tasks that no command needs: four are enough to be tried."""


def test_each_row_has_a_command_or_says_what_is_not_there() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| asked for")]
    assert len(rows) > 50
    for row in rows:
        _, _, here, command, _ = row.split("|")
        assert command.strip().startswith("`skill-health ") or (command.strip() == "–" and "not there" in here), row


@pytest.mark.slow
def test_the_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(
        ROOT / "fixtures", tmp_path / "fixtures", ignore=shutil.ignore_patterns("rotten", "practices", *MORE)
    )
    monkeypatch.chdir(tmp_path / "fixtures")
    for words in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "-m", "a")):
        subprocess.run(("git", *words), check=True)
    for command in COMMANDS:
        # Findings are no failure here.
        code = main(shlex.split(command)[1:])
        assert code in (0, 1), (command, capfd.readouterr().err)
