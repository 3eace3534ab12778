"""The published prices of genai-prices as ours. Its data are part of the package: nothing here starts its updater."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

from skill_health.router.prices import PACKAGE, Rates, TieredPrice

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo, ModelPrice

# Whose models a protocol reaches when the configuration names no other server.
HOMES = {"openai": "openai", "openai-responses": "openai", "anthropic": "anthropic", "gemini": "google"}


def published(protocol: str, model: str, base_url: str, as_of: date, version: str) -> TieredPrice | None:
    """The price of a model on a day, by its server's address or else by the protocol's own provider.

    None where the server, the model or one of the model's two main prices is not in the data.
    """
    home = None if base_url else HOMES.get(protocol.replace("_", "-"))
    model = model.removeprefix("models/") if home == "google" else model
    if not model or not (base_url or home):
        return None
    try:
        provider, info = _snapshot().find_provider_model(model, None, home, base_url or None)
    except LookupError:
        return None
    return price_on(info, as_of, f"{PACKAGE} {version}: {provider.id}/{info.id}")


def price_on(info: ModelInfo, day: date, source: str) -> TieredPrice | None:
    """The price of a model of theirs on a day; one that depends on the time of day counts as its dearest."""
    midnight = datetime.combine(day, time(), UTC)
    seen: list[ModelPrice] = []
    for half_hours in range(48):
        found = info.get_prices(midnight + timedelta(minutes=30 * half_hours))
        if found not in seen:
            seen.append(found)
    known = [price for found in seen if (price := _converted(found, source)) is not None]
    return _dearest(known) if known and len(known) == len(seen) else None


@cache
def _snapshot() -> DataSnapshot:
    """The data of the installed package, whatever snapshot somebody else in this process has set."""
    from genai_prices.data import providers
    from genai_prices.data_snapshot import DataSnapshot

    return DataSnapshot(providers, from_auto_update=False)


def _converted(found: ModelPrice, source: str) -> TieredPrice | None:
    """Ours from theirs; where thinking is dearer than writing, all output costs as thinking does."""
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
    """Rate by rate the highest of several prices of one model."""
    starts = sorted({rate.above for price in prices for rate in price.rates})

    def highest(name: str, start: int) -> float:
        return max(float(getattr([rate for rate in price.rates if rate.above <= start][-1], name)) for price in prices)

    rates = [
        Rates(highest("input", start), highest("output", start), highest("cached", start), highest("cache_write", start), start)
        for start in starts
    ]  # fmt: skip
    return TieredPrice(tuple(rates), max(price.request for price in prices), prices[0].source)
