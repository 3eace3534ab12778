"""The engine of runs: what is done, what is left, what is spent, and what an interrupt stops, without any benchmark."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from skill_health.bench.journal import Journal, Key
from skill_health.bench.run.conduct import RunnerWork, RunOutcome, RunTerms, budget_of, conduct
from skill_health.bench.run.schedule import GRACE, INTERRUPTED
from skill_health.bench.run_folder import Kind, RunLocation, find_place
from skill_health.core.errors import GateError

KEYS = ("a", "b", "c")
KIND = Kind(
    "made", ("name",), lambda _: ((key,) for key in KEYS), lambda _: None, lambda record: bool(record["cost_usd"])
)
TIME = datetime(2026, 3, 1, tzinfo=UTC)


def place(folder: Path) -> RunLocation:
    """The place of the run of this folder, begun or not."""
    manifest = {"kind": "made", "hashes": {}}
    found = find_place(str(folder), manifest, TIME, KIND, anew=True)
    runs = folder / "made"
    stored = next(runs.iterdir(), None) if runs.exists() else None
    return RunLocation(str(stored), KIND, found.manifest, manifest) if stored else found


class Runner(RunnerWork[str]):
    """Does what `fails` lets it; `early` interrupts before anything is done."""

    def __init__(self, journal: Journal, terms: RunTerms, early: bool, taken: Mapping[str, Any], refused: str) -> None:
        super().__init__(journal, budget_of(terms, journal))
        self.done: list[str] = []
        self.closed = 0
        self._early, self._taken, self._refused = early, taken, refused

    def keys(self) -> Iterator[Key]:
        return ((key,) for key in KEYS)

    async def take_over(self, terms: RunTerms) -> None:
        if self._taken and (str(self._taken["name"]),) not in self.journal.results:
            await self.journal.add(self._taken)

    async def check(self, terms: RunTerms, stream: Any) -> str:
        if self._early:
            assert self.interrupt()
        return ""

    def refuse(self) -> None:
        if self._refused:
            raise GateError(self._refused)

    async def run(self, concurrency: int, grace: float = GRACE) -> None:
        left = [key for key in reversed(KEYS) if (key,) not in self.journal.results]
        await self.do(self._make, (("", key) for key in left), concurrency, {}, grace)

    async def close(self) -> None:
        self.closed += 1

    async def _make(self, name: str) -> None:
        if not await self.admitted(0.25):
            return
        self.done.append(name)
        self.charge(0.25, 0.25)
        await self.settle({"name": name, "attempts": 1, "cost_usd": 0.25}, "finished")


def go(
    folder: Path, terms: RunTerms, *, early: bool = False, taken: Mapping[str, Any] = {}, refused: str = ""
) -> tuple[RunOutcome | None, Runner, str]:
    """How it ended (None where it was refused), the runner, and what was said."""
    made: list[Runner] = []
    said = io.StringIO()

    def begin(journal: Journal) -> Runner:
        made.append(Runner(journal, terms, early, taken, refused))
        return made[0]

    def write(runner: Runner, left: int) -> RunOutcome:
        return RunOutcome(runner.journal.folder, left, report="made")

    ended = None
    with suppress(GateError):
        ended = conduct(place(folder), (), terms, said, begin, write)
    assert made[0].closed == 1
    return ended, made[0], said.getvalue()


def results(ended: RunOutcome) -> list[str]:
    return (Path(ended.folder) / "results.jsonl").read_text("utf-8").splitlines()


def test_a_run_ends_with_all_results_in_their_order_whatever_order_they_were_had_in(tmp_path: Path) -> None:
    ended, runner, _ = go(tmp_path, RunTerms(concurrency=1, quiet=True))
    assert ended == RunOutcome(runner.journal.folder, 0, report="made")
    assert runner.done == ["c", "b", "a"] and ended is not None
    assert [line.split('"name":')[1][1] for line in results(ended)] == ["a", "b", "c"]


def test_a_run_that_a_cap_ended_goes_on_with_what_is_left_and_with_what_was_spent(tmp_path: Path) -> None:
    ended, runner, _ = go(tmp_path, RunTerms(max_usd=0.5, concurrency=1, quiet=True))
    assert ended is not None and (ended.left, ended.capped, ended.report) == (1, True, "made")
    assert "the cap of $0.5000 leaves no room" in ended.reason
    again, more, _ = go(tmp_path, RunTerms(max_usd=0.5, concurrency=1, quiet=True))
    assert again is not None and (again.left, again.capped, more.done) == (1, True, [])
    last, more, _ = go(tmp_path, RunTerms(max_runs=4, max_usd=0.75, concurrency=1, quiet=True))
    assert last is not None and (last.left, last.capped, more.done) == (0, False, ["a"])
    assert (more.budget.attempts, more.budget.spent) == (3, 0.75)
    assert runner.done == ["c", "b"]


@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupt_before_the_first_call_stops_the_run(tmp_path: Path, times: int) -> None:
    for _ in range(times):
        ended, runner, _ = go(tmp_path, RunTerms(quiet=True), early=True)
        assert ended == RunOutcome(runner.journal.folder, 3, INTERRUPTED)
        assert runner.done == []


def test_what_is_taken_over_is_paid_for_elsewhere(tmp_path: Path) -> None:
    taken = {"name": "b", "attempts": 2, "cost_usd": 9.0, "taken_from": "another"}
    ended, runner, _ = go(tmp_path, RunTerms(max_usd=0.25, concurrency=1, quiet=True), taken=taken)
    assert ended is not None and (ended.left, runner.done) == (1, ["c"])
    ended, runner, _ = go(tmp_path, RunTerms(max_usd=0.5, before=(1, 0.0), concurrency=1, quiet=True), taken=taken)
    assert ended is not None and (ended.left, runner.done) == (0, ["a"])
    assert (runner.budget.attempts, runner.budget.spent) == (3, 0.5)


def test_a_run_that_is_refused_keeps_what_is_done_and_writes_no_report(tmp_path: Path) -> None:
    ended, runner, _ = go(tmp_path, RunTerms(quiet=True), refused="an agent saw too much")
    assert ended is None and len(runner.journal.results) == 3
