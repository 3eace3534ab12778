"""Gemini CLI, OpenCode and Qwen Code themselves: whole trials behind the gateway, as with the others."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from agent_made import made_job
from agent_server import Play
from agent_trials import BEST, KEY, LEAKY, Stage, on_stage, program, tasks, three_conditions
from effects_made import replace
from thinned import EXHAUSTIVE, thinned

from skill_health.bench.http.endpoint import Endpoint
from skill_health.bench.providers._load import load_provider
from skill_health.config.settings import Provider, RouterSettings
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.agents._api import Command, ProgramOutput
from skill_health.effectiveness.agents._load import resolve
from skill_health.effectiveness.gateway._api import Upstream
from skill_health.effectiveness.run.probes import problems, run_probe
from skill_health.effectiveness.sandbox._api import SandboxLimits
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.trial.spec import TrialSpec
from skill_health.effectiveness.workspace.folders import write_files

pytestmark = pytest.mark.real
TASKS = tasks()
PROGRAMS = {"gemini-cli": "gemini", "opencode": "opencode", "qwen-code": "qwen"}
BUNDLED = {"qwen-code": {"batch", "qc-helper", "review"}}
"""Skills that an agent brings and nobody can switch off."""
TOOL = {"gemini-cli": "activate_skill", "opencode": "skill", "qwen-code": "skill"}


@dataclass
class Bringing(Stage):
    """A stage for agents that list skills of their own, the same in every arm, and speak several protocols."""

    protocol: str = ""

    def cell(self, task: Task, arm: str, **more: object) -> TrialSpec:
        cell = super().cell(task, arm, **{"expected": tuple(BUNDLED.get(self.agent, ())), **more})
        if not self.protocol:
            return cell
        choice = resolve(
            cell.choice.spec, RouterSettings(providers={"played": Provider(self.protocol, self.server.url)})
        )
        header = load_provider(self.protocol).build_key_header(KEY)
        upstream = Upstream(Endpoint(self.server.url, KEY, header), self.protocol)
        return replace(cell, choice=choice, upstream=upstream)

    def trial(self, task: Task, arm: str, play: Play | None = None, **more: object) -> tuple[TrialResult, Path]:
        result, place = super().trial(task, arm, play, **more)
        own = BUNDLED.get(self.agent, set())
        assert result.seen is None or own <= set(result.seen)
        seen = None if result.seen is None else tuple(name for name in result.seen if name not in own)
        return replace(result, seen=seen), place


@pytest.fixture
def stage(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    agent, sandbox = request.param
    with on_stage(Bringing, agent, program(PROGRAMS[agent]), tmp_path, monkeypatch, sandbox) as made:
        yield made


def on(*agents: str, sandbox: str = BEST) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("stage", [(agent, sandbox) for agent in agents], indirect=True, ids=agents)


@pytest.mark.parametrize("task", thinned(TASKS, len(TASKS), others=EXHAUSTIVE), ids=lambda task: task.slug)
@on(*PROGRAMS)
def test_three_conditions(stage: Stage, task: Task) -> None:
    for arm, (result, _) in three_conditions(stage, task).items():
        assert result.evidence == (() if arm == "control" else (f"{TOOL[stage.agent]} {task.target_name}",))
        assert result.turns == (2 if arm == "control" else 3)
        assert result.resolved_model == "some-model-1"
        assert (result.usage_source, result.cost_usd) == ("gateway", None)


@on("gemini-cli", sandbox="none")
def test_without_a_sandbox(stage: Stage) -> None:
    three_conditions(stage, TASKS[0])


@pytest.mark.parametrize(
    ("stage", "protocol"),
    [
        (("opencode", BEST), "anthropic"), (("opencode", BEST), "openai-responses"), (("opencode", BEST), "gemini"),
        (("qwen-code", BEST), "anthropic"), (("qwen-code", BEST), "gemini"),
    ],
    indirect=["stage"], ids=lambda value: value if isinstance(value, str) else value[0],
)  # fmt: skip
def test_the_other_protocols(stage: Bringing, protocol: str) -> None:
    stage.protocol = protocol
    result, _ = stage.trial(TASKS[0], "target")
    assert (result.outcome, result.invoked, result.usage_source) == ("pass", "yes", "gateway")
    assert stage.seen() == {TASKS[0].target_name}
    assert result.usage.input_tokens == stage.server.usage().input_tokens


@pytest.mark.smoke
@on(*PROGRAMS)
def test_a_skill_that_is_read_without_the_tool_for_it(stage: Stage) -> None:
    (task, *_) = TASKS
    result, _ = stage.trial(task, "target", replace(stage.play(task), reader="shell"))
    folder = import_module(f"skill_health.effectiveness.agents.{stage.agent.replace('-', '_')}").SKILLS
    assert result.outcome == "pass"
    assert result.evidence == (f"shell: cat {folder}/{task.target_name}/SKILL.md",)


@on(*PROGRAMS)
def test_no_prompt_is_a_command_and_answers_have_a_limit(stage: Stage) -> None:
    (task, *_) = TASKS
    result, _ = stage.trial(task, "control", prompt="/stats and @in.txt and so on", max_output_tokens=777)
    assert (result.outcome, result.tool_calls) == ("fail", 1)
    (first, *_) = stage.server.bodies()
    assert "/stats and @in.txt and so on" in first.text
    limits = (first.body.get("max_tokens"), first.body.get("generationConfig", {}).get("maxOutputTokens"))
    assert 777 in limits


@on("gemini-cli")
def test_a_long_trial_asks_its_own_model_alone(stage: Stage) -> None:
    """After 30 turns it looks for loops, by a model of its own choice where nobody has named another."""
    (task, *_) = TASKS
    result, _ = stage.trial(task, "target", replace(stage.play(task), before=40))
    asked = [request for request in stage.server.requests if request.model_call]
    assert {request.path.partition("/models/")[2].partition(":")[0] for request in asked} == {"some-model-1"}
    assert any(not request.has_tools for request in asked), "it never looked for loops"
    assert (result.outcome, result.error) == ("pass", "")
    assert not any("refused" in note for note in result.notes)


def failure(agent: str, status: int, message: str, code: str) -> tuple[int, dict[str, Any]]:
    if agent == "gemini-cli":
        return status, {"error": {"code": status, "message": message, "status": code.upper()}}
    return status, {"error": {"message": message, "type": "invalid_request_error", "code": code}}


@pytest.mark.parametrize(
    ("status", "message", "code", "outcome"),
    [
        (401, "Incorrect API key provided", "invalid_api_key", "auth"),
        (402, "Insufficient Balance", "payment_required", "quota"),
        (400, "Invalid type for a field", "invalid_argument", "infrastructure"),
    ],
)
@on(*PROGRAMS)
def test_failures_have_their_names(stage: Stage, status: int, message: str, code: str, outcome: str) -> None:
    (task, *_) = TASKS
    error = failure(stage.agent, status, message, code)
    result, _ = stage.trial(task, "target", replace(stage.play(task), error=error))
    assert (result.outcome, result.invoked) == (outcome, "no")
    assert message in result.error


@on("gemini-cli", "opencode")
def test_a_refusal_is_one(stage: Stage) -> None:
    (task, *_) = TASKS
    result, _ = stage.trial(task, "target", replace(stage.play(task), refuses=True))
    assert result.outcome == "refusal"


@on(*PROGRAMS)
def test_what_was_done_before_the_time_was_up_is_known(stage: Stage) -> None:
    (task, *_) = TASKS
    play = replace(stage.play(task), work="tail -f /dev/null")
    result, _ = stage.trial(task, "target", play, limits=SandboxLimits(timeout_sec=20))
    assert (result.outcome, result.invoked) == ("timeout", "yes")
    assert result.usage.input_tokens == stage.server.usage().input_tokens


@on(*PROGRAMS)
def test_a_probe_shows_what_is_staged_and_spends_nothing(stage: Stage) -> None:
    (task, *_) = TASKS
    own = BUNDLED.get(stage.agent, set())
    bare = asyncio.run(run_probe(stage.cell(task, "control")))
    cell = stage.cell(task, "target")
    probe = asyncio.run(run_probe(cell))
    assert (set(bare.own or ()), bare.offered) == (own, ())
    assert (set(probe.own or ()), probe.offered) == (own | {task.target_name}, (task.target_name,))
    assert problems(cell, probe, bare) == problems(cell, bare, None)[:0] == []
    assert problems(cell, bare, None) != []
    # The gateway was closed: nothing came through.
    assert stage.server.requests == []


def listed(stage: Stage, command: Command, **env: str) -> tuple[str, ...]:
    """What a program lists when it is started so, without a sandbox, in a folder below one with a planted skill."""
    place = stage.folder / "outer" / "inner"
    place.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        command.argv, input=command.stdin, capture_output=True, cwd=place, check=False, timeout=600,
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **env},
    )  # fmt: skip
    module = import_module(f"skill_health.effectiveness.agents.{stage.agent.replace('-', '_')}")
    found = module.listed(ProgramOutput(done.returncode, done.stdout, done.stderr))
    assert found is not None, done.stderr
    return tuple(found)


@on(*PROGRAMS, sandbox="none")
def test_the_planted_skill_would_leak_into_an_agent_that_is_started_otherwise(stage: Stage) -> None:
    module = import_module(f"skill_health.effectiveness.agents.{stage.agent.replace('-', '_')}")
    fresh = stage.folder / "fresh"
    fresh.mkdir()
    job = replace(
        made_job(protocol=module.PROTOCOLS[0]), program=stage.program, base_url=stage.server.url, home=str(fresh),
        workspace=str(stage.folder / "outer" / "inner"),
    )  # fmt: skip
    above = stage.folder / "outer" / module.SKILLS / "above"
    above.mkdir(parents=True)
    (above / "SKILL.md").write_text(
        "---\nname: above\ndescription: Lies in a folder above the workspace.\n---\n# Above\n"
    )
    command = module.probe(job)
    trusting = {name: value for name, value in command.env.items() if "KEY" in name or "TRUST" in name or "URL" in name}
    careless = listed(stage, command, **trusting)
    assert LEAKY in careless
    assert ("above" in careless) == (stage.agent == "opencode")
    write_files(str(fresh), command.files)
    assert not {LEAKY, "above"} & set(listed(stage, command, **{**command.env, "HOME": str(fresh)}))
    assert stage.server.requests == []


@pytest.mark.parametrize("sandbox", dict.fromkeys((BEST, "none")))
def test_an_agent_behind_the_agent_client_protocol(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sandbox: str
) -> None:
    pytest.importorskip("acp")
    (task, *_) = TASKS
    settings = {"acp-command": ("qwen", "--acp", "--auth-type", "openai"), "acp-env": {"QWEN_CODE_NO_RELAUNCH": "true"}}
    with on_stage(Stage, "acp", program("qwen"), tmp_path, monkeypatch, sandbox) as stage:
        for arm, outcome in (("control", "fail"), ("target", "pass")):
            result, _ = stage.trial(task, arm, settings=settings)
            assert (result.outcome, result.error, result.stop_reason) == (outcome, "", "end_turn")
            assert stage.seen() == {name for name, _ in result.skills}
            assert result.evidence == ((f"skill {task.target_name}",) if arm == "target" else ())
            # The agent tells no tokens: the gateway does.
            assert result.usage_source == "gateway"
            assert result.usage.input_tokens == stage.server.usage().input_tokens
