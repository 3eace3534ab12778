"""Whole runs of the built-in agent against a server on loopback: money, quota, keys, and a run that goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from agent_server import USAGE, AgentServer, Play
from effects_made import replace
from run_made import SKILLS, rows, the_run, write_collection, write_task

from skill_health.effectiveness.sandbox._load import back_end

pytestmark = pytest.mark.slow

KEY = "sk-live-0123456789abcdef"
TRIALS = 2 * 3 + 2
# A trial makes a call for each staged skill, one for the work and one to say so; each costs the same.
EACH = ((USAGE.input_tokens or 0) * 1.0 + (USAGE.output_tokens or 0) * 5.0) / 1e6
PLAY = Play(
    watched={name: f"Does {name}. Use when {name} is needed." for name in SKILLS},
    folder=".agents/skills",
    work="grep -c crate crates.txt > answer.txt",
)


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    return write_collection(tmp_path / "c", 2, 1)


def go(collection: Path, server: AgentServer, *more: str) -> subprocess.CompletedProcess[str]:
    (collection / "skill-health.toml").write_text(
        f'[router.providers.here]\nprotocol = "openai"\nbase-url = "{server.url}/v1"\nkey-env = "THE_KEY"\n'
        '[router.prices."here:m"]\ninput = 1\noutput = 5\n',
        "utf-8",
    )
    sandbox = "bubblewrap" if back_end("bubblewrap").found() else "none"
    command = [
        sys.executable, "-m", "skill_health", "effectiveness", "run", "tasks", "--config", "skill-health.toml", "--agents", "loop:here:m", "--quiet",
        "--arms", "target,full", "--reps", "1", "--sandbox", sandbox, "--time", "2026-03-01T00:00:00Z", *more,
    ]  # fmt: skip
    root = Path(__file__).resolve().parents[2]
    env = os.environ | {"THE_KEY": KEY, "PYTHONPATH": str(root)}
    return subprocess.run(command, cwd=collection, env=env, capture_output=True, encoding="utf-8", timeout=600)


def test_the_skill_is_found_used_and_paid_for_and_the_key_is_in_no_file(collection: Path) -> None:
    with AgentServer(PLAY) as server:
        done = go(collection, server, "--max-budget-usd", "20")
        calls = sum(request.model_call for request in server.requests)
    assert done.returncode == 0, done.stderr
    results = rows(the_run(collection / "reports") / "results.jsonl")
    assert {(row["arm"], row["outcome"], row["invoked"]) for row in results} == {
        ("control", "fail", "no"), ("target", "pass", "yes"), ("full", "pass", "yes"),
    }  # fmt: skip
    assert len(results) == TRIALS
    assert sum(row["turns"] for row in results) == calls
    assert sum(row["cost_usd"] for row in results) == pytest.approx(calls * EACH, rel=0.2)
    assert {row["cost_source"] for row in results} == {"gateway"}
    assert [row["seen"] for row in results if row["arm"] == "control"] == [[], [], []]
    files = [path for path in (collection / "reports").rglob("*") if path.is_file()]
    assert len(files) > 8 * TRIALS
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []
    assert KEY not in done.stdout + done.stderr


def test_an_empty_account_stops_the_run_and_it_goes_on_when_there_is_money(collection: Path) -> None:
    with AgentServer(PLAY) as server:
        server.play = replace(
            PLAY,
            error=(
                429,
                {"error": {"code": "insufficient_quota", "type": "insufficient_quota", "message": "You are out."}},
            ),
        )
        done = go(collection, server, "--max-runs", "30")
        assert done.returncode == 3, done.stderr
        assert f"incomplete: {TRIALS} trials have no result (quota: " in done.stderr
        attempts = the_run(collection / "reports") / "attempts.jsonl"
        ends = [row["outcome"] for row in rows(attempts) if row["event"] == "end"]
        assert set(ends) == {"quota"} and len(ends) <= 4, "no more than were under way"
        server.play = PLAY
        done = go(collection, server, "--max-runs", "30")
    assert done.returncode == 0, done.stderr
    results = rows(the_run(collection / "reports") / "results.jsonl")
    assert Counter(row["outcome"] for row in results) == {"pass": 5, "fail": 3}


def test_dollars_under_way_never_pass_the_cap(collection: Path) -> None:
    with AgentServer(PLAY) as server:
        done = go(collection, server, "--max-budget-usd", "0.05", "--max-usd-per-trial", "0.02")
        assert done.returncode in (0, 3), done.stderr
        spent = sum(request.model_call for request in server.requests) * EACH
    events = rows(the_run(collection / "reports") / "attempts.jsonl")
    known = sum(row["cost_usd"] for row in events if row["event"] == "end")
    assert known <= 0.05 and spent <= 0.05 * 1.2
    assert {row["reserved_usd"] for row in events if row["event"] == "start"} == {0.02}


def test_a_server_that_is_gone_is_missing_data_and_no_failure_of_the_skill(collection: Path) -> None:
    with AgentServer(PLAY) as server:
        done = go(collection, server, "--max-runs", "3", "--timeout", "3")
        assert done.returncode == 3, done.stderr
    done = go(collection, server, "--max-runs", "40", "--timeout", "3")
    assert done.returncode == 3, done.stderr
    results = rows(the_run(collection / "reports") / "results.jsonl")
    assert {row["outcome"] for row in results} <= {"pass", "fail", "infrastructure"}
    ends = Counter(
        row["outcome"] for row in rows(the_run(collection / "reports") / "attempts.jsonl") if row["event"] == "end"
    )
    assert ends["infrastructure"] >= 9
    assert "did not come to an end in 5 trials in a row" in done.stderr


def test_an_extended_run_asks_the_server_for_new_trials_only(collection: Path) -> None:
    with AgentServer(PLAY) as server:
        done = go(collection, server, "--max-budget-usd", "20")
        assert done.returncode == 0, done.stderr
        before = sum(request.model_call for request in server.requests)
        write_task(collection / "tasks" / "t02", 5, SKILLS[2])
        done = go(collection, server, "--max-budget-usd", "20", "--extend", "last", "--reps", "2")
        assert done.returncode == 0, done.stderr
        calls = sum(request.model_call for request in server.requests) - before
    folders = sorted((collection / "reports" / "effectiveness").iterdir())
    old, new = sorted((rows(folder / "results.jsonl") for folder in folders), key=len)
    fresh = [row for row in new if "taken_from" not in row]
    assert (len(old), len(new), len(fresh)) == (2 * 3 + 2, 2 * 9, 2 * 9 - 6), "the negative control has become a task"
    assert sum(row["turns"] for row in fresh) == calls
    assert ": 6 trials; 12 new" in done.stderr
    assert {(row["arm"], row["outcome"]) for row in new} == {("control", "fail"), ("target", "pass"), ("full", "pass")}
