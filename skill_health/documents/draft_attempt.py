"""An attempt of a drafting."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import Amount
from skill_health.documents.router_attempt import AttemptReply


class DraftAttempt(AttemptReply, frozen=True, kw_only=True, omit_defaults=True):
    """One line of attempts.jsonl: the start or the end of one request to a model.

    From the ends a lost result is had again.
    """

    ID: ClassVar = "skill-health/drafting-attempt/1"

    event: Literal["start", "end"]
    """start before the request is sent, end when its outcome is known."""
    key: tuple[str]
    """The question."""
    attempt: Annotated[int, Meta(ge=1)]
    """Counted from 1."""
    at: str = ""
    """When, in UTC."""
    reserved_usd: Amount | None = None
    """start: what the request can cost at most; it counts as spent until the end is known."""
