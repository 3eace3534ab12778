"""What an effectiveness run is made of, once read: frozen values that every module of the package shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

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
