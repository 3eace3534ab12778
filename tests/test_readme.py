"""The README and the guide are run: what they show is what a user sees."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fixture_types import Run


def section_of(checkout: Path, title: str) -> str:
    return (checkout / "docs" / "guide.md").read_text("utf-8").split(f"## {title}")[1].split("\n## ")[0]


def test_what_the_readme_shows_is_what_happens(run: Run, tmp_path: Path, checkout: Path) -> None:
    text = section_of(checkout, "What you see")
    skill = re.findall(r"```markdown\n(.*?)```", text, re.DOTALL)
    folder = tmp_path / "skills" / "release-notes"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(skill[0])
    (folder / "scripts" / "gather.py").write_text("")
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= 4
    for block in blocks:
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            done = run(*command.split()[1:])
            assert done.returncode in (0, 1), done.stderr
            if shown.strip():
                assert done.stdout == shown, f"{command}: the README shows something else"


@pytest.mark.slow
def test_the_router_run_that_the_readme_shows(run: Run, tmp_path: Path, checkout: Path) -> None:
    section = section_of(checkout, "Do the descriptions route?")
    shutil.copytree(checkout / "fixtures", tmp_path / "fixtures", ignore=shutil.ignore_patterns("reports", "rotten"))
    blocks = re.findall(r"```console\n\$ skill-health (.*?)\n(.*?)```", section, re.DOTALL)
    shown = {command: output for command, output in blocks if output}
    assert len(shown) == 1
    for command, output in shown.items():
        done = run(*command.split(), env={"COLUMNS": "100"})
        assert done.returncode == 0, done.stderr
        assert done.stdout == output
        assert (tmp_path / "fixtures" / "reports" / "router-history.jsonl").is_file()


def test_the_judged_result_is_that_of_the_tutorial(checkout: Path) -> None:
    """The tutorial is run as a test; the README shows a part of it."""
    section = section_of(checkout, "Does a skill help?")
    shown = re.findall(r"```text\n(Judged scores\n.*?)```", section, re.DOTALL)
    assert len(shown) == 1 and shown[0] in (checkout / "docs" / "tutorials" / "evals.md").read_text("utf-8")


def test_every_command_and_file_that_the_readme_names_is_there(run: Run, checkout: Path) -> None:
    text = (checkout / "README.md").read_text("utf-8")
    for path in re.findall(r"\]\(([^):]+)\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        assert (checkout / path).exists(), path
    commands = run("--help").stdout
    for name in set(re.findall(r"skill-health ([a-z]+)(?= |`|\n|$)", text)) - {"tests"}:
        assert re.search(rf"^  {name}\b", commands, re.MULTILINE), name


@pytest.mark.exhaustive
def test_the_simulated_study_that_the_readme_shows(tmp_path: Path, checkout: Path) -> None:
    section = section_of(checkout, "Does a skill help?")
    found = re.search(r"-m simulators (.*?) \| head -(\d+)\n(.*?)```", section, re.DOTALL)
    assert found is not None
    shutil.copytree(checkout / "fixtures", tmp_path / "fixtures", ignore=shutil.ignore_patterns("reports", "rotten"))
    done = subprocess.run(
        [sys.executable, "-m", "simulators", *found[1].split()], cwd=tmp_path, env=os.environ | {"COLUMNS": "100"},
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[: int(found[2])] == found[3].splitlines()
