"""A result of an effectiveness run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import Amount, Count, OpenRecord


class TrialResultRecord(OpenRecord, frozen=True, kw_only=True):
    """One line of results.jsonl: the outcome of one (task, model, arm, replication), of which a run has exactly one."""

    ID: ClassVar = "skill-health/effectiveness-result/1"

    task_id: str
    """The task, as the manifest has it."""
    model: str
    """The name of agent and model as the manifest has it."""
    arm: str
    """The condition."""
    replication: Count
    """Counted from 0."""
    outcome: Literal["pass", "fail", "timeout", "refusal", "infrastructure", "quota", "auth", "cancelled"]
    """The first four are scored, and only pass is a success; the others are missing data."""
    reward: float | None
    """What the verifier gave; null where it gave nothing."""
    rewards: Mapping[str, float]
    """All numbers that the verifier wrote."""
    exit_code: int | None
    """Of the agent; it decides nothing. Null where it was stopped."""
    stop_reason: str | None
    """Why the agent ended, in its own word."""
    resolved_model: str | None
    """The model that the provider named."""
    usage: TrialResultUsage
    usage_source: Literal["", "agent", "gateway", "prices"]
    """Who says the usage: the agent, or the gateway that saw the answers; empty for nobody."""
    cost_usd: Amount | None
    """Dollars; null where nobody knows."""
    cost_source: Literal["", "agent", "gateway", "prices"]
    """Who says the dollars; prices: tokens times a price."""
    turns: Count | None
    """Answers of the model that the agent worked with."""
    tool_calls: Count | None
    """Tools that it called."""
    duration_ms: Amount | None
    """Of the agent alone."""
    invoked: Literal["yes", "no", "not_observable"]
    """Whether the agent opened any staged skill."""
    invocations: tuple[str, ...]
    """Which ones."""
    evidence: tuple[str, ...]
    """By what that is known."""
    skills: tuple[tuple[str, str], ...]
    """The staged skills in listing order, each with its digest."""
    seen: tuple[str, ...] | None
    """The skills that the agent itself reported; null where it does not."""
    changed: Count | None
    """Paths of the workspace that are not as they were."""
    attempts: Annotated[int, Meta(ge=1)]
    """Trials that it took, those that ended in infrastructure failures included."""
    folder: str
    """The folder of the trial, relative to the run's."""
    notes: tuple[str, ...]
    """What was stopped or found odd."""
    error: str
    """Why there is no outcome that counts; empty otherwise."""


class TrialResultUsage(OpenRecord, frozen=True, kw_only=True):
    """Tokens of the whole trial; null where nobody says."""

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
    """As it was reported."""
