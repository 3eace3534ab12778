"""What an effectiveness run is made of, once read: frozen values that every module of it shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from skill_health.bench.http.messages import Usage
from skill_health.effectiveness.tasks._folder import File

Outcome = Literal["pass", "fail", "timeout", "refusal", "infrastructure", "quota", "auth", "cancelled"]
SCORED: tuple[Outcome, ...] = ("pass", "fail", "timeout", "refusal")
"""The outcomes that enter statistics. Only "pass" is a success; the other outcomes are missing data, not failures."""

Invoked = Literal["yes", "no", "not_observable"]
Source = Literal["", "agent", "gateway", "prices"]
"""Who says a number: the agent itself, the gateway that saw the model's answers, or tokens times a price."""

CONTROL, TARGET, NEGATIVE, FULL = "control", "target", "negative", "full"
PLUS_ONE, PLUS_UNRELATED = "target_plus_one", "target_plus_unrelated"
CONDITIONS = (CONTROL, TARGET, NEGATIVE, FULL, PLUS_ONE, PLUS_UNRELATED)
"""The six conditions of the plan."""
PLACEBO, AGAIN, LEAVE_OUT, ORDER = "placebo", "aa", "leave_one_out", "order"
HINT = "+hint"


@dataclass(frozen=True, slots=True)
class SkillCopy:
    """A skill as it is staged: real copies of its files, paths relative to its folder, which has the skill's name.

    `digest` covers the name and every file. `placebo` marks neutral text that stands in for a skill.
    """

    name: str
    description: str
    files: tuple[File, ...] = field(repr=False)
    digest: str
    placebo: bool = False


@dataclass(frozen=True, slots=True)
class Arm:
    """One condition of a run. `argument` is the skill of leave_one_out, or the seed of order; "" for all others.

    With `hint` the prompt ends with a line that names the staged skills: knowledge instead of discovery.
    """

    condition: str
    argument: str = ""
    hint: bool = False

    @property
    def name(self) -> str:
        """The arm in records and on the command line: `target`, `order:7`, `leave_one_out:csv-cleaning+hint`."""
        return f"{self.condition}{':' if self.argument else ''}{self.argument}{HINT if self.hint else ''}"


