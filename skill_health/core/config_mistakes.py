"""What can be wrong with a configuration: the one line that says it, the line it stands in, what was probably meant."""

from __future__ import annotations

from collections.abc import Iterable

from skill_health.core.patterns import lazy

_KEY = lazy(r"\"([^\"]*)\"|'([^']*)'|([A-Za-z0-9_-]+)")

Place = tuple[str | int, ...]


class Mistake(Exception):
    """A setting that cannot be accepted: where in the configuration, and one line on what is wrong with it."""

    def __init__(self, path: Place, message: str) -> None:
        super().__init__(message)
        self.path = path


def wrong(path: Place, wanted: str, value: object) -> Mistake:
    """The mistake of a value that is something else than wanted."""
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
