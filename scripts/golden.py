"""Record what every command prints and writes over collections, to compare after a change that should change nothing.

    python scripts/golden.py record build/golden fixtures ~/some/collection ...
    python scripts/golden.py compare build/golden build/golden-after

Each collection is copied into a repository of its own; dates are fixed, so equal code gives equal bytes.
"""

from __future__ import annotations

import filecmp
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DAY = "2026-11-{:02}T04:00:00Z"
FREE = "lexical:tfidf,lexical:overlap,lexical:bm25"
EDITED, UNTIMED = "(an edit)", "(the same duration for each trial)"
LINT = ("text", "json", "sarif", "github", "gitlab", "junit", "markdown")
# Durations on this machine, in the one file and the one place that has them.
MASKED = re.compile(rb'("(?:duration_ms|seconds|wall_sec|[a-z_]*_ms|python|tool_version)": ?)[^,}\n]+')


def commands(skills: Sequence[str], root: Path) -> Iterator[tuple[str, ...]]:
    """Every command in every format, ordered so that later ones find what earlier ones wrote."""
    for form in LINT:
        yield "lint", "--format", form, "--score", "--statistics", "--fail-on", "never"
    yield "lint", "--diff", "--unsafe-fixes"
    yield "lint", "--profile", "plan-v2.3.0", "--score"
    yield ("fixtures",)
    yield "rules", "--format", "json"
    for form in ("text", "markdown", "json"):
        yield "daily", "--time", DAY.format(10), "--format", form
    yield "init", "--dry-run", "--workflow"
    yield "router", "models", "--format", "json"
    yield ("router", "prompts")
    for form in ("text", "md", "json", "csv", "junit"):
        yield "router", "run", "--models", FREE, "--time", DAY.format(11), "--quiet", "--format", form
        yield "router", "report", "--format", form
    if skills:
        yield "router", "hook", skills[0]
        yield "lint", *skills[:1]
        yield ("explain", "LI001")
    yield "router", "check", "--models", FREE
    if (root / "tasks").is_dir():
        yield "effectiveness", "check", "tasks", "--static"
        run = ("--agents", "scripted", "--sandbox", "none", "--reps", "1", "--quiet", "--time", DAY.format(12))
        yield "effectiveness", "run", "tasks", *run
        yield (UNTIMED,)
        for form in ("text", "md", "json", "csv", "junit"):
            yield "effectiveness", "report", "--format", form
    for form in ("text", "json", "md"):
        yield "status", "--format", form, "--as-of", "2026-11-13"
    for form in ("html", "json", "md"):
        yield "report", "--format", form, "--as-of", "2026-11-13", "--output", f"page.{form}"
    yield "badge", "--as-of", "2026-11-13"
    yield "picture", "--list"
    yield EDITED, *skills[:1]
    yield "daily", "--time", DAY.format(14)
    yield "lint", "--changed", "HEAD~1"
    yield "router", "sweep", "--since", "HEAD~1", "--models", FREE, "--time", DAY.format(15), "--quiet"
    for benchmark in ("router", "effectiveness"):
        runs = sorted(path.parent.name for path in root.glob(f"reports/{benchmark}/*/manifest.json"))
        for form in ("text", "md", "json"):
            yield benchmark, "compare", *runs[-1:], *runs[:1], "--format", form
    yield "status", "--as-of", "2026-11-16"


