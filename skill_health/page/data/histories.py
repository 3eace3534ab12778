"""The lines of the three histories that fit their schema, oldest first; what does not fit costs a note."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from skill_health.core.errors import SkillHealthError
from skill_health.core.history import read_backwards
from skill_health.daily.history import from_record
from skill_health.daily.run import HISTORY as DAILY
from skill_health.documents.effect_history import HISTORY as EFFECTS
from skill_health.documents.router_history import HISTORY as ROUTER
from skill_health.page.data.fits import broken
from skill_health.page.data.loading import loads
from skill_health.page.origin import JsonNode, document

MOST_LINES = 400
"""So many lines of daily runs are kept, the last ones; of the others, which are small, ten times as many."""
_MOST_BYTES = 48 << 20
_MOST_WRONG = 2_000


def daily_history(folder: str) -> tuple[JsonNode, tuple[str, ...]]:
    """The lines of the daily runs in a folder of reports, and what could not be read."""
    return _read(folder, DAILY, "history", MOST_LINES, _is_daily)


def router_history(folder: str) -> tuple[JsonNode, tuple[str, ...]]:
    """The lines of the router's runs, likewise."""
    return _read(folder, ROUTER, "router-history", 10 * MOST_LINES, _fits("router-history", "time"))


def effect_history(folder: str) -> tuple[JsonNode, tuple[str, ...]]:
    """The lines of the runs of the effectiveness benchmark, likewise."""
    fits = _fits("effectiveness-history", "created")
    return _read(folder, EFFECTS, "effectiveness-history", 10 * MOST_LINES, fits)


def _read(
    folder: str, file: str, name: str, most: int, fits: Callable[[dict[str, Any]], bool]
) -> tuple[JsonNode, tuple[str, ...]]:
    path = os.path.join(folder, file)
    kept: list[dict[str, Any]] = []
    wrong = size = 0
    notes = []
    try:
        for _, raw in read_backwards(path):
            size += len(raw)
            if len(kept) == most or size > _MOST_BYTES or wrong == _MOST_WRONG:
                notes.append(f"{file} is long: its last {len(kept)} lines are shown")
                break
            record = _record(raw)
            if record is not None and fits(record):
                kept.append(record)
            else:
                wrong += 1
    except SkillHealthError as error:
        notes.append(str(error).replace(path, file))
    if wrong:
        lines = f"{wrong} line{'s' * (wrong != 1)} of {file}"
        notes.append(f"{lines} {'is' if wrong == 1 else 'are'} damaged or of another form, and left out")
    return document(name, kept[::-1]), tuple(notes)


def _record(raw: bytes) -> dict[str, Any] | None:
    try:
        found = loads(raw)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _is_daily(record: dict[str, Any]) -> bool:
    try:
        from_record(record)
    except ValueError:
        return False
    return _is_time(record["time"]) and _is_time(record["as_of"])


def _fits(schema: str, when: str) -> Callable[[Mapping[str, Any]], bool]:
    """Whether a line is one of `schema`, dated by the key `when`."""

    def fits(record: Mapping[str, Any]) -> bool:
        return not broken(schema, record) and _is_time(record[when])

    return fits


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
