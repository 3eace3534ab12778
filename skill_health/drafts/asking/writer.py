"""The model that a user names to write drafts, found, priced and opened."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from skill_health.bench.http.endpoint import Endpoint, base_url, key_variable, open_endpoint
from skill_health.bench.prices import PriceTable, TieredPrice
from skill_health.bench.providers._api import ProviderProtocol
from skill_health.bench.redact import keys_in_use
from skill_health.config.settings import Provider, RouterSettings
from skill_health.core.errors import UsageError
from skill_health.documents.drafting_manifest import FrozenDrafter
from skill_health.router.plan.forecast import UNCALIBRATED, most
from skill_health.router.routers._load import PROVIDER, resolve


@dataclass(frozen=True, slots=True)
class OpenWriter:
    """A model that is ready: PROVIDER:MODEL as it was named, its server and price.

    `endpoint` is None for one that can only be described.
    """

    spec: str
    model: str
    protocol: ProviderProtocol
    provider: Provider
    where: str
    endpoint: Endpoint | None
    price: TieredPrice | None

    def reserve(self, size: int, output: int) -> float:
        """The most dollars of one attempt: a question of so many bytes, an answer of so many tokens; 0 for no price."""
        return most(self.price, size, UNCALIBRATED, output)

    def freeze(self) -> FrozenDrafter:
        """The writer as a manifest holds it."""
        price = self.price.to_json() if self.price else None
        return FrozenDrafter(spec=self.spec, protocol=self.protocol.name, base_url=self.where, price=price)


def open_writer(spec: str, routing: RouterSettings, prices: PriceTable, keyless: bool = False) -> OpenWriter:
    """Open a model; a `keyless` one can be described and not be asked.

    Raises UsageError for a name that is none, for what is no model of a provider, and for a missing key.
    """
    choice = resolve(spec, routing)
    if choice.kind != PROVIDER or choice.protocol is None:
        raise UsageError(f"{spec[:200]!r} writes nothing: name PROVIDER:MODEL (`router models` lists the providers)")
    if not choice.model.isprintable() or {".", ".."} & set(choice.model.split("/")):
        raise UsageError(f"{spec[:200]!r} is no name of a model: it holds control characters or parts of a path")
    try:
        where = base_url(choice.provider, choice.protocol)
        endpoint = None if keyless else open_endpoint(choice.provider, choice.protocol)
    except UsageError as error:
        raise UsageError(f"{spec}: {error}") from None
    price = prices.price_of(choice.protocol.name, spec, choice.model)
    provider = choice.provider or Provider(choice.protocol.name)
    return OpenWriter(spec, choice.model, choice.protocol, provider, where, endpoint, price)


def writer_keys(writers: Iterable[OpenWriter], routing: RouterSettings) -> tuple[str, ...]:
    """The keys that these models are asked with, to be kept out of whatever is written."""
    return keys_in_use(
        key_variable(routing.providers.get(writer.spec.partition(":")[0]), writer.protocol) for writer in writers
    )
