"""A line of the history from JSON values, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skill_health.documents._record import convert_record, record_values
from skill_health.documents.daily_run import DailyRun

HistoryLine = DailyRun


def to_record(line: DailyRun) -> dict[str, Any]:
    """The JSON object of a line, as the schema has it."""
    return record_values(line)


def from_record(record: Mapping[str, Any], skills: bool = True) -> DailyRun:
    """The line that a JSON object is. Raises ValueError where it is none of this version."""
    return convert_record(record, DailyRun)
