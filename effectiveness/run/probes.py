"""What an agent sees before anything is spent: asked with each set of skills, and judged by what the plan stages."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import structs

from skill_health.bench import durable
from skill_health.bench.http.endpoint import Endpoint
from skill_health.bench.http.json_values import mapping, objects
from skill_health.bench.manifest import digest
from skill_health.bench.providers._load import load_provider
from skill_health.bench.redact import redacted
from skill_health.bench.run.schedule import GRACE, CallLimits, Schedule
from skill_health.core.errors import UsageError
from skill_health.core.files import blake2b, here, read_small
from skill_health.documents._record import decode_record, encode_record
from skill_health.documents.effect_probe import AgentProbe, AgentProbes
from skill_health.effectiveness.agents._api import ProgramOutput, StreamReading, served_tools, unproved_of
from skill_health.effectiveness.agents._load import AgentChoice, Installed
from skill_health.effectiveness.gateway._api import GatewayTrace, Upstream
from skill_health.effectiveness.plan.plan import Planned, TrialPlan
from skill_health.effectiveness.records import CONTROL, FILES, FULL, TARGET, Arm
from skill_health.effectiveness.run.runs import PROBES
from skill_health.effectiveness.sandbox._run import SandboxError
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.trial.agent_run import all_secrets, open_line, read_agent, run_agent
from skill_health.effectiveness.trial.redact import redact
from skill_health.effectiveness.trial.spec import TrialSpec
from skill_health.effectiveness.trial.visibility import disagreements, others, wanted_offers
from skill_health.effectiveness.workspace.copies import make_copy
from skill_health.effectiveness.workspace.staging import prompt_of
from skill_health.effectiveness.workspace.workspace import open_workplace, removed
from skill_health.skill.frontmatter import write

TIMEOUT = 90.0
"""Seconds for the listing command of an agent, and for an agent whose model refuses to answer."""
# Agents ask for a title, or for their quota, before they ask what they were told; some try again for minutes.
_AFTER_ALL, _AFTER_FIRST, _POLL = 1.0, 8.0, 0.1


@dataclass(frozen=True, slots=True)
class Probe:
    """What an agent with a set of staged skills was seen to be offered.

    `staged` are the names that were staged. `listed` are the names that the agent tells when it begins to work, or
    where it tells none, those of its listing command; `own` are the latter in any case. `offered` are the watched names
    (of staged skills and of the collection) that stood in its requests to a model. None where a source says nothing.
    `version` is what the agent said of itself. `request` is its first request as the gateway saw it, redacted and cut,
    `tools` are those that it offers, None where they cannot be told. `error` is why there is no evidence at all, one
    clear line; "" where there is some.
    """

    staged: tuple[str, ...]
    listed: tuple[str, ...] | None = None
    offered: tuple[str, ...] | None = None
    own: tuple[str, ...] | None = None
    version: str | None = None
    request: bytes = b""
    tools: tuple[str, ...] | None = None
    error: str = ""


async def run_probe(cell: TrialSpec) -> Probe:
    """Ask the agent of a cell what it sees: by its own listing command, and by a model that answers nothing.

    Nothing is spent. Of an agent that runs under a weaker proof nothing may be seen, which is no error. Raises
    AbortedError as a trial does.
    """
    probe = Probe(tuple(skill.name for skill in cell.skills))
    errors: list[str] = []
    listing = await _listing(cell, errors)
    probe = replace(probe, listed=listing, own=listing)
    if cell.upstream is not None:
        probe = await _closed(cell, probe, errors)
    if probe.listed is None and probe.offered is None and not unproved_of(cell.choice.agent):
        why = errors[0] if errors else "it neither lists its skills nor asks a model"
        return replace(probe, error=f"nothing shows what {cell.choice.name} sees: {why}")
    return probe


def problems(cell: TrialSpec, probe: Probe, baseline: Probe | None) -> list[str]:
    """What a probe disagrees with, one line each; none for one that shows just what the cell stages.

    `baseline` is the probe of another arm of the same agent: what is listed beside skills of the run must be the same
    in both.
    """
    if probe.error:
        return [probe.error]
    lines = [
        *disagreements(
            cell, probe.listed, probe.offered, _beside(cell, baseline, baseline.listed if baseline else None)
        ),
        *disagreements(cell, probe.own, None, _beside(cell, baseline, baseline.own if baseline else None)),
        *(_other_tools(cell, probe.tools, baseline.tools) if baseline else ()),
    ]
    return list(dict.fromkeys(lines))


def _beside(cell: TrialSpec, baseline: Probe | None, listed: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The names that another arm lists beside skills of the run."""
    if baseline is None or listed is None:
        return None
    return tuple(sorted(set(listed) - set(baseline.staged) - set(cell.collection)))


