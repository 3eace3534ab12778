"""The models that a run names, opened, with their prices; and whether they may be asked without a cap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from skill_health.bench.prices import FREE, PriceTable, price_from, refuse_spending
from skill_health.bench.redact import keys_in_use
from skill_health.config.settings import RouterSettings
from skill_health.core.errors import UsageError
from skill_health.router.lexicon.abstention import AbstentionCriterion
from skill_health.router.plan.plan import OpenModel
from skill_health.router.records import Catalogue, Prompt
from skill_health.router.routers._api import Setup
from skill_health.router.routers._load import LOCAL, PROVIDER, RouterChoice, open_setup, resolve
from skill_health.router.template import Template

if TYPE_CHECKING:
    from skill_health.documents.router_manifest import RouterManifest
    from skill_health.executors._api import Executor
    from skill_health.router.plan.choices import RouterChoices


def open_models(
    choices: RouterChoices,
    routing: RouterSettings,
    catalogue: Catalogue,
    template: Template,
    train: Sequence[Prompt],
    prices: PriceTable,
    keyless: bool = False,
    executor: Executor | None = None,
) -> tuple[OpenModel, ...]:
    """Open every model that is named, once; `keyless` ones can be described and not be asked.

    Those that cannot differ between replications get one. Local ones are computed by the workers of an executor. Raises
    UsageError for a name that is none, a missing package or a missing key.
    """
    if not choices.models:
        raise UsageError("no model is named: give --models, such as --models lexical:tfidf (see `router models`)")
    specs = dict.fromkeys(choices.models)
    chosen = [resolve(spec, routing) for spec in specs]
    if choices.batch:
        _refuse_unbatched(chosen)
    criterion = AbstentionCriterion(routing.false_fires, routing.abstention == "balanced")
    return tuple(
        _opened(choice, choices, catalogue, template, train, prices, keyless, criterion, executor) for choice in chosen
    )


def _refuse_unbatched(chosen: Sequence[RouterChoice]) -> None:
    """Raise UsageError where no model, or one of a provider, can be asked in batches."""
    asked = [choice for choice in chosen if choice.kind == PROVIDER]
    without = [choice.spec for choice in asked if choice.protocol is None or choice.protocol.batches is None]
    if without:
        raise UsageError(
            f"{without[0]} cannot be asked in batches: its provider has none; leave out --batch, or the model"
        )
    if not asked:
        raise UsageError(
            "--batch needs a model of a provider, such as openai:MODEL: what is computed here is not batched"
        )


def _opened(
    choice: RouterChoice,
    choices: RouterChoices,
    catalogue: Catalogue,
    template: Template,
    train: Sequence[Prompt],
    prices: PriceTable,
    keyless: bool,
    criterion: AbstentionCriterion,
    executor: Executor | None,
) -> OpenModel:
    asks = choice.kind == PROVIDER
    setup = Setup(
        choice.spec,
        choice.model,
        catalogue,
        tuple(train),
        choice.provider,
        choice.protocol,
        choices.seed,
        choices.index,
        choices.mode,
        template.none_allowed,
        {"keyless": True} if keyless and asks else {},
        criterion,
    )
    router = open_setup(choice.module, setup)
    if executor is not None and executor.host and choice.kind == LOCAL:
        from skill_health.router.run.workers import FarRouter

        router = FarRouter(router, choice.module, setup, executor)
    protocol = choice.provider.protocol if choice.provider else choice.spec.partition(":")[0]
    price = prices.price_of(protocol, choice.spec, choice.model) if asks else FREE
    reps = choices.reps if router.replicates else 1
    if asks and choices.batch:
        return OpenModel(choice, router, reps, prices.batch_price_of(protocol, choice.spec, choice.model), True, price)
    return OpenModel(choice, router, reps, price)


def with_prices_of(models: Sequence[OpenModel], manifest: RouterManifest) -> tuple[OpenModel, ...]:
    """The models at the prices that a run began with. Raises UsageError where its manifest holds none of ours."""
    from dataclasses import replace

    try:
        stored = {each.spec: each for each in manifest.models}
        return tuple(
            replace(
                model,
                price=None if (price := stored[model.spec].price) is None else price_from(price),
                list_price=price_from(listed) if (listed := stored[model.spec].list_price) else None,
            )
            for model in models
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"the manifest of the run to resume is damaged: no price of each model ({error})") from None


def refuse_uncapped(models: Sequence[OpenModel], capped: bool, prices: PriceTable) -> None:
    """Raise UsageError where a server not known to be free would be asked without a cap, or at no known price."""
    refuse_spending([(model.spec, model.price) for model in models if model.choice.kind == PROVIDER], capped, prices)


def secrets_of(models: Sequence[OpenModel]) -> tuple[str, ...]:
    """The keys that these models are asked with, to be kept out of whatever is written."""
    from skill_health.bench.http.endpoint import key_variable

    asked = ((model.choice.provider, model.choice.protocol) for model in models)
    return keys_in_use(key_variable(provider, protocol) for provider, protocol in asked if protocol is not None)
