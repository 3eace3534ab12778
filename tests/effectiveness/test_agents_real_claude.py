"""Claude Code itself: three tasks under three conditions, each a whole trial behind the gateway."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from agent_made import made_job
from agent_trials import LEAKY, Stage, loads_when_ordered, on_stage, probes_agree, program, tasks, three_conditions
from effects_made import replace

from skill_health.effectiveness.agents import claude_code
from skill_health.effectiveness.agents._api import ProgramOutput
from skill_health.effectiveness.sandbox._api import SandboxLimits
from skill_health.effectiveness.tasks._api import Task

pytestmark = pytest.mark.real
TASKS = tasks()


@pytest.fixture
def stage(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    sandbox = getattr(request, "param", "")
    with on_stage(Stage, "claude-code", program("claude"), tmp_path, monkeypatch, sandbox) as made:
        yield made


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.slug)
@pytest.mark.parametrize("stage", ["bubblewrap", "none"], indirect=True)
def test_three_conditions(stage: Stage, task: Task) -> None:
    for arm, (result, _) in three_conditions(stage, task).items():
        assert result.seen is not None
        assert result.evidence == (() if arm == "control" else (f"Skill {task.target_name}",))
        assert result.turns == (2 if arm == "control" else 3)
        assert result.resolved_model == "some-model-1"


@pytest.mark.parametrize("reader", ["file", "shell"])
def test_a_skill_that_is_read_without_the_tool_for_it(stage: Stage, reader: str) -> None:
    (task, *_) = TASKS
    result, _ = stage.trial(task, "target", replace(stage.play(task), reader=reader))
    path = f".claude/skills/{task.target_name}/SKILL.md"
    assert result.outcome == "pass"
    assert result.evidence == ((f"Read {path}",) if reader == "file" else (f"shell: cat {path}",))


def test_the_probe_shows_what_is_staged(stage: Stage) -> None:
    probes_agree(stage, TASKS[0], own=True)


def test_an_ordered_skill_is_loaded_by_the_programs_own_means(stage: Stage) -> None:
    loads_when_ordered(stage, TASKS[0])


@pytest.mark.smoke
def test_the_irrelevant_skill_is_offered_alone_and_not_opened(stage: Stage) -> None:
    (task, *_) = TASKS
    result, _ = stage.trial(task, "negative")
    assert (result.outcome, result.invoked) == ("fail", "no")
    assert stage.seen() == {task.irrelevant_skill} == set(result.seen or ())


@pytest.mark.parametrize("prompt", ["--version", "/cost", "-p", "!ls", "\n"])
def test_no_prompt_is_a_command(stage: Stage, prompt: str) -> None:
    (task, *_) = TASKS
    result, _ = stage.trial(task, "control", prompt=f"{prompt} and so on")
    assert (result.outcome, result.tool_calls) == ("fail", 1)
    assert f"{prompt} and so on" in stage.server.bodies()[0].text


def failure(status: int, kind: str, message: str) -> tuple[int, Mapping[str, Any]]:
    return status, {"type": "error", "error": {"type": kind, "message": message}}


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (failure(401, "authentication_error", "invalid x-api-key"), "auth"),
        (failure(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."), "quota"),
        (failure(400, "invalid_request_error", "messages: too long"), "infrastructure"),
        (failure(404, "not_found_error", "model: some-model-1"), "infrastructure"),
        (None, "refusal"),
    ],
    ids=["key", "credit", "request", "model", "refusal"],
)
def test_failures_have_their_names(stage: Stage, error: tuple[int, Mapping[str, Any]] | None, outcome: str) -> None:
    (task, *_) = TASKS
    result, _ = stage.trial(task, "target", replace(stage.play(task), error=error, refuses=error is None))
    assert result.outcome == outcome
    assert result.error or outcome == "refusal"


def test_what_was_done_before_the_time_was_up_is_known(stage: Stage) -> None:
    (task, *_) = TASKS
    play = replace(stage.play(task), work="sleep 300")
    result, _ = stage.trial(task, "target", play, limits=SandboxLimits(timeout_sec=5))
    assert (result.outcome, result.invoked, result.tool_calls) == ("timeout", "yes", 2)
    assert result.usage.input_tokens == stage.server.usage().input_tokens


def listed(argv: tuple[str, ...], stage: Stage, **env: str) -> tuple[str, ...] | None:
    """What the program lists when it is started so, without a sandbox."""
    given = {
        "PATH": os.environ["PATH"], "ANTHROPIC_BASE_URL": stage.server.url, "ANTHROPIC_API_KEY": "x", "IS_SANDBOX": "1",
    }  # fmt: skip
    more = {"env": given | env, "cwd": stage.folder, "timeout": 600}
    done = subprocess.run(argv, input=b"/cost", capture_output=True, check=False, **more)
    return claude_code.listed(ProgramOutput(done.returncode, done.stdout, done.stderr))


def test_the_planted_skill_would_leak_into_an_agent_that_is_started_otherwise(stage: Stage) -> None:
    command = claude_code.probe(replace(made_job(), program=stage.program))
    at = command.argv.index("--setting-sources")
    careless = command.argv[:at] + command.argv[at + 2 :]
    assert LEAKY in (listed(careless, stage, HOME=os.environ["HOME"]) or ())
    assert listed(command.argv, stage, **{**command.env, "HOME": os.environ["HOME"], "CLAUDE_CONFIG_DIR": ""}) == ()
    assert stage.server.requests == []