def _other_tools(cell: TrialSpec, offered: tuple[str, ...] | None, bare: tuple[str, ...] | None) -> Iterator[str]:
    """What a server of skills changes beside its own tools, against the tools of the same agent without skills."""
    if not cell.arm.served or offered is None or bare is None:
        return
    agent = cell.choice.agent
    own = {*served_tools(agent), *getattr(agent, "MCP_BRINGS", ())}
    for names, words in ((set(offered) - set(bare) - own, "offered beside"), (set(bare) - set(offered), "gone with")):
        if names:
            yield f"tools {words} the server of skills: {', '.join(sorted(name[:64] for name in names)[:5])}"


def tools_in(request: bytes) -> tuple[str, ...] | None:
    """The names of the tools in a request to a model, in whatever protocol; None where it cannot be read."""
    try:
        data = json.loads(request)
    except (ValueError, RecursionError):
        return None
    return tuple(_names(mapping(data).get("tools"))) if isinstance(data, dict) else None


def _names(tools: Any) -> Iterator[str]:
    """The names of tools; those of a group in the place of its own."""
    for tool in objects(tools) if isinstance(tools, list) else ():
        groups = [tool[key] for key in ("tools", "functionDeclarations", "function_declarations") if key in tool]
        for group in groups:
            yield from _names(group)
        name = tool.get("name") or mapping(tool.get("function")).get("name")
        if not groups and isinstance(name, str):
            yield name


async def _listing(cell: TrialSpec, errors: list[str]) -> tuple[str, ...] | None:
    """The names that the agent's own command prints. Its model is closed to it, too."""
    at = open_workplace(cell)
    async with removed(at.places.base), open_line(cell, at, closed=True) as line:
        try:
            ran = await run_agent(cell, at, line, cell.choice.agent.probe, TIMEOUT)
        except SandboxError as error:
            errors.append(str(error))
            return None
    if ran is None:
        return None
    listed = cell.choice.agent.listed(ran.output)
    if listed is None:
        errors.append(f"its list of skills cannot be read ({_how(ran.output)})")
    return listed


async def _closed(cell: TrialSpec, probe: Probe, errors: list[str]) -> Probe:
    """Start the agent on its task with a model that refuses every call, until it has shown what it asks."""
    at = open_workplace(cell)
    async with removed(at.places.base):
        async with open_line(cell, at, closed=True) as line:
            stop = asyncio.Event()
            watching = asyncio.ensure_future(_until_shown(wanted_offers(cell), line.look, stop))
            try:
                ran = await run_agent(cell, at, line, cell.choice.agent.command, TIMEOUT, stop)
            except SandboxError as error:
                errors.append(str(error))
                return probe
            finally:
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)
        seen = line.look()
    reading = await read_agent(cell, ran) if ran else StreamReading()
    if seen is None or seen.offered is None:
        errors.append(f"it asked its model nothing ({_how(ran.output) if ran else 'it has no command'})")
    request = redact(seen.first_request, all_secrets(cell, line.key)) if seen else b""
    offered = seen.offered if seen else None
    listed = probe.own if reading.listed is None else reading.listed
    return replace(
        probe, listed=listed, offered=offered, version=reading.version, request=request, tools=tools_in(request)
    )


