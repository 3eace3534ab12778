"""Settings as TOML has them -> Config, by the types of its own fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from skill_health.core.config import (
    Config,
    Daily,
    Effectiveness,
    ModelPrice,
    PerPath,
    Provider,
    RouterSettings,
    RuleLimits,
    SourceGlobs,
    Volatility,
)
from skill_health.core.config_mistakes import Mistake, Place, dotted, unknown, wrong
from skill_health.core.config_plain import read_words, share, text, texts, whole
from skill_health.core.patterns import lazy

HOST_NAME = lazy(r"[a-z0-9]+(?:-[a-z0-9]+)*")
HOST_NUMBERS = ("context-tokens", "budget-percent", "budget", "chars-per-token", "skill-chars")
HOST_MAX = 10**15
PRICE_MAX = 10**6

_TABLES = {
    table.__name__: table for table in (RuleLimits, Volatility, SourceGlobs, Daily, RouterSettings, Effectiveness)
}  # fmt: skip
_REQUIRED: dict[type, tuple[str, ...]] = {PerPath: ("glob",), Provider: ("protocol",), ModelPrice: ("input", "output")}


def build(settings: dict[str, Any], source: str = "") -> Config:
    """The configuration that these settings make. Raises Mistake at the first one that cannot be accepted."""
    return Config(source=source, **_values(Config, settings, ()))


def keys_of(table: type) -> dict[str, str]:
    """The keys that a table may have, as written in a file, and the annotations of their fields."""
    return {name.replace("_", "-"): _written(kind) for name, kind in table.__annotations__.items() if name != "source"}


def _written(kind: Any) -> str:
    """An annotation as it stands in the source."""
    shown = kind.__name__ if isinstance(kind, type) else str(kind)
    return shown.replace("collections.abc.", "").replace(f"{Config.__module__}.", "")


def dotted_keys() -> Iterator[str]:
    """Every key of the configuration with the tables that it stands in."""
    for key, kind in keys_of(Config).items():
        yield key
        if kind in _TABLES:
            yield from (f"{key}.{inner}" for inner in keys_of(_TABLES[kind]))


def _values(table: type, settings: object, path: Place) -> dict[str, Any]:
    """The checked values of a table by field name."""
    if not isinstance(settings, dict):
        raise wrong(path, "a table", settings)
    known = keys_of(table)
    values = {}
    for key, value in settings.items():
        if key not in known:
            raise unknown(key, path, known, dotted_keys())
        values[key.replace("-", "_")] = _value(known[key], value, (*path, key))
    for key in _REQUIRED.get(table, ()):
        if key not in values:
            raise Mistake(path, f'"{dotted(path)}" needs the key "{key}"')
    return values


def _value(kind: str, value: object, path: Place) -> Any:
    """One checked value; `kind` is the annotation of its field."""
    if kind in _TABLES:
        return _TABLES[kind](**_values(_TABLES[kind], value, path))
    return _KINDS[kind](value, path)


def _per_path(value: object, path: Place) -> tuple[PerPath, ...]:
    if not isinstance(value, list):
        raise wrong(path, 'a list of tables, such as [{ glob = "drafts/**", ignore = ["ST"] }]', value)
    return tuple(PerPath(**_values(PerPath, entry, (*path, at))) for at, entry in enumerate(value))


def _hosts(value: object, path: Place) -> dict[str, dict[str, float]]:
    if not isinstance(value, dict):
        raise wrong(path, "a table with one table for each host", value)
    return {host: _host(numbers, (*path, host)) for host, numbers in value.items()}


def _providers(value: object, path: Place) -> dict[str, Provider]:
    return {name: Provider(**_values(Provider, inner, place)) for name, inner, place in _named(value, path)}


def _prices(value: object, path: Place) -> dict[str, ModelPrice]:
    found = {}
    for name, inner, place in _named(value, path, strict=False):
        if not isinstance(inner, dict):
            raise wrong(place, "a table such as { input = 1.25, output = 10 }", inner)
        keys = keys_of(ModelPrice)
        for key, number in inner.items():
            if key not in keys:
                raise unknown(key, place, keys, dotted_keys())
            if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= PRICE_MAX:
                raise wrong((*place, key), "US dollars for a million tokens", number)
        for key in _REQUIRED[ModelPrice]:
            if key not in inner:
                raise Mistake(place, f'"{dotted(place)}" needs the key "{key}"')
        found[name] = ModelPrice(**{key.replace("-", "_"): float(number) for key, number in inner.items()})
    return found


def _named(value: object, path: Place, strict: bool = True) -> Iterator[tuple[str, object, Place]]:
    """The tables of a table, with their names and places; strict names are lower-case words joined by hyphens."""
    if not isinstance(value, dict):
        raise wrong(path, "a table with one table for each name", value)
    for name, inner in value.items():
        place = (*path, name)
        if strict and not HOST_NAME.fullmatch(name):
            raise Mistake(place, f'"{dotted(place)}": a provider is named in lower-case words joined by hyphens')
        yield name, inner, place


def _host(value: object, path: Place) -> dict[str, float]:
    if not HOST_NAME.fullmatch(str(path[-1])):
        raise Mistake(path, f'"{dotted(path)}": a host is named in lower-case words joined by hyphens')
    if not isinstance(value, dict):
        raise wrong(path, "a table of numbers", value)
    for key, number in value.items():
        if key not in HOST_NUMBERS:
            raise unknown(key, path, HOST_NUMBERS, dotted_keys())
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= HOST_MAX:
            raise wrong((*path, key), "a number that is not negative", number)
    return {key.replace("-", "_"): float(number) for key, number in value.items()}


_KINDS: dict[str, Callable[[object, Place], Any]] = {
    "str": text, "int": whole, "float": share, "tuple[str, ...]": texts, "tuple[PerPath, ...]": _per_path,
    "Mapping[str, str]": read_words, "Mapping[str, Mapping[str, float]]": _hosts,
    "Mapping[str, Provider]": _providers, "Mapping[str, ModelPrice]": _prices,
}  # fmt: skip
