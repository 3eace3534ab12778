"""The part of inspect_ai's log format that we write, version 2. The order of the fields of a log is part of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from skill_health.documents._record import Record


class LoggedCall(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A call of a tool."""

    id: str
    function: str
    arguments: Mapping[str, Any]
    type: Literal["function"] = "function"


class LoggedFault(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What went wrong in a call."""

    type: Literal["unknown"] = "unknown"
    message: str


class LoggedContent(Record, frozen=True, kw_only=True):
    """A part of a message: what was said, or thought."""

    type: Literal["text", "reasoning"]
    text: str | None = None
    reasoning: str | None = None


class LoggedMessage(Record, frozen=True, kw_only=True):
    """A message; `tool_calls` and `model` are the assistant's, `tool_call_id`, `function` and `error` a tool's."""

    id: str
    role: Literal["system", "user", "assistant", "tool"]
    content: str | tuple[LoggedContent, ...]
    source: Literal["input", "generate"] | None = None
    metadata: Mapping[str, Any] | None = None
    tool_calls: tuple[LoggedCall, ...] | None = None
    model: str | None = None
    tool_call_id: str | None = None
    function: str | None = None
    error: LoggedFault | None = None


class LoggedUsage(Record, frozen=True, kw_only=True):
    """Tokens: `input_tokens` leaves out those that were read from a cache or written to it."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    input_tokens_cache_write: int | None = None
    input_tokens_cache_read: int | None = None
    reasoning_tokens: int | None = None
    total_cost: float | None = None


class LoggedChoice(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The last answer of the model."""

    message: LoggedMessage
    stop_reason: Literal["stop", "unknown"] = "stop"


class LoggedOutput(Record, frozen=True, kw_only=True):
    """What the model came to."""

    model: str
    choices: tuple[LoggedChoice, ...] = ()
    completion: str = ""


class LoggedScore(Record, frozen=True, kw_only=True):
    """What a scorer gave: C or I, or a number."""

    value: str | float
    answer: str | None = None
    explanation: str | None = None
    metadata: Mapping[str, Any] | None = None


class LoggedError(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Why a sample has no score."""

    message: str
    traceback: str = ""
    traceback_ansi: str = ""


class LoggedLimit(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The limit that ended a sample."""

    type: Literal["time"] = "time"
    limit: float


class LoggedSample(Record, frozen=True, kw_only=True):
    """A trial: the task is the sample, the replication its epoch."""

    id: str
    epoch: int
    input: str
    target: str
    messages: tuple[LoggedMessage, ...]
    output: LoggedOutput
    scores: Mapping[str, LoggedScore] | None = None
    metadata: Mapping[str, Any]
    model_usage: Mapping[str, LoggedUsage]
    total_time: float | None = None
    uuid: str
    error: LoggedError | None = None
    limit: LoggedLimit | None = None


class LoggedDataset(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The tasks."""

    name: str
    samples: int
    sample_ids: tuple[str, ...]
    shuffled: bool = False


class LoggedConfig(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How often each task was tried."""

    epochs: int


class LoggedSpec(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What was evaluated."""

    eval_id: str
    run_id: str
    created: str
    task: str
    task_id: str
    task_args: Mapping[str, Any]
    solver: str
    tags: tuple[str, ...]
    dataset: LoggedDataset
    model: str
    config: LoggedConfig
    packages: Mapping[str, str]
    metadata: Mapping[str, Any]


class LoggedMetric(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A figure over samples."""

    name: str
    value: float


class LoggedScorer(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What a scorer comes to: over how many samples, and over how many it says nothing."""

    name: str
    scorer: str
    scored_samples: int
    unscored_samples: int
    metrics: Mapping[str, LoggedMetric]


class LoggedResults(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What all samples come to."""

    total_samples: int
    completed_samples: int
    scores: tuple[LoggedScorer, ...]


class LoggedStep(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What solved the samples."""

    solver: str


class LoggedPlan(Record, frozen=True, kw_only=True, omit_defaults=False):
    """By what the samples were solved."""

    name: str = "plan"
    steps: tuple[LoggedStep, ...]


class LoggedStats(Record, frozen=True, kw_only=True, omit_defaults=False):
    """When it began, and the tokens of all samples that tell theirs."""

    started_at: str
    completed_at: str = ""
    model_usage: Mapping[str, LoggedUsage]


class InspectEvalLog(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A log. It is read in pieces: no field may change its place."""

    version: Literal[2] = 2
    status: Literal["success", "cancelled"]
    eval: LoggedSpec
    plan: LoggedPlan
    results: LoggedResults
    stats: LoggedStats
    samples: tuple[LoggedSample, ...]
