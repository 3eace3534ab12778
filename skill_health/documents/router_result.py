"""A result of a router run."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, UnsetType

from skill_health.documents._record import Amount, Count, OpenRecord, Share, TokenUsage

Status = Literal[
    "finished", "format_failure", "refusal", "truncated", "model_unavailable", "provider_error", "cancelled", "dry_run"
]
ANSWERED: tuple[Status, ...] = ("finished", "format_failure", "refusal", "truncated")
"""The statuses that are scored: the model answered, well or badly. Every other status is missing data."""


class RoutingResult(OpenRecord, frozen=True, omit_defaults=False):
    """One line of results.jsonl: the outcome of one (prompt, model, replication), of which a run has exactly one."""

    ID: ClassVar = "skill-health/router-result/1"

    prompt_id: str
    """The prompt, as the manifest has it."""
    model: str
    """The name as the manifest has it."""
    replication: Count
    """Counted from 0."""
    status: Status
    """The first four are answers, and scored; the others are missing data."""
    ranking: tuple[str, ...] = ()
    """Names of skills, or "none", the best first; empty unless the answer could be read."""
    confidence: Share | None = None
    """What the model said, from 0 to 1."""
    rationale: str = ""
    """What the model said."""
    kinds: tuple[str, ...] = ()
    """What is wrong with the format of the last answer, sorted."""
    notes: tuple[str, ...] = ()
    """What was tolerated in it."""
    attempts: Count = 1
    """How many attempts there were: a second one only after a failure of the format."""
    first_status: Status = "finished"
    """The status of the first attempt."""
    first_kinds: tuple[str, ...] = ()
    """What was wrong with the format of the first answer."""
    target_position: Annotated[int, Meta(ge=1)] | None = None
    """The place of the right skill in the presentation, from 1; null where none is right, known or shown."""
    picked_position: Annotated[int, Meta(ge=1)] | None = None
    """The place of the first of the ranking in the presentation."""
    resolved_model: str | None = None
    """The id of the model that the provider named."""
    request_id: str | None = None
    """The provider's id of the request."""
    stop_reason: str | None = None
    """Why the answer ended, in the provider's word."""
    usage: TokenUsage = TokenUsage()
    duration_ms: Amount | None = None
    """The time of the answered request; null where it means nothing."""
    cost_usd: Amount | None = None
    """What all attempts cost; null where no price or no usage is known."""
    error: str = ""
    """Why there is no answer, in one line."""
    taken_from: str | UnsetType = UNSET
    """The run that paid for the answer, where it was taken over; only there."""
    batch: str | UnsetType = UNSET
    """Our name of the batch that the last attempt was part of, as in batches.jsonl; only there."""

    @property
    def key(self) -> tuple[str, str, int]:
        """What a run has exactly one result for."""
        return (self.prompt_id, self.model, self.replication)

    @property
    def scored(self) -> bool:
        """Whether the model answered, well or badly."""
        return self.status in ANSWERED

    @property
    def primary(self) -> str | None:
        """The first of the ranking, or None."""
        return self.ranking[0] if self.ranking else None