Key = tuple[str, str, str, int]
"""What a run has exactly one result for: task, model, arm, replication."""


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The outcome of one trial, as a line of results.jsonl holds it.

    `model` is the whole name as it was given (agent and model), `resolved_model` what the provider said. `reward` is
    None where there is none; `rewards` are all numbers that the verifier wrote. `exit_code` is the agent's, None after
    a timeout; it decides nothing. `turns`, `tool_calls`, `usage`, `cost_usd` and `duration_ms` (of the agent alone) are
    None where nobody knows; `usage_source` and `cost_source` say who does. `invoked` says whether the agent opened any
    staged skill, `invocations` which ones, `evidence` by what. `skills` are the staged ones in listing order with their
    digests; `seen` the names of skills that the agent itself reported, None where it does not. `changed` counts the
    paths of the workspace that are not as they were. `attempts` counts trials that ended in infrastructure failures,
    too. `folder` is that of the trial, relative to the run's. `notes` tell what was stopped or found odd.
    """

    task_id: str
    model: str
    arm: str
    replication: int
    outcome: Outcome
    reward: float | None = None
    rewards: Mapping[str, float] = field(default_factory=dict)
    exit_code: int | None = None
    stop_reason: str | None = None
    resolved_model: str | None = None
    usage: Usage = field(default_factory=Usage)
    usage_source: Source = ""
    cost_usd: float | None = None
    cost_source: Source = ""
    turns: int | None = None
    tool_calls: int | None = None
    duration_ms: float | None = None
    invoked: Invoked = "not_observable"
    invocations: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    skills: tuple[tuple[str, str], ...] = ()
    seen: tuple[str, ...] | None = None
    changed: int | None = None
    attempts: int = 1
    folder: str = ""
    notes: tuple[str, ...] = ()
    error: str = ""

    @property
    def key(self) -> Key:
        """What a run has exactly one result for."""
        return (self.task_id, self.model, self.arm, self.replication)

    @property
    def scored(self) -> bool:
        """Whether the trial counts: the agent had its chance, and the verifier or the clock judged it."""
        return self.outcome in SCORED

    @property
    def success(self) -> float | None:
        """1 for a pass, 0 for another scored outcome, None for missing data."""
        return float(self.outcome == "pass") if self.scored else None


FIELDS = ("task_id", "model", "arm", "replication")
"""The fields of a line that make its key, in the order of `records.Key`."""

_FIELDS = tuple(field.name for field in fields(TrialResult))
_TEXTS = ("invocations", "evidence", "notes")
_COUNTS = ("turns", "tool_calls", "changed")
_MOST = 2**53
_WORDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("outcome", get_args(Outcome)), ("invoked", get_args(Invoked)), ("usage_source", get_args(Source)),
    ("cost_source", get_args(Source)),
)  # fmt: skip


def to_line(result: TrialResult) -> dict[str, Any]:
    """A result as a JSON object; tuples are lists, what is not known is null."""
    record = {name: getattr(result, name) for name in _FIELDS}
    for name in _TEXTS:
        record[name] = list(record[name])
    record["skills"] = [list(pair) for pair in result.skills]
    record["seen"] = None if result.seen is None else list(result.seen)
    record["rewards"] = dict(result.rewards)
    record["usage"] = result.usage.to_json()
    return record


def from_line(record: Mapping[str, Any]) -> TrialResult:
    """The result that a JSON object of ours holds. Raises ValueError where it is none."""
    try:
        values = {name: record[name] for name in _FIELDS if name in record}
        for name in _TEXTS:
            values[name] = _texts(values.get(name) or ())
        values["skills"] = tuple((str(name), str(digest)) for name, digest in values.get("skills") or ())
        seen = values.get("seen")
        values["seen"] = None if seen is None else _texts(seen)
        values["rewards"] = {str(name): float(value) for name, value in (values.get("rewards") or {}).items()}
        values["usage"] = Usage(**(values.get("usage") or {}))
        result = TrialResult(**values)
        if problem := _problem(result):
            raise ValueError(f"no result: {problem}")
    except (TypeError, AttributeError) as error:
        raise ValueError(f"no result: {error}") from None
    return result


def is_missing(record: Mapping[str, Any]) -> bool:
    """Whether a record is missing data, which a run that is resumed tries again; so is one that is damaged."""
    if record.get("outcome") not in SCORED:
        return True
    try:
        from_line(record)
    except ValueError:
        return True
    return False


def _texts(values: Any) -> tuple[str, ...]:
    found = tuple(values)
    if isinstance(values, str) or not all(isinstance(each, str) for each in found):
        raise TypeError("a list of texts is none")
    return found


def _problem(result: TrialResult) -> str:
    """What of the values cannot be; "" where all can."""
    for name, words in _WORDS:
        if getattr(result, name) not in words:
            return f"{name} is {getattr(result, name)!r}"
    for name in ("task_id", "model", "arm", "folder", "error"):
        if not isinstance(getattr(result, name), str):
            return f"{name} is no text"
    for name, least in (*((name, 0) for name in _COUNTS), ("attempts", 1), ("replication", 0)):
        count = getattr(result, name)
        if count is None and name in _COUNTS:
            continue
        if isinstance(count, bool) or not isinstance(count, int) or count < least:
            return f"{name} is {count!r}"
    for name in ("reward", "cost_usd", "duration_ms"):
        value = getattr(result, name)
        if value is not None and not (isinstance(value, int | float) and abs(value) < _MOST):
            return f"{name} is {value!r}"
    return "an amount below zero" if min(result.cost_usd or 0, result.duration_ms or 0) < 0 else ""
