"""Whole trials of real agent programs over the tasks of the fixtures, against a model that is played on loopback."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import shutil
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from agent_server import AgentServer, Play
from effects_made import replace
from scripted_bench import fixture_copies, fixture_tasks
from trial_bench import needs_bubblewrap

from skill_health.bench.http.endpoint import Endpoint
from skill_health.bench.providers._load import load_provider
from skill_health.config.settings import Provider, RouterSettings
from skill_health.core.validation import problems
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.agents._load import resolve
from skill_health.effectiveness.gateway._api import Upstream
from skill_health.effectiveness.records import SkillCopy
from skill_health.effectiveness.run.probes import Probe, run_probe
from skill_health.effectiveness.run.probes import problems as problems_of
from skill_health.effectiveness.sandbox import bubblewrap
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.trial.spec import TrialSpec
from skill_health.effectiveness.trial.trial import run_trial
from skill_health.effectiveness.trial.visibility import wanted_offers
from skill_health.effectiveness.workspace.staging import parse_arm, prompt_of, staged

VARIABLE = "SKILL_HEALTH_AGENTS"
"""Names a folder with a prefix of npm for each agent."""
# Tests see no variable of ours, so it is read before they begin.
FOLDER = os.environ.get(VARIABLE, "")
TASKS = ("002-customer-merge", "007-wrong-total", "013-ring-sightings-handoff")
ARMS = ("control", "target", "full")
KEY = "sk-live-Qz7Xw9Rt2Lm4Vb6Np8Ks3Jd5Hf1Gc0"
PLANTED = "hunter2-Tz8Yq1Wm5Xc3Vn7Bk9"
LEAKY = "leaky-habits"
BEST = "bubblewrap" if bubblewrap.found() else "none"


def program(name: str, prefix: str = "") -> str:
    """The path of an agent's program. Skips the test where there is none."""
    path = Path(FOLDER, prefix or name, "node_modules", ".bin", name) if FOLDER else None
    found = str(path) if path and path.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is missing: bash scripts/install_agents.sh, and {VARIABLE} names its folder build/agents")
    return os.path.realpath(found)


@dataclass
class Stage:
    """One agent with its server, and where its trials are kept."""

    agent: str
    program: str
    server: AgentServer
    folder: Path
    back_end: str = BEST
    skills: Mapping[str, SkillCopy] = field(default_factory=fixture_copies)

    def cell(self, task: Task, arm: str, **more: object) -> TrialSpec:
        """What `effectiveness run` would make of it."""
        module = import_module(f"skill_health.effectiveness.agents.{self.agent.replace('-', '_')}")
        protocol = module.PROTOCOLS[0]
        routing = RouterSettings(providers={"played": Provider(protocol, self.server.url)})
        choice = resolve(f"{self.agent}:played:some-model-1", routing)
        named = parse_arm(arm)
        chosen = staged(task, named, self.skills)
        assert not isinstance(chosen, str), chosen
        cell = TrialSpec(
            task=task, arm=named, choice=choice, replication=0, skills=chosen, prompt=prompt_of(task, named, chosen),
            collection={skill.name: skill.description for skill in self.skills.values()}, program=self.program,
            back_end=self.back_end, secrets=(KEY, PLANTED), expected=(),
            upstream=Upstream(Endpoint(self.server.url, KEY, load_provider(protocol).build_key_header(KEY)), protocol),
        )  # fmt: skip
        return replace(cell, **more)  # type: ignore[arg-type]

    def trial(self, task: Task, arm: str, play: Play | None = None, **more: object) -> tuple[TrialResult, Path]:
        """One trial, and the folder in which it is kept; nothing in there holds a secret."""
        cell = self.cell(task, arm, **more)
        self.server.play = play or self.play(task)
        self.server.clear()
        place = self.folder / f"{task.id}-{arm}-{len(list(self.folder.iterdir()))}"
        result = asyncio.run(run_trial(cell, str(place)))
        assert self.server.faults == []
        found = {name for name, data in kept(place) for word in (KEY, PLANTED) if word.encode() in data}
        assert found == set()
        return result, place

    def play(self, task: Task) -> Play:
        """A model that solves the task where it is offered the target skill, and otherwise looks around."""
        agent = import_module(f"skill_health.effectiveness.agents.{self.agent.replace('-', '_')}")
        target = self.skills[str(task.target_name)]
        leak = "env | sort > environment.txt"
        return Play(
            watched={target.name: target.description}, folder=agent.SKILLS, work=f"{solution(task)}; {leak}",
            half=f"ls -a; {leak}", final=f"All done. {KEY}",
        )  # fmt: skip

    def seen(self) -> set[str]:
        """The skills of the collection, and the planted one, that any request held."""
        watched = {name: skill.description for name, skill in self.skills.items()} | {LEAKY: "Leaks out of a home."}
        self.server.play = replace(self.server.play, watched=watched)
        return self.server.offered()


