"""Real runs with real processes, killed at random moments: no request is lost and none counted twice."""

from __future__ import annotations

import json
import os
import random
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from collection_made import write_skills
from msgspec.structs import replace
from nursery import Nursery, kill_when, lines_of, nursery_in, rows

from skill_health.activation.report import build_activation_report
from skill_health.activation.run.runs import load_activation_run
from skill_health.documents._record import TokenUsage, record_values
from skill_health.effectiveness.sandbox._load import back_end
from skill_health.effectiveness.sandbox._quota import remove_mounted

AGENT = "planted:recall=0.6,confuse=0.2,near=0.3,stray=0.3,stay=0.3,fail=0.1,sleep=0.02"
TRIALS, FEW = 2 * 18, 18
AT_ONCE = 4
# Tests see no variable of ours, so it is read before they begin.
KILLS = int(os.environ.get("SKILL_HEALTH_KILLS", "4"))
RESULTS = "activation/*/results.jsonl"


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_skills(tmp_path_factory.mktemp("collection") / "c")


def arguments(collection: Path, out: Path, *more: str) -> list[str]:
    sandbox = "bubblewrap" if back_end("bubblewrap").found() else "none"
    return [
        "activation", "run", str(collection), "--config", str(collection / "skill-health.toml"), "--agents", AGENT,
        "--sandbox", sandbox, "--out", str(out), "--quiet", "--time", "2026-03-01T00:00:00Z", "--concurrency", str(AT_ONCE),
        *more,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def nursery(collection: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    folder = tmp_path_factory.mktemp("nursery")
    with nursery_in(folder, *arguments(collection, folder / "first", "--prompt-ids", "apples-0")) as found:
        yield found
    # A workspace may be a file system of its own, which nobody could remove as long as it is mounted.
    remove_mounted(str(folder))


def timeless(folder: Path) -> dict[str, object]:
    """Everything of a run that does not depend on how fast it went, and in which workspace what was made.

    An agent is ended once it has opened a skill; this one tells its tokens at its end, which it may come to before.
    """
    run = load_activation_run(str(folder))
    plain = {"usage": TokenUsage(), "usage_source": "", "cost_usd": None, "cost_source": "", "turns": None}
    results = [replace(result, duration_ms=None, served=0, renewed=False, **plain) for result in run.results]
    report = record_values(build_activation_report(run.manifest, results))
    return {"manifest": run.manifest, "results": results, "report": report}


def the_run(out: Path) -> Path:
    (found,) = (out / "activation").iterdir()
    return found


def check_whole(out: Path, whole: dict[str, object], trials: int, kills: int) -> None:
    folder = the_run(out)
    found = timeless(folder)
    for part in whole:
        assert found[part] == whole[part], part
    results = rows(folder / "results.jsonl")
    keys = [(row["prompt_id"], row["model"], row["size"], row["replication"]) for row in results]
    assert len(keys) == len(set(keys)) == trials
    events = rows(folder / "attempts.jsonl")
    ended = Counter((*row["key"], row["attempt"]) for row in events if row["event"] == "end")
    assert set(ended.values()) == {1}, "what came to an end is never done again"
    starts = sum(row["event"] == "start" for row in events)
    assert starts <= sum(ended.values()) + AT_ONCE * kills, "only what was in flight is paid for again"
    streams = {path.name for path in (folder / "streams").iterdir()}
    assert streams == {row["stream"].partition("/")[2] for row in results}
    assert (folder / "report.md").exists()
    history = rows(out / "activation-history.jsonl")
    assert len(history) == len({(row["model"], row["skill"]) for row in history}) == 8


def kill_often(nursery: Nursery, collection: Path, folder: Path, kills: int, seed: int, *more: str) -> list[int]:
    """Kill runs after a random number of results and resume each until it ends; how many there were after each kill."""
    draw, trials = random.Random(seed), TRIALS if more else FEW
    assert nursery.run(arguments(collection, folder / "whole", *more)) == 0, nursery.err.read_text()
    whole = timeless(the_run(folder / "whole"))
    there: list[int] = []
    runs = 0
    while len(there) < kills:
        out, own = folder / str(runs), 0
        runs += 1
        given = arguments(collection, out, *more)
        while (code := nursery.run(given, kill_when(out, RESULTS, draw, trials))) == -signal.SIGKILL:
            there.append(lines_of(out, RESULTS))
            own += 1
            if there[-1] == trials and (the_run(out) / "report.md").exists():
                code = 0
                break
        assert code == 0, nursery.err.read_text()
        check_whole(out, whole, trials, own)
    return there


@pytest.mark.exhaustive
def test_a_run_survives_kills_at_random_moments(nursery: Nursery, collection: Path, tmp_path: Path) -> None:
    there = kill_often(nursery, collection, tmp_path, KILLS, 1, "--reps", "2")
    assert len(there) >= KILLS and sum(0 < count < TRIALS for count in there) >= KILLS // 5


@pytest.mark.slow
def test_nothing_of_a_killed_run_is_left_once_it_was_resumed(
    nursery: Nursery, collection: Path, tmp_path: Path
) -> None:
    kill_often(nursery, collection, tmp_path, 1, 2)
    assert json.loads((the_run(tmp_path / "0") / "report.json").read_text())["isolation"]["proved"] == FEW
