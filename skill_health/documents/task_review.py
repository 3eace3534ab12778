"""A review of tasks: what is known of each in six parts, and what that recommends."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import Amount, Count, FullFigure, Name, NotedFigure, Record, RunIdText
from skill_health.documents.effect_check import CheckedTask, UnreadableTask
from skill_health.documents.effect_result import Outcome, TrialTests

Recommendation = Literal["approve", "approve with caveats", "major changes needed", "reject", "not decided"]
CriterionAnswer = Literal["met", "not met", "not shown", "not known", "for a person"]
CriterionCode = Literal[
    "oracle-passes",
    "no-op-fails",
    "verifier-sound",
    "no-leak",
    "no-skill-named",
    "programs-decide",
    "skills-sound",
    "skill-count",
    "test-count",
    "closed-words",
    "human-instruction",
    "skill-dependent",
    "no-harm",
    "realistic",
]
CriterionWeight = Literal["reject", "major", "caveat"]
FailureCause = Literal["assertion", "missing file", "exception", "time limit", "refusal", "criterion", "not said"]


class TaskReviewReport(Record, frozen=True, kw_only=True):
    """What `skill-health effectiveness review --format json` prints."""

    ID: ClassVar = "skill-health/effectiveness-review/1"

    schema: Literal["skill-health/effectiveness-review/1"]
    tasks: tuple[TaskReview, ...]
    """The tasks, in the order of their paths."""
    bad: tuple[UnreadableTask, ...]
    """What is no task."""
    runs: tuple[RunIdText, ...]
    """The runs whose trials were read."""


class TaskReview(Record, frozen=True, kw_only=True):
    """What is known of one task."""

    metadata: ReviewedMetadata
    oracle: ReviewedOracle
    agents: tuple[ReviewedArm, ...]
    """By run, model and arm."""
    impact: tuple[SkillsImpact, ...]
    """By run and model; where there are several that are not simulated, all of them together come last."""
    failures: tuple[TestFailure, ...]
    """What failed in trials, the commonest first."""
    criteria: tuple[ReviewCriterion, ...]
    """What a task is held to, in the order of the manual."""
    recommendation: Recommendation
    """The weightiest criterion that is not met decides; what is not shown is a caveat. not decided: none of weight is
    missed, and one of weight is not known.
    """
    check: CheckedTask
    """The same task as `effectiveness check` sees it."""


class ReviewedMetadata(Record, frozen=True, kw_only=True):
    """What the task is."""

    id: Name
    path: str
    """Its folder or file, relative to the root."""
    format: str
    category: str
    """Empty where nothing is said, as for the following two."""
    difficulty: str
    tags: tuple[str, ...]
    instruction_by: Literal["human", "model", "mixed"] | None
    """Who wrote the instruction, as the author declares it; null where nobody says."""
    instruction_words: Count
    skills: tuple[str, ...] | None
    """The skills that should help; empty for a negative control, null where nothing says which."""
    tests: Count | None
    """Test functions of the verifier, each once; null where it is no pytest."""
    criteria: Count
    """Criteria of its rubric."""
    judged: Count
    """Criteria of these that a judge decides."""
    requirements: tuple[str, ...]
    """What it needs: image, processors, memory, network, time limits."""


class ReviewedOracle(Record, frozen=True, kw_only=True):
    """What the reference solution comes to."""

    state: Literal["passes", "fails", "none", "not run"]
    """not run: the review was asked not to, or the task cannot be run here."""
    reward: float | None
    """The verifier's; null where there is none."""
    tests: TrialTests | None
    """The tests in the verifier's report; null where it leaves none."""
    seconds: Amount | None
    """How long the solution took, without the verifier; null where it was not run. Not the same each time."""


class ReviewedArm(Record, frozen=True, kw_only=True):
    """The trials of the task in one arm."""

    run: RunIdText
    model: str
    """The name of agent and model as the run has it."""
    simulated: bool
    """True where it says nothing about any model."""
    arm: str
    passed: NotedFigure
    """The share of scored trials that passed, with Wilson's interval."""
    missing: Count
    """Trials that are not scored."""
    seconds: Amount | None
    """The mean time of the agent in scored trials; null where nobody knows."""
    tokens: Amount | None
    """The mean of input and output tokens of the same."""


class SkillsImpact(Record, frozen=True, kw_only=True):
    """What the target arm passes more often than the control."""

    run: str
    """Empty for several together."""
    model: str
    """Empty for several together."""
    simulated: bool
    delta: FullFigure
    """Newcombe's interval of the difference of two shares, over models where there are several (Mantel-Haenszel)."""


class FailingTrial(Record, frozen=True, kw_only=True):
    """One trial in which it failed, as evidence."""

    run: RunIdText
    trial: str
    """Its name: `skill-health effectiveness show RUN TRIAL` shows it in full."""
    model: str
    arm: str
    outcome: Outcome
    opened: tuple[str, ...]
    """The skills that the agent opened; empty also where that cannot be told."""
    last: str
    """What the agent said or did at last, cut; empty where no step is kept."""


class TestFailure(Record, frozen=True, kw_only=True):
    """Tests or criteria that failed alike, or trials that ended before any was decided."""

    names: tuple[str, ...]
    """Of the tests or criteria; none for the task as a whole."""
    cause: FailureCause
    """By the outcome of the trial, and the first error that the message names."""
    said: str
    """What the verifier says, expected and actual value with it; cut."""
    failed: tuple[ArmFailures, ...]
    """How often, by arm."""
    example: FailingTrial


class ArmFailures(Record, frozen=True, kw_only=True):
    """How many trials of an arm it failed in."""

    arm: str
    failed: Count
    of: Annotated[int, Meta(ge=1)]
    """Scored trials of the arm, of all runs and models."""


class ReviewCriterion(Record, frozen=True, kw_only=True):
    """Whether the task is as it should be in one respect."""

    code: CriterionCode
    answer: CriterionAnswer
    """not shown: it was looked at, and the answer is open; not known: nothing was run that could tell."""
    weight: CriterionWeight
    """What follows where it is not met."""
    said: str
    """Why, in a sentence."""
