"""Real agents against a model that opens a skill, another, two, none: what each detector makes of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from activation_bench import PROGRAMS, LoadBench, agent_module, prompt_named
from agent_trials import plant, program
from loading_server import Habit, LoadingServer
from thinned import EXHAUSTIVE
from trial_bench import needs_bubblewrap

pytestmark = pytest.mark.real

ONE, OTHER = "csv-cleaning", "log-triage"
PLANTED = {
    "known": Habit((ONE,), "skill"), "other": Habit((OTHER,), "skill"), "two": Habit((OTHER, ONE), "skill"),
    "cat": Habit((ONE,), "shell"), "file": Habit((ONE,), "file"), "after": Habit((ONE,), "skill", first=("ls",)),
    "words": Habit((ONE,), "words"), "folder": Habit((ONE,), "list"), "found": Habit((ONE,), "grep"),
    "nothing": Habit(), "late": Habit((ONE,), "skill", first=("echo a", "echo b", "echo c", "echo d")),
}  # fmt: skip
FIRST = {
    "known": ONE, "other": OTHER, "two": OTHER, "cat": ONE, "file": ONE, "after": ONE, "words": None, "folder": None,
    "found": None, "nothing": None, "late": None,
}  # fmt: skip
TEXTS = {name: f"This is the request number {nth:02d} of all, please see to it." for nth, name in enumerate(PLANTED)}


# Those of one minute are for the whole suite.
SLOWEST = ("opencode", "qwen-code")


@pytest.fixture(params=[pytest.param(each, marks=[EXHAUSTIVE] * (each in SLOWEST)) for each in PROGRAMS])
def bench(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoadBench]:
    agent = request.param
    needs_bubblewrap()
    found = program(PROGRAMS[agent], PROGRAMS[agent]) if PROGRAMS[agent] else ""
    plant(monkeypatch, tmp_path / "home")
    with LoadingServer(TEXTS, PLANTED, agent_module(agent).SKILLS) as server:
        prompts = [prompt_named(name, text) for name, text in TEXTS.items()]
        yield LoadBench(agent, found, server, tmp_path, prompts)


def test_each_way_of_opening_a_skill_is_told(bench: LoadBench) -> None:
    found = {record.result.prompt_id: record for record in bench.loads(bench.prompts)}
    results = {name: record.result for name, record in found.items()}
    assert {name: result.error for name, result in results.items() if result.error} == {}
    assert {name: result.first for name, result in results.items()} == FIRST
    told = {name: result.loaded for name, result in results.items()}
    assert told == {name: "yes" if first else "no" for name, first in FIRST.items()}
    assert {name for name, result in results.items() if result.outcome == "turn_limit"} == {"late"}
    for name in ("words", "folder", "found", "nothing"):
        assert results[name].outcome == "answered", name
    # It is ended at the first skill: the second is never asked for, and no call is paid after it.
    assert results["two"].opened == (OTHER,)
    for name in ("known", "other", "two", "cat", "file"):
        assert results[name].turns == bench.server.calls[name] == 1, (name, results[name].turns, bench.server.calls)
    assert bench.server.calls["after"] == 2 and bench.server.calls["late"] == bench.turns
    for result in results.values():
        assert set(result.offered or ()) == set(bench.skills)
        assert result.usage_source == "gateway" and result.cost_usd == 0.0
        assert (result.tree, result.renewed) == (next(iter(results.values())).tree, False)
    assert sum(result.served > 0 for result in results.values()) == len(results) - 1