@contextmanager
def on_stage(
    stage: type[Stage], agent: str, found: str, folder: Path, patch: pytest.MonkeyPatch, sandbox: str = "", **more: Any
) -> Iterator[Stage]:
    """The stage of an agent whose program was found, in a folder with a planted home."""
    sandbox = sandbox or BEST
    if sandbox == "bubblewrap":
        needs_bubblewrap()
    plant(patch, folder / "home")
    (folder / "trials").mkdir()
    with AgentServer() as server:
        yield stage(agent, found, server, folder / "trials", sandbox, **more)


def three_conditions(stage: Stage, task: Task, tells_usage: bool = True) -> dict[str, tuple[TrialResult, Path]]:
    """A trial under each condition: what is true of every agent is checked here, and the trials are given back.

    `tells_usage` is False for an agent that says nothing of what it used.
    """
    done = {}
    for arm in ARMS:
        result, place = done[arm] = stage.trial(task, arm)
        staged = {name for name, _ in result.skills}
        helped = arm != "control"
        assert (result.outcome, result.error) == ("pass" if helped else "fail", "")
        assert stage.seen() == staged
        assert result.seen is None or set(result.seen) == staged
        assert result.invoked == ("yes" if helped else "no")
        assert result.invocations == ((task.target_name,) if helped else ())
        assert result.tool_calls == (2 if helped else 1)
        sent, said = stage.server.usage(), json.loads((place / "usage.json").read_text())
        for name in ("input_tokens", "output_tokens", "cached_tokens"):
            assert getattr(result.usage, name) == getattr(sent, name)
            assert said["agent"][name] == (getattr(sent, name) if tells_usage else None)
        assert {KEY in f"{request.headers}" for request in stage.server.requests if request.model_call} == {True}
        assert problems("trajectory", json.loads((place / "trajectory.json").read_text())) == []
        environment = dict(kept(place))["workspace.tar.gz/environment.txt"].decode()
        assert "HOME=" in environment and "DEPLOY_TOKEN" not in environment
    return done


def loads_when_ordered(stage: Stage, task: Task) -> None:
    """A model that opens a skill only when it is ordered to: trials in the forced arms load it, the target's do not."""
    for arm, invoked in (("target", "no"), ("forced", "yes"), ("forced_placebo", "yes")):
        result, _ = stage.trial(task, arm, replace(stage.play(task), waits=True))
        assert (result.invoked, result.error) == (invoked, ""), arm
        assert result.invocations == ((task.target_name,) if invoked == "yes" else ())
        assert stage.seen() == {name for name, _ in result.skills} == {task.target_name}


def probes_agree(stage: Stage, task: Task, own: bool, arms: tuple[str, ...] = ARMS) -> None:
    """Before anything is spent the agent shows each set of skills, whichever way it is asked."""
    baseline: Probe | None = None
    stage.server.clear()
    for arm in arms:
        cell = stage.cell(task, arm, expected=None)
        probe = asyncio.run(run_probe(cell))
        assert problems_of(cell, probe, baseline) == []
        assert set(probe.offered or ()) == wanted_offers(cell)
        assert set(probe.listed or ()) == {skill.name for skill in cell.placed}
        assert (probe.own is not None) == own and probe.error == ""
        assert stage.server.requests == []
        baseline = baseline or probe


def solution(task: Task) -> str:
    """A command that does what the task's oracle does, from nothing but its own text."""
    assert task.oracle is not None
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:xz") as archive:
        for file in task.oracle.files:
            entry = tarfile.TarInfo(file.path)
            entry.size, entry.mode = len(file.data), 0o755
            archive.addfile(entry, io.BytesIO(file.data))
    text = base64.b64encode(raw.getvalue()).decode()
    script = next(word for word in task.oracle.argv if word.endswith(".sh"))
    folder = '"$TMPDIR/solution"'
    return f"mkdir -p {folder} && echo {text} | base64 -d | tar xJ -C {folder} && {folder}/{script}"


def tasks() -> tuple[Task, ...]:
    return fixture_tasks(*TASKS)


def plant(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """A user's home with a skill in every folder where some agent looks for one, and secrets in the environment."""
    monkeypatch.setenv("HOME", str(home))
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("DEPLOY_TOKEN", PLANTED)
    monkeypatch.setenv("CODEX_HOME", str(home / ".codex"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / ".claude"))
    for folder in (".claude", ".agents", ".codex", ".gemini", ".qwen", ".config/opencode", ".opencode"):
        place = home / folder / "skills" / LEAKY
        place.mkdir(parents=True)
        (place / "SKILL.md").write_text(f"---\nname: {LEAKY}\ndescription: Leaks out of a home.\n---\n# Leak\n")


def kept(place: Path) -> Iterator[tuple[str, bytes]]:
    """Every file of a trial, and every one in its packed workspace."""
    for path in sorted(place.rglob("*")):
        if path.is_file():
            yield str(path.relative_to(place)), path.read_bytes()
    for packed in place.glob("*.tar.gz"):
        with tarfile.open(packed) as archive:
            for entry in archive:
                if entry.isfile() and (stream := archive.extractfile(entry)) is not None:
                    yield f"{packed.name}/{entry.name}", stream.read()
