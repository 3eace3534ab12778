"""Results as lines of JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from skill_health.bench.http.messages import Usage
from skill_health.bench.journal import read_lines
from skill_health.router.records import RoutingResult

_FIELDS = tuple(field.name for field in fields(RoutingResult))
_USAGE = tuple(field.name for field in fields(Usage))
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
