"""Names of agents -> their modules, found by looking into this folder and imported only when named."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import cast

from skill_health.bench.providers._load import list_providers
from skill_health.config.settings import Provider, RouterSettings
from skill_health.core.errors import UsageError
from skill_health.core.extras import missing_modules
from skill_health.core.plugins import LONGEST_NAME, plugin_names, quote_name
from skill_health.effectiveness import agents
from skill_health.effectiveness.agents._api import Agent
from skill_health.text.near import nearest


@dataclass(frozen=True, slots=True)
class AgentChoice:
    """An agent with its model, as the user named them: AGENT:MODEL or AGENT:PROVIDER:MODEL.

    `model` is what is asked for at the provider; for an agent that speaks no protocol of ours it is all that follows
    its name. `protocol` is one of bench/providers, "" where no model is asked through us. `provider` is the
    configured server, None for the vendor's own.
    """

    spec: str
    agent: Agent
    name: str
    model: str
    protocol: str
    provider: Provider | None = None


@dataclass(frozen=True, slots=True)
class AgentInfo:
    """An agent that there is. `missing` are the modules of its extra that cannot be imported."""

    name: str
    agent: Agent
    missing: tuple[str, ...]


def available() -> list[AgentInfo]:
    """Every agent of this package: first those that ask real models, then by name."""
    found = [_info(stem) for stem in _stems()]
    return sorted(found, key=lambda info: (info.agent.SIMULATED, info.name))


def resolve(spec: str, routing: RouterSettings) -> AgentChoice:
    """The agent that `spec` names, its model and the provider that is asked for it.

    Raises UsageError, with the nearest name, for an unknown agent or provider, for a protocol that the agent does not
    speak, and for a missing or impossible model.
    """
    name, colon, rest = spec.partition(":")
    agent = _named(name)
    if not agent.PROTOCOLS:
        return AgentChoice(spec, agent, name, _model(rest, spec) if colon else "", "")
    head, colon, tail = rest.partition(":")
    protocols = list_providers()
    if head in routing.providers:
        provider, protocol = routing.providers[head], routing.providers[head].protocol
    elif head in protocols:
        provider, protocol = None, head
    else:
        meant = nearest(head, [*routing.providers, *protocols], 0.75) if colon else ""
        if meant:
            raise UsageError(f"{quote_name(spec)}: there is no provider {quote_name(head)}; did you mean {meant}?")
        # A model's own name may hold a colon.
        return AgentChoice(spec, agent, name, _model(rest, spec), agent.PROTOCOLS[0])
    if protocol not in agent.PROTOCOLS:
        raise UsageError(
            f"{quote_name(spec)}: {name} speaks {' and '.join(agent.PROTOCOLS)}, and {head} speaks "
            f"{quote_name(protocol)}: take another provider"
        )
    return AgentChoice(spec, agent, name, _model(tail, spec, f"{name}:{head}"), protocol, provider)


def _named(name: str) -> Agent:
    stem = name.replace("-", "_")
    if "_" not in name and stem in _stems():
        return _import(stem)
    names = [found.replace("_", "-") for found in _stems()]
    meant = nearest(name, names)
    hint = f"did you mean {meant}?" if meant else f"there are {', '.join(names)}"
    raise UsageError(f"there is no agent {quote_name(name)}; {hint}")


def _model(text: str, spec: str, before: str = "") -> str:
    """The name of a model, which becomes a word of a command line and a part of a URL."""
    if not text.strip():
        raise UsageError(f"{quote_name(spec)}: which model? Write {before or spec.rstrip(': ')[:LONGEST_NAME]}:MODEL")
    bad = not text.isprintable() or text != text.strip() or text.startswith("-") or len(text) > LONGEST_NAME
    if bad or {".", ".."} & set(text.split("/")):
        raise UsageError(f"{quote_name(spec)}: {quote_name(text)} is no name of a model")
    return text


def _stems() -> list[str]:
    return plugin_names(agents.__path__)


def _import(stem: str) -> Agent:
    return cast(Agent, import_module(f"{agents.__name__}.{stem}"))


def _info(stem: str) -> AgentInfo:
    agent = _import(stem)
    return AgentInfo(stem.replace("_", "-"), agent, missing_modules(agent.IMPORTS))


@dataclass(frozen=True, slots=True)
class Installed:
    """An agent and its program: the absolute path of the executable, "" where none is there or none is needed.

    `version` is what the program says of itself, None where it says nothing that looks like one; an agent of our own
    has ours.
    """

    info: AgentInfo
    program: str = ""
    version: str | None = None

    @property
    def ready(self) -> bool:
        """Whether it can be started: what it needs is there."""
        return not self.info.missing and bool(self.program or not self.info.agent.PROGRAM)


def look_for(agents: Iterable[AgentInfo]) -> list[Installed]:
    """Each agent with its program and version. Programs are asked side by side: some need seconds to say it."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(_found, agents))


def _found(info: AgentInfo) -> Installed:
    from skill_health import __version__
    from skill_health.effectiveness.plan.opening import version_of

    if not info.agent.PROGRAM:
        return Installed(info, "", __version__)
    found = shutil.which(info.agent.PROGRAM)
    return Installed(info, os.path.abspath(found), version_of(os.path.abspath(found))) if found else Installed(info)
