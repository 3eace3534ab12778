"""Results as lines of JSON, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from skill_health.core.errors import UsageError
from skill_health.router.records import RoutingResult, Usage

_FIELDS = tuple(field.name for field in fields(RoutingResult))
_USAGE = tuple(field.name for field in fields(Usage))
T = TypeVar("T")
_TUPLES = ("ranking", "kinds", "notes", "first_kinds")


def to_line(result: RoutingResult) -> dict[str, Any]:
    """A result as a JSON object; tuples are lists, what is not known is null."""
    record = {name: getattr(result, name) for name in _FIELDS}
    for name in _TUPLES:
        record[name] = list(record[name])
    record["usage"] = {name: getattr(result.usage, name) for name in _USAGE}
    return record


def from_line(record: Mapping[str, Any]) -> RoutingResult:
    """The result that a JSON object of ours holds. Raises ValueError where it is none."""
    try:
        values = {name: record[name] for name in _FIELDS if name in record}
        for name in _TUPLES:
            values[name] = tuple(values.get(name, ()))
        values["usage"] = Usage(**(values.get("usage") or {}))
        return RoutingResult(**values)
    except (TypeError, AttributeError) as error:
        raise ValueError(f"no result: {error}") from None


def read_results(path: str) -> list[RoutingResult]:
    """All results of a file, as `read_lines` reads them."""
    return list(read_lines(path, from_line))


def read_lines(path: str, make: Callable[[Any], T]) -> Iterable[T]:
    """What `make` makes of each line of a file of results, in its order; a torn last line is left out.

    `make` raises ValueError for what is none. Raises UsageError where the file cannot be read, or where a line is none.
    """
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield make(json.loads(line))
                except ValueError:
                    if not line.endswith(b"\n"):
                        return
                    raise UsageError(f"{path}:{number}: this line is no result of a run; restore the file") from None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def readable_lines(path: str, make: Callable[[Any], T]) -> Iterator[T]:
    """The same of a file as far as it can be read, for whoever only wants to learn from it; never raises."""
    try:
        with open(path, "rb") as file:
            for line in file:
                try:
                    yield make(json.loads(line))
                except (ValueError, RecursionError):
                    continue
    except OSError:
        return
