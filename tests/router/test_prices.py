"""Prices: the user's first, then the published ones, never a guess and never the network."""

from __future__ import annotations

import json
import math
import socket
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.bench import prices
from skill_health.bench.http.messages import Usage
from skill_health.bench.prices import (
    FREE,
    MAX_TOKENS,
    Rates,
    TieredPrice,
    at_most,
    cost,
    missing_price,
    price_from,
    price_table,
)
from skill_health.config.settings import ModelPrice as Override
from skill_health.config.settings import Provider, RouterSettings
from skill_health.core.extras import installation

DAY = date(2026, 11, 1)
FLAT = TieredPrice((Rates(2.0, 10.0, 0.5, 2.5),))
TIERED = TieredPrice((Rates(1.0, 5.0, 0.1, 1.25), Rates(2.0, 8.0, 0.2, 2.5, 200_000)), source="two tiers")
SERVERS = {
    "router": Provider("openai", "https://openrouter.ai/api/v1"),
    "here": Provider("openai", "http://127.0.0.1:8080/v1"),
    "elsewhere": Provider("openai", "https://models.example.com/v1"),
    "fast": Provider("openai", concurrency=64),
}


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("prices must not touch the network")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.mark.parametrize(
    ("price", "usage", "dollars"),
    [
        pytest.param(FLAT, Usage(1_000_000, 100_000), 3.0, id="plain"),
        pytest.param(FLAT, Usage(1_000_000, 0, cached_tokens=1_000_000), 0.5, id="all read from a cache"),
        pytest.param(FLAT, Usage(1_000_000, 0, 200_000, 300_000), 1.85, id="cached and written parts of the input"),
        pytest.param(FLAT, Usage(100, 0, 200, 0), 0.0001, id="more cached than read: no negative rest"),
        pytest.param(FLAT, Usage(1_000_000, 100_000, reasoning_tokens=50_000), 3.0, id="reasoning is part of the output"),
        pytest.param(FLAT, Usage(1, 1), 0.000012, id="one token each"),
        pytest.param(FLAT, Usage(0, 0), 0.0, id="nothing"),
        pytest.param(TIERED, Usage(200_000, 1_000), 0.205, id="at the threshold the lower tier holds"),
        pytest.param(TIERED, Usage(200_001, 1_000), 0.408002, id="beyond it all tokens cost more"),
        pytest.param(TieredPrice((Rates(0, 0, 0, 0),), request=0.005), Usage(10, 10), 0.005, id="by the request"),
        pytest.param(FLAT, Usage(), None, id="no usage is not free"),
        pytest.param(FLAT, Usage(5, None), None, id="no output is not zero output"),
        pytest.param(FLAT, Usage(-5, 5), None, id="negative"),
        pytest.param(FLAT, Usage(5, 10**400), None, id="beyond belief"),
        pytest.param(FREE, Usage(), 0.0, id="free whatever the usage"),
        pytest.param(None, Usage(5, 5), None, id="no price"),
    ],
)  # fmt: skip
def test_cost(price: TieredPrice | None, usage: Usage, dollars: float | None) -> None:
    assert cost(price, usage) == dollars


TOKENS = st.integers(0, MAX_TOKENS)
RATE = st.decimals(0, 1000, places=4).map(float)


@given(st.builds(Rates, RATE, RATE, RATE, RATE), TOKENS, TOKENS, TOKENS, TOKENS)
def test_no_call_costs_more_than_at_most(rates: Rates, read: int, written: int, cached: int, stored: int) -> None:
    cached = min(cached, read)
    stored = min(stored, read - cached)
    price = TieredPrice((rates,))
    charged = cost(price, Usage(read, written, cached, stored))
    assert charged is not None and charged <= at_most(price, read, written)
    exact = Decimal(repr(rates.input)) * (read - cached - stored) + Decimal(repr(rates.cached)) * cached
    exact += Decimal(repr(rates.cache_write)) * stored + Decimal(repr(rates.output)) * written
    assert math.isclose(charged, float(exact / 10**6), rel_tol=1e-12, abs_tol=1e-9)


@given(TOKENS, TOKENS)
def test_a_price_survives_its_record(read: int, written: int) -> None:
    again = price_from(json.loads(json.dumps(TIERED.to_json())))
    assert again == TIERED
    assert at_most(again, read, written) == at_most(TIERED, read, written)


RATES = dict.fromkeys(("input", "output", "cached", "cache_write", "above"), 5)


