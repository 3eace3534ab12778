"""A judged run without a key: an agent from npm does the tasks, and real and scripted judges judge what was kept."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import judge_bench
import local_model
import pytest
from agent_server import AgentServer, Play
from agent_trials import program
from judge_made import reply
from loopback import Loopback
from run_made import rows, the_run
from trial_bench import needs_bubblewrap

from skill_health.cli import main
from skill_health.effectiveness.judge.asking.material import INDEX, QUESTION, WORKSPACE

pytestmark = pytest.mark.real
KEY = "sk-live-Qz7Xw9Rt2Lm4Vb6Np8Ks3Jd5Hf1Gc0"
TRIALS, CALLS = 20, 22
CANDIDATE = "claude-code:played:claude-9"


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten tasks, each done with its skill and without by Claude Code, whose model is played on loopback."""
    found = program("claude")
    needs_bubblewrap()
    root = judge_bench.write_judged(tmp_path_factory.mktemp("judged"))
    with pytest.MonkeyPatch.context() as patch, AgentServer(judge_bench.play(".claude/skills")) as server:
        _surroundings(patch, root, found)
        configure(root, "played", "anthropic", server.url, "claude-9")
        given = ["--agents", CANDIDATE, "--arms", "target", "--reps", "1", "--max-budget-usd", "50"]
        assert main(["effectiveness", "run", "tasks", "--config", "played.toml", *given, "--quiet"]) == 0
        assert server.faults == []
    results = rows(the_run(root / "reports") / "results.jsonl")
    assert {(row["arm"], row["invoked"], row["outcome"]) for row in results} == {
        ("control", "no", "unjudged"), ("target", "yes", "unjudged"),
    }  # fmt: skip
    assert len(results) == TRIALS
    judge_bench.write_labels(root)
    return root


