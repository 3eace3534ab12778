"""Settings as TOML has them -> Config, by the types of its own fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from skill_health.config.settings import (
    Config,
    CustomRules,
    Daily,
    Effectiveness,
    JudgeSettings,
    ModelPrice,
    PerPath,
    Provider,
    RouterSettings,
    RuleLimits,
    SourceGlobs,
    Volatility,
)
from skill_health.text.patterns import lazy

_CONTROL = lazy("[\x00-\x1f\x7f-\x9f]")
_KEY = lazy(r"\"([^\"]*)\"|'([^']*)'|([A-Za-z0-9_-]+)")

Place = tuple[str | int, ...]


class Mistake(Exception):
    """A setting that cannot be accepted: where in the configuration, and one line on what is wrong with it."""

    def __init__(self, path: Place, message: str) -> None:
        super().__init__(message)
        self.path = path


def wrong(path: Place, wanted: str, value: object) -> Mistake:
    """The mistake of a value that is not what is wanted."""
    text = f'"{value}"' if isinstance(value, str) and value.isprintable() else repr(value)
    text = text if len(text) <= 60 else text[:57] + "..."
    return Mistake(path, f'"{dotted(path)}" must be {wanted}, not {text}')


def unknown(key: str, path: Place, known: Iterable[str], everywhere: Iterable[str]) -> Mistake:
    """The mistake of a key that a table does not have."""
    where = (*path, key)
    return Mistake(where, f'unknown key "{dotted(where)}"; {_suggestion(key, path, list(known), everywhere)}')


def dotted(path: Place) -> str:
    """A place in the configuration as it is named in messages, with nothing that a terminal would act on."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
    return text if text.isprintable() else repr(text)[1:-1]


def line_of(text: str, path: Place) -> int | None:
    """The line, counted from 1, where a place of a TOML file is set, or the nearest table around it begins.

    A number in `path` is the place in an array of tables. None where nothing is found.
    """
    wanted = tuple(part for part in path if isinstance(part, str))
    numbers = [part for part in path if isinstance(part, int)]
    table: tuple[str, ...] = ()
    best: tuple[int, int] = (0, 0)
    entries = 0
    skipped = False
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.strip()
        if line.startswith("[") and line.partition("#")[0].rstrip().endswith("]"):
            table = _keys(line)
            here = table
            if line.startswith("[[") and wanted[: len(table)] == table and numbers:
                skipped = entries != numbers[0]
                entries += 1
        else:
            key, equals, _ = line.partition("=")
            here = (*table, *_keys(key)) if equals and not key.startswith("#") else ()
        if wanted[: len(here)] == here and len(here) > best[0] and not (skipped and len(table) > 0):
            best = (len(here), number)
    return best[1] or None


def _suggestion(key: str, path: Place, known: list[str], everywhere: Iterable[str]) -> str:
    """What was probably meant by an unknown key of the table at `path`, or what there is."""
    import difflib

    hyphenated = key.lower().replace("_", "-")
    table = "".join(f"{part}." for part in path if isinstance(part, str))
    if hyphenated in known:
        return f'did you mean "{table}{hyphenated}"?'
    moved = [dotted for dotted in everywhere if dotted.rpartition(".")[2] == hyphenated]
    if moved:
        return f'did you mean "{moved[0]}"?'
    close = difflib.get_close_matches(hyphenated, known, n=1)
    return f'did you mean "{table}{close[0]}"?' if close else f"there are {', '.join(sorted(known))}"


def _keys(text: str) -> tuple[str, ...]:
    """The parts of a dotted key or of a table header."""
    return tuple("".join(parts) for parts in _KEY.findall(text.partition("#")[0]))


