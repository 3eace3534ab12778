"""What a call costs: the user's own table first, then the offline data of genai-prices; never the network.

A model without a known price has None, not zero: nobody should spend money on it unknowingly. Local computation costs
nothing.

    table = price_table(config.router)              cheap; imports no price data
    price = table.price_of("openai", "openai:gpt-5-mini", "gpt-5-mini")     Price or None
    cost(price, usage)                              dollars, or None if the usage does not tell
    at_most(price, input_tokens, output_tokens)     the most that a call of this many tokens can cost, for reservations
    missing_price(spec, table)                      the line that says what to add
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from skill_health.bench.http.messages import Usage
from skill_health.bench.manifest import digest
from skill_health.bench.providers._batch import BatchShares
from skill_health.bench.providers._load import load_provider
from skill_health.config.load import users_file
from skill_health.config.settings import ModelPrice as Override
from skill_health.config.settings import RouterSettings
from skill_health.core.errors import UsageError
from skill_health.core.extras import installation

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo, ModelPrice

PACKAGE = "genai-prices"
MAX_TOKENS = 10**9
"""Reports of more tokens than this for one call are not believed."""

BATCHED: Mapping[str, str] = MappingProxyType({"processing": "batch"})
_ALONE: Mapping[str, str] = MappingProxyType({})
_NANO = Decimal("1e-9")
_MILLION = Decimal(10**6)


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars per million tokens, for calls that read more than `above` input tokens."""

    input: float
    output: float
    cached: float
    cache_write: float
    above: int = 0


@dataclass(frozen=True, slots=True)
class TieredPrice:
    """The price of one model: `rates` by ascending `above`, the first from 0; and dollars per request.

    `source` says whose price it is: "configuration", or package, version, provider and model.
    """

    rates: tuple[Rates, ...]
    request: float = 0.0
    source: str = "configuration"

    @property
    def free(self) -> bool:
        """Whether no call can cost anything."""
        return not self.request and not any(
            rate.input or rate.output or rate.cached or rate.cache_write for rate in self.rates
        )

    def to_json(self) -> dict[str, Any]:
        """The price as stored in a manifest."""
        return {"source": self.source, "request": self.request, "rates": [asdict(rate) for rate in self.rates]}


FREE = TieredPrice((Rates(0.0, 0.0, 0.0, 0.0),), source="computed here")


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices as of one day. `version` is for people; `digest` changes if any price may have changed."""

    version: str
    digest: str
    as_of: date
    installed: str = ""
    overrides: Mapping[str, Override] = field(default_factory=dict)
    base_urls: Mapping[str, str] = field(default_factory=dict)

    def price_of(self, protocol: str, spec: str, model: str) -> TieredPrice | None:
        """The price of a provider's model; None if unknown.

        `protocol` names the module that asks; `spec` is the name as the user gave it, whose first part may be a
        provider of the configuration: with a base URL of its own, the price is that server's or unknown.
        """
        if spec in self.overrides:
            return _of_override(self.overrides[spec])
        if not self.installed:
            return None

        return published(protocol, model, self.base_urls.get(spec.partition(":")[0], ""), self.as_of, self.installed)

    def batch_price_of(self, protocol: str, spec: str, model: str) -> TieredPrice | None:
        """The same in a batch: the published rate, else the share of the list price that the provider says.

        Of a server of the user's own nobody says a share, so that a batch costs as much as single calls there, unless
        the user's table does.
        """
        own, vendors = self.overrides.get(spec), not self.base_urls.get(spec.partition(":")[0])
        found = load_provider(protocol).batches
        shares = found.shares if found and vendors else BatchShares(1.0, 1.0)
        if own is not None:
            shares = shares if own.batch is None else BatchShares(own.batch, own.batch)
            return _shared(_of_override(own), shares, "configuration")
        address = self.base_urls.get(spec.partition(":")[0], "")
        alone = self.price_of(protocol, spec, model)
        if not self.installed or alone is None:
            return alone
        batched = published(protocol, model, address, self.as_of, self.installed, BATCHED)
        if batched is not None:
            return replace(batched, source=f"{batched.source}, batch")
        return _shared(alone, shares, alone.source)

    def context_of(self, protocol: str, spec: str, model: str) -> int | None:
        """The tokens that a question to a provider's model may have, by the price data; None if unknown."""
        if not self.installed:
            return None
        found = _published_model(protocol, model, self.base_urls.get(spec.partition(":")[0], ""))
        return found[1].context_window if found else None