async def _until_shown(staged: set[str], look: Callable[[], GatewayTrace | None], stop: asyncio.Event) -> None:
    """Set `stop` once the agent has asked all that it will ask at first."""
    first = complete = 0.0
    while True:
        await asyncio.sleep(_POLL)
        seen, now = look(), time.monotonic()
        if seen is None or seen.offered is None:
            continue
        first = first or now
        if staged and staged <= set(seen.offered):
            complete = complete or now
        if (complete and now - complete >= _AFTER_ALL) or now - first >= _AFTER_FIRST:
            stop.set()
            return


def _how(output: ProgramOutput) -> str:
    """How a program ended, with its last words."""
    end = f"stopped: {output.stopped}" if output.stopped else f"exit code {output.exit_code}"
    words = (output.stderr or output.stdout).decode("utf-8", "replace").strip().splitlines()
    return f"{end}; it said: {' '.join(words[-1].split())[:200]}" if words else end


REQUESTS = "probes"
"""The folder, below the run's, of first requests."""
Ask = Callable[[TrialSpec], Awaitable[Probe]]
Judge = Callable[[TrialSpec, Probe, Probe | None], list[str]]
Expected = Mapping[str, tuple[str, ...] | None]
"""What an agent lists beside skills of the collection, by the name of the model; None where nobody knows."""


@dataclass(slots=True)
class ProbeRequest:
    """One agent with one set of skills: the first cell of the plan that has it, and the arms that do."""

    mark: str
    agent: str
    cell: TrialSpec
    server: str
    arms: list[str] = field(default_factory=list)

    @property
    def bare(self) -> bool:
        """Whether no skill is staged: what all other sets of the same agent are compared with."""
        return not self.cell.skills


class Probing:
    """The probes of one run. `records` are those that were made, by their marks; `problems` what disagrees.

    `on_probe` is told of each that is made.
    """

    def __init__(self, plan: TrialPlan, folder: str, ask: Ask, judge: Judge) -> None:
        self.wanted = to_ask(plan)
        self.records: dict[str, AgentProbe] = {}
        self._plan, self._folder, self._ask, self._judge = plan, folder, ask, judge
        self._bare: dict[str, Probe] = {}
        self.on_probe: Callable[[AgentProbe], None] = lambda probe: None
        known = _stored(folder)
        for asked in self.wanted:
            record = known.get(asked.mark)
            if record is not None and not record.problems:
                self.records[asked.mark] = structs.replace(record, arms=tuple(asked.arms))
                if asked.bare:
                    self._bare[asked.agent] = _probe(record)

    @property
    def problems(self) -> list[str]:
        """What agents were offered against the plan, one line each."""
        return [
            f"{asked.agent} with {', '.join(skill.name for skill in asked.cell.skills) or 'no skill'}: {problem}"
            for asked in self.wanted
            if asked.mark in self.records
            for problem in self.records[asked.mark].problems
        ]

    def expected(self) -> Expected:
        """What agents list beside skills of the collection, by the names of models."""
        found = {
            asked.agent: others(asked.cell, self._bare[asked.agent].listed)
            for asked in self.wanted
            if asked.bare and asked.agent in self._bare
        }
        models = self._plan.models
        return {model.spec: found.get(_agent(model.choice.name, model.choice.protocol)) for model in models}

    async def run(
        self, concurrency: int, schedules: Callable[[Schedule[ProbeRequest]], None], grace: float = GRACE
    ) -> str:
        """Make the probes that are not there; why they were stopped before their end, "" where they were not.

        Those without a skill come first; after a disagreement there, no other is made. `schedules` is told of each
        schedule, to be able to interrupt it.
        """
        for bare in (True, False):
            left = [asked for asked in self.wanted if asked.bare == bare and asked.mark not in self.records]
            if left and not self.problems:
                schedule: Schedule[ProbeRequest] = Schedule(
                    self._make, CallLimits(concurrency, self._plan.at_once(concurrency)), grace
                )
                schedules(schedule)
                await schedule.run((asked.server, asked) for asked in left)
                if schedule.reason:
                    return schedule.reason
        self._write()
        return ""

    async def _make(self, asked: ProbeRequest) -> None:
        probe = await self._ask(asked.cell)
        if asked.bare:
            self._bare[asked.agent] = probe
        against = None if asked.bare else self._bare.get(asked.agent)
        self.records[asked.mark] = _made(asked, probe, self._judge(asked.cell, probe, against))
        if probe.request:
            folder = os.path.join(self._folder, REQUESTS)
            os.makedirs(folder, exist_ok=True)
            durable.replace(os.path.join(folder, f"{asked.mark}.txt"), probe.request)
        self._write()
        self.on_probe(self.records[asked.mark])

    def _write(self) -> None:
        order = tuple(self.records[asked.mark] for asked in self.wanted if asked.mark in self.records)
        probes = AgentProbes(version=1, kind="effectiveness-probe", probes=order)
        text = redacted(encode_record(probes), self._plan.secrets)
        durable.replace(os.path.join(self._folder, PROBES), text.encode("ascii"))


