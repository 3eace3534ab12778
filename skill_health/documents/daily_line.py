"""A line of the daily history."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import Count, OpenRecord
from skill_health.documents.daily_run import DailyHead

StateKey = Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
"""A hash of the lines of skill-health-states.jsonl that lead to a state of the collection."""


class DailyLine(DailyHead, frozen=True, kw_only=True):
    """One line of skill-health-history.jsonl: a daily run as a whole, however many skills there are."""

    ID: ClassVar = "skill-health/daily-line/1"

    schema: Literal["skill-health/daily-line/1"]
    claims: ClaimCounts | None
    state: StateKey
    """What every skill was like: the lines of skill-health-states.jsonl with this key, and those of their base."""


class ClaimCounts(OpenRecord, frozen=True, kw_only=True):
    """How many registered claims; null without a registry."""

    stale: Count
    """Overdue for review on that day."""
    due: Count
    """Not overdue yet, but soon."""
