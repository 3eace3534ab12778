"""The main job over the fixtures, step by step; `python -m scripts.demo` writes below build/demo/ only.

A healthy collection, a rotten one, and what a month and a careless edit do to a copy of the healthy one, to its score
and to its routing; a simulated agent with and without the skills; and all of it joined, at last as a page. All dates
are fixed, so that the output is the same on any day.

All commands but one run in this process, which loads what they share once. The simulated trials take longest, so they
are made meanwhile, in a process of their own.
"""

from __future__ import annotations

import gc
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import IO, NoReturn

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "build" / "demo"
COLLECTION = OUT / "collection"
ROUTERS = ("--models", "lexical:bm25,lexical:overlap")
BOLD, PLAIN = ("\033[1m", "\033[0m") if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else ("", "")


def heading(text: str) -> None:
    print(f"\n{BOLD}== {text} =={PLAIN}", flush=True)


def announce(*words: str) -> None:
    print(f"\n{BOLD}$ skill-health {' '.join(words)}{PLAIN}", flush=True)


def show(*words: str) -> None:
    """Show a command and run it, here."""
    from skill_health.cli import main

    announce(*words)
    check(main(words))


def check(code: int) -> None:
    """Findings and drift (exit code 1) are what the demo is about; anything worse ends it."""
    if code > 1:
        sys.exit(code)


class Beside:
    """A command that runs in a process of its own until it is shown."""

    def __init__(self, *words: str) -> None:
        self._words = words
        self._files: list[IO[bytes]] = [(OUT / name).open("w+b") for name in ("stdout.txt", "stderr.txt")]
        env = dict(os.environ)
        if sys.stdout.isatty():
            env |= {"COLUMNS": str(shutil.get_terminal_size().columns)} | ({"FORCE_COLOR": "1"} if BOLD else {})
        command = [sys.executable, "-m", "simulators", *words]
        out, err = self._files
        self._process = subprocess.Popen(command, stdout=out, stderr=err, env={"PYTHONPATH": str(ROOT)} | env)

    def show(self) -> None:
        announce(*self._words)
        code = self._process.wait()
        for file, stream in zip(self._files, (sys.stdout, sys.stderr), strict=True):
            file.seek(0)
            stream.buffer.write(file.read())
            stream.flush()
            file.close()
        check(code)

    def end(self) -> None:
        """End it if it still runs."""
        self._process.terminate()
        self._process.wait()


def git(*words: str, date: str = "") -> None:
    env = os.environ | ({f"GIT_{who}_DATE": f"{date}T03:00:00Z" for who in ("AUTHOR", "COMMITTER")} if date else {})
    subprocess.run(("git", *words), check=True, env=env)


def commit(date: str, message: str) -> None:
    """Commit all that has changed, at a fixed time."""
    git("add", "--all")
    git("commit", "--quiet", "--message", message, date=date)


