"""An attempt of a router run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import Amount, Count, OpenRecord


class RoutingAttempt(OpenRecord, frozen=True, kw_only=True):
    """One line of attempts.jsonl: the start or the end of one request to a model.

    From the ends a lost result is had again.
    """

    ID: ClassVar = "skill-health/router-attempt/1"

    event: Literal["start", "end"]
    """start before the request is sent, end when its outcome is known."""
    key: tuple[str, str, Count]
    """prompt, model and replication."""
    attempt: Annotated[int, Meta(ge=1)]
    """Counted from 1."""
    at: str = ""
    """When, in UTC."""
    reserved_usd: Amount | None = None
    """start: what the request can cost at most; it counts as spent until the end is known."""
    status: (
        Literal[
            "finished",
            "format_failure",
            "refusal",
            "truncated",
            "model_unavailable",
            "provider_error",
            "cancelled",
            "dry_run",
        ]
        | None
    ) = None
    """end: the status of the reply."""
    outcome: (
        Literal[
            "finished",
            "format_failure",
            "refusal",
            "truncated",
            "model_unavailable",
            "provider_error",
            "cancelled",
            "dry_run",
        ]
        | None
    ) = None
    """end: the status after the answer was read."""
    kinds: tuple[str, ...] = ()
    """end: what is wrong with the format of the answer."""
    raw_text: str = ""
    """end: the answer, word by word."""
    model: str | None = None
    """end: the id of the model that the provider named."""
    request_id: str | None = None
    """end: the provider's id of the request."""
    stop_reason: str | None = None
    """end: why the answer ended, in the provider's word."""
    usage: RoutingAttemptUsage | None = None
    duration_ms: Amount | None = None
    """end: the time of the answered request."""
    requests: Count | None = None
    """end: how many requests were sent for it, repeated ones included."""
    cost_usd: Amount | None = None
    """end: what it cost; null where nobody knows, and then what was reserved counts."""
    error: str = ""
    """end: why there is no answer, in one line."""
    stop: Literal["", "quota", "auth"] | None = None
    """end: what ends the whole run (quota, auth), or empty."""


class RoutingAttemptUsage(OpenRecord, frozen=True, kw_only=True):
    """end: tokens; null where the provider did not say."""

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
