"""Whole runs of the built-in agent against a server on loopback: money, quota, keys, and a run that goes on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from agent_server import AgentServer
from effects_made import replace
from live_runs import EACH, KEY, PLAY, words
from run_made import only_read, rows, the_run, write_collection

from skill_health.cli import main

pytestmark = pytest.mark.slow

FEW = "tasks/t00 tasks/t02"
"""A task for a skill and a negative control."""
TRIALS = 3 + 2
Go = Callable[..., tuple[int, str]]


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(write_collection(tmp_path / "c", 2, 1))
    monkeypatch.setenv("THE_KEY", KEY)
    only_read(monkeypatch)
    return tmp_path / "c"


@pytest.fixture
def go(capfd: pytest.CaptureFixture[str]) -> Go:
    """Make a whole run in this process; its exit code, and what it printed."""

    def run(collection: Path, server: AgentServer, *more: str, tasks: str = FEW) -> tuple[int, str]:
        code = main(words(collection, server, *more, tasks=tasks))
        return code, "".join(capfd.readouterr())

    return run


def test_the_skill_is_found_used_and_paid_for_and_the_key_is_in_no_file(collection: Path, go: Go) -> None:
    with AgentServer(PLAY) as server:
        code, said = go(collection, server, "--max-budget-usd", "20")
        calls = sum(request.model_call for request in server.requests)
    assert code == 0, said
    results = rows(the_run(collection / "reports") / "results.jsonl")
    assert {(row["arm"], row["outcome"], row["invoked"]) for row in results} == {
        ("control", "fail", "no"), ("target", "pass", "yes"), ("full", "pass", "yes"),
    }  # fmt: skip
    assert len(results) == TRIALS
    assert sum(row["turns"] for row in results) == calls
    assert sum(row["cost_usd"] for row in results) == pytest.approx(calls * EACH, rel=0.2)
    assert {row["cost_source"] for row in results} == {"gateway"}
    assert [row["seen"] for row in results if row["arm"] == "control"] == [[], []]
    files = [path for path in (collection / "reports").rglob("*") if path.is_file()]
    assert len(files) > 8 * TRIALS
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []
    assert KEY not in said


def test_an_empty_account_stops_the_run_and_it_goes_on_when_there_is_money(collection: Path, go: Go) -> None:
    with AgentServer(PLAY) as server:
        said = {"code": "insufficient_quota", "type": "insufficient_quota", "message": "You are out."}
        server.play = replace(PLAY, error=(429, {"error": said}))
        code, said = go(collection, server, "--max-runs", "30")
        assert code == 3 and f"incomplete: {TRIALS} trials " in said and "(quota: " in said, said
        attempts = the_run(collection / "reports") / "attempts.jsonl"
        ends = [row["outcome"] for row in rows(attempts) if row["event"] == "end"]
        assert set(ends) == {"quota"} and len(ends) <= 4, "no more than were under way"
        server.play = PLAY
        code, said = go(collection, server, "--max-runs", "30")
    assert code == 0, said
    results = rows(the_run(collection / "reports") / "results.jsonl")
    assert Counter(row["outcome"] for row in results) == {"pass": 3, "fail": 2}


def test_dollars_under_way_never_pass_the_cap(collection: Path, go: Go) -> None:
    with AgentServer(PLAY) as server:
        code, said = go(collection, server, "--max-budget-usd", "0.03", "--max-usd-per-trial", "0.02")
        assert code in (0, 3), said
        spent = sum(request.model_call for request in server.requests) * EACH
    events = rows(the_run(collection / "reports") / "attempts.jsonl")
    known = sum(row["cost_usd"] for row in events if row["event"] == "end")
    assert known <= 0.03 and spent <= 0.03 * 1.2
    assert {row["reserved_usd"] for row in events if row["event"] == "start"} == {0.02}


@pytest.mark.exhaustive
def test_a_server_that_is_gone_is_missing_data_and_no_failure_of_the_skill(collection: Path, go: Go) -> None:
    with AgentServer(PLAY) as server:
        code, said = go(collection, server, "--max-runs", "1", "--timeout", "3", tasks="tasks/t00 tasks/t01")
        assert code == 3, said
    code, said = go(collection, server, "--max-runs", "40", "--timeout", "3", tasks="tasks/t00 tasks/t01")
    assert code == 3, said
    results = rows(the_run(collection / "reports") / "results.jsonl")
    assert {row["outcome"] for row in results} <= {"pass", "fail", "infrastructure"}
    events = rows(the_run(collection / "reports") / "attempts.jsonl")
    assert sum(row.get("outcome") == "infrastructure" for row in events if row["event"] == "end") >= 9
    assert re.search(r"\b5 trials", said)
