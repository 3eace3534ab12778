"""Walks the front page in an empty environment with a stranger's repository: from nothing to a fixed skill.

    python -m scripts.five_minutes CHECKOUTS    -> docs/first-five-minutes.md

Below CHECKOUTS lies the repository as OWNER+NAME. The commands are those of the README, in its order.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from scripts.walkthrough import ROOT, block, environment, quietly, quoted, settle

PAGE = ROOT / "docs" / "first-five-minutes.md"
COLON = "FM003"
TITLE = "alirezarezvani/claude-skills"
HEAD = """# The first five minutes

The [front page](../README.md), walked by a script in an empty environment, with nothing but Python and git on the path, in a public
repository that nobody here wrote or configured: {title}, {skills} skills, as published. From the first command to the last it took
{seconds} seconds on a machine with two busy processors, {setup} of them for the installation. `…` stands for omitted lines. Made by
`python -m scripts.five_minutes`; rules were tuned on this collection, so it shows how it works, not how often it is right.

"""


def main(checkouts: str) -> None:
    """Walk, and write the page."""
    with tempfile.TemporaryDirectory(prefix="walk") as folder:
        place = Path(folder)
        work = place / "claude-skills"
        settle(TITLE, Path(checkouts), work, place)
        began = time.monotonic()
        quietly(sys.executable, "-m", "venv", str(place / "env"))
        # What the front page calls `pipx install .`: an environment of its own, and the clone.
        quietly(
            str(place / "env/bin/python"), "-m", "pip", "install", "-q", "-c", str(ROOT / "constraints.txt"), str(ROOT)
        )
        setup = time.monotonic() - began
        text = "## Install\n\n```console\n$ pipx install .\n```\n\n## The repository\n\n"
        text += block(work, place, ["skill-health init", "skill-health lint --statistics"])
        broken = choose(work, place)
        text += f"\n## One skill\n\nThe first with an error that a safe fix cures is `{broken}`.\n\n"
        name = quoted(Path(broken))
        text += block(
            work, place,
            [f"skill-health lint --min-severity error {name}", f"skill-health explain {COLON} | head -12",
             f"skill-health lint --diff {name}", f"skill-health lint --fix --min-severity error {name}",
             f"skill-health lint --min-severity error {name}", "git diff --stat"],
        )  # fmt: skip
        seconds = time.monotonic() - began
        skills = len(findings(work, place, ".")["skills"])
    head = HEAD.format(title=TITLE, skills=skills, seconds=round(seconds), setup=round(setup))
    PAGE.write_text(head + text, encoding="utf-8")


def choose(work: Path, place: Path) -> str:
    """The folder of the first skill that has one kind of error, which a safe fix cures."""
    found = [each for each in findings(work, place, ".")["findings"] if each["severity"] == "error"]
    for skill in sorted({each["skill"] for each in found if each["code"] == COLON}):
        if all(each["code"] == COLON for each in found if each["skill"] == skill):
            return str(Path(skill).parent)
    raise SystemExit("no skill that this fix alone would cure")


def findings(work: Path, place: Path, path: str) -> dict[str, list[dict[str, str]]]:
    """The JSON report of what is below a path."""
    command = [str(place / "env/bin/skill-health"), "lint", "--format", "json", path]
    done = subprocess.run(command, cwd=work, env=environment(place), capture_output=True, text=True, check=False)
    report: dict[str, list[dict[str, str]]] = json.loads(done.stdout)
    return report


if __name__ == "__main__":
    main(sys.argv[1])