@pytest.mark.parametrize(
    "record",
    [
        pytest.param({}, id="empty"),
        pytest.param({"rates": [], "request": 0, "source": ""}, id="no rate"),
        pytest.param({"rates": [{"input": 1}], "request": 0, "source": ""}, id="half a rate"),
        pytest.param({"rates": None, "request": 0, "source": ""}, id="null"),
        pytest.param({"rates": [RATES], "request": 0, "source": ""}, id="nothing holds from 0"),
    ],
)
def test_a_damaged_price_is_none(record: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no price"):
        price_from(record)


@pytest.mark.parametrize(
    ("protocol", "spec", "source"),
    [
        ("openai", "openai:gpt-5-mini", "openai/gpt-5-mini"),
        ("openai", "openai:GPT-5-mini", "openai/gpt-5-mini"),
        ("openai-responses", "openai-responses:gpt-5", "openai/gpt-5"),
        ("anthropic", "anthropic:claude-haiku-4-5-20251001", "anthropic/claude-haiku-4-5"),
        ("gemini", "gemini:models/gemini-2.5-flash", "google/gemini-2.5-flash"),
        ("openai", "router:openai/gpt-5-mini", "openrouter/openai/gpt-5-mini"),
        ("openai", "fast:gpt-5-mini", "openai/gpt-5-mini"),
    ],
)
def test_published_price(protocol: str, spec: str, source: str) -> None:
    table = price_table(RouterSettings(providers=SERVERS), DAY)
    price = table.price_of(protocol, spec, spec.partition(":")[2])
    assert price is not None
    assert price.source == f"{table.version}: {source}"
    assert price.rates[0].input > 0 and price.rates[0].output >= price.rates[0].input
    assert 0 <= price.rates[0].cached <= price.rates[0].input


@pytest.mark.parametrize(
    ("protocol", "spec"),
    [
        pytest.param("openai", "openai:no-such-model", id="unknown model"),
        pytest.param("openai", "openai:whisper-1", id="priced by the hour"),
        pytest.param("openai", "openai:", id="no model"),
        pytest.param("openai", "here:gpt-5-mini", id="a server on this machine, whatever the model is called"),
        pytest.param("openai", "elsewhere:gpt-5-mini", id="somebody else's server"),
        pytest.param("anthropic", "anthropic:gpt-5-mini", id="another vendor's model"),
        pytest.param("scripted", "scripted:gpt-5-mini", id="a protocol of no vendor"),
    ],
)
def test_no_price_is_none(protocol: str, spec: str) -> None:
    table = price_table(RouterSettings(providers=SERVERS), DAY)
    assert table.price_of(protocol, spec, spec.partition(":")[2]) is None
    assert f'[router.prices."{spec}"]' in missing_price(spec, table)


def test_tiers_of_the_published_data() -> None:
    price = price_table(RouterSettings(), DAY).price_of("gemini", "gemini:gemini-2.5-pro", "gemini-2.5-pro")
    assert price is not None
    assert [rate.above for rate in price.rates] == [0, 200_000]
    assert price.rates[1].input > price.rates[0].input and price.rates[1].output > price.rates[0].output


def test_the_users_price_wins_and_fills_in_caches() -> None:
    own = {"openai:gpt-5-mini": Override(1.0, 2.0), "here:tiny": Override(0.0, 0.0), "x:y": Override(1, 2, 0.25, 4)}
    table = price_table(RouterSettings(providers=SERVERS, prices=own), DAY)
    assert table.price_of("openai", "openai:gpt-5-mini", "gpt-5-mini") == TieredPrice((Rates(1.0, 2.0, 1.0, 1.0),))
    free = table.price_of("openai", "here:tiny", "tiny")
    assert free is not None and free.free and cost(free, Usage()) == 0.0
    assert table.price_of("openai", "x:y", "y") == TieredPrice((Rates(1, 2, 0.25, 4),))


def test_versions_and_digests_tell_tables_apart() -> None:
    none, one = price_table(RouterSettings(), DAY), price_table(RouterSettings(prices={"a:b": Override(1, 2)}), DAY)
    two = price_table(RouterSettings(prices={"c:d": Override(1, 3), "a:b": Override(1, 2)}), DAY)
    swapped = price_table(RouterSettings(prices={"a:b": Override(1, 2), "c:d": Override(1, 3)}), DAY)
    assert none.version == f"genai-prices {none.installed}"
    assert one.version.startswith(f"{none.version} + 1 override ") and len(one.version.split()[-1]) == 8
    assert " + 2 overrides " in two.version
    assert len({none.digest, one.digest, two.digest}) == 3
    assert (two.digest, two.version) == (swapped.digest, swapped.version)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prices, "_installed", lambda: "")
    table = price_table(RouterSettings(), DAY)
    assert table.version == "no prices"
    assert table.price_of("openai", "openai:gpt-5-mini", "gpt-5-mini") is None
    assert installation("bench") in missing_price("openai:gpt-5-mini", table)
    own = price_table(RouterSettings(prices={"openai:gpt-5-mini": Override(1, 2)}), DAY)
    assert own.version.startswith("1 override ")
    assert own.price_of("openai", "openai:gpt-5-mini", "gpt-5-mini") is not None


