"""OpenHands itself: whole trials behind the gateway. It installs with Python 3.12 alone, so few machines have it."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from agent_trials import FOLDER, KEY, Stage, on_stage, tasks, three_conditions
from effects_made import replace
from thinned import EXHAUSTIVE, thinned

from skill_health.bench.http.endpoint import Endpoint
from skill_health.bench.providers._load import load_provider
from skill_health.config.settings import Provider, RouterSettings
from skill_health.effectiveness.agents._load import resolve
from skill_health.effectiveness.gateway._api import Upstream
from skill_health.effectiveness.run.probes import problems, run_probe
from skill_health.effectiveness.sandbox._api import SandboxLimits
from skill_health.effectiveness.tasks._api import Task

pytestmark = pytest.mark.real
TASKS = tasks()


def starts_python() -> bool:
    """Whether scripts/install_agents.sh finds the Python that OpenHands wants, which it asks in the same way."""
    if shutil.which("python3.12") is None:
        return False
    environment = os.environ | {"PYENV_VERSION": "3.12"}
    return subprocess.run(["python3.12", "-c", ""], env=environment, capture_output=True).returncode == 0


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    installed = Path(FOLDER, "openhands", "bin", "openhands")
    found = str(installed) if FOLDER and installed.exists() else shutil.which("openhands")
    if found is None:
        pytest.skip("openhands is missing: scripts/install_agents.sh" if starts_python() else "no Python 3.12")
    with on_stage(Stage, "openhands", os.path.abspath(found), tmp_path, monkeypatch) as made:
        yield made


@pytest.mark.parametrize("task", thinned(TASKS, len(TASKS), others=EXHAUSTIVE), ids=lambda task: task.slug)
def test_three_conditions(stage: Stage, task: Task) -> None:
    for arm, (result, _) in three_conditions(stage, task, tells_usage=False).items():
        assert result.evidence == (() if arm == "control" else (f"invoke_skill {task.target_name}",))
        assert result.turns == (2 if arm == "control" else 3)
        assert result.resolved_model == "some-model-1"
        assert (result.usage_source, result.cost_usd) == ("gateway", None)


def test_the_other_protocol(stage: Stage) -> None:
    (task, *_) = TASKS
    url = stage.server.url
    spec = stage.cell(task, "target").choice.spec
    choice = resolve(spec, RouterSettings(providers={"played": Provider("anthropic", url)}))
    header = load_provider("anthropic").build_key_header(KEY)
    upstream = Upstream(Endpoint(url, KEY, header), "anthropic")
    result, _ = stage.trial(task, "target", choice=choice, upstream=upstream)
    assert (result.outcome, result.invoked, result.usage_source) == ("pass", "yes", "gateway")
    assert result.usage.output_tokens == stage.server.usage().output_tokens


@pytest.mark.smoke
def test_a_skill_that_is_read_without_the_tool_for_it(stage: Stage) -> None:
    (task, *_) = TASKS
    result, _ = stage.trial(task, "target", replace(stage.play(task), reader="shell"))
    assert result.outcome == "pass"
    assert result.evidence == (f"shell: cat .agents/skills/{task.target_name}/SKILL.md",)


@pytest.mark.parametrize("prompt", ["--help", "/exit and @in.txt", "-t\n--version"])
def test_no_prompt_is_an_option_or_a_command(stage: Stage, prompt: str) -> None:
    (task, *_) = TASKS
    result, _ = stage.trial(task, "control", prompt=prompt)
    assert (result.outcome, result.tool_calls) == ("fail", 1)
    assert any(prompt in request.text for request in stage.server.bodies())


@pytest.mark.parametrize(
    ("status", "message", "outcome"),
    [
        (401, "Incorrect API key provided", "auth"),
        (402, "Insufficient Balance", "quota"),
        (400, "Invalid type for a field", "infrastructure"),
    ],
)
def test_failures_have_their_names(stage: Stage, status: int, message: str, outcome: str) -> None:
    (task, *_) = TASKS
    error = {"error": {"message": message, "type": "invalid_request_error", "code": "x"}}
    result, _ = stage.trial(task, "target", replace(stage.play(task), error=(status, error)))
    assert (result.outcome, result.invoked) == (outcome, "no")
    assert message in result.error


@pytest.mark.exhaustive
def test_what_was_done_before_the_time_was_up_is_known(stage: Stage) -> None:
    (task, *_) = TASKS
    # Of a command that prints nothing it tells its model after half a minute, and goes on.
    play = replace(stage.play(task), work="while :; do date; sleep 1; done")
    result, _ = stage.trial(task, "target", play, limits=SandboxLimits(timeout_sec=60))
    assert (result.outcome, result.invoked) == ("timeout", "yes")
    assert result.usage.input_tokens == stage.server.usage().input_tokens


def test_a_probe_shows_what_is_staged_and_spends_nothing(stage: Stage) -> None:
    (task, *_) = TASKS
    bare = asyncio.run(run_probe(stage.cell(task, "control")))
    cell = stage.cell(task, "target")
    probe = asyncio.run(run_probe(cell))
    assert (bare.offered, probe.offered) == ((), (task.target_name,))
    assert problems(cell, probe, bare) == []
    assert problems(cell, bare, None) != []
    # The gateway was closed: nothing came through.
    assert stage.server.requests == []
