"""Codex itself: three tasks under three conditions, each a whole trial behind the gateway."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from agent_made import made_job
from agent_server import Play
from agent_trials import LEAKY, Stage, loads_when_ordered, on_stage, probes_agree, program, tasks, three_conditions
from effects_made import replace

from skill_health.effectiveness.agents import codex
from skill_health.effectiveness.agents._api import ProgramOutput
from skill_health.effectiveness.sandbox._api import SandboxLimits
from skill_health.effectiveness.tasks._api import Task

pytestmark = pytest.mark.real
TASKS = tasks()


@pytest.fixture
def stage(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    sandbox = getattr(request, "param", "")
    with on_stage(Stage, "codex", program("codex"), tmp_path, monkeypatch, sandbox) as made:
        yield made


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.slug)
@pytest.mark.parametrize("stage", ["bubblewrap", "none"], indirect=True)
def test_three_conditions(stage: Stage, task: Task) -> None:
    for arm, (result, _) in three_conditions(stage, task).items():
        path = f".agents/skills/{task.target_name}/SKILL.md"
        assert result.evidence == (() if arm == "control" else (f"shell: cat {path}",))
        assert (result.seen, result.turns) == (None, None)


def test_the_probe_shows_what_is_staged(stage: Stage) -> None:
    probes_agree(stage, TASKS[0], own=True)


def test_an_ordered_skill_is_loaded_by_the_programs_own_means(stage: Stage) -> None:
    loads_when_ordered(stage, TASKS[0])


@pytest.mark.smoke
def test_the_irrelevant_skill_is_offered_alone_and_not_opened(stage: Stage) -> None:
    (task, *_) = TASKS
    result, _ = stage.trial(task, "negative")
    assert (result.outcome, result.invoked) == ("fail", "no")
    assert stage.seen() == {task.irrelevant_skill}


@pytest.mark.parametrize("prompt", ["--version", "/status", "-", "!ls", "resume"])
def test_no_prompt_is_a_command(stage: Stage, prompt: str) -> None:
    (task, *_) = TASKS
    result, _ = stage.trial(task, "control", prompt=f"{prompt} and so on")
    assert (result.outcome, result.tool_calls) == ("fail", 1)
    assert f"{prompt} and so on" in stage.server.bodies()[0].text


def failure(status: int, kind: str, message: str, code: str | None = None) -> tuple[int, Mapping[str, Any]]:
    return status, {"error": {"type": kind, "message": message, "code": code, "param": None}}


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (failure(401, "invalid_request_error", "Incorrect API key provided.", "invalid_api_key"), "auth"),
        (failure(429, "insufficient_quota", "You exceeded your current quota.", "insufficient_quota"), "quota"),
        (failure(400, "invalid_request_error", "Invalid 'input'"), "infrastructure"),
        (failure(404, "invalid_request_error", "The model `m` does not exist.", "model_not_found"), "infrastructure"),
        (failure(400, "invalid_request_error", "Your prompt was flagged by our usage policy.", "invalid_prompt"), "refusal"),
    ],
    ids=["key", "credit", "request", "model", "policy"],
)  # fmt: skip
def test_failures_have_their_names(stage: Stage, error: tuple[int, Mapping[str, Any]], outcome: str) -> None:
    (task, *_) = TASKS
    result, _ = stage.trial(task, "target", replace(stage.play(task), error=error))
    assert result.outcome == outcome
    assert result.error or outcome == "refusal"


def test_what_was_done_before_the_time_was_up_is_known(stage: Stage) -> None:
    (task, *_) = TASKS
    play = replace(stage.play(task), work="sleep 300")
    result, _ = stage.trial(task, "target", play, limits=SandboxLimits(timeout_sec=5))
    assert (result.outcome, result.invoked, result.tool_calls) == ("timeout", "yes", 2)
    assert result.usage.input_tokens == stage.server.usage().input_tokens


def test_a_patch_is_a_call_of_a_tool(stage: Stage) -> None:
    (task, *_) = TASKS
    patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: new.txt\n+hello\n*** End Patch\nEOF"
    result, place = stage.trial(task, "control", Play(half=patch))
    assert result.tool_calls == 1
    assert "+hello" in (place / "diff.patch").read_text() and "file_change" in (place / "trajectory.json").read_text()


def listed(stage: Stage, home: Path) -> tuple[str, ...] | None:
    """What the program lists when it is started with this home, without a sandbox."""
    command = codex.probe(replace(made_job(), program=stage.program, home=str(stage.folder)))
    for file in command.files:
        place = stage.folder / file.path
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(file.data)
    env = {"PATH": os.environ["PATH"], **command.env, "HOME": str(home)}
    done = subprocess.run(command.argv, env=env, capture_output=True, cwd=stage.folder, check=False, timeout=600)
    return codex.listed(ProgramOutput(done.returncode, done.stdout, done.stderr))


def test_the_planted_skill_would_leak_into_an_agent_that_is_started_otherwise(stage: Stage) -> None:
    assert listed(stage, Path(os.environ["HOME"])) == (LEAKY,)
    assert listed(stage, stage.folder) == ()