SEVERITIES = ("error", "warning", "info")
CHOICES = {
    "fail-on": (*SEVERITIES, "never"), "needs-work": (*SEVERITIES, "never"), "router.mode": ("text", "json_schema"),
    "router.abstention": ("most-right", "balanced"), "router.indexing": ("description", "body", "content"),
    "router.namesakes": ("as-listed", "refuse", "skip", "path"), "effectiveness.hint": ("no", "also", "only"),
    "effectiveness.network": ("gateway", "scripts", "all"),
}  # fmt: skip
NOT_EMPTY = frozenset(
    ("profile", "daily.reports", "per-path.glob", "router.listing", "router.template", "router.retriever")
)
PROVIDER_POSITIVE = ("concurrency", "max-output-tokens", "timeout", "idle-timeout")
# Whole numbers may be 0 except these; every other number of the configuration is a share.
AT_LEAST_ONE = frozenset(
    ("limits.body-lines", "limits.body-tokens", "limits.reference-lines", "limits.trigger-within", "volatility.high",
     "volatility.medium", "volatility.low", "daily.window", "router.reps", "effectiveness.reps",
     "effectiveness.judge.votes")
)  # fmt: skip


def text(value: object, path: Place) -> str:
    """A string; one of CHOICES, and not empty, where its key says so. Raises Mistake."""
    key = _key(path)
    if key in CHOICES and value not in CHOICES[key]:
        raise wrong(path, "one of " + ", ".join(CHOICES[key]), value)
    if not isinstance(value, str) or (not value and key in NOT_EMPTY):
        raise wrong(path, "a string" if key not in NOT_EMPTY else "a non-empty string", value)
    if _CONTROL.search(value):
        raise wrong(path, "text without control characters", value)
    return value


def whole(value: object, path: Place) -> int:
    """A whole number of at least 0, or of at least 1 where its key says so. Raises Mistake."""
    of_provider = path[:2] == ("router", "providers") and path[-1] in PROVIDER_POSITIVE
    least = 1 if of_provider or path[-1] == "at-least" or _key(path) in AT_LEAST_ONE else 0
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise wrong(path, f"a whole number of at least {least}", value)
    return value


def truth(value: object, path: Place) -> bool:
    """A truth value. Raises Mistake."""
    if not isinstance(value, bool):
        raise wrong(path, "true or false", value)
    return value


