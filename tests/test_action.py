"""The GitHub action and the example workflow: their YAML, and their shell steps in a shell."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from skill_health import __version__

ROOT = Path(__file__).resolve().parents[1]
WORKFLOW = "examples/github-workflow-daily.yml"
TIDY = """---
name: tidy
description: Sorts lists. Use when a list is out of order.
---
# Tidy

Sort it.
"""
# Stands in for the Python of the runner: notes what would be installed, and runs ours. It needs our path, so its
# isolation is that of -P: nothing in the current folder is imported.
PYTHON = """#!/bin/sh
[ "$1" = -I ] || exit 99
shift
if [ "$2" = pip ]; then echo "$@" >> "$PIP_LOG"; exit 0; fi
exec "{python}" -P "$@"
"""
pytestmark = pytest.mark.skipif(os.name == "nt", reason="the steps are for bash")


def load(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))
    return found


def step(name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in load("action.yml")["runs"]["steps"] if one.get("id") == name)
    return found


class Runner:
    """What a composite action finds around itself."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.work, self.temp = root / "work", root / "temp dir"
        for folder in (self.work, self.temp, root / "bin"):
            folder.mkdir()
        (root / "bin" / "python").write_text(PYTHON.format(python=sys.executable))
        (root / "bin" / "python").chmod(0o755)

    def __call__(self, name: str, **given: str) -> subprocess.CompletedProcess[str]:
        inputs = {key: str(value.get("default", "")) for key, value in load("action.yml")["inputs"].items()}
        inputs |= {key.replace("_", "-"): value for key, value in given.items()}
        named = step(name)["env"]
        values = {key: self._value(expression, inputs) for key, expression in named.items()}
        around = {
            "GITHUB_STEP_SUMMARY": str(self.root / "summary"),
            "GITHUB_OUTPUT": str(self.root / "output"),
            "RUNNER_TEMP": str(self.temp),
            "PIP_LOG": str(self.root / "pip"),
            "PATH": f"{self.root / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
        }
        # As GitHub runs `shell: bash`.
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step(name)["run"]]
        environment = os.environ | around | values
        return subprocess.run(command, cwd=self.work, env=environment, capture_output=True, text=True, check=False)

    def _value(self, expression: str, inputs: Mapping[str, str]) -> str:
        found = re.fullmatch(r"\$\{\{ (?:inputs\.([\w-]+)|github\.action_path) \}\}", expression)
        assert found, expression
        return inputs[found[1]] if found[1] else "/action/path"

    def outputs(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in (self.root / "output").read_text().splitlines())

    def summary(self) -> str:
        return (self.root / "summary").read_text(encoding="utf-8")

    def skill(self, name: str, text: str) -> None:
        folder = self.work / "skills" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "SKILL.md").write_text(text, encoding="utf-8")


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def test_the_metadata_is_complete() -> None:
    action = load("action.yml")
    assert action["runs"]["using"] == "composite"
    assert {"command", "paths", "args", "profile", "version"} <= set(action["inputs"])
    assert all(value["description"] and "default" in value for value in action["inputs"].values())
    assert set(action["outputs"]) == {"report", "exit-code"}
    assert all(one.get("shell") == "bash" for one in action["runs"]["steps"] if "run" in one)


@pytest.mark.parametrize("name", ["action.yml", WORKFLOW])
def test_no_input_is_pasted_into_a_script_and_actions_have_a_version(name: str) -> None:
    file = load(name)
    steps = file["runs"]["steps"] if "runs" in file else file["jobs"]["daily"]["steps"]
    assert not any("${{" in one.get("run", "") for one in steps)
    assert all(re.search(r"@v\d+(\.\d+)*$", one["uses"]) for one in steps if "uses" in one)
    for one in steps:
        if "run" in one:
            done = subprocess.run(["bash", "-n", "-c", one["run"]], capture_output=True, text=True, check=False)
            assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("version", "wanted"), [("", "/action/path"), ("0.1.0", "skill-health==0.1.0")])
def test_what_is_installed(runner: Runner, version: str, wanted: str) -> None:
    assert runner("install", version=version).returncode == 0
    assert (runner.root / "pip").read_text().split()[-2:] == ["--", wanted]


def test_the_page_needs_its_extra(runner: Runner) -> None:
    assert (
        runner("install", page="p.html").returncode == runner("install", page="p.html", version="0.1.0").returncode == 0
    )
    assert [line.split()[-1] for line in (runner.root / "pip").read_text().splitlines()] == [
        "/action/path[report]",
        "skill-health[report]==0.1.0",
    ]


