"""Walks through the README's main job on other people's collections, from a wheel in an empty environment.

python scripts/walkthrough.py "title=folder[=more arguments of router run]" ... > docs/walkthrough.md
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEAD = """# The main job, walked on public collections

What a new user meets: `skill-health` from a wheel in an empty environment without extras, and collections that nobody
here wrote or configured. Made by `python scripts/walkthrough.py`; `…` stands for omitted lines. The routers here count
words; no model was asked. Excerpts of the skills are omitted.
"""
FIRST, LAST = 14, 12


def main() -> None:
    """Print the page."""
    print(HEAD)
    with tempfile.TemporaryDirectory(prefix="walk") as folder:
        place = Path(folder)
        quietly(sys.executable, "-m", "build", "--wheel", "--outdir", str(place), str(ROOT))
        quietly(sys.executable, "-m", "venv", str(place / "env"))
        (wheel,) = place.glob("*.whl")
        pip = (str(place / "env/bin/python"), "-m", "pip", "install", "-q", "-c", str(ROOT / "constraints.txt"))
        quietly(*pip, str(wheel), "pre-commit")
        for given in sys.argv[1:]:
            title, source, *more = given.split("=", 2)
            walk(title, Path(source), place, " ".join(more))
        print("## With the extra for the page\n")
        quietly(*pip, f"{wheel}[report]")
        title, source = sys.argv[1].split("=", 2)[:2]
        print(block(place / title.replace("/", "-"), place, ["skill-health report"]))


def walk(title: str, source: Path, place: Path, more: str) -> None:
    """Walk through one collection, in a copy that is a repository of its own."""
    work = place / title.replace("/", "-")
    shutil.copytree(source, work, ignore=shutil.ignore_patterns(".git"), symlinks=True)
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "as published")):
        subprocess.run(["git", *command], cwd=work, env=environment(place), check=True, capture_output=True)
    skill = min(str(path.relative_to(work)) for path in work.rglob("SKILL.md"))
    print(f"## {title}\n")
    commands = [
        "skill-health init", "skill-health lint | tail -2", "skill-health lint --statistics --score", "pre-commit install",
        "git add -A", "git commit -qm 'Check the skills'", "skill-health daily",
        f"skill-health router run {more} --quiet".replace("  ", " "), "skill-health status", "skill-health report",
    ]  # fmt: skip
    print(block(work, place, commands))
    text = (work / skill).read_text("utf-8")
    (work / skill).write_text(re.sub(r"(?m)^name:.*\n", "", text, count=1), "utf-8")
    print(
        f"Somebody deletes the name from `{skill}`. The hook refuses the commit, and\nwhoever bypasses it hears of it the next day:\n"
    )
    refused = "git commit -qam 'Who needs a name' 2>&1 | grep -E '^(skill-health|- )|error'"
    around = "git commit -qam 'Who needs a name' --no-verify"
    print(block(work, place, [refused, around, "skill-health daily"]))


def block(work: Path, place: Path, commands: list[str]) -> str:
    """A console block of commands with their output, shortened, and the exit code if it is not 0."""
    out = ""
    for command in commands:
        done = subprocess.run(
            ["bash", "-c", command], cwd=work, env=environment(place), text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        lines = done.stdout.replace(str(place), "~").splitlines()
        if len(lines) > FIRST + LAST + 3:
            lines = [*lines[:FIRST], "…", *lines[-LAST:]]
        code = [f"[exit code {done.returncode}]"] if done.returncode else []
        out += "\n".join([f"$ {command}", *lines, *code]) + "\n"
    return f"```console\n{out}```\n"


def environment(place: Path) -> dict[str, str]:
    """An environment without this machine's settings."""
    who = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
           for what, value in (("NAME", "you"), ("EMAIL", "you@example.com"))}  # fmt: skip
    path = os.pathsep.join([str(place / "env" / "bin"), "/usr/bin", "/bin"])
    return {"PATH": path, "HOME": str(place), "COLUMNS": "100", "NO_COLOR": "1", "LC_ALL": "C.UTF-8"} | who


def quietly(*command: str) -> None:
    """Run a set-up step; its output matters only if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)


if __name__ == "__main__":
    main()
