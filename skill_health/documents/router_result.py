"""A result of a router run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import Amount, Count, OpenRecord, Share


class RoutingRecord(OpenRecord, frozen=True, kw_only=True):
    """One line of results.jsonl: the outcome of one (prompt, model, replication), of which a run has exactly one."""

    ID: ClassVar = "skill-health/router-result/1"

    prompt_id: str
    """The prompt, as the manifest has it."""
    model: str
    """The name as the manifest has it."""
    replication: Count
    """Counted from 0."""
    status: Literal[
        "finished",
        "format_failure",
        "refusal",
        "truncated",
        "model_unavailable",
        "provider_error",
        "cancelled",
        "dry_run",
    ]
    """The first four are answers, and scored; the others are missing data."""
    ranking: tuple[str, ...]
    """Names of skills, or "none", the best first; empty unless the answer could be read."""
    confidence: Share | None
    """What the model said, from 0 to 1."""
    rationale: str
    """What the model said."""
    kinds: tuple[str, ...]
    """What is wrong with the format of the last answer, sorted."""
    notes: tuple[str, ...]
    """What was tolerated in it."""
    attempts: Count
    """How many attempts there were: a second one only after a failure of the format."""
    first_status: Literal[
        "finished",
        "format_failure",
        "refusal",
        "truncated",
        "model_unavailable",
        "provider_error",
        "cancelled",
        "dry_run",
    ]
    """The status of the first attempt."""
    first_kinds: tuple[str, ...]
    """What was wrong with the format of the first answer."""
    target_position: Annotated[int, Meta(ge=1)] | None
    """The place of the right skill in the presentation, from 1; null where none is right, known or shown."""
    picked_position: Annotated[int, Meta(ge=1)] | None
    """The place of the first of the ranking in the presentation."""
    resolved_model: str | None
    """The id of the model that the provider named."""
    request_id: str | None
    """The provider's id of the request."""
    stop_reason: str | None
    """Why the answer ended, in the provider's word."""
    usage: RoutingRecordUsage
    duration_ms: Amount | None
    """The time of the answered request; null where it means nothing."""
    cost_usd: Amount | None
    """What all attempts cost; null where no price or no usage is known."""
    error: str
    """Why there is no answer, in one line."""


class RoutingRecordUsage(OpenRecord, frozen=True, kw_only=True):
    """Tokens of all attempts; null where the provider did not say."""

    input_tokens: Count | None = None
    """All that was read, from a cache or not."""
    output_tokens: Count | None = None
    """All that was written."""
    cached_tokens: Count | None = None
    """The part of input_tokens that was read from a cache."""
    cache_write_tokens: Count | None = None
    """The part of input_tokens that was written to a cache."""
    reasoning_tokens: Count | None = None
    """The part of output_tokens that was thought and not said."""
    raw: Mapping[str, Any] | None = None
    """What the provider said of the usage, word by word."""