def price_table(routing: RouterSettings, as_of: date | None = None) -> PriceTable:
    """The prices in force under a configuration on a day (default: today, UTC). Imports no price data."""
    own = {spec: list(price) for spec, price in sorted(routing.prices.items())}
    installed = _installed()
    version = f"{PACKAGE} {installed}" if installed else ""
    if own:
        count = f"{len(own)} override{'s' if len(own) > 1 else ''} {digest(own)[:8]}"
        version = f"{version} + {count}" if version else count
    return PriceTable(
        version=version or "no prices",
        digest=digest({"package": installed, "overrides": own}),
        as_of=as_of or datetime.now(UTC).date(),
        installed=installed,
        overrides=routing.prices,
        base_urls={name: provider.base_url for name, provider in routing.providers.items() if provider.base_url},
    )


def missing_price(spec: str, table: PriceTable) -> str:
    """One line for a model with an unknown price: what to add and where."""
    install = "" if table.installed else f", or install {PACKAGE} ({installation('bench')})"
    return (
        f'no price is known for {spec}: add [router.prices."{spec}"] with input and output, US dollars for a million '
        f"tokens (0 where it costs nothing), to {users_file()}, or a file that you name with --config{install}"
    )


def price_from(record: Mapping[str, Any]) -> TieredPrice:
    """The price in a manifest. Raises ValueError if it is not one."""
    try:
        rates = tuple(Rates(**rate) for rate in record["rates"])
        if rates[0].above != 0:
            raise ValueError("no price: the first rate must apply from 0")
        return TieredPrice(rates, float(record["request"]), str(record["source"]))
    except (KeyError, IndexError, TypeError) as error:
        raise ValueError(f"no price: {error}") from None


def cost(price: TieredPrice | None, usage: Usage) -> float | None:
    """Dollars for one call by its reported usage, rounded to 1e-9.

    None if the price is unknown, or the usage is missing or implausible; 0 if the model is free.
    """
    if price is None:
        return None
    if price.free:
        return 0.0
    read, written = usage.input_tokens, usage.output_tokens
    cached, stored = usage.cached_tokens or 0, usage.cache_write_tokens or 0
    if read is None or written is None:
        return None
    if not all(0 <= count <= MAX_TOKENS for count in (read, written, cached, stored)):
        return None
    rate = [rate for rate in price.rates if not rate.above or read > rate.above][-1]
    plain = max(0, read - cached - stored)
    parts = ((rate.input, plain), (rate.cached, cached), (rate.cache_write, stored), (rate.output, written))
    total = sum((_decimal(each) * count for each, count in parts), Decimal(0)) / _MILLION + _decimal(price.request)
    return float(total.quantize(_NANO, ROUND_HALF_EVEN))


def at_most(price: TieredPrice, input_tokens: int, output_tokens: int) -> float:
    """The most dollars that a call of at most this many tokens can cost, rounded up to 1e-9.

    All input is charged at the highest rate that could apply to it: plain, read from a cache or written to one.
    """
    rates = [rate for rate in price.rates if not rate.above or input_tokens > rate.above]
    total = max(
        _decimal(max(rate.input, rate.cached, rate.cache_write)) * input_tokens + _decimal(rate.output) * output_tokens
        for rate in rates
    )
    return float((total / _MILLION + _decimal(price.request)).quantize(_NANO, ROUND_CEILING))


def _shared(price: TieredPrice, shares: BatchShares, source: str) -> TieredPrice:
    """The price of a batch, where that is a share of a list price."""
    rates = (
        Rates(
            float(_decimal(rate.input) * _decimal(shares.plain)),
            float(_decimal(rate.output) * _decimal(shares.plain)),
            # What has no price of its own there costs as all that is read.
            float(_decimal(rate.cached) * _decimal(shares.cached if rate.cached < rate.input else shares.plain)),
            float(_decimal(rate.cache_write) * _decimal(shares.plain)),
            rate.above,
        )
        for rate in price.rates
    )
    return TieredPrice(tuple(rates), price.request, f"{source}, {100 * shares.plain:g} % in a batch")


def _of_override(own: Override) -> TieredPrice:
    cached = own.input if own.cached is None else own.cached
    stored = own.input if own.cache_write is None else own.cache_write
    return TieredPrice((Rates(own.input, own.output, cached, stored),))


def _decimal(number: float) -> Decimal:
    return Decimal(repr(number))


def _installed() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return ""


def published(
    protocol: str, model: str, base_url: str, as_of: date, version: str, context: Mapping[str, str] = _ALONE
) -> TieredPrice | None:
    """The price of a model on a day, by its server's address or else by the protocol's own provider.

    `context` is how calls are made, in the data's words.

    None if the server, the model or one of the model's two main prices is not in the data.
    """
    found = _published_model(protocol, model, base_url)
    if found is None:
        return None
    provider, info = found
    return price_on(info, as_of, f"{PACKAGE} {version}: {provider}/{info.id}", context)


