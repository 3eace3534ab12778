"""Trials that workers make, with workers that are played: what they are told, what is written here, and lost ones."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from agent_server import AgentServer
from live_runs import KEY, PLAY, SANDBOX, words
from nursery import rows
from run_made import only_read, the_run, write_collection

from skill_health.commands.effectiveness import command as group
from skill_health.core.errors import AbortedError
from skill_health.effectiveness.run.runs import load_run
from skill_health.effectiveness.trial.spec import TrialSpec
from skill_health.executors import _load
from skill_health.executors._api import WorkerLostError

TIME = "2026-03-01T00:00:00Z"


@dataclass
class PlayedWorkers:
    """Does the work here, at paths that are none of this machine, and loses it now and then."""

    lose: Callable[[int], bool] = lambda number: False
    workers: int = 2
    host: str = "127.0.0.1"
    calls: int = 0
    told: list[str] = field(default_factory=list)
    shared: dict[int, Any] = field(default_factory=dict)

    def share(self, value: Any) -> Any:
        self.shared[id(value)] = value
        return value

    async def call(self, work: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
        self.calls += 1
        cell, place, *rest = arguments
        assert isinstance(cell, TrialSpec) and not cell.secrets and not cell.skills and not cell.task.files
        self.told.append(repr(cell) + (repr(cell.upstream.endpoint.key) if cell.upstream else ""))
        if self.lose(self.calls):
            raise WorkerLostError("its machine is gone")
        made = await work(cell, f"/nowhere/runs/trials/{os.path.basename(place)}", *rest)
        assert not Path("/nowhere").exists()
        return made

    def close(self) -> None:
        """Nobody is held."""


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = write_collection(tmp_path / "collection", 3, 0)
    monkeypatch.chdir(root)
    only_read(monkeypatch)
    return root


def begin(monkeypatch: pytest.MonkeyPatch, workers: PlayedWorkers | None, *given: str, out: str = "reports") -> int:
    @contextmanager
    def opened(spec: str) -> Iterator[PlayedWorkers]:
        assert workers is not None
        yield workers

    with monkeypatch.context() as patch:
        if workers is not None:
            patch.setattr(_load, "open_executor", opened)
        more = ("--executor", "played") if workers else ()
        code: int = group.main(
            ["run", "tasks", "--time", TIME, "--quiet", "--out", out, *given, *more], standalone_mode=False
        )
    return code


def outcomes(out: str) -> list[tuple[Any, ...]]:
    return [(each.key, each.outcome, each.reward, each.skills) for each in load_run(str(the_run(Path(out)))).results]


SCRIPTED = ("--agents", "scripted:base=0.3,target=0.6", "--sandbox", SANDBOX, "--arms", "target,full", "--reps", "2")


@pytest.mark.slow
def test_workers_get_each_text_once_and_no_path_of_here(collection: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert begin(monkeypatch, None, *SCRIPTED, out="here") in (0, 1)
    workers = PlayedWorkers()
    assert begin(monkeypatch, workers, *SCRIPTED, out="there") in (0, 1)
    assert outcomes("there") == outcomes("here")
    assert workers.calls == len(outcomes("here")) and len(workers.shared) <= 3 + 2 * 4
    kept = [sorted(p.name for p in (the_run(Path(out)) / "trials").iterdir()) for out in ("here", "there")]
    assert kept[0] == kept[1]


@pytest.mark.slow
def test_a_lost_worker_is_a_failed_attempt_and_three_are_a_missing_trial(
    collection: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = PlayedWorkers(lose=lambda number: number % 3 == 1)
    assert begin(monkeypatch, few, *SCRIPTED, out="few") in (0, 1)
    events = rows(the_run(Path("few")) / "attempts.jsonl")
    lost = [row for row in events if row["event"] == "end" and row["outcome"] == "infrastructure"]
    assert lost and all("its machine is gone" in row["error"] for row in lost)
    assert {outcome for _, outcome, _, _ in outcomes("few")} <= {"pass", "fail"}
    assert begin(monkeypatch, None, *SCRIPTED, out="here") in (0, 1)
    assert outcomes("few") == outcomes("here")
    every = PlayedWorkers(lose=lambda number: True)
    with pytest.raises(AbortedError):
        begin(monkeypatch, every, *SCRIPTED, "--concurrency", "1", out="every")
    assert begin(monkeypatch, PlayedWorkers(), *SCRIPTED, out="every") in (0, 1)
    assert outcomes("every") == outcomes("here")


@pytest.mark.slow
def test_a_worker_is_told_no_key_and_its_agent_asks_all_the_same(
    collection: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_KEY", KEY)
    with AgentServer(PLAY) as server:
        # Without `effectiveness run tasks`, which `begin` says.
        live, workers = words(collection, server, "--max-budget-usd", "5", arms="target")[3:], PlayedWorkers()
        assert begin(monkeypatch, workers, *live) in (0, 1)
        asked = [request for request in server.requests if request.model_call]
    assert asked and workers.calls == 6
    assert not any(KEY in told for told in workers.told)
    assert {row["cost_source"] for row in rows(the_run(Path("reports")) / "results.jsonl")} == {"gateway"}
    assert not any(KEY.encode() in path.read_bytes() for path in Path("reports").rglob("*") if path.is_file())
