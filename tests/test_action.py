"""The GitHub action and the example workflow: their YAML, and their shell steps in a shell."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from forge_server import TOKEN, ForgeServer

from skill_health import __version__
from skill_health.init import texts

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
if [ "$2" = pip ]; then echo "$PWD $@" >> "$PIP_LOG"; exit 0; fi
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
            "GITHUB_STEP_SUMMARY": str(self.root / "summary"), "GITHUB_OUTPUT": str(self.root / "output"),
            "RUNNER_TEMP": str(self.temp), "PIP_LOG": str(self.root / "pip"),
            "PATH": f"{self.root / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
        }  # fmt: skip
        # As GitHub runs `shell: bash`.
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step(name)["run"]]
        environment = os.environ | around | values
        return subprocess.run(command, cwd=self.work, env=environment, capture_output=True, text=True, check=False)

    def _value(self, expression: str, inputs: Mapping[str, str]) -> str:
        found = re.fullmatch(
            r"\$\{\{ (?:inputs\.([\w-]+)|steps\.run\.outputs\.(\w+)|github\.action_path) \}\}", expression
        )
        assert found, expression
        return inputs[found[1]] if found[1] else self.outputs()[found[2]] if found[2] else str(ROOT)

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


@pytest.fixture
def forge() -> Iterator[ForgeServer]:
    made = ForgeServer()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_the_metadata_is_complete() -> None:
    action = load("action.yml")
    assert action["runs"]["using"] == "composite"
    assert {"command", "paths", "args", "profile", "page", "against", "comment", "sarif"} <= set(action["inputs"])
    assert all(value["description"] and "default" in value for value in action["inputs"].values())
    assert set(action["outputs"]) == {"report", "delta", "exit-code"}
    assert all(one.get("shell") == "bash" for one in action["runs"]["steps"] if "run" in one)


@pytest.mark.parametrize("name", ["action.yml", WORKFLOW])
def test_no_input_is_pasted_into_a_script(name: str) -> None:
    file = load(name)
    jobs = [file["runs"]] if "runs" in file else file["jobs"].values()
    steps = [one for job in jobs for one in job["steps"]]
    assert not any("${{" in one.get("run", "") for one in steps)
    for one in steps:
        if "run" in one:
            done = subprocess.run(["bash", "-n", "-c", one["run"]], capture_output=True, text=True, check=False)
            assert (done.returncode, done.stderr) == (0, "")


def uses() -> Iterator[tuple[str, str]]:
    """Every action that our files take, with the comment behind it."""
    made = texts.format_workflow("", "reports", None)
    for text in [made, *((ROOT / name).read_text(encoding="utf-8") for name in ("action.yml", WORKFLOW))]:
        yield from re.findall(r"uses: (\S+)(?: # (\S+))?\n", text)


def test_every_action_is_pinned_to_one_commit_whose_version_is_named() -> None:
    foreign = {each for each in uses() if not each[0].startswith("OWNER/")}
    assert all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", action) for action, _ in foreign), foreign
    assert all(re.fullmatch(r"v\d+\.\d+\.\d+", version) for _, version in foreign), foreign
    names = [action.partition("@")[0] for action, _ in foreign]
    assert sorted(names) == sorted(set(names)), "the same one everywhere"
    assert set(names) == {
        f"actions/{one}" for one in ("checkout", "setup-python", "upload-artifact", "download-artifact")
    }


@pytest.mark.parametrize(
    ("given", "lock"),
    [({}, "base"), ({"page": "p.html"}, "report"), ({"command": "report"}, "report"), ({"command": "sweep"}, "bench")],
)
def test_what_is_installed_is_the_action_itself_and_what_its_locks_name(
    runner: Runner, given: dict[str, str], lock: str
) -> None:
    (runner.work / "locks").mkdir()
    (runner.work / "locks/base.txt").write_text("evil\n")
    assert runner("install", **given).returncode == 0
    first, second = (runner.root / "pip").read_text().splitlines()
    for line in (first, second):
        assert line.startswith(f"{ROOT} -m pip install "), "beside its own files, not in the checked repository"
    assert first.endswith(
        f" --require-hashes --only-binary :all: --requirement locks/build.txt --requirement locks/{lock}.txt"
    )
    assert second.endswith(" --no-deps --no-index --no-build-isolation .")


@pytest.mark.slow
def test_the_page(runner: Runner) -> None:
    runner.skill("tidy", TIDY)
    assert runner("run", command="daily", page="reports/index.html").returncode == 0
    page = (runner.work / "reports" / "index.html").read_text(encoding="utf-8")
    assert "tidy" in page and page.rstrip().endswith("</html>")
    assert re.search(r"(?m)^## Skills ", runner.summary())
    runner.skill("tidy", TIDY.replace("name: tidy", "name: Tidy"))
    done = runner("run", page="reports/index.html", profile="plan")
    assert done.returncode == 1, "the page does not make a failure good"
    assert "fix first" in (runner.work / "reports" / "index.html").read_text(encoding="utf-8")
    (runner.work / "kept.html").write_text("something else")
    done = runner("run", page="kept.html/no")
    assert done.returncode == 1 and "::warning::skill-health: the page could not be made" in done.stderr


@pytest.mark.slow
def test_lint(runner: Runner) -> None:
    runner.skill("tidy", TIDY)
    done = runner("run")
    assert done.returncode == 0, done.stderr
    assert runner.outputs()["exit-code"] == "0"
    assert "1 skill checked" in runner.summary()
    runner.skill("other", TIDY.replace("name: tidy", "name: Other"))
    done = runner("run", paths="skills/tidy\nskills/other", args="--fail-on  error")
    assert done.returncode == 1
    assert "::error file=skills/other/SKILL.md,line=2" in done.stdout
    assert runner.outputs()["exit-code"] == "1"
    report = Path(runner.outputs()["report"])
    assert "name-format" in report.read_text(encoding="utf-8")
    assert report.is_relative_to(runner.temp) and report.suffix == ".md"


@pytest.mark.slow
def test_daily(runner: Runner) -> None:
    runner.skill("tidy", TIDY)
    assert runner("run", command="daily").returncode == 0
    runner.skill("tidy", TIDY.replace("name: tidy", "name: Tidy"))
    done = runner("run", command="daily", args="--time 2026-11-21", profile="standard")
    assert done.returncode == 1
    assert "drift: 1 new error" in done.stderr
    assert "**Drift beyond the limits:**" in runner.summary()
    assert Path(runner.outputs()["report"]).read_text("utf-8") in runner.summary()
    assert len((runner.work / "reports" / "skill-health-history.jsonl").read_text().splitlines()) == 2


@pytest.mark.slow
def test_inputs_are_words_and_never_code(runner: Runner) -> None:
    runner.skill("tidy", TIDY)
    for key in ("paths", "args", "profile", "command"):
        done = runner("run", **{key: "$(touch ran) `touch ran`; touch ran; *"})
        assert done.returncode == 2
        assert os.listdir(runner.work) == ["skills"]
    (runner.work / "click.py").write_text("open('ran', 'w')")
    assert runner("run").returncode == 0
    assert runner("run", paths="").returncode == 0


@pytest.mark.slow
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
    assert workflow["permissions"] == {"contents": "read"} and "permissions" not in workflow["jobs"]["daily"]
    assert steps[0]["with"] == {"persist-credentials": False}
    keep = workflow["jobs"]["keep"]
    assert keep["permissions"] == {"contents": "write"}
    assert [one.get("uses", "").partition("@")[0] for one in keep["steps"]] == [
        "actions/checkout", "actions/download-artifact", "",
    ]  # fmt: skip


@pytest.mark.slow
def test_the_example_keeps_the_history(tmp_path: Path) -> None:
    script = next(one["run"] for one in load(WORKFLOW)["jobs"]["keep"]["steps"] if "git push" in one.get("run", ""))
    origin, work = tmp_path / "origin.git", tmp_path / "work"
    subprocess.run(["git", "init", "--quiet", "--bare", str(origin)], check=True)
    subprocess.run(["git", "clone", "--quiet", str(origin), str(work)], check=True, capture_output=True)

    def keep() -> str:
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script]
        environment = os.environ | {
            "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "push.default", "GIT_CONFIG_VALUE_0": "current",
        }  # fmt: skip
        subprocess.run(command, cwd=work, env=environment, check=True, capture_output=True)
        log = subprocess.run(
            ["git", "log", "--oneline", "--all"], cwd=origin, capture_output=True, text=True, check=True
        )
        return log.stdout

    (work / "reports").mkdir()
    (work / "reports" / "skill-health-history.jsonl").write_text("{}\n")
    (work / "reports" / "index.html").write_text("the page, which is an artifact")
    (work / "other").write_text("")
    assert keep().count("Skill health of 20") == 1
    assert keep().count("\n") == 1
    shown = subprocess.run(["git", "ls-files"], cwd=work, capture_output=True, text=True, check=True)
    assert shown.stdout == "reports/skill-health-history.jsonl\n"


def branch(runner: Runner) -> None:
    """The checkout of a pull request: a base branch at its remote, and a skill that the branch has broken since."""

    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=runner.work, check=True, capture_output=True)

    runner.skill("tidy", TIDY)
    git("init", "--quiet", "--initial-branch", "main")
    git("add", "--all")
    git("commit", "--quiet", "--message", "x")
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    git("switch", "--quiet", "--create", "topic")
    runner.skill("tidy", TIDY + "\nSee [the guide](gone.md).\n")
    git("commit", "--quiet", "--all", "--message", "y")


@pytest.mark.slow
def test_a_branch_is_compared_and_commented_on_once(
    runner: Runner, forge: ForgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    branch(runner)
    (runner.root / "event.json").write_text('{"pull_request": {"number": 12}}')
    for name, value in {
        "GITHUB_BASE_REF": "main", "GITHUB_API_URL": forge.url, "GITHUB_REPOSITORY": "o/r", "GITHUB_SHA": "a" * 40,
        "GITHUB_EVENT_PATH": str(runner.root / "event.json"), "GITHUB_REF": "refs/pull/12/merge",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    assert runner("run", against="base").returncode == 0
    assert "1 skill touched, 1 new error" in runner.summary() and "gone.md" in runner.summary()
    assert runner("comment", token=TOKEN).returncode == 0
    runner.skill("tidy", TIDY + "\nSee [the guide](lost.md).\n")
    assert runner("run", against="base").returncode == 0
    done = runner("comment", token=TOKEN)
    assert done.returncode == 0 and TOKEN not in done.stdout + done.stderr
    (comment,) = forge.comments
    assert "lost.md" in comment["body"] and "gone.md" not in comment["body"]
    forge.refuses = 403
    runner.skill("tidy", TIDY)
    assert runner("run", against="base").returncode == 0
    done = runner("comment", token=TOKEN)
    assert done.returncode == 0 and "::warning::" in done.stdout, "a fork's token can only read"
    forge.refuses = 0
    assert runner("sarif", token=TOKEN).returncode == 0
    assert len(forge.uploads) == 1


@pytest.mark.slow
def test_a_shallow_checkout_is_told_what_it_lacks(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    branch(runner)
    shallow = runner.root / "shallow"
    subprocess.run(
        ["git", "clone", "--quiet", "--depth", "1", "--branch", "topic", runner.work.as_uri(), str(shallow)], check=True
    )
    runner.work = shallow
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    done = runner("run", against="base")
    assert done.returncode == 2 and "fetch-depth: 0" in done.stderr
    monkeypatch.setenv("GITHUB_BASE_REF", "")
    assert runner("run", against="base").returncode == 0, "no pull request, nothing to compare with"


@pytest.mark.slow
def test_sweep_and_report(runner: Runner) -> None:
    branch(runner)
    (runner.work / "skill-health.toml").touch()
    (runner.work / "registries").mkdir()
    (runner.work / "registries" / "prompts.jsonl").write_text(
        '{"prompt_id": "p1", "prompt": "Sort my list", "expected_primary_skill": "tidy"}\n'
    )
    runner.skill("tidy", TIDY.replace("Sorts lists", "Puts lists in order"))
    done = runner("run", command="sweep", args="--since HEAD~1")
    assert done.returncode == 0, done.stderr
    assert "# Router: " in runner.summary()
    assert runner("run", command="sweep", page="x.html").returncode == 2
    done = runner("run", command="report", page="out/index.html")
    assert done.returncode == 0, done.stderr
    assert (runner.work / "out" / "index.html").is_file() and runner.outputs()["page"] == "out"


def test_the_problem_matcher_finds_what_lint_prints(run_in: Any, tmp_path: Path) -> None:
    """`echo "::add-matcher::.github/skill-health-matcher.json"` before a step of one's own that runs lint."""
    matcher = json.loads((ROOT / "examples" / "problem-matcher.json").read_text())["problemMatcher"][0]
    (pattern,) = matcher["pattern"]
    (tmp_path / "SKILL.md").write_text(TIDY.replace("name: tidy", "name: Tidy") + "\n[a](b.md)\n")
    lines = run_in(tmp_path, "lint", "--format", "concise").stdout.splitlines()
    found = [re.fullmatch(pattern["regexp"], line) for line in lines]
    assert len(found) >= 2 and all(found)
    assert {one[pattern["severity"]] for one in found if one} <= {"error", "warning", "info"}
    assert all(one[pattern["file"]] == "SKILL.md" and one[pattern["line"]].isdigit() for one in found if one)


