"""What every document is made of: frozen records, the kinds of numbers and texts in them, and how they are read.

A field without a default is always written, `null` where it is not known; a field with one is left out where it has it.
`scripts/schemas.py` makes the published JSON Schemas from these types; the text below a field says what it means there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

Count = Annotated[int, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Difference = Annotated[float, Meta(ge=-1, le=1)]
Amount = Annotated[float, Meta(ge=0)]
Name = Annotated[str, Meta(pattern=r"\S")]
TimeText = Annotated[str, Meta(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$")]
DateText = Annotated[str, Meta(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
CommitText = Annotated[str, Meta(pattern="^[0-9a-f]{40}([0-9a-f]{24})?$")]
RunIdText = Annotated[str, Meta(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
FindingKey = Annotated[str, Meta(pattern="^(error|warning|info):[A-Z]{2}[0-9]{3}:[0-9a-f]{16}$")]


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A part of a document that holds the keys of its type and no others."""


class OpenRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of a document that may hold keys which later versions know; they are passed over."""


class Figure(Record, frozen=True, kw_only=True):
    """A number with its 95 % interval: what it rests on, and why it is missing where it is."""

    value: float | None
    """The estimate; null where it cannot be had, and the note says why."""
    low: float | None
    """The lower end of the 95 % interval; null where there is none."""
    high: float | None
    """The upper end."""
    n: Count
    """How many calls or trials were observed; of a contrast, how many tasks."""
    clusters: Count
    """How many of them are independent: prompts or families, tasks."""
    coverage: Share | None = None
    """Scored of the planned calls that it is about."""
    p: Share | None = None
    """The p-value of the test that goes with it."""
    p_adjusted: Share | None = None
    """The same, corrected for several tests."""
    method: str = ""
    """Which interval it is."""
    note: str = ""
    """Why there is no value or no interval."""


class NotedFigure(Record, frozen=True, kw_only=True):
    """A number with its 95 % interval, as reports show it that only cite it."""

    value: float | None
    """The estimate; null where it cannot be had, and the note says why."""
    low: float | None
    """The lower end of the 95 % interval; null where there is none."""
    high: float | None
    """The upper end."""
    n: Count
    """How many calls or trials were observed; of a contrast, how many tasks."""
    clusters: Count
    """How many of them are independent: prompts or families, tasks."""
    note: str
    """Why there is no value or no interval; empty where there is one."""


class FullFigure(Record, frozen=True, kw_only=True):
    """A number with its 95 % interval and its test, every key always there."""

    value: float | None
    """The estimate; null where it cannot be had, and the note says why."""
    low: float | None
    """The lower end of the 95 % interval; null where there is none."""
    high: float | None
    """The upper end."""
    n: Count
    """How many calls or trials were observed; of a contrast, how many tasks."""
    clusters: Count
    """How many of them are independent: tasks."""
    p: Share | None
    """The p-value of the test that goes with it."""
    p_adjusted: Share | None
    """The same, corrected for several tests."""
    method: str
    """Which interval it is."""
    note: str
    """Why there is no value or no interval; empty where there is one."""


class TokenUsage(Record, frozen=True, omit_defaults=False):
    """Tokens of a call or of a whole trial; null where nobody says."""

    input_tokens: Count | None = None
    """All that was read, from a cache or not."""
    output_tokens: Count | None = None
    """All that was written."""
    cached_tokens: Count | None = None
    """The part of input_tokens that was read from a cache."""
    cache_write_tokens: Count | None = None
    """The part of input_tokens that was written to a cache."""
    reasoning_tokens: Count | None = None
    """The part of output_tokens that was thought and not said."""
    raw: Mapping[str, Any] | None = None
    """What the provider or the agent said of it."""


RecordType = TypeVar("RecordType", bound=Record | OpenRecord)


def decode_record(raw: bytes, kind: type[RecordType]) -> RecordType:
    """A document from JSON in UTF-8. Raises ValueError, with the place and what is wrong there, for anything else."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except RecursionError:
        raise ValueError("nested too deep") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(_sentence(str(error))) from None


def convert_record(values: Any, kind: type[RecordType]) -> RecordType:
    """A document from JSON values. Raises ValueError, with the place and what is wrong there, where they are none."""
    try:
        return msgspec.convert(values, kind)
    except RecursionError:
        raise ValueError("nested too deep") from None
    except (msgspec.ValidationError, UnicodeError) as error:
        raise ValueError(_sentence(str(error))) from None


def _sentence(message: str) -> str:
    """Msgspec's words, with the place first: `models[0].n` expected int, got str."""
    what, _, where = message.replace("`", "").partition(" - at ")
    place = where.removeprefix("$").removeprefix(".")
    return f"{place}: {what[:1].lower()}{what[1:]}" if place else what


def record_values(record: Record | OpenRecord) -> dict[str, Any]:
    """A document as JSON values, in the order of its fields."""
    values: dict[str, Any] = msgspec.to_builtins(record)
    return values


AnyValue = TypeVar("AnyValue")


def map_values(values: AnyValue, change: Callable[[Any], Any]) -> AnyValue:
    """The same document with each text, number and key of a mapping as `change` makes it; members of enums stay."""
    found: Any = values
    if isinstance(values, msgspec.Struct):
        found = type(values)(**{name: map_values(getattr(values, name), change) for name in values.__struct_fields__})
    elif isinstance(values, Mapping):
        found = {change(key): map_values(each, change) for key, each in values.items()}
    elif isinstance(values, list | tuple):
        found = type(values)(map_values(each, change) for each in values)
    elif not isinstance(values, Enum):
        found = change(values)
    same: AnyValue = found
    return same


def encode_record(record: Record | OpenRecord) -> str:
    """Canonical JSON, ASCII only: sorted keys, two spaces, a new line at the end."""
    return json.dumps(record_values(record), indent=2, sort_keys=True, ensure_ascii=True, allow_nan=False) + "\n"
