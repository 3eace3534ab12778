"""What tests of activation share: calls of real agents over the fixture skills against a model that is played."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType

from agent_trials import BEST, KEY
from effects_made import replace
from loading_server import Habit, LoadingServer
from scripted_bench import fixture_copies

from skill_health.activation.call.load import LoadRecord, run_load
from skill_health.activation.call.workshop import Workshop
from skill_health.activation.plan.inputs import ActivationChoices
from skill_health.activation.plan.plan import ActivationPlan, PlannedLoad
from skill_health.bench.http.endpoint import Endpoint
from skill_health.bench.prices import FREE
from skill_health.bench.providers._load import load_provider
from skill_health.config.settings import Provider, RouterSettings
from skill_health.documents.effect_manifest import FrozenSandbox
from skill_health.documents.router_manifest import Prompt
from skill_health.effectiveness.agents._load import resolve
from skill_health.effectiveness.gateway._api import Upstream
from skill_health.effectiveness.plan.plan import AgentModel
from skill_health.effectiveness.records import SkillCopy
from skill_health.effectiveness.sandbox._load import back_end
from skill_health.router.prompts._api import Known, PromptFile
from skill_health.router.prompts._load import read_prompts

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {
    "claude-code": "claude", "codex": "codex", "gemini-cli": "gemini", "opencode": "opencode", "qwen-code": "qwen", "loop": "",
}  # fmt: skip


def fixture_prompts() -> tuple[Prompt, ...]:
    """The 60 prompts beside the twelve skills of the fixtures."""
    path = ROOT / "fixtures" / "registries" / "prompts.jsonl"
    known = Known(frozenset(fixture_copies()))
    return read_prompts([PromptFile(str(path), path.read_bytes())], known).prompts


def agent_module(agent: str) -> ModuleType:
    return import_module(f"skill_health.effectiveness.agents.{agent.replace('-', '_')}")


@dataclass
class LoadBench:
    """One agent with its server, for calls that are made one after the other in workspaces that are used again."""

    agent: str
    program: str
    server: LoadingServer
    folder: Path
    prompts: Sequence[Prompt]
    turns: int = 4
    timeout: float = 120.0
    delivery: str = "files"
    back_end: str = BEST
    skills: Mapping[str, SkillCopy] = field(default_factory=fixture_copies)

    def plan(self) -> ActivationPlan:
        module = agent_module(self.agent)
        routing, spec = RouterSettings(), self.agent
        upstream, protocol = None, ""
        if module.PROTOCOLS:
            protocol = module.PROTOCOLS[0]
            routing = RouterSettings(providers={"played": Provider(protocol, self.server.url)})
            spec = f"{self.agent}:played:some-model-1"
            upstream = Upstream(Endpoint(self.server.url, KEY, load_provider(protocol).build_key_header(KEY)), protocol)
        model = AgentModel(resolve(spec, routing), self.agent, self.program, None, upstream, FREE)
        sandbox = FrozenSandbox(name=self.back_end, version="", isolates=back_end(self.back_end).ISOLATES, image="")
        return ActivationPlan(
            prompts=tuple(self.prompts), models=(model,), skills=self.skills, sizes=(len(self.skills),),
            choices=ActivationChoices(
                (spec,), turns=self.turns, timeout_sec=self.timeout, delivery=self.delivery,  # type: ignore[arg-type]
            ),
            sandbox=sandbox, secrets=(KEY,),
        )  # fmt: skip

    def loads(self, prompts: Sequence[Prompt], replication: int = 0) -> list[LoadRecord]:
        """The calls of these prompts, one after the other."""
        plan = self.plan()

        async def all_of_them() -> list[LoadRecord]:
            workshop = Workshop(str(self.folder))
            try:
                return [await self._load(plan, workshop, prompt, replication) for prompt in prompts]
            finally:
                await workshop.close()

        found = asyncio.run(all_of_them())
        assert self.server.faults == []
        return found

    async def _load(self, plan: ActivationPlan, workshop: Workshop, prompt: Prompt, replication: int) -> LoadRecord:
        planned = PlannedLoad(prompt, plan.models[0], len(plan.skills), replication)
        cell = replace(plan.cell(planned), expected=None)
        others = tuple(each.text for each in plan.prompts if each.prompt_id != prompt.prompt_id)
        return await run_load(cell, workshop, self.turns, others)


def prompt_named(name: str, text: str, **more: object) -> Prompt:
    return Prompt(name, text, more.pop("expected", None), **more)  # type: ignore[arg-type]


__all__ = ["PROGRAMS", "Habit", "LoadBench", "LoadingServer", "agent_module", "fixture_prompts", "prompt_named"]
