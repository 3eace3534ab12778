"""Results of trials as lines of JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_args

from skill_health.bench.http.messages import Usage
from skill_health.bench.journal import read_lines
from skill_health.effectiveness.records import SCORED, Invoked, Outcome, Source, TrialResult

FIELDS = ("task_id", "model", "arm", "replication")
"""The fields of a line that make its key, in the order of `records.Key`."""

_FIELDS = tuple(field.name for field in fields(TrialResult))
_USAGE = tuple(field.name for field in fields(Usage))
_TEXTS = ("invocations", "evidence", "notes")
_COUNTS = ("turns", "tool_calls", "changed")
_MOST = 2**53
_WORDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("outcome", get_args(Outcome)), ("invoked", get_args(Invoked)), ("usage_source", get_args(Source)),
    ("cost_source", get_args(Source)),
)  # fmt: skip


def to_line(result: TrialResult) -> dict[str, Any]:
    """A result as a JSON object; tuples are lists, what is not known is null."""
    record = {name: getattr(result, name) for name in _FIELDS}
    for name in _TEXTS:
        record[name] = list(record[name])
    record["skills"] = [list(pair) for pair in result.skills]
    record["seen"] = None if result.seen is None else list(result.seen)
    record["rewards"] = dict(result.rewards)
    record["usage"] = {name: getattr(result.usage, name) for name in _USAGE}
    return record


def from_line(record: Mapping[str, Any]) -> TrialResult:
    """The result that a JSON object of ours holds. Raises ValueError where it is none."""
    try:
        values = {name: record[name] for name in _FIELDS if name in record}
        for name in _TEXTS:
            values[name] = _texts(values.get(name) or ())
        values["skills"] = tuple((str(name), str(digest)) for name, digest in values.get("skills") or ())
        seen = values.get("seen")
        values["seen"] = None if seen is None else _texts(seen)
        values["rewards"] = {str(name): float(value) for name, value in (values.get("rewards") or {}).items()}
        values["usage"] = Usage(**(values.get("usage") or {}))
        result = TrialResult(**values)
        if problem := _problem(result):
            raise ValueError(f"no result: {problem}")
    except (TypeError, AttributeError) as error:
        raise ValueError(f"no result: {error}") from None
    return result


def read_results(path: str) -> list[TrialResult]:
    """All results of a file, in its order; a torn last line is left out.

    Raises UsageError where the file cannot be read, or where another line is no result.
    """
    return list(read_lines(path, from_line))


def is_missing(record: Mapping[str, Any]) -> bool:
    """Whether a record is missing data, which a run that is resumed tries again; so is one that is damaged."""
    if record.get("outcome") not in SCORED:
        return True
    try:
        from_line(record)
    except ValueError:
        return True
    return False


def _texts(values: Any) -> tuple[str, ...]:
    found = tuple(values)
    if isinstance(values, str) or not all(isinstance(each, str) for each in found):
        raise TypeError("a list of texts is none")
    return found


def _problem(result: TrialResult) -> str:
    """What of the values cannot be; "" where all can."""
    for name, words in _WORDS:
        if getattr(result, name) not in words:
            return f"{name} is {getattr(result, name)!r}"
    for name in ("task_id", "model", "arm", "folder", "error"):
        if not isinstance(getattr(result, name), str):
            return f"{name} is no text"
    for name, least in (*((name, 0) for name in _COUNTS), ("attempts", 1), ("replication", 0)):
        count = getattr(result, name)
        if count is None and name in _COUNTS:
            continue
        if isinstance(count, bool) or not isinstance(count, int) or count < least:
            return f"{name} is {count!r}"
    for name in ("reward", "cost_usd", "duration_ms"):
        value = getattr(result, name)
        if value is not None and not (isinstance(value, int | float) and abs(value) < _MOST):
            return f"{name} is {value!r}"
    return "an amount below zero" if min(result.cost_usd or 0, result.duration_ms or 0) < 0 else ""