def share(value: object, path: Place) -> float:
    """A number from 0 to 1. Raises Mistake."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise wrong(path, "a number from 0 to 1", value)
    return float(value)


def texts(value: object, path: Place) -> tuple[str, ...]:
    """A list of non-empty strings. Raises Mistake."""
    if path == ("hosts",) and isinstance(value, dict):
        raise Mistake(path, '"hosts" must be a list, such as ["claude-code", "codex"]; numbers stand in [listing.HOST]')
    if not isinstance(value, list) or not all(isinstance(entry, str) and entry for entry in value):
        raise wrong(path, 'a list of non-empty strings, such as ["one"]', value)
    if any(map(_CONTROL.search, value)):
        raise wrong(path, "text without control characters", value)
    return tuple(value)


def read_words(value: object, path: Place) -> dict[str, str]:
    """The severities of rules, or strings by the names of variables. Raises Mistake."""
    if path != ("severity",):
        return _variables(value, path)
    if not isinstance(value, dict):
        raise wrong(path, 'a table, such as { FM001 = "info" }', value)
    for key, severity in value.items():
        if severity not in SEVERITIES:
            raise wrong((*path, key), "one of " + ", ".join(SEVERITIES), severity)
    return dict(value)


def _variables(value: object, path: Place) -> dict[str, str]:
    if not isinstance(value, dict):
        raise wrong(path, 'a table of strings, such as { NAME = "value" }', value)
    for key, text in value.items():
        if not key or not isinstance(text, str):
            raise wrong((*path, key), "a string under the name of an environment variable", text)
    return dict(value)


def _key(path: Place) -> str:
    """The dotted key of a place without the numbers of list entries."""
    return ".".join(part for part in path if isinstance(part, str))


HOST_NAME = lazy(r"[a-z0-9]+(?:-[a-z0-9]+)*")
HOST_NUMBERS = ("context-tokens", "budget-percent", "budget", "chars-per-token", "skill-chars")
HOST_MAX = 10**15
PRICE_MAX = 10**6

_TABLES = {
    table.__name__: table for table in (RuleLimits, Volatility, SourceGlobs, Daily, CustomRules, RouterSettings, Effectiveness,
    JudgeSettings)
}  # fmt: skip
_OURS = ("source", "refused", "layout", "code")
_REQUIRED: dict[type, tuple[str, ...]] = {PerPath: ("glob",), Provider: ("protocol",), ModelPrice: ("input", "output")}


def build(settings: dict[str, Any], source: str = "") -> Config:
    """The configuration that these settings make. Raises Mistake at the first one that cannot be accepted."""
    return Config(source=source, **read_fields(Config, settings, ()))


def keys_of(table: type) -> dict[str, str]:
    """The keys that a table may have, as written in a file, and the annotations of their fields."""
    return {name.replace("_", "-"): _written(kind) for name, kind in table.__annotations__.items() if name not in _OURS}


def _written(kind: Any) -> str:
    """An annotation as it stands in the source."""
    shown = kind.__name__ if isinstance(kind, type) else str(getattr(kind, "__forward_arg__", kind))
    return shown.replace("collections.abc.", "").replace(f"{Config.__module__}.", "")


def dotted_keys() -> Iterator[str]:
    """Every key of the configuration with the tables that it stands in."""
    for key, kind in keys_of(Config).items():
        yield key
        if kind in _TABLES:
            yield from (f"{key}.{inner}" for inner in keys_of(_TABLES[kind]))


def read_fields(table: type, settings: object, path: Place) -> dict[str, Any]:
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
        return _TABLES[kind](**read_fields(_TABLES[kind], value, path))
    return _KINDS[kind](value, path)


def _per_path(value: object, path: Place) -> tuple[PerPath, ...]:
    if not isinstance(value, list):
        raise wrong(path, 'a list of tables, such as [{ glob = "drafts/**", ignore = ["ST"] }]', value)
    return tuple(PerPath(**read_fields(PerPath, entry, (*path, at))) for at, entry in enumerate(value))


def _custom_rules(value: object, path: Place) -> Any:
    from skill_health.config.custom_values import read_rules

    return read_rules(value, path)


def _listings(value: object, path: Place) -> dict[str, dict[str, float]]:
    if not isinstance(value, dict):
        raise wrong(path, "a table with a table for each host", value)
    return {host: _host(numbers, (*path, host)) for host, numbers in value.items()}


def _providers(value: object, path: Place) -> dict[str, Provider]:
    return {name: Provider(**read_fields(Provider, inner, place)) for name, inner, place in _named(value, path)}


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
                raise wrong((*place, key), "US dollars per million tokens", number)
        for key in _REQUIRED[ModelPrice]:
            if key not in inner:
                raise Mistake(place, f'"{dotted(place)}" needs the key "{key}"')
        found[name] = ModelPrice(**{key.replace("-", "_"): float(number) for key, number in inner.items()})
    return found


def _named(value: object, path: Place, strict: bool = True) -> Iterator[tuple[str, object, Place]]:
    """The tables of a table, with their names and places; strict names are lower-case words joined by hyphens."""
    if not isinstance(value, dict):
        raise wrong(path, "a table with a table for each name", value)
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
            raise wrong((*path, key), "a number of at least 0", number)
    return {key.replace("-", "_"): float(number) for key, number in value.items()}


_KINDS: dict[str, Callable[[object, Place], Any]] = {
    "str": text, "int": whole, "bool": truth, "float": share, "tuple[str, ...]": texts,
    "tuple[PerPath, ...]": _per_path, "tuple[CustomRule, ...]": _custom_rules,
    "Mapping[str, str]": read_words, "Mapping[str, Mapping[str, float]]": _listings,
    "Mapping[str, Provider]": _providers, "Mapping[str, ModelPrice]": _prices,
}  # fmt: skip
