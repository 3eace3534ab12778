"""Deliveries to real agents: five cases by one command, the model being played on loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import live_runs
import pytest
from agent_server import AgentServer
from agent_trials import Stage, on_stage, probes_agree, program, tasks
from effects_made import replace
from run_made import rows, the_run, write_collection
from thinned import EXHAUSTIVE
from trial_bench import needs_bubblewrap

from skill_health.effectiveness.agents._load import available
from skill_health.effectiveness.delivery import served

pytestmark = pytest.mark.real
AGENTS = {"claude-code": ("claude", "anthropic"), "codex": ("codex", "openai-responses")}
CASES = ("control", "target", "target@compiled", "target+hint", "target@compiled+hint")
TASKS = 6
KEY = "sk-live-0123456789abcdef"
# A model that opens what it is offered, and asks a server only where the prompt names a skill.
PLAY = replace(live_runs.PLAY, looks=False)


@pytest.mark.exhaustive
def test_five_cases_by_one_command(tmp_path: Path) -> None:
    needs_bubblewrap()
    bins = tmp_path / "bin"
    bins.mkdir()
    for name, _ in AGENTS.values():
        (bins / name).symlink_to(program(name))
    root = write_collection(tmp_path / "c", TASKS, 0)
    with AgentServer(PLAY) as server:
        tables = "".join(
            f'[router.providers.{name}]\nprotocol = "{protocol}"\nbase-url = "{server.url}"\nkey-env = "THE_KEY"\n'
            f'[router.prices."{name}:m"]\ninput = 1\noutput = 5\n'
            for name, (_, protocol) in AGENTS.items()
        )
        (root / "skill-health.toml").write_text(tables, "utf-8")
        words = [
            sys.executable, "-m", "skill_health", "effectiveness", "run", "tasks", "--config", "skill-health.toml",
            "--agents", ",".join(f"{name}:{name}:m" for name in AGENTS), "--arms", "target", "--delivery", "files,compiled",
            "--hint", "also", "--reps", "1", "--quiet", "--max-runs", "100", "--concurrency", "3", "--format", "md",
        ]  # fmt: skip
        env = os.environ | {
            "THE_KEY": KEY, "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
            "PATH": f"{bins}:{os.environ['PATH']}",
        }  # fmt: skip
        done = subprocess.run(words, cwd=root, env=env, capture_output=True, encoding="utf-8", timeout=1800)
        assert server.faults == []
    assert done.returncode == 0, done.stderr
    folder = the_run(root / "reports")
    results = rows(folder / "results.jsonl")
    assert len(results) == len(AGENTS) * len(CASES) * TASKS
    for row in results:
        helped = row["arm"] not in ("control", "target@compiled")
        assert (row["outcome"], row["invoked"], row["error"]) == (*(("pass", "yes") if helped else ("fail", "no")), "")
        calls = {"list_skills": 1, "read_skill": 1, "search_skills": 0} if helped else dict.fromkeys(
            ("list_skills", "read_skill", "search_skills"), 0
        )  # fmt: skip
        assert row.get("skill_calls") == (calls if "@compiled" in row["arm"] else None)
    probes = json.loads((folder / "probe.json").read_text())["probes"]
    assert [probe["problems"] for probe in probes] == [[]] * len(probes)
    with_server = [probe for probe in probes if "target@compiled" in probe["arms"]]
    assert {tuple(probe["arms"]) for probe in with_server} == {("target@compiled", "target@compiled+hint")}
    assert {len(probe["offered"]) for probe in with_server} == {3}
    report = json.loads((folder / "report.json").read_text())
    for model in report["models"]:
        found = {each["name"]: (each["kind"], each["delta"]["value"]) for each in model["contrasts"]}
        assert found["target-control"] == ("primary", 1.0)
        assert found["target@compiled-target"] == ("delivery", -1.0)
        assert found["target@compiled+hint-target+hint"] == ("knowledge", 0.0)
        assert found["target+hint-target"] == ("discovery", 0.0)
        assert found["target@compiled+hint-target@compiled"] == ("discovery", 1.0)
        arms = {arm["arm"]: arm for arm in model["arms"]}
        assert arms["target@compiled+hint"]["skill_calls"]["value"] == 2.0
        assert arms["target"].get("skill_calls") is None
    assert "### Deliveries" in done.stdout
    print(done.stdout)
    files = [path for path in (root / "reports").rglob("*") if path.is_file()]
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []


STAGED = (("loop", ""), ("codex", "codex"), ("claude-code", "claude"), ("opencode", "opencode"))


@pytest.fixture(params=[pytest.param(each, marks=[EXHAUSTIVE] * (nth > 1)) for nth, each in enumerate(STAGED)])
def stage(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    name, wanted = request.param
    with on_stage(Stage, name, program(wanted) if wanted else "", tmp_path, monkeypatch, "bubblewrap") as made:
        yield made


def test_a_server_gives_a_skill_that_lies_nowhere_else(stage: Stage) -> None:
    (task, *_) = tasks()
    probes_agree(stage, task, own=True, arms=("control", "target@mcp", "target@compiled", "target"))
    result, place = stage.trial(task, "target@compiled", replace(stage.play(task), looks=True))
    assert (result.outcome, result.error, result.invoked) == ("pass", "", "yes")
    assert result.skill_calls == {"list_skills": 1, "read_skill": 1, "search_skills": 0}
    assert "Compiled from" in (place / "trajectory.json").read_text()


def test_a_server_that_takes_its_time_is_waited_for(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a busy machine: left to themselves, agents begin without its tools after five seconds."""
    slow = tmp_path / "slow" / "serve.py"
    slow.parent.mkdir()
    text = Path(served.__file__).with_name("serve.py").read_text("utf-8")
    slow.write_text(text.replace("def start() -> None:\n", "def start() -> None:\n    __import__('time').sleep(8)\n"))
    monkeypatch.setattr(served, "_PROGRAM", str(slow))
    (task, *_) = tasks()
    result, _ = stage.trial(task, "target@mcp", replace(stage.play(task), looks=True))
    assert (result.outcome, result.error, result.invoked) == ("pass", "", "yes")


def test_every_agent_that_takes_no_server_says_nothing_of_one() -> None:
    assert {info.name for info in available() if getattr(info.agent, "MCP", "")} >= {name for name, _ in STAGED}
