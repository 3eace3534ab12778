"""The agents that a run names, found and priced; whom they may ask, in which sandbox, and how much one may spend."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache

from skill_health.bench.http.endpoint import Endpoint, base_url, key_variable, open_endpoint
from skill_health.bench.prices import FREE, PriceTable, TieredPrice, at_most, price_from
from skill_health.bench.providers._load import load_provider
from skill_health.bench.redact import keys_in_use
from skill_health.config.settings import RouterSettings
from skill_health.core.errors import UsageError
from skill_health.core.extras import require_modules
from skill_health.documents.effect_manifest import FrozenAgent, FrozenSandbox
from skill_health.effectiveness.agents._api import Agent, Job, served_tools, unproved_of
from skill_health.effectiveness.agents._load import AgentChoice, resolve
from skill_health.effectiveness.delivery.served import MODULES
from skill_health.effectiveness.gateway._api import Upstream
from skill_health.effectiveness.plan.choices import TrialChoices
from skill_health.effectiveness.plan.plan import AgentModel, TrialPlan, config_digest
from skill_health.effectiveness.records import ORDER, Arm
from skill_health.effectiveness.sandbox._load import back_end, pick
from skill_health.effectiveness.workspace.images import GATEWAY_ONLY, NetworkChoice
from skill_health.effectiveness.workspace.process import clean_environment, run_process
from skill_health.text.patterns import lazy

_TIMEOUT = 30.0
_VERSION = lazy(r"(?<!\d)\d+(?:\.\d+)+[\w.+-]*")


def program_of(name: str, agent: Agent) -> str:
    """The absolute path of an agent's executable, "" for an agent of our own. Raises UsageError where it is missing."""
    require_modules(name, agent.IMPORTS)
    if not agent.PROGRAM:
        return ""
    found = shutil.which(agent.PROGRAM)
    if found is None:
        raise UsageError(f"{name} needs the program {agent.PROGRAM}, which is not on PATH: install it")
    return os.path.abspath(found)


@cache
def version_of(program: str) -> str | None:
    """The version that a program says when it is asked with --version, in a home of its own; None where it does not."""
    with tempfile.TemporaryDirectory(prefix="skill-health-") as folder:
        environment = clean_environment(folder, folder) | {"PATH": os.environ.get("PATH", os.defpath)}
        ran = run_process((program, "--version"), folder, environment, _TIMEOUT)
    found = _VERSION.search(ran.stdout) if ran.exit_code == 0 else None
    return found.group() if found else None


MOST_INPUT, MOST_OUTPUT = 2_000_000, 60_000
"""Tokens that one trial is assumed to read and write at most: sixty long turns. Their price is its cap."""


def open_models(
    choices: TrialChoices, routing: RouterSettings, prices: PriceTable, keyless: bool = False
) -> tuple[AgentModel, ...]:
    """Find every agent that is named, once; `keyless` ones can be described and not be started.

    Raises UsageError for a name that is none, an agent that is not installed, a missing key, and an arm that an agent
    cannot have.
    """
    models = tuple(_opened(spec, choices, routing, prices, keyless) for spec in dict.fromkeys(choices.agents))
    weaker = {model.choice.name for model in models if unproved_of(model.choice.agent)}
    if idle := [name for name in choices.weaker_proof if name not in weaker]:
        raise UsageError(f"--weaker-proof {idle[0][:40]}: no agent of the run is called so and needs it")
    return models


def _opened(spec: str, choices: TrialChoices, routing: RouterSettings, prices: PriceTable, keyless: bool) -> AgentModel:
    choice = resolve(spec, routing)
    agent = choice.agent
    if hasattr(agent, "check"):
        agent.check(spec)
    if (unseen := unproved_of(agent)) and choice.name not in choices.weaker_proof:
        raise UsageError(f"{choice.name}: {unseen}. If that is good enough for you, give --weaker-proof {choice.name}")
    ordered = next((arm.name for arm in choices.arms if arm.condition == ORDER or _is_reversed(arm, choices)), "")
    if ordered and not agent.ORDERED:
        raise UsageError(
            f"{choice.name} lists skills in an order of its own, so it can have no arm {ordered}: leave it out"
        )
    served = next((arm.name for arm in choices.arms if arm.served), "")
    if served:
        if not served_tools(agent):
            raise UsageError(f"{choice.name} takes no MCP server from us, so it can have no arm {served}: leave it out")
        require_modules(f"the arm {served}", MODULES)
    upstream = None
    if choice.protocol:
        protocol = load_provider(choice.protocol)
        endpoint = (
            Endpoint(base_url(choice.provider, protocol)) if keyless else open_endpoint(choice.provider, protocol)
        )
        upstream = Upstream(endpoint, choice.protocol)
    price = price_of(choice, routing, prices)
    program = program_of(choice.name, agent)
    version = version_of(program) if program and not keyless else None
    return AgentModel(
        choice, server_of(choice, routing), program, version, upstream, price, cap_of(price, choices.max_usd)
    )


