"""Runs the tutorials: writes their files, runs their commands, and puts the output into the pages.

A fenced block `console` holds commands ("$ ...") with what they print; a block whose info string names a path after the
language is that file; one with fences in it stands between longer ones. A line "…" stands for any number of lines. What
differs from run to run (times, the names of runs, commits) is not compared.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "tutorials"
FENCE = re.compile(r"^(`{3,})(\w+)(?: (\S+))?\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)\n", re.MULTILINE)
CHANGING = (
    (re.compile(r"\b\d{8}T\d{6}Z-[0-9a-f]{8}\b"), "RUN"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\dZ)?"), "DATE"),
    (re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b"), "COMMIT"),
    (re.compile(r"(?m)^- duration: [\d.]+s$"), "DURATION"),
)
ELLIPSIS = "…\n"


class Shell:
    """Runs commands as a user types them, in a folder of its own, with a home whose ~/skill-health is this checkout."""

    def __init__(self, folder: Path) -> None:
        home = folder / "home"
        home.mkdir()
        (home / "skill-health").symlink_to(ROOT)
        self.cwd = folder / "here"
        self.cwd.mkdir()
        self.folder = folder
        self.environment = {
            "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]),
            "HOME": str(home), "COLUMNS": "100", "NO_COLOR": "1", "TZ": "UTC", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8",
            "SKILL_HEALTH_CACHE_DIR": str(folder / "cache"), "PRE_COMMIT_HOME": str(folder / "pre-commit"),
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "you", "GIT_AUTHOR_EMAIL": "you@example.com",
            "GIT_COMMITTER_NAME": "you", "GIT_COMMITTER_EMAIL": "you@example.com",
        }  # fmt: skip
        self.code = 0

    def run(self, command: str) -> str:
        """Run a command; returns both streams, as on a terminal. `cd` and `$?` carry over to the next command."""
        place = self.folder / "place"
        script = f'(exit {self.code})\n{command}\ncode=$?\npwd > "{place}"\nexit $code\n'
        done = subprocess.run(
            ["bash", "-c", script], cwd=self.cwd, env=self.environment, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, encoding="utf-8", timeout=300,
        )  # fmt: skip
        self.code = done.returncode
        self.cwd = Path(place.read_text().strip())
        return done.stdout


def alike(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed, except what changes from run to run and what it leaves out."""
    parts = [re.escape(part) for part in plain(shown).split(ELLIPSIS)]
    return re.fullmatch("(?:.*\n)*?".join(parts), plain(printed)) is not None


def plain(text: str) -> str:
    """A text with a placeholder for everything that changes from run to run."""
    for pattern, word in CHANGING:
        text = pattern.sub(word, text)
    return text


def rerun(text: str, folder: Path) -> Iterator[tuple[str, str, str]]:
    """Each command of a page, what the page shows, and what it prints now, in order; writes files on the way."""
    shell = Shell(folder)
    for _, language, path, body in FENCE.findall(text):
        if path:
            (shell.cwd / path).parent.mkdir(parents=True, exist_ok=True)
            (shell.cwd / path).write_text(body, encoding="utf-8")
        elif language == "console":
            _, *pairs = COMMAND.split(body)
            for command, shown in zip(pairs[::2], pairs[1::2], strict=True):
                yield command, shown, shell.run(command)


def main() -> None:
    """Bring the pages up to date, or those named; parts that still match the output are left as they are."""
    for page in sorted(page for page in FOLDER.glob("*.md") if page.stem in sys.argv[1:] or not sys.argv[1:]):
        text = page.read_text("utf-8")
        folder = Path(tempfile.mkdtemp())
        done = 0
        for command, shown, printed in rerun(text, folder):
            head = f"$ {command}\n"
            at = text.index(head + shown, done) + len(head)
            new = shown if alike(shown, printed) else printed
            text = text[:at] + new + text[at + len(shown) :]
            done = at + len(new)
        page.write_text(text, encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
