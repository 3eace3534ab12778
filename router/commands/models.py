"""`skill-health router models`: which routers there are, what each needs, and whether that is there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import click

from skill_health.config.settings import Provider, RouterSettings
from skill_health.core.errors import CLEAN, UsageError


@dataclass(frozen=True, slots=True)
class RouterRow:
    """One router or provider. `needs` names its extra and the variable of its key; `lacks` what of it is not there."""

    name: str
    kind: str
    needs: tuple[str, ...]
    lacks: tuple[str, ...]
    configured: bool
    title: str


@click.command(short_help="List the routers and providers.")
@click.argument("provider", metavar="[PROVIDER]", default="")
@click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", help="text or json.")
def command(provider: str, config_file: str | None, format_: str) -> int:
    """List every router: those computed here, the simulated one, provider protocols, and configured providers.

    `openai:MODEL` stands for any model of that provider, and `NAME:MODEL` for one of [router.providers.NAME]. Which
    models PROVIDER offers now is asked of it, with your key: `router models openai`. Of a key only the name of its
    variable is shown, and whether that is set.
    """
    from skill_health.config.load import describe_refused
    from skill_health.config.settings import load_config
    from skill_health.discovery.roots import find_root
    from skill_health.text.terminal import clean, echo

    config = load_config(find_root((os.curdir,)), config_file)
    for line in describe_refused(config):
        echo(f"{clean(line)}\n", err=True)
    if provider:
        models = _offered(provider.removesuffix(":?"), config.router)
        echo(f"{json.dumps([asdict(each) for each in models], indent=1) if format_ == 'json' else _priced(models)}\n")
        return CLEAN
    rows = list(_rows(config.router))
    click.echo(json.dumps([asdict(row) for row in rows], indent=1) if format_ == "json" else _table(rows))
    return CLEAN


@dataclass(frozen=True, slots=True)
class OfferedModel:
    """A model that a provider offers, as `--models` takes it; prices are dollars per million tokens, None unknown."""

    name: str
    input: float | None
    output: float | None


_MOST_PAGES = 50


def _offered(name: str, routing: RouterSettings) -> list[OfferedModel]:
    """The models that a provider says that it has, by name. Raises UsageError where it does not say."""
    import asyncio

    from skill_health.bench.http.endpoint import open_endpoint
    from skill_health.bench.http.failures import Failure
    from skill_health.bench.http.plain_requests import PlainClient
    from skill_health.bench.prices import price_table
    from skill_health.core.extras import require_modules
    from skill_health.router.routers._load import resolve

    choice = resolve(f"{name}:MODEL", routing)
    if (protocol := choice.protocol) is None:
        raise UsageError(f"{name} is computed here and has no models: name a provider, such as openai")
    require_modules("asking a provider", ("httpx", "h11"))
    endpoint = open_endpoint(choice.provider, protocol)

    async def ask() -> set[str] | Failure:
        client, found, after = PlainClient(endpoint), set[str](), ""
        for _ in range(_MOST_PAGES):
            page = await client.ask(protocol.list_models(endpoint.base_url, after))
            if isinstance(page, Failure):
                return page
            names, after = protocol.read_models(page)
            found.update(client.scrub.line(each) for each in names if each)
            if not after:
                break
        return found

    found = asyncio.run(ask())
    if isinstance(found, Failure):
        raise UsageError(found.message)
    if not found:
        raise UsageError(f"{endpoint.host} named no model in its answer: base-url may be that of another API")
    prices = price_table(routing)
    priced = [(each, prices.price_of(protocol.name, f"{name}:{each}", each)) for each in sorted(found)]
    return [
        OfferedModel(
            f"{name}:{each}", price.rates[0].input if price else None, price.rates[0].output if price else None
        )
        for each, price in priced
    ]


def _priced(models: list[OfferedModel]) -> str:
    from skill_health.text.terminal import clean

    width = max(len(clean(each.name)) for each in models)
    return "\n".join(
        f"{clean(each.name):{width}}  no known price"
        if each.input is None or each.output is None
        else f"{clean(each.name):{width}}  ${each.input:g} in, ${each.output:g} out per million tokens"
        for each in models
    )


def _rows(routing: RouterSettings) -> Iterator[RouterRow]:
    """All routers, and after them the configured providers by name; one named like a protocol stands for it."""
    from skill_health.router.routers._load import PROVIDER, available

    for info in available():
        extra = (f"skill-health[{info.extra}]",) if info.extra else ()
        lacks = () if info.installed else extra
        if info.kind != PROVIDER:
            yield RouterRow(info.name, info.kind, extra, lacks, False, info.title)
        elif info.name not in routing.providers:
            yield _provider(info.name, None, routing, extra, lacks)
    protocols = {info.name: info for info in available() if info.kind == PROVIDER}
    for name, provider in sorted(routing.providers.items()):
        found = protocols.get(provider.protocol)
        extra = (f"skill-health[{found.extra}]",) if found else ()
        yield _provider(name, provider, routing, extra, () if found and found.installed else extra)


def _provider(
    name: str, provider: Provider | None, routing: RouterSettings, extra: tuple[str, ...], lacks: tuple[str, ...]
) -> RouterRow:
    from skill_health.bench.http.endpoint import base_url, key_variable
    from skill_health.router.routers._load import PROVIDER, resolve

    protocol = resolve(f"{name}:MODEL", routing).protocol
    assert protocol is not None
    variable = key_variable(provider, protocol)
    key = (variable,) if variable else ()
    missing = () if os.environ.get(variable, "").strip() else key
    try:
        where = f", at {base_url(provider, protocol)}" if provider else ""
    except UsageError as error:
        where, missing = f"; {error}", (*missing, "base-url")
    title = f"{protocol.title}{where}"
    return RouterRow(f"{name}:MODEL", PROVIDER, (*extra, *key), (*lacks, *missing), provider is not None, title)


def _table(rows: list[RouterRow]) -> str:
    from skill_health.text.terminal import clean

    head = ("NAME", "KIND", "NEEDS", "STATE", "WHAT IT IS")
    cells = [head] + [(row.name, row.kind, ", ".join(row.needs) or "-", _state(row), row.title) for row in rows]
    widths = [max(map(len, column)) for column in list(zip(*cells, strict=True))[:-1]]
    padded = ([*(f"{cell:{width}}" for cell, width in zip(line, [*widths, 0], strict=True))] for line in cells)
    return "\n".join(clean("  ".join(line).rstrip()) for line in padded)


def _state(row: RouterRow) -> str:
    return f"lacks {', '.join(row.lacks)}" if row.lacks else "ready"
