"""What the same calls would cost otherwise: with the listing from a provider's cache, or in batches within a day."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from skill_health.bench.budget import add_known, dollars
from skill_health.bench.http.messages import Usage
from skill_health.bench.prices import PriceTable, TieredPrice, cost
from skill_health.router.plan.forecast import BYTES_PER_TOKEN, EarlierCalls, forecast, load_of
from skill_health.router.plan.orders import Orders, group_of
from skill_health.router.plan.plan import Key, OpenModel, PlannedCall, RouterPlan, question_sizes
from skill_health.router.template import render, shared_part, size_of


@dataclass(frozen=True, slots=True)
class CachedCalls:
    """Calls of a model of `input_tokens` each, of which the first `shared_tokens` are the same within each order."""

    calls: int
    orders: int
    input_tokens: int
    shared_tokens: int
    output_tokens: int

    def usd(self, price: TieredPrice) -> float | None:
        """Dollars where the first call of each order writes the cache and all others read it."""
        shared = min(self.shared_tokens, self.input_tokens)
        first = cost(price, Usage(self.input_tokens, self.output_tokens, cache_write_tokens=shared))
        later = cost(price, Usage(self.input_tokens, self.output_tokens, cached_tokens=shared))
        if first is None or later is None:
            return None
        return round(first * self.orders + later * (self.calls - self.orders), 9)


@dataclass(frozen=True, slots=True)
class Savings:
    """Dollars of the calls that are left, for typical answers: as single calls, with caches, and in batches.

    None where that way is closed to one of the models, or its price is not known.
    """

    plain: float | None
    cached: float | None
    batched: float | None

    def notes(self, orders: Orders) -> Iterator[str]:
        """What a forecast says of ways that are cheaper than that of these orders."""
        if self.plain is None:
            return
        if self.cached is not None and self.cached < self.plain:
            whose = "where providers' caches serve the listing to all calls but the first of each order"
            saved = f"{dollars(self.cached, self.cached)} instead of {dollars(self.plain, self.plain)}"
            yield (
                f"caches: {saved}, {whose}" if orders == "shared" else f"cheaper: {saved} with --orders shared, {whose}"
            )
        if self.batched is not None and self.batched < self.plain:
            yield f"cheaper: {dollars(self.batched, self.batched)} instead of {dollars(self.plain, self.plain)} with --batch, within a day"


def find_savings(
    plan: RouterPlan, prices: PriceTable, earlier: Mapping[str, EarlierCalls], done: Collection[Key] = ()
) -> Savings:
    """What the calls that are left cost by each way; nothing where they are asked in batches, or none is paid."""
    left: dict[str, list[PlannedCall]] = {model.spec: [] for model in plan.models}
    for call in plan.calls():
        if call.key not in done:
            left[call.model.spec].append(call)
    paid = [model for model in plan.models if left[model.spec] and model.price and not model.price.free]
    if not paid or any(model.batched for model in paid):
        return Savings(None, None, None)
    sizes = question_sizes(plan)

    def typical(models: Sequence[OpenModel]) -> float | None:
        asked = {model.spec: [sizes[call.prompt.prompt_id] for call in left[model.spec]] for model in models}
        loads = [load_of(model, asked[model.spec], earlier.get(model.spec), 1) for model in models]
        return forecast(loads, prices.version).usd_low

    batched = [each for each in (_in_batch(model, prices) for model in paid) if each is not None]
    return Savings(
        typical(paid),
        add_known(_cached(plan, paid, left, sizes, earlier), 9) if plan.retrieval is None else None,
        typical(batched) if len(batched) == len(paid) else None,
    )


def _cached(
    plan: RouterPlan, models: Sequence[OpenModel], left: Mapping[str, Sequence[PlannedCall]], sizes: Mapping[str, int],
    earlier: Mapping[str, EarlierCalls],
) -> Iterator[float | None]:  # fmt: skip
    """What each model's calls cost with shared orders; None where its provider is not known to cache so much."""
    shown = plan.catalogue.shown
    # The same in every order, but for the numbers before the names.
    begin = size_of(render(plan.template, shown, "")[: shared_part(plan.template, shown)])
    for model in models:
        told, calls = earlier.get(model.spec) or EarlierCalls(), left[model.spec]
        least = _fewest_cached(model)
        shared = round(begin / BYTES_PER_TOKEN * told.factor.mean)
        if model.price is None or not least or shared < least:
            yield None
            continue
        orders = {(group_of(call.prompt.prompt_id, plan.choices.seed), call.replication) for call in calls}
        load = load_of(model, [sizes[call.prompt.prompt_id] for call in calls], told, 1)
        each = round(load.input_bytes / BYTES_PER_TOKEN * told.factor.mean / load.calls)
        output = min(load.typical_output, load.max_output)
        yield CachedCalls(load.calls, len(orders), each, shared, output).usd(model.price)


def _fewest_cached(model: OpenModel) -> int:
    """The fewest tokens that the model's provider caches; 0 where nobody knows, as of a server of one's own."""
    own = model.choice.provider is not None and bool(model.choice.provider.base_url)
    return 0 if own or model.choice.protocol is None else model.choice.protocol.fewest_cached


def _in_batch(model: OpenModel, prices: PriceTable) -> OpenModel | None:
    """The model as it is asked in batches; None where it cannot be."""
    protocol = model.choice.protocol
    if protocol is None or protocol.batches is None:
        return None
    price = prices.batch_price_of(protocol.name, model.spec, model.choice.model)
    return None if price is None else replace(model, price=price, batched=True)
