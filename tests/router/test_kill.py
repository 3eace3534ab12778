"""A real process, killed at random moments, interrupted, and run twice at once: nothing is lost and nothing doubled."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from loopback import Loopback, Reaction, Seen, answer, ranking
from made_collection import TOPICS, labelled, the_run, write_collection
from nursery import Nursery, finish, interrupt_twice, kill_when, lines_of, nursery_in, python, rows, start, wait_until
from thinned import repeated

from skill_health.bench.journal import read_past

REPS, PROMPTS = 3, 20
SORTED = (*TOPICS, "tickets")
MODELS = (
    "scripted:skill=0.7,malformed=0.2,abstain=0.1,latency=10",
    "scripted:skill=0.9,refusal=0.1,latency=8,seed=4",
    "lexical:tfidf",
)
CALLS = 2 * REPS * PROMPTS + PROMPTS
TIME = "2026-03-01T00:00:00Z"


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    prompts = labelled(PROMPTS, SORTED, range(4, PROMPTS, 5), digits=2)
    return write_collection(tmp_path_factory.mktemp("collection"), prompts, SORTED)


def arguments(collection: Path, out: Path, *more: str, models: Sequence[str] = MODELS) -> list[str]:
    named = [part for model in models for part in ("--models", model)]
    return ["router", "run", str(collection), *named, "--reps", str(REPS), "--out", str(out), "--quiet", *more]


@pytest.fixture(scope="module")
def nursery(collection: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    folder = tmp_path_factory.mktemp("nursery")
    with nursery_in(folder, *arguments(collection, folder / "first")) as found:
        yield found


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def whole(collection: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, bytes]:
    """The files of a run that nobody disturbed."""
    out = tmp_path_factory.mktemp("whole")
    code, _, err = finish(start(arguments(collection, out, "--time", TIME)))
    assert code in (0, 1), err
    return files(the_run(out))


def check_whole(folder: Path, whole: Mapping[str, bytes], budget: int) -> None:
    found = files(folder)
    # What the process that was killed last had no time to remove.
    assert {name for name in found if name != ".lock" and not name.startswith(".skill-health-")} == set(whole)
    for name in sorted(whole):
        assert name == "attempts.jsonl" or found[name] == whole[name], name
    keys = [(row["prompt_id"], row["model"], row["replication"]) for row in rows(folder / "results.jsonl")]
    assert len(keys) == len(set(keys)) == CALLS
    assert sum(row["event"] == "start" for row in rows(folder / "attempts.jsonl")) <= budget


def kill_often(
    nursery: Nursery, collection: Path, folder: Path, whole: Mapping[str, bytes], kills: int, seed: int
) -> list[int]:
    """Kill runs after a random number of results and resume each until it ends; how many there were after each kill."""
    draw = random.Random(seed)
    budget = 3 * CALLS
    results = "router/*/results.jsonl"

    def given(out: Path) -> list[str]:
        return arguments(collection, out, "--max-runs", str(budget), "--concurrency", "4", "--time", TIME)

    there: list[int] = []
    runs = 0
    while len(there) < kills:
        out = folder / str(runs)
        runs += 1
        while (code := nursery.run(given(out), kill_when(out, results, draw, CALLS))) == -signal.SIGKILL:
            there.append(lines_of(out, results))
            if there[-1] == CALLS and (the_run(out) / "report.md").exists():
                code = 0
                break
        assert code in (0, 1), nursery.err.read_text()
        check_whole(the_run(out), whole, budget)
        assert [row["model"] for row in rows(out / "router-history.jsonl")] == list(MODELS)
    return there


@pytest.mark.parametrize("kills", repeated(4, 50))
def test_kills_at_random_moments(
    nursery: Nursery, collection: Path, tmp_path: Path, whole: Mapping[str, bytes], kills: int
) -> None:
    there = kill_often(nursery, collection, tmp_path, whole, kills, seed=2)
    assert sum(0 < count < CALLS for count in there) >= max(1, kills // 5)


def slow(collection: Path, out: Path, *more: str) -> list[str]:
    return arguments(collection, out, *more, "--time", TIME, "--concurrency", "2", models=["scripted:latency=60"])


def wait_for_results(process: subprocess.Popen[str], out: Path, count: int) -> Path:
    wait_until(lambda: lines_of(out, "router/*/results.jsonl") >= count, process)
    return the_run(out)


@pytest.mark.slow
def test_two_processes_cannot_run_one_journal(
    collection: Path, tmp_path: Path, run_in: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    given = arguments(
        collection, tmp_path / "out", "--time", TIME, "--concurrency", "2", models=["scripted:latency=700"]
    )
    first = start(given)
    try:
        folder = wait_for_attempts(first, tmp_path / "out", 1).parent
        done = run_in(tmp_path, *given)
        assert done.returncode == 2
        assert f"{folder} is in use by process {first.pid}" in done.stderr
    finally:
        first.terminate()
        code, _, err = finish(first)
    assert code == 130, err
    assert not (folder / ".lock").exists()


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on_and_resuming_completes(collection: Path, tmp_path: Path) -> None:
    process = start(slow(collection, tmp_path / "out"))
    folder = wait_for_results(process, tmp_path / "out", 4)
    process.send_signal(signal.SIGINT)
    code, out, err = finish(process)
    there = len(rows(folder / "results.jsonl"))
    assert code == 130
    assert "calls under way have 10 s to end" in err
    assert re.search(rf"^interrupted: {60 - there} calls .*--resume {folder.name}\)$", err, re.MULTILINE)
    assert "Traceback" not in err
    assert out == ""
    ends = [row["status"] for row in rows(folder / "attempts.jsonl") if row["event"] == "end"]
    assert set(ends) == {"finished"}, "calls under way were allowed to end"
    code, out, err = finish(start(slow(collection, tmp_path / "out", "--resume", folder.name)))
    assert code in (0, 1), err
    assert f"{there} results are there" in err
    assert len(rows(folder / "results.jsonl")) == 60
    starts = [tuple(row["key"]) for row in rows(folder / "attempts.jsonl") if row["event"] == "start"]
    assert len(starts) == len(set(starts)), "nothing was asked twice"


@pytest.mark.slow
def test_a_second_ctrl_c_abandons_what_is_under_way(collection: Path, tmp_path: Path) -> None:
    given = arguments(collection, tmp_path / "out", "--time", TIME, models=["scripted:latency=20000", "lexical:tfidf"])
    process = start(given)
    attempts = wait_for_attempts(process, tmp_path / "out", 1)
    interrupt_twice(process)
    code, _, err = finish(process)
    assert code == 130
    assert "interrupted: 80 calls" in err
    ends = {row["status"] for row in rows(attempts) if row["event"] == "end" and row["key"][1] != "lexical:tfidf"}
    assert ends == {"cancelled"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_an_interrupt_of_the_instrument_check_lets_calls_end(collection: Path, tmp_path: Path, name: str) -> None:
    """The check waits for answers when Ctrl-C, the system or a terminal that closes asks the run to end."""
    if not hasattr(signal, name):
        pytest.skip(f"there is no {name}")
    given = arguments(
        collection, tmp_path / "out", "--time", TIME, "--concurrency", "3", models=["scripted:latency=700"]
    )
    process = start(given)
    attempts = wait_for_attempts(process, tmp_path / "out", 3)
    process.send_signal(getattr(signal, name))
    code, _, err = finish(process)
    assert code == 130
    assert "interrupted: 60 calls" in err
    assert "Traceback" not in err
    events = rows(attempts)
    assert sum(row["event"] == "start" for row in events) == 3
    assert [row["status"] for row in events if row["event"] == "end"] == ["finished"] * 3


def wait_for_attempts(process: subprocess.Popen[str], out: Path, count: int) -> Path:
    def asked() -> bool:
        return any(path.read_bytes().count(b'"start"') >= count for path in out.glob("router/*/attempts.jsonl"))

    wait_until(asked, process)
    return the_run(out) / "attempts.jsonl"


@pytest.mark.slow
def test_a_terminal_that_goes_does_not_end_what_ignores_it(collection: Path, tmp_path: Path) -> None:
    """As behind `nohup`: every later word to the terminal fails, and the run goes on to its end."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    given = slow(collection, tmp_path / "out")
    given.remove("--quiet")
    streams = {"stdin": theirs, "stdout": subprocess.DEVNULL, "stderr": theirs}
    process = python("signal.signal(signal.SIGHUP, signal.SIG_IGN)\nentry()", *given, **streams)
    os.close(theirs)
    folder = wait_for_results(process, tmp_path / "out", 4)
    os.close(ours)
    assert process.wait(600) in (0, 1)
    assert len(rows(folder / "results.jsonl")) == 60
    assert (folder / "report.md").exists()