def alone() -> None:
    """The copy is a repository: neither the user's settings of git nor a hook that calls this may interfere."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "PYTHONDONTWRITEBYTECODE"):
        os.environ.pop(name, None)
    os.environ |= {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "SKILL_HEALTH_CACHE_DIR": str(OUT / "cache"),
    }
    for who in ("AUTHOR", "COMMITTER"):
        os.environ |= {f"GIT_{who}_NAME": "demo", f"GIT_{who}_EMAIL": "demo@example.com"}


def copy_collection() -> None:
    """Copy the healthy collection, with nine tasks that a skill should help with, and one that none does."""
    shutil.rmtree(OUT, ignore_errors=True)
    fixtures = ROOT / "fixtures"
    for name in ("skills", "registries"):
        shutil.copytree(fixtures / name, COLLECTION / name, symlinks=True)
    shutil.copy2(fixtures / "skill-health.toml", COLLECTION)
    for task in (*fixtures.glob("tasks/00?-*"), *fixtures.glob("tasks/016-*")):
        shutil.copytree(task, COLLECTION / "tasks" / task.name, symlinks=True)
    (COLLECTION / ".gitignore").write_text("reports/router/\nreports/effectiveness/\nreports/index.html\n", "utf-8")
    os.chdir(COLLECTION)
    git("init", "--quiet")
    commit("2026-11-21", "A healthy collection")


def edit_carelessly() -> None:
    """Cut a section, praise the result, and reword a description."""
    changelog, cleaning = (Path("skills", name, "SKILL.md") for name in ("changelog-entries", "csv-cleaning"))
    text = re.sub(r"^## Gotchas.*?(?=^## Integration)", "", changelog.read_text("utf-8"), flags=re.M | re.S)
    changelog.write_text(f"{text}\nReleases with such a changelog are adopted 37 % faster.\n", "utf-8")
    vague = "description: Helps with CSV files. Use when a file has to be cleaned."
    cleaning.write_text(re.sub(r"^description: .*", vague, cleaning.read_text("utf-8"), flags=re.M), "utf-8")
    commit("2026-12-21", "A careless edit")


def main() -> NoReturn:
    gc.disable()
    alone()
    copy_collection()
    trials = Beside(
        "effectiveness", "run", "tasks", "--agents", "scripted", "--arms", "target,negative,target_plus_one",
        "--reps", "1", "--sandbox", "none", "--time", "2026-11-21T06:00:00Z", "--quiet",
    )  # fmt: skip
    try:
        run(trials)
    finally:
        trials.end()
    sys.stdout.flush()
    os._exit(0)


def run(trials: Beside) -> None:
    import simulators  # noqa: F401  (the scripted router and agent, beside the real ones)

    os.chdir(ROOT)
    heading("A healthy collection")
    show("lint", "fixtures", "--score", "--as-of", "2026-11-21")

    heading(
        "Our own skill, which leads an agent through all this: by every rule, opinions included "
        "(but for the one that asks for a script)"
    )
    show("lint", "skills/skill-health", "--select", "ALL", "--ignore", "AU001", "--fail-on", "info")

    heading("A rotten one: a skill that many hosts skip, and one that knows the answers of its own test")
    rotten = "fixtures/rotten"
    show("lint", f"{rotten}/skills/colon-trap", f"{rotten}/skills/leaky-answers", "--select", "frontmatter,leakage")

    heading("What else leaks there, and what the rotten skills score")
    show("lint", rotten, "--select", "leakage", "--statistics", "--score")

    heading("Drift: the daily run over a copy of the healthy collection")
    os.chdir(COLLECTION)
    show("daily", "--time", "2026-11-21T04:00:00Z")

    heading("Do the descriptions route? Two routers that need no model, over 60 labelled requests")
    show("router", "run", *ROUTERS, "--time", "2026-11-21T05:00:00Z", "--quiet")

    heading(
        "Do the skills help? A script stands in for the agent, with effects that it makes up, so that this shows the "
        "method and nothing else"
    )
    # It runs nothing but the oracles and verifiers of our own tasks, so it needs no sandbox; agents do.
    trials.show()

    heading("The page of that day")
    show("report", "--as-of", "2026-11-21")

    heading("A month later: somebody has cut a section, praised the result and reworded a description")
    edit_carelessly()
    show("daily", "--time", "2026-12-21T04:00:00Z")

    heading(
        "And what the reworded description does to routing: only the prompts that it bears on, and a control sample"
    )
    show("router", "sweep", "--since", "HEAD~1", *ROUTERS, "--time", "2026-12-21T05:00:00Z", "--quiet")

    heading(
        "The same edit as a pull request shows it: findings, tokens, prompts, and what was measured and no longer holds"
    )
    show("delta", "HEAD~1", "--as-of", "2026-12-21")

    heading("What is known of each skill: health, routing, effect (simulated), and what to ask next")
    show("status")

    heading("All of it as one page, with pictures and what has changed since the last one; it opens from disk")
    show("report", "--as-of", "2026-12-21")

    heading("Written")
    reports = COLLECTION / "reports"
    page = reports / "index.html"
    written = {path for path in reports.iterdir() if path.is_file() and path != page}
    written.update(path for name in ("report.md", "comparison.md") for path in reports.rglob(name))
    print(*sorted(str(path.relative_to(ROOT)) for path in written), sep="\n")
    print(f"\nOpen this in a browser: {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
