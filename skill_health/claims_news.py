"""What a drift report says about the registry of claims."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.core.claim_dates import Review
from skill_health.drift import Drift
from skill_health.today import TodayRun


def claims_sections(drift: Drift, today: TodayRun, prefix: str) -> Iterator[tuple[str, list[str]]]:
    """Titles and lines: claims that became stale, that were reviewed, and that will be stale soon."""
    yield "Claims that became stale", [_stale(today.reviews[claim], prefix) for claim in drift.stale]
    yield "Claims no longer stale", list(drift.reviewed)
    due = sorted((today.reviews[claim] for claim in today.line.due or ()), key=lambda r: (r.due, r.claim_id))
    yield "Claims due soon", [_due(review, prefix) for review in due]


def _stale(review: Review, prefix: str) -> str:
    verb = "reviewed" if review.field == "last_reviewed" else "retrieved"
    late = f"{_days(review.overdue)} overdue, {verb} on {review.reviewed}, good for {_days(review.days)}"
    return f"{_place(review, prefix)}: {late}"


def _due(review: Review, prefix: str) -> str:
    when = "today" if not review.overdue else f"in {_days(-review.overdue)}"
    return f"{_place(review, prefix)}: due {when}, on {review.due}"


def _place(review: Review, prefix: str) -> str:
    return f"{prefix}{review.record.path}:{review.record.line}: {review.claim_id} of {review.owner}"


def _days(n: int) -> str:
    return f"{n} day{'s' * (n != 1)}"
