"""Agents that judge: found and held to the rules of judges, and asked in the sandbox in which agents are tried.

What such a judge sees is the question of every judge and the kept workspace, read-only. It reaches its model through
the gateway and nothing else, so its calls are metered and capped as those of a trial are.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from msgspec import structs

from skill_health.bench.http.endpoint import Endpoint, base_url, open_endpoint
from skill_health.bench.manifest import digest
from skill_health.bench.prices import TieredPrice, at_most
from skill_health.bench.providers._load import load_provider
from skill_health.config.settings import RouterSettings
from skill_health.core.errors import UsageError
from skill_health.core.plugins import plugin_names, quote_name
from skill_health.documents._record import TokenUsage
from skill_health.documents.effect_manifest import FrozenSandbox
from skill_health.documents.judge_manifest import FrozenJudgeAgent
from skill_health.documents.router_attempt import AttemptReply
from skill_health.effectiveness import agents
from skill_health.effectiveness.agents._load import AgentChoice, resolve
from skill_health.effectiveness.gateway._api import GatewayTrace, Upstream
from skill_health.effectiveness.gateway.far import FarLine
from skill_health.effectiveness.judge.asking.material import AGENT_PROMPT
from skill_health.effectiveness.plan.opening import program_of, version_of
from skill_health.effectiveness.records import CONTROL, Arm
from skill_health.effectiveness.sandbox._api import SandboxLimits
from skill_health.effectiveness.sandbox._load import back_end, pick
from skill_health.effectiveness.sandbox._run import SandboxError
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.trial.agent_run import AgentRun, all_secrets, open_line, read_agent, run_agent
from skill_health.effectiveness.trial.outcome import ending, numbers
from skill_health.effectiveness.trial.redact import redact
from skill_health.effectiveness.trial.spec import TrialSpec
from skill_health.effectiveness.workspace.workspace import open_workplace, removed

AT_ONCE = 4
"""Agents under way at once: each is a program that takes a processor and memory."""
TIMEOUT = 600.0
"""Seconds that an agent has for one judgement."""
MOST_TURNS, TYPICAL_TURNS, OWN_TOKENS = 20, 4, 20_000
"""Requests of a judgement: at most (by the tokens that they may cost), as a forecast has it; tokens of the agent's own
instructions and tools in each."""
_APART = ("files", "network", "processes")
_ERROR = 500


@dataclass(frozen=True, slots=True)
class AgentSurroundings:
    """What a user says of the sandbox of agents that judge ("" for the first that works), and of the agents."""

    sandbox: str = ""
    image: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


USUAL = AgentSurroundings()


@dataclass(frozen=True, slots=True)
class JudgeAgent:
    """An agent that is ready to judge. `upstream` is its model's server, `sandbox` what keeps it apart.

    With a `line` it is started elsewhere than its gateway.
    """

    choice: AgentChoice
    program: str
    version: str | None
    upstream: Upstream
    sandbox: FrozenSandbox
    settings: Mapping[str, Any] = field(default_factory=dict)
    line: FarLine | None = None

    def freeze(self) -> FrozenJudgeAgent:
        """As a manifest holds it."""
        return FrozenJudgeAgent(
            name=self.choice.name,
            version=self.version,
            sandbox=self.sandbox,
            prompt=digest(AGENT_PROMPT),
            settings=digest(dict(self.settings)),
        )


def is_agent(name: str) -> bool:
    """Whether there is an agent of this name."""
    return "_" not in name and name.replace("-", "_") in plugin_names(agents.__path__)


def open_judge_agent(spec: str, routing: RouterSettings, given: AgentSurroundings, keyless: bool) -> JudgeAgent:
    """The agent that `spec` names, AGENT:PROVIDER:MODEL as `run` names it; a `keyless` one can only be described.

    Raises UsageError for one that is not there, that reaches its model past the gateway or has none, for a sandbox that
    does not keep it from everything else, and for a missing key.
    """
    choice = resolve(spec, routing)
    if choice.agent.SIMULATED or not choice.protocol:
        raise UsageError(f"{quote_name(spec)} cannot judge: only an agent whose model is reached through us can")
    name = pick(given.sandbox or None, given.image)
    found = back_end(name)
    if missing := [each for each in _APART if each not in found.ISOLATES]:
        raise UsageError(
            f"{quote_name(spec)} cannot judge in the sandbox {name}, which does not keep {' and '.join(missing)} apart: "
            "take bubblewrap or a container"
        )
    protocol = load_provider(choice.protocol)
    endpoint = Endpoint(base_url(choice.provider, protocol)) if keyless else open_endpoint(choice.provider, protocol)
    program = program_of(choice.name, choice.agent)
    return JudgeAgent(
        choice,
        program,
        version_of(program) if program else None,
        Upstream(endpoint, choice.protocol),
        FrozenSandbox(name=name, version=found.found(), isolates=found.ISOLATES, image=given.image),
        given.settings,
    )


def most_usd(price: TieredPrice, question_tokens: int, output_tokens: int) -> float:
    """The cap in dollars of one judgement by an agent, which the gateway holds."""
    return at_most(price, MOST_TURNS * (question_tokens + OWN_TOKENS), MOST_TURNS * output_tokens)


@dataclass(frozen=True, slots=True)
class AgentQuestion:
    """One judgement that an agent is to make: its material, and the most that it may write and cost.

    `folder` is that of the run, which the agent must not see.
    """

    folder: str
    files: tuple[File, ...]
    price: TieredPrice | None
    max_usd: float
    max_output_tokens: int


async def ask_agent(agent: JudgeAgent, asked: AgentQuestion) -> AttemptReply:
    """Have an agent judge, and tell what it said last. Raises AbortedError where the disk does not take its folder."""
    cell = cell_of(agent, asked)
    at = replace(open_workplace(cell), read_only=True)
    async with removed(at.places.base):
        try:
            async with open_line(cell, at) as line:
                hidden = all_secrets(cell, line.key)
                ran = await run_agent(cell, at, line, cell.choice.agent.command, TIMEOUT)
        except SandboxError as error:
            return AttemptReply(status="provider_error", raw_text="", cost_usd=0.0, requests=0, error=str(error))
    if ran is None:
        return AttemptReply(
            status="provider_error", raw_text="", cost_usd=0.0, requests=0, error="the agent's module gives no command"
        )
    ran = replace(ran, reading=await read_agent(cell, ran))
    return _reply(cell, ran, line.look() or GatewayTrace(), hidden)


def cell_of(agent: JudgeAgent, asked: AgentQuestion) -> TrialSpec:
    """The judgement as the trial that it is for sandbox and gateway: no skill, no arm that means anything."""
    task = Task(
        "question", "question", "question", "judge", AGENT_PROMPT, None, agent_timeout_sec=TIMEOUT, files=asked.files,
        folder=os.path.realpath(asked.folder),
    )  # fmt: skip
    return TrialSpec(
        task=task,
        arm=Arm(CONTROL),
        choice=agent.choice,
        replication=0,
        skills=(),
        prompt=AGENT_PROMPT,
        program=agent.program,
        version=agent.version,
        back_end=agent.sandbox.name,
        limits=SandboxLimits(timeout_sec=TIMEOUT),
        upstream=agent.upstream,
        price=asked.price,
        max_usd=asked.max_usd if asked.price is not None and not asked.price.free else None,
        max_output_tokens=asked.max_output_tokens,
        image=agent.sandbox.image,
        settings=agent.settings,
        line=agent.line,
    )


def _reply(cell: TrialSpec, ran: AgentRun, seen: GatewayTrace, hidden: tuple[str, ...]) -> AttemptReply:
    """What an agent came to, in the words for a model's answer.

    One that was stopped at a limit of ours is an answer cut off, and counts where it is whole all the same.
    """
    end, counted = ending(cell, ran.output, ran.reading, seen), numbers(cell, ran.reading, seen)
    error = " ".join(redact(end.error.encode("utf-8", "replace"), hidden).decode("utf-8", "replace").split())[:_ERROR]
    kept = AttemptReply(
        status="finished",
        raw_text=ran.reading.final_message,
        model=seen.models[-1] if seen.models else ran.reading.model,
        stop_reason=ran.output.stopped or ran.reading.stop_reason,
        usage=TokenUsage(**asdict(counted.usage) | {"raw": None}),
        duration_ms=ran.output.duration_ms,
        requests=seen.requests,
        # Without a request nothing was spent; what was spent unmetered is not known.
        cost_usd=counted.cost_usd if seen.requests else 0.0,
    )
    match end.imposed:
        case "":
            status = "truncated" if seen.failure == "capped" else "finished"
            return structs.replace(kept, status=status)
        case "refusal":
            return structs.replace(kept, status="refusal", error="the model refused to judge")
        case "timeout" | "fail":
            said = f"the agent was stopped: {ran.output.stopped or 'by a signal of its own'}"
            return structs.replace(kept, status="truncated", error=said)
        case "quota" | "auth":
            return structs.replace(kept, status="provider_error", raw_text="", error=error, stop=end.imposed)
        case _:
            return structs.replace(kept, status="provider_error", raw_text="", error=error or "the agent broke down")