def to_ask(plan: TrialPlan) -> tuple[ProbeRequest, ...]:
    """Each agent with each set of skills that the plan stages, once; in the order of the plan's keys."""
    found: dict[str, ProbeRequest] = {}
    tasks = {task.id: task for task in plan.tasks}
    for model in plan.models:
        agent = _agent(model.choice.name, model.choice.protocol)
        what = [agent, model.program, model.version, plan.sandbox.name, plan.sandbox.version, plan.sandbox.image]
        # A hash covers the whole collection, so it is made for each set of skills and not for each task.
        known: dict[tuple[str, tuple[str, ...]], ProbeRequest] = {}
        for (task_id, arm), skills in plan.staged.items():
            digests = tuple(skill.digest for skill in skills)
            asked = known.get((arm.delivery, digests))
            if asked is None:
                cell = plan.cell(Planned(tasks[task_id], model, arm, 0))
                # What is proved is what the agent itself offers: a prompt that names the skills would speak for it.
                cell = replace(cell, prompt=prompt_of(cell.task, replace(arm, condition=TARGET, hint=False), skills))
                more = [arm.delivery] if arm.delivery != FILES else []
                mark = digest([*what, *more, sorted(cell.collection.items()), list(digests)])
                asked = found.setdefault(mark, ProbeRequest(mark, agent, cell, model.server))
                known[arm.delivery, digests] = asked
            asked.arms = sorted({*asked.arms, arm.name})
    return tuple(found.values())


def _agent(name: str, protocol: str) -> str:
    return f"{name} ({protocol})" if protocol else name


def _made(asked: ProbeRequest, probe: Probe, problems: Sequence[str]) -> AgentProbe:
    return AgentProbe(
        id=asked.mark,
        agent=asked.agent,
        version=probe.version,
        skills=tuple((skill.name, skill.digest) for skill in asked.cell.skills),
        arms=tuple(asked.arms),
        listed=probe.listed,
        own=probe.own,
        offered=probe.offered,
        tools=probe.tools,
        request=blake2b(probe.request, digest_size=16).hexdigest() if probe.request else "",
        problems=tuple(dict.fromkeys([*filter(None, [probe.error]), *problems])),
    )


def _probe(kept: AgentProbe) -> Probe:
    staged = tuple(name for name, _ in kept.skills)
    return Probe(staged, kept.listed, kept.offered, kept.own, kept.version, tools=kept.tools)


def _stored(folder: str) -> dict[str, AgentProbe]:
    """The probes that earlier processes wrote down, by their marks; a damaged file has none."""
    data = read_small(os.path.join(folder, PROBES))
    try:
        found = decode_record(data or b"", AgentProbes)
    except ValueError:
        return {}
    return {probe.id: probe for probe in found.probes}