def _is_reversed(arm: Arm, choices: TrialChoices) -> bool:
    """Whether an arm differs from an earlier one in the order of listing alone."""
    earlier = choices.arms[: choices.arms.index(arm)]
    same = [each for each in earlier if (each.hint, each.delivery) == (arm.hint, arm.delivery)]
    return any(sorted(each.subset) == sorted(arm.subset) for each in same if arm.subset)


def server_of(choice: AgentChoice, routing: RouterSettings) -> str:
    """What shares a limit of trials under way: the configured provider, the vendor, or the agent itself."""
    second = choice.spec.split(":")[1:2]
    return second[0] if second and second[0] in routing.providers else choice.protocol or choice.name


def price_of(choice: AgentChoice, routing: RouterSettings, prices: PriceTable) -> TieredPrice | None:
    """The price of an agent's model, None where it is not known; overrides name all of it, or PROVIDER:MODEL."""
    if choice.agent.SIMULATED:
        return FREE
    if choice.spec in prices.overrides or not choice.protocol:
        return prices.price_of(choice.protocol, choice.spec, choice.model) if choice.spec in prices.overrides else None
    return prices.price_of(choice.protocol, f"{server_of(choice, routing)}:{choice.model}", choice.model)


def cap_of(price: TieredPrice | None, asked: float | None) -> float | None:
    """The dollars that one trial may spend: what was asked for, else the price of so many tokens; None for no cap."""
    if price is None:
        return asked
    if price.free:
        return None
    return at_most(price, MOST_INPUT, MOST_OUTPUT) if asked is None else asked


def with_terms_of(models: Iterable[AgentModel], frozen: Iterable[FrozenAgent]) -> tuple[AgentModel, ...]:
    """The models at the prices and caps that a run began with. Raises UsageError for a damaged manifest."""
    stored = {each.spec: each for each in frozen}
    try:
        return tuple(_with_terms(model, stored[model.spec]) for model in models)
    except (KeyError, ValueError) as error:
        raise UsageError(f"the manifest of the run to resume is damaged: no price of each model ({error})") from None


def _with_terms(model: AgentModel, frozen: FrozenAgent) -> AgentModel:
    price = None if frozen.price is None else price_from(frozen.price)
    return replace(model, price=price, max_usd=frozen.max_usd)


def secrets_of(models: Sequence[AgentModel]) -> tuple[str, ...]:
    """The keys that these models are asked with, to be kept out of whatever is written."""
    asked = [model.choice for model in models if model.choice.protocol]
    names = [key_variable(choice.provider, load_provider(choice.protocol)) for choice in asked]
    # An agent that cannot go through the gateway has a key of its own.
    return keys_in_use([*names, *(str(getattr(model.choice.agent, "OWN_KEY", "")) for model in models)])


def freeze_agent(model: AgentModel, plan: TrialPlan, arm: str, routing: RouterSettings) -> FrozenAgent:
    """An agent as a manifest holds it; its flags are those that it is started with in this arm."""
    choice = model.choice
    return FrozenAgent(
        spec=model.spec,
        agent=choice.name,
        version=model.version,
        model=choice.model,
        protocol=choice.protocol,
        base_url=model.upstream.endpoint.base_url if model.upstream else None,
        simulated=choice.agent.SIMULATED,
        unproved=unproved_of(choice.agent),
        flags=tuple(_flags(model, plan, arm)),
        price=model.price.to_json() if model.price else None,
        max_usd=model.max_usd,
        config=config_digest(routing, [model.spec], plan.choices.settings),
    )


def _flags(model: AgentModel, plan: TrialPlan, arm: str) -> list[str]:
    """The options that an agent is started with, without values that are paths: the same for all tasks."""
    choice = model.choice
    job = Job(
        spec=choice.spec, model=choice.model, prompt="prompt", workspace="/workspace", home="/home/agent",
        temporary="/tmp", skills=(), program=model.program, protocol=choice.protocol, base_url="http://127.0.0.1:1",
        key="key", seed=plan.choices.seed, settings=plan.choices.settings, arm=arm, task=plan.tasks[0],
    )  # fmt: skip
    words = [word for word in choice.agent.command(job).argv if word.startswith("-")]
    return [name if "/" in value else word for word in words for name, _, value in [word.partition("=")]]


def open_sandbox(
    models: Iterable[AgentModel], named: str, image: str, network: NetworkChoice = GATEWAY_ONLY, own: bool = False
) -> FrozenSandbox:
    """The sandbox that is named, "" for the first that works; with `own` some tasks have images of their own.

    Raises UsageError where there is none, and where an agent with a key of its own could reach more than its servers.
    """
    name = pick(named or None, image, own=own)
    found = back_end(name)
    alone = [model.choice.name for model in models if unproved_of(model.choice.agent)]
    if alone and "network" not in found.ISOLATES:
        raise UsageError(
            f"{alone[0]} has a key of yours, so it runs only where it can reach its own servers and nothing else: take a "
            f"sandbox that keeps the network apart, and not {name}"
        )
    return FrozenSandbox(name=name, version=found.found(), isolates=found.ISOLATES, image=image, network=str(network))