@pytest.mark.slow
def test_the_gitlab_component(runner: Runner, forge: ForgeServer) -> None:
    spec, jobs = yaml.safe_load_all((ROOT / "templates" / "skill-health.yml").read_text(encoding="utf-8"))
    inputs = spec["spec"]["inputs"]
    assert all(each["description"] for each in inputs.values())
    (job,) = jobs.values()
    text = json.dumps(job["script"])
    assert set(re.findall(r"\$\[\[ inputs\.([\w-]+) \]\]", json.dumps(jobs))) == set(inputs)
    assert "$[[" not in text, "no input is pasted into a script"
    assert job["artifacts"]["reports"] == {"codequality": "skill-health-quality.json"}
    branch(runner)
    ours = runner.root / "bin" / "skill-health"
    ours.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m skill_health "$@"\n')
    ours.chmod(0o755)
    given = {
        "GITLAB_CI": "true", "CI_API_V4_URL": forge.url, "CI_PROJECT_ID": "34", "CI_MERGE_REQUEST_IID": "5",
        "GITLAB_TOKEN": TOKEN, "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "PYTHONPATH": str(ROOT),
        "PATH": f"{runner.root / 'bin'}{os.pathsep}{os.environ['PATH']}",
        **{name: str(inputs[value.split(".")[1].split()[0]].get("default", "")) for name, value in job["variables"].items() if "[[" in value},
    }  # fmt: skip
    script = "\n".join(line for line in job["script"] if "pip install" not in line)
    for _ in range(2):
        done = subprocess.run(
            ["bash", "-e", "-c", script], cwd=runner.work, env=os.environ | given, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert json.loads((runner.work / "skill-health-quality.json").read_text())[0]["check_name"] == "LI001 broken-link"
    assert len(forge.comments) == 1 and "1 new error" in forge.comments[0]["body"]