def join_probes(folders: Sequence[str], target: str) -> None:
    """Write the probes of all shards of a run into the folder of the whole one, with the requests that they rest on.

    Raises UsageError where two shards do not agree on what an agent was offered.
    """
    known: dict[str, tuple[AgentProbe, str]] = {}
    for folder in folders:
        for mark, probe in _stored(folder).items():
            before, where = known.setdefault(mark, (probe, folder))
            # What a first request says beside the names of skills differs from machine to machine.
            if structs.replace(before, request="") != structs.replace(probe, request=""):
                raise UsageError(
                    f"{probe.agent} was not offered the same in {here(folder)} and {here(where)} (see {PROBES} there): "
                    "they are no parts of one experiment"
                )
    if not known:
        return
    probes = AgentProbes(version=1, kind="effectiveness-probe", probes=tuple(probe for probe, _ in known.values()))
    durable.replace(os.path.join(target, PROBES), encode_record(probes).encode("ascii"))
    for mark, (probe, folder) in known.items():
        data = read_small(os.path.join(folder, REQUESTS, f"{mark}.txt")) if probe.request else None
        if data is not None:
            os.makedirs(os.path.join(target, REQUESTS), exist_ok=True)
            durable.replace(os.path.join(target, REQUESTS, f"{mark}.txt"), data)


_PROMPT = "Say hello."
_MODEL = "no-model-is-asked"
# Names that no agent brings itself.
_SKILLS = {
    name: make_copy(name, about, [File("SKILL.md", write({"name": name, "description": about}, "# Steps").encode())])
    for name, about in (
        ("lantern-oiling", "Oils storm lanterns. Use when a storm lantern has to be oiled."),
        ("tide-tables", "Reads printed tide tables. Use when the next high water is asked for."),
    )
}
_ARMS = {CONTROL: (), TARGET: ("tide-tables",), FULL: ("lantern-oiling", "tide-tables")}


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """What was seen of one agent.

    `ways` says by what it shows its skills: "listed" (it tells them) and "offered" (they stand in its first request).
    `beside` are the names that it lists without being given any, None where it lists nothing. `problems` are what
    disagrees with what was staged, one line each; `skipped` is why nothing was asked, "" where something was.
    """

    ways: tuple[str, ...] = ()
    beside: tuple[str, ...] | None = None
    problems: tuple[str, ...] = ()
    skipped: str = ""


async def inspect_agent(found: Installed, back_end: str) -> AgentStatus:
    """Start an agent with no skill, with one and with two, in a sandbox and with a model that refuses every call.

    Nothing is spent. Raises AbortedError where no folder for that can be made.
    """
    if unseen := unproved_of(found.info.agent):
        return AgentStatus(skipped=unseen)
    ways: set[str] = set()
    wrong: list[str] = []
    baseline: Probe | None = None
    for condition, names in _ARMS.items():
        cell = _cell(found, back_end, condition, names)
        try:
            probe = await run_probe(cell)
        except UsageError as error:
            return AgentStatus(skipped=str(error))
        shown = f"with {' and '.join(names)} staged" if names else "with no skill staged"
        wrong += [f"{shown}: {line}" for line in problems(cell, probe, baseline)]
        ways |= {name for name in ("listed", "offered") if getattr(probe, name) is not None}
        baseline = baseline or probe
    beside = baseline.listed if baseline else None
    return AgentStatus(tuple(sorted(ways)), None if beside is None else tuple(sorted(beside)), tuple(wrong))


def _cell(found: Installed, back_end: str, condition: str, names: tuple[str, ...]) -> TrialSpec:
    agent = found.info.agent
    protocol = agent.PROTOCOLS[0] if agent.PROTOCOLS else ""
    spec = f"{found.info.name}:{_MODEL}" if protocol else found.info.name
    return TrialSpec(
        task=Task("look", "look", "look", "plan_directory", _PROMPT, None),
        arm=Arm(condition),
        choice=AgentChoice(spec, agent, found.info.name, _MODEL if protocol else "", protocol),
        replication=0,
        skills=tuple(_SKILLS[name] for name in names),
        prompt=_PROMPT,
        collection={name: skill.description for name, skill in _SKILLS.items()},
        program=found.program,
        version=found.version,
        back_end=back_end,
        upstream=_nobody(protocol) if protocol else None,
    )


def _nobody(protocol: str) -> Upstream:
    """A server that is never asked: the gateway is closed."""
    return Upstream(Endpoint(load_provider(protocol).base_url), protocol)
