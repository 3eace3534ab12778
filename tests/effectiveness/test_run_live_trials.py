"""Whole runs of the built-in agent against a server on loopback: money, quota, keys, and a run that goes on."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from agent_server import AgentServer
from effects_made import replace
from live_runs import EACH, KEY, PLAY, go
from run_made import rows, the_run, write_collection

pytestmark = pytest.mark.slow

TRIALS = 2 * 3 + 2


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    return write_collection(tmp_path / "c", 2, 1)


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
    assert re.search(r"\b5 trials", done.stderr)