@pytest.mark.slow
def test_kills_of_a_run_that_asks_a_server(nursery: Nursery, collection: Path, tmp_path: Path) -> None:
    """16 calls under way at each kill: one result for each key, and no more attempts or dollars than allowed."""
    draw, price, each = random.Random(3), 10.0, 150 * 10 / 1e6
    settings = tmp_path / "live.toml"
    with Loopback(react) as server:
        settings.write_text(
            f'[router.providers.live]\nprotocol = "anthropic"\nbase-url = "{server.url}"\nconcurrency = 16\n'
            f'[router.prices."live:m"]\ninput = {price}\noutput = {price}\n',
            "utf-8",
        )
        most, cap = 200, 2.0
        caps = ["--max-runs", str(most), "--max-budget-usd", str(cap)]
        given = arguments(collection, tmp_path / "out", "--config", str(settings), *caps, "--concurrency", "16",
            "--despite-check", "--time", TIME, models=["live:m"])  # fmt: skip
        kills = 0
        wanted = [10]
        while (code := nursery.run(given, lambda: len(server.seen) >= wanted[-1])) == -signal.SIGKILL:
            wanted.append(len(server.seen) + draw.randrange(5, 40))
            kills += 1
            if list((tmp_path / "out").glob("router/*/report.md")):
                code = 0
                break
    assert code in (0, 1), nursery.err.read_text()
    assert kills > 0
    folder = the_run(tmp_path / "out")
    found = rows(folder / "results.jsonl")
    assert len({row["prompt_id"] + str(row["replication"]) for row in found}) == len(found) == REPS * PROMPTS
    assert {row["status"] for row in found} == {"finished"}
    events = rows(folder / "attempts.jsonl")
    begun = [row for row in events if row["event"] == "start"]
    assert len(server.seen) <= len(begun) <= most
    assert each * len(server.seen) <= sum(row["reserved_usd"] for row in begun)
    # What is settled counts as what it cost, what was cut off as all that was reserved for it.
    assert each * len(found) <= read_past(str(folder), ("prompt_id", "model", "replication")).usd <= cap


def react(seen: Seen) -> Reaction:
    return answer(seen, ranking("none")).but(delay=0.01 * (seen.number % 7))
