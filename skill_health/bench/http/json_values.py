"""Reads other people's JSON: values of the expected kind, or None. Strips JSON Schemas of what a provider refuses."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from skill_health.bench.http.failures import Failure

MOST = 10**9
"""A number larger than this is not a number of tokens."""


def count(value: Any) -> int | None:
    """A number of tokens; None for anything else: absent, negative, text, a boolean, absurd."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST:
        return None
    return value


def part_of(value: Any, whole: int | None) -> int | None:
    """A number of tokens that are part of `whole`; None if it is larger."""
    tokens = count(value)
    return None if tokens is None or (whole is not None and tokens > whole) else tokens


def added(*values: Any) -> int | None:
    """The sum of numbers of tokens; an absent one adds nothing. None if one is nonsense or the first is absent."""
    counts = [count(value) for value in values if value is not None]
    if not counts or values[0] is None or None in counts:
        return None
    return sum(number for number in counts if number is not None)


def mapping(value: Any) -> Mapping[str, Any]:
    """The object, or {}."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[Mapping[str, Any]]:
    """The objects in a list, or []."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text(value: Any) -> str:
    """The text, or ""."""
    return value if isinstance(value, str) else ""


def optional(value: Any) -> str | None:
    """The text, or None."""
    return value if isinstance(value, str) and value else None


def arguments(raw: str) -> Mapping[str, Any] | None:
    """The arguments of a tool that a model wrote as text; None if that is not a JSON object."""
    try:
        data = json.loads(raw or "{}")
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def without(schema: Any, keywords: Iterable[str]) -> Any:
    """A JSON Schema without the keywords that a provider refuses. A property with that name stays.

    Dropping a keyword only widens the constraint; whoever reads the answer checks it anyway.
    """
    dropped = frozenset(keywords)
    if isinstance(schema, list):
        return [without(item, dropped) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: {name: without(inner, dropped) for name, inner in value.items()}
        if key in ("properties", "$defs", "definitions") and isinstance(value, Mapping)
        else value
        if key in ("enum", "const", "required")
        else without(value, dropped)
        for key, value in schema.items()
        if key not in dropped
    }


def parsed(data: bytes) -> Any | Failure:
    """The JSON value; NaN and numbers beyond a double are None, as they cannot be written again.

    A key that stands twice in one object is a failure: one of its two values would be taken at random.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Failure("fatal", f"sent an answer that is not UTF-8 (byte {error.start:,})")
    try:
        return json.loads(text, parse_constant=lambda _: None, parse_float=_finite, object_pairs_hook=_unique)
    except RecursionError:
        return Failure("fatal", "sent JSON that is nested too deeply")
    except _RepeatedKeyError:
        return Failure("fatal", "sent JSON in which a key stands twice in one object")
    except ValueError as error:
        # A connection that was cut looks like this too, if the length of the body was not given.
        if isinstance(error, json.JSONDecodeError):
            return Failure("costly", "sent an answer that is not JSON, or was cut short")
        return Failure("costly", "sent JSON with a number of too many digits")


class _RepeatedKeyError(Exception):
    """A key stands twice in one JSON object."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _RepeatedKeyError
    return found


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None
