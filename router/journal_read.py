"""What a journal says, read without touching it: also while it is written, and after a crash."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from skill_health.core.errors import UsageError
from skill_health.core.strict_json import JsonProblem, parse_object
from skill_health.router.durable import read_objects

MANIFEST, ATTEMPTS, RESULTS = "manifest.json", "attempts.jsonl", "results.jsonl"
Key = tuple[str | int, ...]


@dataclass(slots=True)
class Past:
    """What a journal holds. `results` has the first record of each key, in the order of the file.

    `ends` are the recorded ends of the attempts at each key that has no result, in their order. `attempts` and `usd`
    are how many were begun, and what they have cost: one that was cut off, or whose cost nobody knows, as much as was
    reserved for it. `lost` counts those cut off. `lines` counts the lines of the file of results, those that are left
    out included; `problems` names lines that are not ours.
    """

    results: dict[Key, dict[str, Any]] = field(default_factory=dict)
    ends: dict[Key, list[dict[str, Any]]] = field(default_factory=dict)
    attempts: int = 0
    usd: float = 0.0
    lost: int = 0
    lines: int = 0
    problems: list[str] = field(default_factory=list)


def read_manifest(folder: str) -> dict[str, Any]:
    """The frozen manifest of a run. Raises UsageError where there is none, or where it cannot be read."""
    path = os.path.join(folder, MANIFEST)
    try:
        with open(path, "rb") as file:
            return parse_object(file.read().decode("utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{folder} is no run: it has no {MANIFEST}") from None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (UnicodeDecodeError, JsonProblem) as problem:
        raise UsageError(f"{path} is damaged ({problem}): restore it, or start a new run") from None


def read_past(
    folder: str, fields: Sequence[str], leave_out: Callable[[dict[str, Any]], bool] = lambda record: False
) -> Past:
    """Everything that the journal in a folder holds, but for results that are to be left out.

    Raises AbortedError where a file cannot be read.
    """
    past = Past()
    foreign: list[str] = []
    for record in read_objects(os.path.join(folder, RESULTS), foreign):
        key = _key([record.get(name) for name in fields])
        past.lines += 1
        if key is None:
            past.problems.append(f"{RESULTS} has a record without {', '.join(fields)}; it is left out")
        elif not leave_out(record):
            past.results.setdefault(key, record)
    past.lines += len(foreign)
    past.problems[:0] = foreign
    _read_attempts(folder, past)
    return past


def _read_attempts(folder: str, past: Past) -> None:
    reserved: dict[tuple[Key, str], list[float]] = {}
    for record in read_objects(os.path.join(folder, ATTEMPTS), past.problems):
        key = _key(record.get("key"))
        if key is None or record.get("event") not in ("start", "end"):
            past.problems.append(f"{ATTEMPTS} has a record that is no start or end of an attempt; it is left out")
            continue
        name = (key, str(record.get("attempt")))
        if record["event"] == "start":
            past.attempts += 1
            reserved.setdefault(name, []).append(_number(record.get("reserved_usd")) or 0.0)
            continue
        # An earlier start of the same attempt is one that was cut off: the end belongs to the last.
        ahead = reserved.get(name) or [0.0]
        held, cost = ahead.pop(), _number(record.get("cost_usd"))
        past.usd += held if cost is None else cost
        if key not in past.results:
            past.ends.setdefault(key, []).append(record)
    left = [held for starts in reserved.values() for held in starts]
    past.lost = len(left)
    past.usd += sum(left)


def _key(values: Any) -> Key | None:
    if not isinstance(values, list) or not all(isinstance(value, str | int) for value in values):
        return None
    return tuple(values)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None