@pytest.fixture
def there(tried: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    _surroundings(monkeypatch, tried, program("claude"))
    return tried


def _surroundings(patch: pytest.MonkeyPatch, root: Path, found: str) -> None:
    # The program's own name, for what it is found by may be a link.
    folder = root / "bin"
    folder.mkdir(exist_ok=True)
    if not (folder / "claude").exists():
        (folder / "claude").symlink_to(found)
    patch.setenv("PATH", str(folder), prepend=os.pathsep)
    patch.setenv("THE_KEY", KEY)
    patch.chdir(root)


def configure(root: Path, name: str, protocol: str, url: str, model: str, price: int = 1) -> None:
    (root / f"{name}.toml").write_text(
        f'[router.providers.{name}]\nprotocol = "{protocol}"\nbase-url = "{url}"\nkey-env = "THE_KEY"\nconcurrency = 2\n'
        f'timeout = 300\n[router.prices."{name}:{model}"]\ninput = {price}\noutput = {price}\n',
        "utf-8",
    )


def judge(root: Path, name: str, spec: str, *more: str) -> tuple[int, Path]:
    """Judge the run; the exit code, and the folder of the judging."""
    given = ["--judges", spec, "--family", f"{spec}=another", "--config", f"{name}.toml", "--tasks", "tasks", "--quiet"]
    before = {*root.glob("reports/effectiveness/*/judging/*")}
    code = main(["effectiveness", "judge", "last", *given, "--max-budget-usd", "1000", *more])
    (made,) = {*root.glob("reports/effectiveness/*/judging/*")} - before
    assert not any(KEY.encode() in path.read_bytes() for path in made.rglob("*") if path.is_file())
    return code, made


def calibrated(root: Path, made: Path) -> tuple[Any, str]:
    """The calibration of a judging by the labels, and its report in words."""
    assert main(["effectiveness", "calibrate", "labels.jsonl", "--judging", made.name]) == 0
    return json.loads((made / "calibration.json").read_text()), (made / "report.md").read_text()


@pytest.fixture(scope="module")
def small_model() -> Iterator[str]:
    if not local_model.available():
        pytest.skip(local_model.MISSING)
    with local_model.serve() as address:
        yield address


@pytest.mark.exhaustive
def test_what_a_small_model_writes_on_its_own_is_missing_and_no_failure(there: Path, small_model: str) -> None:
    with judge_bench.before(small_model, constrained=False) as url:
        configure(there, "plain", "openai", url, "smollm2", 0)
        code, made = judge(there, "plain", "plain:smollm2", "--repeat-share", "0", "--max-runs", "4")
    assert code == 3, "the cap leaves calls"
    results = rows(made / "results.jsonl")
    assert {row["status"] for row in results} <= {"format_failure", "truncated"}
    assert all(row["verdicts"] == [] for row in results)
    report = json.loads((made / "report.json").read_text())
    assert report["votes_read"] == 0 and report["judges"][0]["unread"]
    assert {(trial["weighted"], trial["coverage"]) for trial in report["trials"]} == {(None, 0.0)}
    found, text = calibrated(there, made)
    assert (found["labels"], found["unjudged"]) == (0, 40)
    assert "**Not calibrated: no criterion that has a label was settled" in text
    assert "votes: 0 of 20 could be read; missing, not failures: " in text and "Held against" not in text


@pytest.mark.exhaustive
def test_a_small_model_is_measured_as_unreliable(there: Path, small_model: str) -> None:
    with judge_bench.before(small_model, constrained=True) as url:
        configure(there, "small", "openai", url, "smollm2", 0)
        # One at a time, for sampling to follow from the numbers of requests.
        code, made = judge(there, "small", "small:smollm2", "--concurrency", "1")
    assert code == 0
    results = rows(made / "results.jsonl")
    assert len(results) == CALLS and {row["status"] for row in results} == {"finished"}
    found, text = calibrated(there, made)
    accuracy, kappa = found["counted"]["accuracy"], found["counted"]["kappa"]
    assert found["labels"] + found["unjudged"] == 40 and accuracy["n"] == found["labels"] > 20
    assert accuracy["value"] < 0.8 and kappa["low"] < 0.3
    assert re.search(r"\*\*(Unreliable: |Not shown to be reliable: )", text) and "Held against" in text
    assert json.loads((made / "report.json").read_text())["repeats"]["n"] > 0


def test_a_judge_of_known_accuracy_is_recovered(there: Path) -> None:
    with Loopback(judge_bench.erring(0.1)) as server:
        configure(there, "known", "openai", server.url, "scripted")
        code, made = judge(there, "known", "known:scripted", "--repeat-share", "1", "--concurrency", "1")
    assert code == 0
    found, text = calibrated(there, made)
    accuracy = found["counted"]["accuracy"]
    assert (found["labels"], found["unjudged"]) == (40, 0)
    assert accuracy["low"] < 0.9 < accuracy["high"] and abs(accuracy["value"] - 0.9) <= 0.1
    repeats = json.loads((made / "report.json").read_text())["repeats"]
    # Two answers that each err once in ten differ in 2 x 0.1 x 0.9.
    assert repeats["n"] == 40 and repeats["low"] < 0.18 < repeats["high"]
    assert "Unreliable" not in text and f"accuracy {100 * accuracy['value']:.1f} % (" in text


def test_claude_code_judges_what_it_can_read_and_nothing_else(there: Path) -> None:
    def decide(text: str) -> str:
        """The scripted judge, by what the shell gave it of the question."""
        return reply(text[text.rindex("FENCE is data-") :])

    look = f"cat {QUESTION} {INDEX}; cat {WORKSPACE}/*; touch {QUESTION} {WORKSPACE}/new; ls -a / {WORKSPACE}"
    with AgentServer(Play(half=look, final=decide)) as server:
        configure(there, "agent", "anthropic", server.url, "llama-9")
        code, made = judge(there, "agent", "claude-code:agent:llama-9", "--repeat-share", "0")
        assert server.faults == []
        asked = [request.text for request in server.bodies() if "FENCE is data-" in request.text]
    assert code == 0
    report = json.loads((made / "report.json").read_text())
    assert {(trial["arm"], trial["weighted"]) for trial in report["trials"]} == {("control", 25.0), ("target", 100.0)}
    assert all(row["attempts"] == 1 and row["usage"]["input_tokens"] for row in rows(made / "results.jsonl"))
    assert len(asked) == TRIALS
    for text in asked:
        for path in (QUESTION, f"{WORKSPACE}/new"):
            assert f"touch: cannot touch '{path}': Read-only file system" in text
        # What follows are the program's own instructions.
        read = text[text.rindex("FENCE is data-") : text.rindex("touch: cannot touch")]
        assert not re.search(r"\b(control|target)\b", read) and the_run(there / "reports").name not in read
    found, text = calibrated(there, made)
    assert found["counted"]["accuracy"]["value"] == 1.0 and "Unreliable" not in text
