"""Gemini CLI, OpenCode and Qwen Code themselves: whole trials behind the gateway, as with the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from agent_server import AgentServer, Play
from agent_trials import BEST, Stage, plant, program, tasks, three_conditions

from effectiveness.cell import Cell
from effectiveness.records import Result
from effectiveness.sandbox._api import Limits
from effectiveness.sandbox._load import back_end
from effectiveness.tasks._api import Task

pytestmark = pytest.mark.real
TASKS = tasks()
PROGRAMS = {"gemini-cli": "gemini", "opencode": "opencode", "qwen-code": "qwen"}
BUNDLED = {"qwen-code": {"batch", "qc-helper", "review"}}
"""Skills that an agent brings and nobody can switch off."""
TOOL = {"gemini-cli": "activate_skill", "opencode": "skill", "qwen-code": "skill"}


@dataclass
class Bringing(Stage):
    """A stage for agents that list skills of their own, the same in every arm."""

    def cell(self, task: Task, arm: str, **more: object) -> Cell:
        return super().cell(task, arm, **{"expected": tuple(BUNDLED.get(self.agent, ())), **more})

    def trial(self, task: Task, arm: str, play: Play | None = None, **more: object) -> tuple[Result, Path]:
        result, place = super().trial(task, arm, play, **more)
        own = BUNDLED.get(self.agent, set())
        assert result.seen is None or own <= set(result.seen)
        seen = None if result.seen is None else tuple(name for name in result.seen if name not in own)
        return replace(result, seen=seen), place


@pytest.fixture
def stage(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    agent, sandbox = request.param
    found = program(PROGRAMS[agent])
    if not back_end(sandbox).found():
        pytest.skip(back_end(sandbox).missing())
    plant(monkeypatch, tmp_path / "home")
    (tmp_path / "trials").mkdir()
    with AgentServer() as server:
        yield Bringing(agent, found, server, tmp_path / "trials", sandbox)


def on(*agents: str, sandbox: str = BEST) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("stage", [(agent, sandbox) for agent in agents], indirect=True, ids=agents)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.slug)
@on(*PROGRAMS)
def test_three_conditions(stage: Stage, task: Task) -> None:
    for arm, (result, _) in three_conditions(stage, task).items():
        assert result.evidence == (() if arm == "control" else (f"{TOOL[stage.agent]} {task.target_skill}",))
        assert result.turns == (2 if arm == "control" else 3)
        assert result.resolved_model == "some-model-1"
        assert (result.usage_source, result.cost_usd) == ("gateway", None)
