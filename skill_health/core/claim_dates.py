"""When a registered claim has to be looked at again."""

from datetime import date
from typing import NamedTuple

from skill_health.core.config import Volatility
from skill_health.core.registries import Registries, RegistryRecord


class Review(NamedTuple):
    """A claim with the last day that somebody looked at its source, and the day it is due again.

    `field` names the date that counts; `days` is how long the claim keeps by its volatility;
    `overdue` is how many days past due it is (negative: days left).
    """

    record: RegistryRecord
    claim_id: str
    owner: str
    field: str
    reviewed: date
    volatility: str
    days: int
    due: date
    overdue: int


def reviews(registries: Registries, volatility: Volatility, as_of: date) -> list[Review]:
    """Every claim's review, in the order of the registry.

    A claim was last looked at on the later of `last_reviewed` and `retrieved_at`: fetching a source again is
    a look at it too. It is stale after `volatility.<its volatility>` days.
    """
    return [_review(record, volatility, as_of) for record in registries.claims or ()]


def due_claims(registries: Registries, volatility: Volatility, as_of: date, within_days: int) -> list[Review]:
    """Claims that are not stale yet but will be within so many days, the most urgent first."""
    due = [entry for entry in reviews(registries, volatility, as_of) if -within_days <= entry.overdue <= 0]
    return sorted(due, key=lambda entry: (entry.due, entry.claim_id, entry.record.path, entry.record.line))


def _review(record: RegistryRecord, volatility: Volatility, as_of: date) -> Review:
    data = record.data
    field, reviewed = max(
        ((name, date.fromisoformat(str(data[name]))) for name in ("last_reviewed", "retrieved_at") if name in data),
        key=lambda entry: entry[1],
    )
    days: int = getattr(volatility, data["volatility"])
    due = min(reviewed.toordinal() + days, date.max.toordinal())
    late = as_of.toordinal() - due
    claim_id, owner, volatile = data["claim_id"], data["owning_skill"], data["volatility"]
    return Review(record, claim_id, owner, field, reviewed, volatile, days, date.fromordinal(due), late)
