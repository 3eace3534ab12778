"""Does an installed agent see what is staged for it, and nothing else? Asked with made-up skills and no model."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from skill_health.bench.http.endpoint import Endpoint
from skill_health.core.errors import UsageError
from skill_health.effectiveness.agents._installed import Installed
from skill_health.effectiveness.agents._load import AgentChoice
from skill_health.effectiveness.cell import TrialSpec
from skill_health.effectiveness.copies import make_copy
from skill_health.effectiveness.gateway._api import Upstream
from skill_health.effectiveness.probe import Probe, problems, run_probe
from skill_health.effectiveness.records import CONTROL, FULL, TARGET, Arm
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._folder import File
from skill_health.skill.frontmatter import write

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
    wire: Any = import_module(f"skill_health.router.routers.{protocol.replace('-', '_')}").WIRE
    return Upstream(Endpoint(wire.base_url), protocol)
