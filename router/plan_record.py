"""One file of the plan's published runner -> what it says of one call, or why it is none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skill_health.core.files import MAX_BYTES, read_small
from skill_health.core.strict_json import JsonProblem, kind_of, parse_object, quote

STATUSES = ("finished", "format_failure", "model_unavailable", "error", "cancelled", "dry_run")
MOST_REPLICATIONS = 1_000
LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call as the runner kept it; replications count from 0.

    `text` is the raw answer, None where it was not kept. `top3` is what the runner read from it, first name first.
    """

    path: str
    prompt_id: str
    model: str
    replication: int
    status: str
    text: str | None = None
    top3: tuple[str, ...] = ()
    shuffle_seed: int | None = None
    attempts: int = 1
    duration_ms: float | None = None
    notes: str = ""

    @property
    def key(self) -> tuple[str, str, int]:
        """What there is one record for."""
        return self.prompt_id, self.model, self.replication


def read_object(path: str) -> dict[str, Any]:
    """The JSON object of a small file. Raises ValueError with what is wrong."""
    data = read_small(path)
    if data is None:
        raise ValueError(f"it cannot be read, or is larger than {MAX_BYTES >> 20} MiB")
    try:
        return parse_object(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    except JsonProblem as problem:
        raise ValueError(str(problem)) from None


def to_record(name: str, data: Mapping[str, Any]) -> CallRecord:
    """The record that an object is, from the file of this name. Raises ValueError with what is wrong."""
    status = data.get("status")
    if status not in STATUSES:
        raise ValueError(f"status is {quote(status)}, and none of {', '.join(STATUSES)}")
    top3 = data.get("predicted_top3")
    if top3 is None:
        top3 = [] if data.get("predicted_primary") is None else [data["predicted_primary"]]
    if not isinstance(top3, list) or not all(isinstance(each, str) for each in top3):
        raise ValueError("predicted_top3 is not a list of names")
    return CallRecord(
        path=name,
        prompt_id=_name(data, "prompt_id"),
        model=_name(data, "model_id"),
        replication=_whole(data, "rep", MOST_REPLICATIONS - 1, None),
        status=status,
        text=_text(data, "raw_text"),
        top3=tuple(top3),
        shuffle_seed=None if data.get("shuffle_seed") is None else _whole(data, "shuffle_seed", 2**32 - 1, None),
        attempts=_attempts(data),
        duration_ms=_duration(data),
        notes=_text(data, "notes") or "",
    )


def _name(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_NAME:
        raise ValueError(f"{key} must be a name of at most {LONGEST_NAME} characters, not {quote(value)}")
    return value


def _text(data: Mapping[str, Any], key: str) -> str | None:
    value = data.get(key)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{key} must be text, not {kind_of(value)}")
    return value


def _whole(data: Mapping[str, Any], key: str, most: int, default: int | None) -> int:
    value = data.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise ValueError(f"{key} must be a whole number from 0 to {most}, not {quote(value)}")
    return value


def _attempts(data: Mapping[str, Any]) -> int:
    """How many there were: a number, or a list of them."""
    value = data.get("attempts")
    return max(1, len(value) if isinstance(value, list) else _whole(data, "attempts", 100, 1))


def _duration(data: Mapping[str, Any]) -> float | None:
    value = data.get("duration_ms")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(f"duration_ms must be a number of at least 0, not {quote(value)}")
    return float(value)
