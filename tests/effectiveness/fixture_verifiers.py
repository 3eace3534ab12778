"""The tasks of fixtures/tasks with their oracles and verifiers, run in a process of their own or in this one."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path, PosixPath
from typing import Any, NamedTuple

import pytest

HERE = Path(__file__).resolve().parent
FIXTURES = HERE.parents[1] / "fixtures"
TASKS = {path.name[:3]: path for path in sorted(FIXTURES.glob("tasks/0*"))}
SKILLS = {path.parent.name for path in FIXTURES.glob("skills/*/SKILL.md")}
CASES = [
    runpy.run_path(str(path))
    for name in ("cases_a/[ts]*.py", "cases_a/logs.py", "cases_b/*.py", "cases_c/*.py")
    for path in sorted(HERE.glob(name))
]


class Verdict(NamedTuple):
    """What a verifier said."""

    code: int
    files: dict[str, bytes]
    output: str

    @property
    def scores(self) -> dict[str, float]:
        scores: dict[str, float] = json.loads(self.files["reward.json"])
        assert all(isinstance(score, int | float) and 0 <= score <= 1 for score in scores.values())
        return scores


class Workspace(PosixPath):
    """The folder of a workspace, with what cases need to change it."""

    def text(self, name: str) -> str:
        return (self / name).read_bytes().decode("utf-8")

    def write(self, name: str, text: str) -> None:
        (self / name).write_bytes(text.encode("utf-8"))

    def json(self, name: str) -> Any:
        return json.loads(self.text(name))

    def write_json(self, name: str, value: Any) -> None:
        self.write(name, json.dumps(value, ensure_ascii=False))

    def rows(self, name: str) -> list[list[str]]:
        return list(csv.reader(io.StringIO(self.text(name), newline="")))

    def write_rows(self, name: str, rows: list[list[str]], **form: Any) -> None:
        stream = io.StringIO(newline="")
        csv.writer(stream, **{"lineterminator": "\n", **form}).writerows(rows)
        self.write(name, stream.getvalue())

    def commits(self) -> dict[str, str]:
        """The hashes of a bundled history, by subject."""
        clone = self.with_name("clone")
        call("git", "clone", "--quiet", self / "history.bundle", clone, cwd=self)
        log = call("git", "log", "--format=%H %s", cwd=clone).stdout
        return {subject: commit for commit, _, subject in (line.partition(" ") for line in log.splitlines())}


def call(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, timeout=600, check=True)


def snapshot(workspace: Path) -> dict[str, bytes | str]:
    return {
        path.relative_to(workspace).as_posix(): os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in workspace.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def fresh(task: str, path: Path) -> Workspace:
    return Workspace(shutil.copytree(TASKS[task] / "starting", path))


def verify(task: str, workspace: Path, out: Path | None) -> Verdict:
    """Run the verifier as a run does: in the workspace, with an empty folder outside of it."""
    env = {name: value for name, value in os.environ.items() if name != "VERIFIER_DIR"}
    if out:
        out.mkdir()
        env |= {"VERIFIER_DIR": str(out), "FINAL_MESSAGE": os.devnull}
    command = ["bash", str(TASKS[task] / "verify.sh")]
    done = subprocess.run(command, cwd=workspace, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode in (0, 1) and done.stderr == "", done.stderr
    return Verdict(
        done.returncode, {path.name: path.read_bytes() for path in out.iterdir()} if out else {}, done.stdout
    )


def loaded(path: Path) -> dict[str, Any]:
    """The globals of a verifier's module, which imports what lies beside it."""
    before, sys.path = sys.path, [str(path.parent), *sys.path]
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    modules = set(sys.modules)
    try:
        return runpy.run_path(str(path), run_name="loaded")
    finally:
        sys.path, sys.dont_write_bytecode = before, written
        for name in set(sys.modules) - modules:
            del sys.modules[name]


def verify_here(task: str, workspace: Path, out: Path) -> Verdict:
    """Run the verifier in this process, which is quicker; the oracle shows that it does the same in its own."""
    out.mkdir()
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setenv("VERIFIER_DIR", str(out))
        patch.chdir(workspace)
        code = loaded(TASKS[task] / "verifier" / "check.py")["main"]()
    return Verdict(code, {path.name: path.read_bytes() for path in out.iterdir()}, printed.getvalue())