@pytest.mark.slow
def test_the_page(runner: Runner) -> None:
    runner.skill("tidy", TIDY)
    assert runner("run", command="daily", page="reports/index.html").returncode == 0
    page = (runner.work / "reports" / "index.html").read_text(encoding="utf-8")
    assert "tidy" in page and page.rstrip().endswith("</html>")
    assert "This is the first run" in runner.summary() and "## Skills that need something" in runner.summary()
    runner.skill("tidy", TIDY.replace("name: tidy", "name: other"))
    done = runner("run", page="reports/index.html", profile="plan")
    assert done.returncode == 1, "the page does not make a failure good"
    assert "fix first" in (runner.work / "reports" / "index.html").read_text(encoding="utf-8")
    (runner.work / "kept.html").write_text("something else")
    done = runner("run", page="kept.html/no")
    assert done.returncode == 1 and "::warning::skill-health: the page could not be made" in done.stderr


def test_lint(runner: Runner) -> None:
    runner.skill("tidy", TIDY)
    done = runner("run")
    assert done.returncode == 0, done.stderr
    assert runner.outputs()["exit-code"] == "0"
    assert "1 skills checked" in runner.summary() or "1 skill checked" in runner.summary()
    runner.skill("other", TIDY)
    done = runner("run", paths="skills/tidy\nskills/other", args="--fail-on  error")
    assert done.returncode == 1
    assert "::error file=skills/other/SKILL.md,line=2" in done.stdout
    assert runner.outputs()["exit-code"] == "1"
    report = Path(runner.outputs()["report"])
    assert "name-differs-from-folder" in report.read_text(encoding="utf-8")
    assert report.is_relative_to(runner.temp) and report.suffix == ".md"


@pytest.mark.slow
def test_daily(runner: Runner) -> None:
    runner.skill("tidy", TIDY)
    assert runner("run", command="daily").returncode == 0
    assert "This is the first run" in runner.summary()
    runner.skill("tidy", TIDY.replace("name: tidy", "name: other"))
    done = runner("run", command="daily", args="--time 2026-11-21", profile="standard")
    assert done.returncode == 1
    assert "drift: 1 new error" in done.stderr
    assert "**Drift beyond the limits:**" in runner.summary()
    assert Path(runner.outputs()["report"]).read_text("utf-8") in runner.summary()
    assert len((runner.work / "reports" / "skill-health-history.jsonl").read_text().splitlines()) == 2


def test_inputs_are_words_and_never_code(runner: Runner) -> None:
    runner.skill("tidy", TIDY)
    for key in ("paths", "args", "profile", "command"):
        done = runner("run", **{key: "$(touch ran) `touch ran`; touch ran; *"})
        assert done.returncode == 2
        assert os.listdir(runner.work) == ["skills"]
    (runner.work / "click.py").write_text("open('ran', 'w')")
    assert runner("run").returncode == 0
    assert runner("run", paths="").returncode == 0


def test_a_mistake_is_no_clean_run(runner: Runner) -> None:
    runner.skill("tidy", TIDY)
    assert runner("run", paths="nowhere").returncode == 2
    assert runner.outputs() == {"exit-code": "2"}
    assert runner("run", command="rules").returncode == 2


def test_the_example_workflow() -> None:
    workflow: Any = load(WORKFLOW)
    steps = workflow["jobs"]["daily"]["steps"]
    ours = next(one for one in steps if one.get("id") == "health")
    assert ours["uses"].endswith(f"@v{__version__}")
    assert set(ours["with"]) <= set(load("action.yml")["inputs"]) and ours["with"]["command"] == "daily"
    # YAML 1.1 reads the key `on` as true.
    assert set(workflow[True]) == {"schedule", "workflow_dispatch"}
    assert workflow["permissions"] == {"contents": "write"}


def test_the_example_keeps_the_history(tmp_path: Path) -> None:
    script = next(one["run"] for one in load(WORKFLOW)["jobs"]["daily"]["steps"] if "git push" in one.get("run", ""))
    origin, work = tmp_path / "origin.git", tmp_path / "work"
    subprocess.run(["git", "init", "--quiet", "--bare", str(origin)], check=True)
    subprocess.run(["git", "clone", "--quiet", str(origin), str(work)], check=True, capture_output=True)

    def keep() -> str:
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script]
        environment = os.environ | {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "push.default",
            "GIT_CONFIG_VALUE_0": "current",
        }
        subprocess.run(command, cwd=work, env=environment, check=True, capture_output=True)
        log = subprocess.run(
            ["git", "log", "--oneline", "--all"], cwd=origin, capture_output=True, text=True, check=True
        )
        return log.stdout

    assert keep() == "", "a run that wrote nothing keeps nothing"
    (work / "reports").mkdir()
    (work / "reports" / "skill-health-history.jsonl").write_text("{}\n")
    (work / "reports" / "index.html").write_text("the page, which is an artifact")
    (work / "other").write_text("")
    assert keep().count("Skill health of 20") == 1
    assert keep().count("\n") == 1
    shown = subprocess.run(["git", "ls-files"], cwd=work, capture_output=True, text=True, check=True)
    assert shown.stdout == "reports/skill-health-history.jsonl\n"
