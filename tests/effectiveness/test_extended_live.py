"""Extensions of whole runs, counted where it is paid: at the model's server, by the ship that each request is about."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_server import AgentServer
from live_runs import EACH, PLAY, begin, go
from nursery import wait_until
from run_made import SKILLS, rows, write_collection, write_task

# What is taken over is held in little time by test_extended_runs.
pytestmark = pytest.mark.exhaustive

# In the control an agent says that it is done; with a skill it opens that and does the work first.
CALLS = {"control": 1, "target": 3}
FEW, MANY = (6, 2), (9, 3)
CAP = ("--max-budget-usd", "50")
LARGE = (*CAP, "--reps", "3", "--extend", "last")
Calls = Counter[tuple[int, str]]


def asked(server: AgentServer) -> Calls:
    """How often the server was asked, by the number of the task and the model; then it forgets that."""
    calls = [request for request in server.requests if request.model_call]
    ships = (re.search(r"This is ship (\d+)\.", request.text) for request in calls)
    found = Counter((int(ship[1]), request.body["model"]) for ship, request in zip(ships, calls, strict=True) if ship)
    assert found.total() == len(calls), "a call that is about no task"
    server.clear()
    return found


def add_tasks(collection: Path) -> None:
    for number in range(FEW[0], MANY[0]):
        write_task(collection / "tasks" / f"t{number:02}", number, SKILLS[number % 3])


def results(collection: Path, run: str = "") -> list[dict[str, Any]]:
    """The results of a run, by default of the one with the most."""
    folders = (collection / "reports/effectiveness").glob(f"{run or '*'}/results.jsonl")
    return max((rows(path) for path in folders), key=len)


@pytest.fixture(scope="module")
def server() -> Iterator[AgentServer]:
    """One for all runs: a model of another server is another model."""
    with AgentServer(PLAY) as found:
        yield found


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory, server: AgentServer) -> tuple[Path, Path]:
    """A collection with a run of a few tasks with 2 replications, and a copy of it."""
    root = write_collection(tmp_path_factory.mktemp("live") / "c", FEW[0], 0)
    done = go(root, server, *CAP, "--reps", "2", arms="target", sandbox="none")
    assert done.returncode == 0, done.stderr
    assert asked(server) == {(number, "m"): 2 * sum(CALLS.values()) for number in range(FEW[0])}
    assert len(results(root)) == 2 * 2 * FEW[0]
    other = root.parent / "copy"
    shutil.copytree(root, other)
    add_tasks(root)
    add_tasks(other)
    return root, other


def new(numbers: Iterable[int]) -> Calls:
    """What three replications of these tasks ask for where two of the few were there."""
    return Counter({(number, "m"): (MANY[1] - FEW[1] * (number < FEW[0])) * sum(CALLS.values()) for number in numbers})


def check_whole(found: list[dict[str, Any]], tasks: int, taken: int) -> None:
    keys = Counter((row["task_id"], row["model"], row["arm"], row["replication"]) for row in found)
    assert (len(keys), set(keys.values())) == (2 * tasks * MANY[1], {1})
    assert {(row["arm"], row["outcome"], row["turns"]) for row in found} == {
        ("control", "fail", CALLS["control"]), ("target", "pass", CALLS["target"]),
    }  # fmt: skip
    assert sum("taken_from" in row for row in found) == taken


def _edit(root: Path, name: str) -> None:
    path = root / name
    path.write_text(path.read_text("utf-8") + "\nTake your time.\n", "utf-8")


EACH_TASK = 3 * sum(CALLS.values())
SOME = (0, 1, 3)
EDITS: dict[str, tuple[str, str, Calls]] = {
    f"skills/{SKILLS[0]}/SKILL.md": ("loop:here:m", Counter({(n, "m"): 3 * CALLS["target"] for n in (0, 3)})),
    "tasks/t01/task.md": ("loop:here:m", Counter({(1, "m"): EACH_TASK})),
    "": ("loop:here:m,loop:here:n", Counter({(number, "n"): EACH_TASK for number in SOME})),
}
"""What is edited, "" for nothing, with the models of the run and what its extension asks for then."""


def test_more_tasks_and_replications_ask_for_the_new_trials_alone_and_edits_for_theirs(
    first: tuple[Path, Path], server: AgentServer
) -> None:
    root, _ = first
    done = go(root, server, *LARGE, arms="target", sandbox="none")
    assert done.returncode == 0, done.stderr
    calls = asked(server)
    assert calls == new(range(MANY[0])) and calls.total() == 60
    assert ": 24 trials; 30 new\n" in done.stderr
    check_whole(results(root), MANY[0], 24)
    # What was paid for elsewhere counts for no cap.
    fresh = [row for row in results(root) if "taken_from" not in row]
    assert sum(row["cost_usd"] for row in fresh) == pytest.approx(60 * EACH, rel=0.2)
    done = go(root, server, *LARGE, arms="target", sandbox="none")
    assert done.returncode == 2 and "already: see" in done.stderr
    some = " ".join(f"tasks/t{number:02}" for number in SOME)
    for path, (agents, expected) in EDITS.items():
        if path:
            _edit(root, path)
        done = go(root, server, *LARGE, tasks=some, agents=agents, arms="target", sandbox="none")
        assert done.returncode == 0, (path, done.stderr)
        assert asked(server) == expected, path
    assert len({(row["task_id"], row["model"]) for row in results(root)}) == MANY[0]
    done = go(root, server, *LARGE, tasks=some, agents="loop:here:n", arms="target", sandbox="none")
    assert done.returncode == 2 and "already: see" in done.stderr
    with AgentServer(PLAY) as other:
        done = go(root, other, *LARGE, tasks=some, agents="loop:here:n", arms="target", sandbox="none")
        assert done.returncode == 2 and "--extend" in done.stderr and not asked(other), done.stderr


def test_what_is_killed_in_the_middle_of_an_extension_loses_nothing_and_pays_twice_for_one_trial_at_most(
    first: tuple[Path, Path], server: AgentServer
) -> None:
    _, root = first
    reports = root / "reports/effectiveness"
    (old,) = (path.name for path in reports.iterdir())
    before = results(root, old)
    numbers = range(1, 9)
    part = " ".join(f"tasks/t{number:02}" for number in numbers)
    taken, made = 5 * 2 * 2, 5 * 2 + 3 * 2 * 3

    def there() -> int:
        return sum(path.read_bytes().count(b"\n") for path in reports.glob("*/results.jsonl")) - len(before)

    def extension() -> subprocess.Popen[str]:
        return begin(root, server, *LARGE, "--concurrency", "1", tasks=part, arms="target", sandbox="none")

    paid: list[Calls] = []
    killed_at = []
    for wanted in (3, taken + 4, taken + 15):
        with extension() as process:
            wait_until(lambda wanted=wanted: there() >= wanted, process)  # type: ignore[misc]
            process.kill()
        assert process.returncode == -signal.SIGKILL
        killed_at.append(there())
        paid.append(asked(server))
    with extension() as process:
        _, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    paid.append(asked(server))
    assert killed_at[0] < taken and not paid[0], "the first kill came while trials were taken over"
    assert taken < killed_at[1] < killed_at[2] < taken + made, "and the others while trials were made"
    (path,) = (path for path in reports.iterdir() if path.name != old)
    found = results(root, path.name)
    check_whole(found, len(numbers), taken)
    assert results(root, old) == before, "the run that is extended is only read"
    wanted, calls = new(numbers), sum(paid, Counter())
    assert not wanted - calls and (calls - wanted).total() <= 2 * max(CALLS.values()), "one trial for each of two kills"
    events = rows(path / "attempts.jsonl")
    starts, ends = (Counter(tuple(row["key"]) for row in events if row["event"] == event) for event in ("start", "end"))
    assert len(starts) == made and starts.total() <= made + 2
    assert set(ends) == set(starts) and set(ends.values()) == {1}, "what came to its end is not made again"
    assert all((path / row["folder"] / "verdict.json").is_file() for row in found)
    kept = {each.name for each in (path / "trials").iterdir()}
    assert kept == {row["folder"].rpartition("/")[2] for row in found}, "no half of a trial is left"