def record(out: Path, collections: Sequence[Path]) -> None:
    """Write the output of each command to a folder for each collection."""
    # Outputs contain absolute paths, so the place is the same each time.
    place = Path(tempfile.gettempdir()) / "skill-health-golden"
    for folder in (out, place):
        shutil.rmtree(folder, ignore_errors=True)
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(place / "home"), "COLUMNS": "100", "NO_COLOR": "1", "LC_ALL": "C.UTF-8",
        "SKILL_HEALTH_CACHE_DIR": str(place / "cache"), "PYTHONPATH": str(ROOT), "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
           for what, value in (("NAME", "g"), ("EMAIL", "g@example.com"), ("DATE", "2026-11-01T00:00:00Z"))},
    }  # fmt: skip
    (place / "home").mkdir(parents=True)
    for number, collection in enumerate(collections):
        name = f"{number:02}-{collection.resolve().name}"
        work, kept = place / name, out / name
        ignored = shutil.ignore_patterns(".git", "reports", "__pycache__", "rotten")
        shutil.copytree(collection, work, ignore=ignored, symlinks=True)
        kept.mkdir(parents=True)
        for git in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "as it is")):
            subprocess.run(["git", *git], cwd=work, env=environment, check=True)
        skills = sorted(str(path.relative_to(work)) for path in work.rglob("SKILL.md") if ".git" not in path.parts)
        for at, command in enumerate(commands(skills, work)):
            if command[0] == EDITED:
                edit(work, command[1:], environment)
                continue
            if command[0] == UNTIMED:
                untime(work)
                for written in work.glob("reports/effectiveness/*/report.*"):
                    form = written.suffix.removeprefix(".")
                    written.write_bytes(run(("effectiveness", "report", "--format", form), work, environment).stdout)
                continue
            done = run(command, work, environment)
            text = b"$ %s\n[exit %d]\n" % (" ".join(command).encode(), done.returncode)
            if command[:2] == ("effectiveness", "run"):
                done.stdout = b""
            (kept / f"{at:03}").write_bytes(text + MASKED.sub(rb"\1*", done.stdout) + b"\n--- stderr\n" + done.stderr)
        for path in sorted(path for path in (*work.glob("reports/**/*"), *work.glob("page.*")) if path.is_file()):
            if path.name in ("results.jsonl", "attempts.jsonl") or "trials" in path.parts:
                continue
            target = kept / "written" / path.relative_to(work)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(MASKED.sub(rb"\1*", path.read_bytes()))
        print(f"{name}: {sum(1 for path in kept.rglob('*') if path.is_file())} files", flush=True)
    shutil.rmtree(place)


def run(command: Sequence[str], work: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    """Run one command of skill-health, with the simulators."""
    arguments = [sys.executable, "-m", "simulators", *command]
    return subprocess.run(arguments, cwd=work, env=environment, capture_output=True, check=False)


def edit(work: Path, skills: Sequence[str], environment: dict[str, str]) -> None:
    """Change one description as a careless author might, and commit it."""
    for skill in skills:
        path = work / skill
        text = path.read_text("utf-8", "surrogateescape")
        path.write_text(
            re.sub(r"(?m)^description:.*", "description: Helps with much.", text, count=1), "utf-8", "surrogateescape"
        )
    subprocess.run(["git", "commit", "-qam", "an edit", "--allow-empty"], cwd=work, env=environment, check=True)


def untime(work: Path) -> None:
    """Give all trials the same duration, so that no report depends on this machine."""
    for path in work.glob("reports/effectiveness/*/results.jsonl"):
        path.write_bytes(re.sub(rb'"duration_ms":[^,]+', b'"duration_ms":100', path.read_bytes()))


def compare(before: Path, after: Path) -> int:
    """Say which files differ; the exit code."""
    names = {path.relative_to(folder) for folder in (before, after) for path in folder.rglob("*") if path.is_file()}
    differing = sorted(
        name for name in names
        if not ((before / name).is_file() and (after / name).is_file())
        or not filecmp.cmp(before / name, after / name, shallow=False)
    )  # fmt: skip
    for name in differing:
        print(f"differs: {name}")
    print(f"{len(names)} files, {len(differing)} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    if sys.argv[1] == "record":
        record(Path(sys.argv[2]).resolve(), [Path(each).expanduser() for each in sys.argv[3:]])
    else:
        sys.exit(compare(Path(sys.argv[2]), Path(sys.argv[3])))
