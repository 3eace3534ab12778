"""Walks through a maintainer's days on other people's collections, from a wheel in an empty environment.

    python -m scripts.walkthrough CHECKOUTS    -> docs/walkthrough.md, and the short walk in the guide

Below CHECKOUTS lies each repository of COLLECTIONS, as OWNER+NAME.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE, README = ROOT / "docs" / "walkthrough.md", ROOT / "docs" / "guide.md"
COLLECTIONS = (
    "elevenlabs/skills",
    "obra/superpowers",
    "anthropics/skills",
    "wshobson/agents",
    "kouko/monkey-skills",
)
SHORT = "anthropics/skills"
HEAD = """# A maintainer's days, walked on public collections

What a new user meets: `skill-health` from a wheel in an empty environment without extras, and collections that nobody
here wrote or configured. Made by `python -m scripts.walkthrough`; `…` stands for omitted lines. The routers here count
words; no model was asked. Rules were tuned on these collections, so the walks show how it works, not how often it is
right: that is in [precision.md](precision.md).

"""
FIRST, LAST = 14, 12
_LINK = re.compile(r"\]\((?![a-z]+:|[#/<])([^)\s#]+)")


def main(checkouts: str) -> None:
    """Write the page and the walk of the guide."""
    with tempfile.TemporaryDirectory(prefix="walk") as folder:
        place = Path(folder)
        quietly(sys.executable, "-m", "build", "--wheel", "--outdir", str(place), str(ROOT))
        quietly(sys.executable, "-m", "venv", str(place / "env"))
        (wheel,) = place.glob("*.whl")
        pip = (str(place / "env/bin/python"), "-m", "pip", "install", "-q", "-c", str(ROOT / "constraints.txt"))
        quietly(*pip, str(wheel), "pre-commit")
        page = HEAD
        for title in COLLECTIONS:
            page += walk(title, Path(checkouts), place)
        page += walk_on(COLLECTIONS[0], place)
        quietly(*pip, f"{wheel}[report]")
        page += "## With the extra for the page\n\n"
        page += block(place / COLLECTIONS[0].replace("/", "-"), place, ["skill-health report"])
        short = walk_briefly(Path(checkouts), place)
    PAGE.write_text(page, encoding="utf-8")
    readme = README.read_text("utf-8")
    head, _, rest = readme.partition("## On a public collection\n")
    old, _, rest = rest.partition("\n## ")
    README.write_text(f"{head}## On a public collection\n{old.partition('```')[0]}{short}\n## {rest}", encoding="utf-8")


def settle(title: str, checkouts: Path, work: Path, place: Path) -> None:
    """Copy a collection to a repository of its own."""
    shutil.copytree(checkouts / title.replace("/", "+"), work, ignore=shutil.ignore_patterns(".git"), symlinks=True)
    for command in (("init", "-q"), ("add", "-A", "-f"), ("commit", "-qm", "as published")):
        subprocess.run(["git", *command], cwd=work, env=environment(place), check=True, capture_output=True)


def linked_file(work: Path) -> Path:
    """The first file that a SKILL.md links to."""
    for skill in sorted(work.rglob("SKILL.md")):
        for target in _LINK.findall(skill.read_text("utf-8")):
            file = skill.parent / target
            if file.is_file() and file.name != "SKILL.md":
                return file.resolve().relative_to(work.resolve())
    raise SystemExit(f"{work}: no SKILL.md links to a file")


def walk(title: str, checkouts: Path, place: Path) -> str:
    """The days of one collection: set up, commit, look in the morning."""
    work = place / title.replace("/", "-")
    settle(title, checkouts, work, place)
    commands = [
        "skill-health init", "skill-health lint --statistics --score", "skill-health hosts", "pre-commit install",
        "git add -A", "git commit -qm 'Check the skills'", "skill-health daily",
    ]  # fmt: skip
    if (work / ".pre-commit-config.yaml").exists():
        commands.insert(1, "skill-health init --force | grep -E '^(added|wrote)'")
    page = f"## {title}\n\n" + block(work, place, commands)
    gone = linked_file(work)
    page += f"\nSomebody deletes `{gone}`, which a skill links to. The hook refuses the commit:\n\n"
    page += block(work, place, [f"git rm -q {quoted(gone)}", "git commit -qm 'Tidy up' 2>&1 | grep -v '^\\[WARN'"])
    quietly("git", "-C", str(work), "reset", "-q", "--hard")
    skill = min(path.relative_to(work) for path in work.rglob("SKILL.md"))
    text = (work / skill).read_text("utf-8")
    (work / skill).write_text(re.sub(r"(?m)^description:.*\n(?:[ \t]+.*\n)*", "", text, count=1), "utf-8")
    page += (
        f"\nSomebody deletes the description from `{skill}`; whoever bypasses the hook hears of it the next day:\n\n"
    )
    refused = "git commit -qam 'Who needs a description' 2>&1 | grep -E '^(skill-health|- )|error'"
    around = "git commit -qam 'Who needs a description' --no-verify"
    return page + block(work, place, [refused, around, "skill-health daily"]) + "\n"


def walk_on(title: str, place: Path) -> str:
    """The other three questions, asked of a collection that has been walked through."""
    commands = ["skill-health router run --quiet", "skill-health status", "skill-health report"]
    return f"## The next questions: {title}\n\n" + block(place / title.replace("/", "-"), place, commands) + "\n"


def walk_briefly(checkouts: Path, place: Path) -> str:
    """The walk that the guide shows."""
    work = place / "short"
    settle(SHORT, checkouts, work, place)
    gone = linked_file(work)
    return block(
        work, place,
        [
            "skill-health init | head -3", "skill-health lint | tail -1", "skill-health hosts | head -13", "pre-commit install",
            f"git rm -q {quoted(gone)}", "git commit -qm 'Tidy up' 2>&1 | grep -v '^\\[WARN'", "git reset -q --hard",
            "skill-health daily | head -2",
        ],
    )  # fmt: skip


def quoted(path: Path) -> str:
    """A path as one word of a shell."""
    return shlex.quote(path.as_posix())


def block(work: Path, place: Path, commands: list[str]) -> str:
    """A console block of commands with their output, shortened, and the exit code if it is not 0."""
    out = ""
    for command in commands:
        done = subprocess.run(
            ["bash", "-c", command], cwd=work, env=environment(place), text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        lines = done.stdout.rstrip().replace(str(place), "~").splitlines()
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
    main(sys.argv[1])
