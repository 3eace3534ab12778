"""Puts real output into the guide: runs its console blocks and writes what they print."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "docs" / "guide.md"
QUIET = {"lint --fix", "explain LI003"}
WIDTH = "100"


def main() -> None:
    """Rewrite the blocks of the sections that show what a command prints."""
    text = README.read_text("utf-8")
    text = rewritten(text, "What you see", example)
    text = rewritten(text, "Do the descriptions route?", fixtures)
    text = rewritten(text, "Does a skill help?", fixtures)
    README.write_text(text, encoding="utf-8")


def rewritten(text: str, title: str, prepare: Callable[[str, Path], None]) -> str:
    """Rerun the console blocks of one section, in a folder that `prepare` fills, and return the new text."""
    head, section = text.split(f"## {title}", 1)
    section, rest = section.split("\n## ", 1)
    with tempfile.TemporaryDirectory() as folder:
        prepare(section, Path(folder))
        section = re.sub(r"```console\n(.*?)```", lambda match: block(match[1], folder), section, flags=re.DOTALL)
    return f"{head}## {title}{section}\n## {rest}"


def example(section: str, folder: Path) -> None:
    """The guide's own skill, next to a forgotten script."""
    skill = folder / "skills" / "release-notes"
    (skill / "scripts").mkdir(parents=True)
    found = re.search(r"```markdown\n(.*?)```", section, re.DOTALL)
    assert found is not None
    (skill / "SKILL.md").write_text(found[1])
    (skill / "scripts" / "gather.py").write_text("")


def fixtures(section: str, folder: Path) -> None:
    """Copy the fixtures, so that no report is written beside the originals."""
    shutil.copytree(ROOT / "fixtures", folder / "fixtures", ignore=shutil.ignore_patterns("reports", "rotten"))


def block(commands: str, folder: str) -> str:
    """One console block with the output of its commands; those that would call a server are left alone."""
    out = ""
    for program, command in re.findall(r"^\$ (skill-health|\S+ -m simulators) (.*)$", commands, re.MULTILINE):
        asked, _, lines = command.partition(" | head -")
        shown = "" if "-usd" in command else run(asked, folder)
        shown = "".join(shown.splitlines(keepends=True)[: int(lines) if lines else None])
        out += f"$ {program} {command}\n{'' if command in QUIET else shown}"
    return f"```console\n{out}```"


def run(command: str, folder: str) -> str:
    """What a command prints on a terminal of the README's width, without standard error."""
    return subprocess.run(
        [sys.executable, "-m", "simulators", *command.split()], cwd=folder, capture_output=True,
        encoding="utf-8", env={**os.environ, "NO_COLOR": "1", "COLUMNS": WIDTH},
    ).stdout  # fmt: skip


if __name__ == "__main__":
    main()