@pytest.mark.slow
def test_of_prices_by_the_hour_the_dearest_counts() -> None:
    from datetime import UTC, datetime, time, timedelta

    from genai_prices import Usage as Theirs
    from genai_prices.data import providers

    from skill_health.bench.prices import price_on

    start = datetime.combine(DAY, time(), UTC)
    hourly = 0
    for model in (model for provider in providers for model in provider.models if isinstance(model.prices, list)):
        price = price_on(model, DAY, "")
        found = [model.get_prices(start + timedelta(hours=hour)) for hour in range(24)]
        if price is None:
            assert any(each.input_mtok is None or each.output_mtok is None for each in found), model.id
            continue
        theirs = {
            float(each.calc_price(Theirs(input_tokens=1000, output_tokens=1000))["total_price"]) for each in found
        }
        ours = cost(price, Usage(1000, 1000))
        assert ours is not None
        assert ours >= max(theirs) - 2e-9, model.id
        if len(theirs) > 1:
            hourly += 1
            assert math.isclose(ours, max(theirs), abs_tol=2e-9), model.id
    assert hourly > 0


def test_flat_prices_agree_with_the_packages_own_arithmetic() -> None:
    from genai_prices import Usage as Theirs
    from genai_prices import calc_price

    usage = Usage(150_000, 2_000, cached_tokens=40_000)
    for protocol, vendor, model in (
        ("openai", "openai", "gpt-5-mini"), ("anthropic", "anthropic", "claude-haiku-4-5"),
        ("gemini", "google", "gemini-2.5-flash"),
    ):  # fmt: skip
        theirs = calc_price(
            Theirs(input_tokens=150_000, output_tokens=2_000, cache_read_tokens=40_000), model, provider_id=vendor
        )
        price = price_table(RouterSettings()).price_of(protocol, f"{protocol}:{model}", model)
        assert math.isclose(cost(price, usage) or 0, float(theirs.total_price), abs_tol=1e-9)


def halved(rate: Rates, cached: float) -> Rates:
    return Rates(rate.input / 2, rate.output / 2, cached, rate.cache_write / 2, rate.above)


@pytest.mark.parametrize(
    ("protocol", "model", "cached"),
    [
        pytest.param("openai", "gpt-5-mini", 0.5, id="OpenAI"),
        pytest.param("openai-responses", "gpt-5-mini", 0.5, id="OpenAI, the other protocol"),
        pytest.param("anthropic", "claude-sonnet-4-5", 0.5, id="Anthropic: also what a cache saves"),
        pytest.param("gemini", "gemini-2.5-flash", 1.0, id="Google: what is cached costs as much"),
    ],
)
def test_a_batch_costs_half_of_the_published_price(protocol: str, model: str, cached: float) -> None:
    table = price_table(RouterSettings(), DAY)
    alone = table.price_of(protocol, f"{protocol}:{model}", model)
    batched = table.batch_price_of(protocol, f"{protocol}:{model}", model)
    assert alone and batched and batched.source.endswith("batch")
    assert batched.rates == tuple(halved(rate, rate.cached * cached) for rate in alone.rates)


def test_a_model_whose_batches_the_data_says_nothing_of_costs_what_its_vendor_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So it is for older data, which has no prices of batches at all."""
    table = price_table(RouterSettings(), DAY)
    monkeypatch.setattr(prices, "_tells", lambda info, context: False)
    for protocol, model, share in (("openai", "gpt-5-mini", 1.0), ("anthropic", "claude-sonnet-4-5", 0.5)):
        alone = table.price_of(protocol, f"{protocol}:{model}", model)
        batched = table.batch_price_of(protocol, f"{protocol}:{model}", model)
        assert alone and batched and batched.source == f"{alone.source}, 50 % in a batch"
        assert batched.rates == tuple(halved(rate, rate.cached * share) for rate in alone.rates)
    assert table.batch_price_of("openai", "openai:nobody-has-this", "nobody-has-this") is None


def test_a_batch_at_a_server_of_ones_own_costs_what_the_table_says() -> None:
    own = {"here:a": Override(4, 8), "here:b": Override(4, 8, 1, 5, 0.25)}
    own |= {"fast:a": Override(4, 8, 1), "fast:b": Override(4, 8)}
    table = price_table(RouterSettings(providers=SERVERS, prices=own), DAY)
    found = {spec: table.batch_price_of("openai", spec, spec[-1]) for spec in own}
    rates = {spec: price.rates for spec, price in found.items() if price}
    assert rates["here:a"] == (Rates(4, 8, 4, 4),) and rates["here:b"] == (Rates(1, 2, 0.25, 1.25),)
    # What is read from a cache costs as all that is read: half, too.
    assert rates["fast:a"] == (Rates(2, 4, 1, 2),) and rates["fast:b"] == (Rates(2, 4, 2, 2),)