def _published_model(protocol: str, model: str, base_url: str) -> tuple[str, ModelInfo] | None:
    """The provider and the model in the data."""
    home = None if base_url else _vendor(protocol)
    model = model.removeprefix("models/") if home == "google" else model
    if not model or not (base_url or home):
        return None
    try:
        provider, info = _snapshot().find_provider_model(model, None, home, base_url or None)
    except LookupError:
        return None
    return provider.id, info


def _vendor(protocol: str) -> str | None:
    """The vendor whose models a protocol reaches if the configuration names no other server."""
    try:
        return load_provider(protocol).price_vendor or None
    except LookupError:
        return None


def price_on(info: ModelInfo, day: date, source: str, context: Mapping[str, str] = _ALONE) -> TieredPrice | None:
    """The price of one of their models on a day; one that depends on the time of day counts at its highest.

    None where the data has no price for calls that are made like this.
    """
    if context and not _tells(info, context):
        return None
    midnight = datetime.combine(day, time(), UTC)
    seen: list[ModelPrice] = []
    for half_hours in range(48):
        moment = midnight + timedelta(minutes=30 * half_hours)
        found = info.get_prices(moment, dict(context)) if context else info.get_prices(moment)
        if found not in seen:
            seen.append(found)
    known = [price for found in seen if (price := _converted(found, source)) is not None]
    return _dearest(known) if known and len(known) == len(seen) else None


def _tells(info: ModelInfo, context: Mapping[str, str]) -> bool:
    """Whether the installed data tells such calls of a model from others; older data does of none."""
    return any(dict(variant.when) == dict(context) for variant in getattr(info, "price_variants", None) or ())


@cache
def _snapshot() -> DataSnapshot:
    """The data of the installed package, whatever snapshot other code in this process has set."""
    from genai_prices.data import providers
    from genai_prices.data_snapshot import DataSnapshot

    return DataSnapshot(providers, from_auto_update=False)


def _converted(found: ModelPrice, source: str) -> TieredPrice | None:
    """Convert their price to ours; if thinking costs more than writing, all output counts as thinking."""
    values: dict[str, Any] = {key: value for key, value in vars(found).items() if value is not None}
    if "input_mtok" not in values or "output_mtok" not in values:
        return None
    starts = sorted({0, *(tier.start for value in values.values() for tier in getattr(value, "tiers", ()))})

    def at(key: str, start: int, default: float) -> float:
        value = values.get(key)
        if value is None:
            return default
        if isinstance(value, Decimal):
            return float(value)
        return float(([value.base] + [tier.price for tier in value.tiers if tier.start <= start])[-1])

    rates = []
    for start in starts:
        plain = at("input_mtok", start, 0.0)
        written = max(at("output_mtok", start, 0.0), at("output_reasoning_mtok", start, 0.0))
        cached, stored = at("cache_read_mtok", start, plain), at("cache_write_mtok", start, plain)
        rates.append(Rates(plain, written, cached, stored, start))
    return TieredPrice(tuple(rates), at("requests_kcount", 0, 0.0) / 1000, source)


def _dearest(prices: list[TieredPrice]) -> TieredPrice:
    """The highest of several prices of one model, rate by rate."""
    starts = sorted({rate.above for price in prices for rate in price.rates})

    def highest(name: str, start: int) -> float:
        return max(float(getattr([rate for rate in price.rates if rate.above <= start][-1], name)) for price in prices)

    rates = [
        Rates(highest("input", start), highest("output", start), highest("cached", start), highest("cache_write", start), start)
        for start in starts
    ]  # fmt: skip
    return TieredPrice(tuple(rates), max(price.request for price in prices), prices[0].source)


def refuse_spending(asked: Iterable[tuple[str, TieredPrice | None]], capped: bool, prices: PriceTable) -> None:
    """The same for models that servers answer, each as (its name as given, its price)."""
    paid = [(spec, price) for spec, price in asked if not (price and price.free)]
    if paid and not capped:
        raise UsageError(
            f"{paid[0][0]} asks a server that may cost money: give --max-runs or --max-budget-usd "
            "(or --unsafe-no-cost-cap to do without)"
        )
    unknown = next((spec for spec, price in paid if price is None), None)
    if unknown:
        raise UsageError(f"{missing_price(unknown, prices)}; or give --unsafe-no-cost-cap to go on without knowing")
