"""The judges that a user names, found, priced and opened; none of them is of a candidate's family."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from skill_health.bench.http.endpoint import Endpoint, base_url, key_variable, open_endpoint
from skill_health.bench.prices import PriceTable, TieredPrice, at_most
from skill_health.bench.providers._api import ProviderProtocol
from skill_health.bench.providers._load import list_providers, load_provider
from skill_health.bench.redact import keys_in_use
from skill_health.config.settings import Provider, RouterSettings
from skill_health.core.errors import UsageError
from skill_health.core.plugins import quote_name
from skill_health.effectiveness.judge.by_agent import (
    AT_ONCE,
    OWN_TOKENS,
    TYPICAL_TURNS,
    USUAL,
    AgentSurroundings,
    JudgeAgent,
    is_agent,
    most_usd,
    open_judge_agent,
)
from skill_health.effectiveness.judge.families import refuse_own_family, settle_families
from skill_health.effectiveness.plan.opening import price_of, server_of
from skill_health.effectiveness.run.runs import EffectRun
from skill_health.text.near import nearest

BYTES_PER_TOKEN, MARGIN = 4, 1.5
"""How many bytes a token has, and how far above that estimate the tokens of a call may lie."""
_TOKENS, _TOKENS_EACH = 512, 400
"""Tokens of an answer: for its form, and for each criterion with what is quoted."""


@dataclass(frozen=True, slots=True)
class OpenJudge:
    """A judge that is ready: PROVIDER:MODEL or AGENT:PROVIDER:MODEL as it was named, its server, price and families.

    One that is `batched` is asked in batches, at that price.

    `server` names what shares a limit of calls under way. `endpoint` is None for one that is only described,
    and for an `agent`, whose program is started instead.
    """

    spec: str
    model: str
    server: str
    protocol: ProviderProtocol
    provider: Provider
    where: str
    endpoint: Endpoint | None
    price: TieredPrice | None
    families: frozenset[str]
    agent: JudgeAgent | None = None
    batched: bool = False

    @property
    def at_once(self) -> int:
        """How many of its calls may be under way."""
        return min(self.provider.concurrency, AT_ONCE) if self.agent else self.provider.concurrency

    def max_output(self, criteria: int) -> int:
        """The tokens that an answer about so many criteria may have."""
        return max(self.provider.max_output_tokens, _TOKENS + _TOKENS_EACH * criteria)

    def reserve(self, size: int, output: int) -> float:
        """The most dollars of one attempt: a question of so many bytes, an answer of so many tokens; 0 for no price."""
        if self.price is None:
            return 0.0
        tokens = min(size, math.ceil(size / BYTES_PER_TOKEN * MARGIN))
        return most_usd(self.price, tokens, output) if self.agent else at_most(self.price, tokens, output)

    def typical_input(self, size: int) -> int:
        """The tokens that are usually read for a question of so many bytes."""
        tokens = round(size / BYTES_PER_TOKEN)
        return TYPICAL_TURNS * (tokens + OWN_TOKENS) if self.agent else tokens


def open_judges(
    specs: Sequence[str],
    routing: RouterSettings,
    prices: PriceTable,
    told: Mapping[str, frozenset[str]],
    keyless: bool = False,
    surroundings: AgentSurroundings = USUAL,
    batch: bool = False,
) -> tuple[OpenJudge, ...]:
    """Open every judge that is named, once; `keyless` ones can be described and not be asked.

    With `batch` those that are models are asked in batches.

    Raises UsageError for a name that is none, a family that nobody says, a missing key, or none at all.
    """
    if not specs:
        raise UsageError(
            "no judge is named: give --judges PROVIDER:MODEL (`router models` lists the providers) or AGENT:PROVIDER:MODEL "
            "(`effectiveness agents` lists the agents)"
        )
    judges = tuple(_opened(spec, routing, prices, told, keyless, surroundings) for spec in dict.fromkeys(specs))
    return tuple(_in_batches(judge, prices) for judge in judges) if batch else judges


def _in_batches(judge: OpenJudge, prices: PriceTable) -> OpenJudge:
    """The judge, asked in batches. Raises UsageError where it cannot be."""
    if judge.agent is not None or judge.protocol.batches is None:
        raise UsageError(
            f"{quote_name(judge.spec)} cannot be asked in batches: "
            f"{'it is an agent' if judge.agent else 'its provider has none'}; leave out --batch, or the judge"
        )
    return replace(judge, price=prices.batch_price_of(judge.protocol.name, judge.spec, judge.model), batched=True)


def _opened(
    spec: str,
    routing: RouterSettings,
    prices: PriceTable,
    told: Mapping[str, frozenset[str]],
    keyless: bool,
    surroundings: AgentSurroundings,
) -> OpenJudge:
    head, _, model = spec.partition(":")
    known = list_providers()
    if head not in routing.providers and is_agent(head):
        return _opened_agent(spec, routing, prices, told, open_judge_agent(spec, routing, surroundings, keyless))
    configured = routing.providers.get(head)
    protocol_name = configured.protocol if configured else head
    if protocol_name not in known:
        meant = nearest(head, [*routing.providers, *known])
        hint = f"did you mean {meant}?" if meant else f"there are {', '.join((*routing.providers, *known))}"
        raise UsageError(f"there is no provider {quote_name(head)} to judge; {hint}")
    if not model.strip() or not model.isprintable() or {".", ".."} & set(model.split("/")):
        raise UsageError(f"{quote_name(spec)}: which model? Write {head}:MODEL")
    protocol = load_provider(protocol_name)
    families = settle_families([model], spec, told)
    try:
        where = base_url(configured, protocol)
        endpoint = None if keyless else open_endpoint(configured, protocol)
    except UsageError as error:
        raise UsageError(f"{quote_name(spec)}: {error}") from None
    price = prices.price_of(protocol_name, spec, model)
    provider = configured or Provider(protocol_name)
    return OpenJudge(spec, model, head, protocol, provider, where, endpoint, price, families)


def _opened_agent(
    spec: str, routing: RouterSettings, prices: PriceTable, told: Mapping[str, frozenset[str]], agent: JudgeAgent
) -> OpenJudge:
    choice = agent.choice
    return OpenJudge(
        spec,
        choice.model,
        server_of(choice, routing),
        load_provider(choice.protocol),
        choice.provider or Provider(choice.protocol),
        agent.upstream.endpoint.base_url,
        None,
        price_of(choice, routing, prices),
        settle_families([choice.model], spec, told),
        agent,
    )


def refuse_relatives(judges: Iterable[OpenJudge], run: EffectRun, told: Mapping[str, frozenset[str]]) -> None:
    """Raise UsageError where a judge is of the family of a model of the run, or where that family is not known.

    The name of a model and those that its provider named in the run's results count together. Simulated agents are
    models of no family.
    """
    candidates = {
        model.spec: settle_families(_names(run, model.spec, model.model), model.spec, told)
        for model in run.manifest.models
        if not model.simulated
    }
    for judge in judges:
        for spec, families in candidates.items():
            refuse_own_family(judge.spec, judge.families, spec, families)


def _names(run: EffectRun, spec: str, model: str) -> list[str]:
    """The names of a candidate's model: as it was asked for, and as its provider called it."""
    resolved = {result.resolved_model for result in run.results if result.model == spec and result.resolved_model}
    return [name for name in (model, *sorted(resolved)) if name]


def judge_keys(judges: Iterable[OpenJudge], routing: RouterSettings) -> tuple[str, ...]:
    """The keys that these judges are asked with, to be kept out of whatever is written."""
    return keys_in_use(key_variable(routing.providers.get(judge.server), judge.protocol) for judge in judges)
