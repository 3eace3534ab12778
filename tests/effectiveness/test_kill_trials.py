"""A real run with real processes, killed at random moments and interrupted: no trial is lost and none counted twice."""

from __future__ import annotations

import json
import random
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from effects_made import replace
from nursery import Nursery, finish, interrupt_twice, kill_when, lines_of, nursery_in, rows, start, wait_until
from run_made import the_run, write_collection

from skill_health.effectiveness.effects.build import build_report
from skill_health.effectiveness.reports import json_
from skill_health.effectiveness.run.runs import folder_of, load_run
from skill_health.effectiveness.sandbox._load import back_end

REPS, TRIALS = 2, 2 * (4 * 3 + 2)
SMALL = ("--arms", "full", "--reps", "1")
FEW = 4 * 2 + 2
AGENT = "scripted:base=0.3,target=0.5,refusal=0.1,fail=0.1,sleep=0.02"
TIME = "2026-03-01T00:00:00Z"


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_collection(tmp_path_factory.mktemp("collection") / "c")


def arguments(collection: Path, out: Path, *more: str, agent: str = AGENT) -> list[str]:
    sandbox = "bubblewrap" if back_end("bubblewrap").found() else "none"
    return [
        "effectiveness", "run", str(collection / "tasks"), "--agents", agent, "--sandbox", sandbox, "--out", str(out),
        "--quiet", "--time", TIME, *(more if "--arms" in more else ("--arms", "target,full", "--reps", str(REPS), *more)),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def nursery(collection: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    folder = tmp_path_factory.mktemp("nursery")
    with nursery_in(folder, *arguments(collection, folder / "first", *SMALL)) as found:
        yield found


def timeless(folder: Path) -> dict[str, Any]:
    """Everything of a run that does not depend on how fast it went."""
    run = load_run(str(folder))
    results = [replace(result, duration_ms=None) for result in run.results]
    report = json_.render(build_report(run.manifest, results))
    probes = json.loads((folder / "probe.json").read_text())
    return {"manifest": run.manifest, "results": results, "report": report, "probes": probes}


def check_whole(out: Path, whole: Mapping[str, Any], budget: int) -> None:
    folder, trials = the_run(out), len(whole["results"])
    found = timeless(folder)
    for part in whole:
        assert found[part] == whole[part], part
    results = rows(folder / "results.jsonl")
    keys = [(row["task_id"], row["model"], row["arm"], row["replication"]) for row in results]
    assert len(keys) == len(set(keys)) == trials
    events = rows(folder / "attempts.jsonl")
    assert sum(row["event"] == "start" for row in events) <= budget
    ended = Counter((*row["key"], row["attempt"]) for row in events if row["event"] == "end")
    assert set(ended.values()) == {1}, "what came to an end is never done again"
    kept = {path.name for path in (folder / "trials").iterdir() if "--attempt-" not in path.name}
    assert kept == {folder_of(key).partition("/")[2] for key in keys}, "no half of a trial is left"
    for row in results:
        assert (folder / row["folder"] / "verdict.json").exists() or row["outcome"] != "pass"
    assert [row["skill"] for row in rows(out / "effectiveness-history.jsonl")] == [
        None, "maps-work", "notes-work", "sums-work",
    ]  # fmt: skip
    assert (folder / "report.md").exists()


def kill_often(
    nursery: Nursery, collection: Path, folder: Path, trials: int, kills: int, seed: int, *more: str
) -> list[int]:
    """Kill runs after a random number of results and resume each until it ends; how many there were after each kill."""
    draw, budget, results = random.Random(seed), 4 * trials, "effectiveness/*/results.jsonl"
    assert nursery.run(arguments(collection, folder / "whole", *more)) in (0, 1), nursery.err.read_text()
    whole = timeless(the_run(folder / "whole"))
    there: list[int] = []
    runs = 0
    while len(there) < kills:
        out = folder / str(runs)
        runs += 1
        given = arguments(collection, out, "--max-runs", str(budget), *more)
        while (code := nursery.run(given, kill_when(out, results, draw, trials))) == -signal.SIGKILL:
            there.append(lines_of(out, results))
            if there[-1] == trials and (the_run(out) / "report.md").exists():
                code = 0
                break
        assert code in (0, 1), nursery.err.read_text()
        check_whole(out, whole, budget)
    return there


@pytest.mark.slow
def test_three_kills(nursery: Nursery, collection: Path, tmp_path: Path) -> None:
    assert len(kill_often(nursery, collection, tmp_path, FEW, 3, 1, *SMALL)) >= 3


@pytest.mark.exhaustive
def test_thirty_kills(nursery: Nursery, collection: Path, tmp_path: Path) -> None:
    there = kill_often(nursery, collection, tmp_path, TRIALS, 30, 2)
    assert sum(0 < count < TRIALS for count in there) >= 5, "kills came while trials were made"


def wait_for(process: subprocess.Popen[str], out: Path, name: str, needle: bytes, count: int) -> Path:
    files = f"effectiveness/*/{name}"
    wait_until(lambda: any(p.read_bytes().count(needle) >= count for p in out.glob(files)), process)
    return the_run(out)


def slow(collection: Path, out: Path, seconds: float, *more: str) -> list[str]:
    return arguments(collection, out, "--concurrency", "2", *more, agent=f"scripted:sleep={seconds}")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_interrupt_lets_trials_end_and_resuming_completes(collection: Path, tmp_path: Path, name: str) -> None:
    process = start(slow(collection, tmp_path, 0.1, *SMALL))
    folder = wait_for(process, tmp_path, "results.jsonl", b"\n", 3)
    process.send_signal(getattr(signal, name))
    code, out, err = finish(process)
    there = len(rows(folder / "results.jsonl"))
    assert (code, out) == (130, ""), err
    assert f"interrupted: {FEW - there} trials have no result; " in err and f"--resume {folder.name})" in err
    assert "under way has 30 s to end" in err and "Traceback" not in err
    outcomes = {row["outcome"] for row in rows(folder / "attempts.jsonl") if row["event"] == "end"}
    assert outcomes <= {"pass", "fail"}, "trials under way were allowed to end"
    code, _, err = finish(start(slow(collection, tmp_path, 0.1, *SMALL, "--resume", folder.name)))
    assert code == 0, err
    assert f"{there} results are" in err
    starts = Counter(tuple(row["key"]) for row in rows(folder / "attempts.jsonl") if row["event"] == "start")
    assert (len(starts), set(starts.values())) == (FEW, {1}), "nothing was done twice"


def processes_with(words: Sequence[str]) -> list[str]:
    """The command lines of processes that hold all of these words."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if all(word in line for word in words):
            found.append(line)
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="there is no /proc")
@pytest.mark.parametrize("how", ["twice", "kill"])
def test_what_is_abandoned_leaves_no_process_behind(
    collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    process = start(slow(collection, tmp_path / "out", 30.0))
    attempts = wait_for(process, tmp_path / "out", "attempts.jsonl", b'"start"', 2) / "attempts.jsonl"
    mine = [str(tmp_path), "job-"]
    wait_until(lambda: processes_with(mine), process)
    if how == "twice":
        interrupt_twice(process)
        code, _, err = finish(process)
        assert code == 130, err
        assert {row["outcome"] for row in rows(attempts) if row["event"] == "end"} == {"cancelled"}
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith("job-")] == []
    else:
        process.kill()
        finish(process)
    wait_until(lambda: not processes_with(mine))
