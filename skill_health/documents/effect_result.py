"""A result of an effectiveness run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, UnsetType, field

from skill_health.documents._record import Amount, Count, OpenRecord, TokenUsage
from skill_health.documents.effect_criteria import CriterionVerdict

Outcome = Literal["pass", "fail", "timeout", "refusal", "infrastructure", "quota", "auth", "cancelled", "unjudged"]
SCORED: tuple[Outcome, ...] = ("pass", "fail", "timeout", "refusal")
"""The outcomes that enter statistics. Only "pass" is a success; the other outcomes are missing data, not failures."""

Invoked = Literal["yes", "no", "not_observable"]
Source = Literal["", "agent", "gateway", "prices"]
"""Who says a number: the agent itself, the gateway that saw the model's answers, or tokens times a price."""

Key = tuple[str, str, str, int]
"""What a run has exactly one result for: task, model, arm, replication."""


CreationOutcome = Literal["written", "nothing", "unusable", "broken"]


class SkillCreation(OpenRecord, frozen=True, kw_only=True):
    """How an agent wrote skills for itself before a trial; what it took is a part of the trial's figures."""

    outcome: CreationOutcome
    """written: there are skills, and they were staged; nothing: it left none; unusable: none that could be staged;
    broken: it came to no end that says anything about the agent, and neither did the trial.
    """
    refused: tuple[str, ...] = ()
    """What it left that could not be staged, and why."""
    usage: TokenUsage = TokenUsage()
    cost_usd: Amount | None = None
    """Dollars; null where nobody knows."""
    duration_ms: Amount | None = None
    turns: Count | None = None
    tool_calls: Count | None = None


class TrialTests(OpenRecord, frozen=True, kw_only=True):
    """What the test runner of a verifier says in its CTRF report. It stands beside the outcome and decides nothing."""

    passed: Count
    """Tests that passed."""
    counted: Count
    """Tests with a verdict: those that passed, failed, are pending or ended otherwise."""
    skipped: Count = 0
    """Tests without one: skipped ones, and failures that were expected."""

    @property
    def share(self) -> float | None:
        """The passed share of the tests with a verdict; None without any."""
        return self.passed / self.counted if self.counted else None


class TrialResult(OpenRecord, frozen=True, omit_defaults=False):
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
    outcome: Outcome
    """The first four are scored, and only pass is a success; the others are missing data."""
    reward: Annotated[float, Meta(ge=-(2**53), le=2**53)] | None = None
    """What the verifier gave; null where it gave nothing."""
    rewards: Mapping[str, float] = field(default_factory=dict)
    """All numbers that the verifier wrote."""
    exit_code: int | None = None
    """Of the agent; it decides nothing. Null where it was stopped."""
    stop_reason: str | None = None
    """Why the agent ended, in its own word."""
    resolved_model: str | None = None
    """The model that the provider named."""
    usage: TokenUsage = TokenUsage()
    usage_source: Source = ""
    """Who says the usage: the agent, or the gateway that saw the answers; empty for nobody."""
    cost_usd: Amount | None = None
    """Dollars; null where nobody knows."""
    cost_source: Source = ""
    """Who says the dollars; prices: tokens times a price."""
    turns: Count | None = None
    """Answers of the model that the agent worked with."""
    tool_calls: Count | None = None
    """Tools that it called."""
    duration_ms: Amount | None = None
    """Of the agent alone."""
    invoked: Invoked = "not_observable"
    """Whether the agent opened any staged skill."""
    invocations: tuple[str, ...] = ()
    """Which ones."""
    evidence: tuple[str, ...] = ()
    """By what that is known."""
    skills: tuple[tuple[str, str], ...] = ()
    """The staged skills in listing order, each with its digest."""
    seen: tuple[str, ...] | None = None
    """The skills that the agent itself reported; null where it does not."""
    changed: Count | None = None
    """Paths of the workspace that are not as they were."""
    attempts: Annotated[int, Meta(ge=1)] = 1
    """Trials that it took, those that ended in infrastructure failures included."""
    folder: str = ""
    """The folder of the trial, relative to the run's."""
    notes: tuple[str, ...] = ()
    """What was stopped or found odd."""
    error: str = ""
    """Why there is no outcome that counts; empty otherwise."""
    disagreement: str | UnsetType = UNSET
    """What the agent was offered against the plan, which ends the run; not there where nothing is known against it."""

    skill_calls: Mapping[str, Count] | UnsetType | None = UNSET
    """How often each tool of the server of skills was called; null where the stream of the agent cannot tell, not there
    where no server gave the skills."""

    criteria: tuple[CriterionVerdict, ...] | UnsetType = UNSET
    """The verdict of each criterion of the task's rubric; not there where it has none."""
    creation: SkillCreation | UnsetType = UNSET
    """How the agent wrote skills for itself, in an arm where it does."""
    taken_from: str | UnsetType = UNSET
    """The run that made the trial, where this one took it over; not there for a trial of its own."""

    tests: TrialTests | UnsetType = UNSET
    """The tests of the verifier; not there where it left no report of them."""

    @property
    def key(self) -> Key:
        """What a run has exactly one result for."""
        return (self.task_id, self.model, self.arm, self.replication)

    @property
    def scored(self) -> bool:
        """Whether the trial counts: the agent had its chance, and the verifier or the clock judged it."""
        return self.outcome in SCORED

    @property
    def finished(self) -> bool:
        """Whether the agent had its chance, so that nothing is to be tried again; a judge may still be missing."""
        return self.scored or self.outcome == "unjudged"

    @property
    def success(self) -> float | None:
        """1 for a pass, 0 for another scored outcome, None for missing data."""
        return float(self.outcome == "pass") if self.scored else None
