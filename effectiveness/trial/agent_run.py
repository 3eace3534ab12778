"""One agent in its sandbox with its gateway: started, read, and ended. Trials and probes do it the same way."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from skill_health.effectiveness.agents._api import Command, Job, ProgramOutput, StreamReading, served_tools, unproved_of
from skill_health.effectiveness.agents._invocation import telling_lines
from skill_health.effectiveness.gateway._api import GatewayLimits, GatewayTrace
from skill_health.effectiveness.gateway.proxy import open_proxy
from skill_health.effectiveness.sandbox._in_process import run_in_process
from skill_health.effectiveness.sandbox._resources import task_limits
from skill_health.effectiveness.sandbox._run import Heard, run, to_the_end
from skill_health.effectiveness.trial.redact import redact_around, secret_words
from skill_health.effectiveness.trial.spec import TrialSpec
from skill_health.effectiveness.workspace.folders import write_files
from skill_health.effectiveness.workspace.workspace import Workplace

Make = Callable[[Job], Command | None]


@dataclass(frozen=True, slots=True)
class AgentRun:
    """An agent that has ended. `output` holds no secret any more; `reading` is what it says, once that was read."""

    job: Job
    output: ProgramOutput
    reading: StreamReading = field(default_factory=StreamReading)


@dataclass(slots=True)
class GatewaySession:
    """The way to the model: where the agent finds it, with which key, and what has passed, None where there is none.

    All has passed only once the way is closed.
    """

    base_url: str = ""
    key: str = ""
    look: Callable[[], GatewayTrace | None] = lambda: None


def watched(cell: TrialSpec) -> dict[str, str]:
    """The names and descriptions to look for in what an agent sends.

    They are those of all skills of the run, as they are staged, and of the tools of a server that gives skills.
    """
    return {
        **cell.collection,
        **{skill.name: skill.description for skill in cell.skills},
        **served_tools(cell.choice.agent),
    }


@asynccontextmanager
async def open_line(
    cell: TrialSpec, at: Workplace, closed: bool = False, end_after: Callable[[int, bool], str] | None = None
) -> AsyncIterator[GatewaySession]:
    """The way to the model of a cell; there is nothing behind it for an agent that asks none.

    A `closed` one refuses every call and only keeps what was asked. With `end_after` (see `GatewayLimits`) it also
    looks for the texts of skills in what the agent sends. An agent that asks servers of its own has a way to these, of
    which nothing is seen.
    """
    if cell.upstream is None:
        if not unproved_of(cell.choice.agent):
            yield GatewaySession()
            return
        from skill_health.effectiveness.gateway.tunnel import open_tunnel

        domains = () if closed else tuple(getattr(cell.choice.agent, "DOMAINS", ()))
        async with open_tunnel(domains, at.socket) as port:
            yield GatewaySession(f"http://127.0.0.1:{at.port(port)}")
        return
    key = f"sk-{secrets.token_hex(24)}"
    if cell.line is not None:
        from skill_health.effectiveness.gateway.far import LineWish, borrow_line

        assert end_after is None, "requests to live agents are made where their gateways are"
        wish = LineWish(key, {skill.name: skill.description for skill in cell.skills}, closed)
        async with borrow_line(cell.line, wish, at.socket) as borrowed:
            yield GatewaySession(f"http://127.0.0.1:{at.port(borrowed.port)}", key, lambda: borrowed.trace)
        return
    from skill_health.effectiveness.gateway.server import open_gateway

    terms = gateway_limits(cell, key, closed, end_after)
    async with open_gateway(cell.upstream, terms, at.socket) as gateway:
        yield GatewaySession(f"http://127.0.0.1:{at.port(gateway.port)}", key, lambda: gateway.seen)


def gateway_limits(
    cell: TrialSpec, key: str, closed: bool = False, end_after: Callable[[int, bool], str] | None = None
) -> GatewayLimits:
    """What the gateway of a cell lets through, for an agent with such a stand-in `key`."""
    return GatewayLimits(
        key=key,
        # A cap in dollars is reckoned with the price of one model.
        model=cell.choice.model if cell.max_usd is not None else "",
        asked=cell.choice.model,
        price=cell.price,
        max_usd=cell.max_usd,
        closed=closed,
        watch=watched(cell),
        telling=telling_lines(cell.skills) if end_after else {},
        end_after=end_after,
    )


def job_of(cell: TrialSpec, at: Workplace, line: GatewaySession) -> Job:
    """What the agent is told."""
    return Job(
        spec=cell.choice.spec,
        model=cell.choice.model,
        prompt=cell.prompt,
        workspace=at.inside.workspace,
        home=at.inside.home,
        temporary=at.inside.temporary,
        skills=cell.skills,
        program=cell.program,
        protocol=cell.choice.protocol,
        base_url=line.base_url,
        key=line.key,
        seed=cell.seed,
        replication=cell.replication,
        timeout_sec=timeout_of(cell),
        max_output_tokens=cell.max_output_tokens,
        settings={**cell.settings, "attempt": cell.attempt},
        arm=cell.arm.name,
        task=cell.task,
        served=at.server if cell.arm.served else None,
        creating=cell.creating,
    )


def timeout_of(cell: TrialSpec) -> float:
    """The seconds that the agent has: the task's limit, or the trial's where that is lower."""
    given = cell.limits.timeout_sec
    return min(given, cell.task.agent_timeout_sec) if given else cell.task.agent_timeout_sec


async def run_agent(
    cell: TrialSpec,
    at: Workplace,
    line: GatewaySession,
    make: Make,
    timeout_sec: float,
    stop: asyncio.Event | None = None,
    heard: Heard | None = None,
) -> AgentRun | None:
    """Start what `make` makes of the job, wait for its end, and read what it said; None where it makes nothing.

    `heard` is told of what it prints as it comes, but for a simulation in a thread.

    Raises SandboxError where it could not be started.
    """
    job = job_of(cell, at, line)
    made = make(job)
    if made is None:
        return None
    limits = replace(task_limits(cell.limits, cell.task.resources), timeout_sec=timeout_sec)
    if made.simulation is not None and cell.choice.agent.SIMULATED and not at.sandbox.ISOLATES:
        raw = await run_in_process(at.box(), made.simulation, limits, stop)
    else:
        begun = await to_the_end(asyncio.to_thread(at.started, cell, made))
        write_files(at.places.home, begun.command.files)
        grant = cell.task.agent_network
        box = at.box(begun.readable, online=bool(line.base_url), grant=grant, shown=begun.shown)
        async with open_proxy(grant, box.proxy[0]) as passed:
            raw = await run(at.sandbox, box, begun.command, limits, stop, heard)
        raw = replace(raw, notes=(*raw.notes, *passed.notes()))
    hidden = all_secrets(cell, line.key)
    kept = ((raw.stdout, raw.cut_stdout), (raw.stderr, raw.cut_stderr))
    out, err = (redact_around(each, hidden, at) for each, at in kept)
    return AgentRun(job, replace(raw, stdout=out, stderr=err))


async def read_agent(cell: TrialSpec, ran: AgentRun) -> StreamReading:
    """What the agent's module makes of the stream. A stream that it stumbles over is one that tells nothing."""
    try:
        return await asyncio.to_thread(cell.choice.agent.read, ran.output, ran.job)
    except Exception as error:
        said = f"{type(error).__name__} while the agent's output was read"
        return StreamReading(observable=False, failure="infrastructure", error=said)


def all_secrets(cell: TrialSpec, stand_in: str = "") -> tuple[str, ...]:
    """Every word that must be in no file of the trial."""
    key = cell.upstream.endpoint.key if cell.upstream else ""
    return secret_words(cell.secrets, (key, stand_in))
