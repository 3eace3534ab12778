"""An effectiveness report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import Count, FullFigure, Record, Share

VerdictWord = Literal["helps", "any text helps", "unexplained gain", "no evidence", "harmful", "not testable", "biased"]
ContrastKind = Literal[
    "primary", "secondary", "interaction", "discovery", "knowledge", "delivery", "calibration", "descriptive"
]
Correction = Literal["holm", "benjamini-hochberg", "none"]
Flip = Literal["gained", "lost", "same", "missing"]


class EffectReport(Record, frozen=True, kw_only=True):
    """report.json of a run, and what `skill-health effectiveness report --format json` prints.

    It holds everything known of a run; docs/statistics.md says how the figures are made.
    """

    ID: ClassVar = "skill-health/effectiveness-report/1"

    version: Literal[1]
    """The version of this form."""
    kind: Literal["effectiveness"]
    """Which benchmark the run is of."""
    run_id: str
    """The name of the run."""
    created: str | None
    """When the run began, in UTC."""
    tool_version: str | None
    """The version of skill-health that ran it."""
    simulated: bool
    """True where an agent is simulated: its results say nothing about any model."""
    sandbox: str | None
    """What the trials were isolated by."""
    seed: int
    """The seed of everything that is random."""
    replications: Count
    """Planned trials of each task, model and arm."""
    margin: Share
    """The largest difference that counts as none, as a share."""
    planned: Count
    """Trials that were planned."""
    scored: Count
    """Trials that count: the agent had its chance, and the verifier or the clock judged it."""
    outcomes: Mapping[str, Count]
    """How many trials ended in which outcome."""
    cost_usd: float | None
    """Dollars of all trials of which the cost is known, without those of simulated models; null where it is of none."""
    biased: tuple[str, ...]
    """Why the run is biased; empty where nothing was found."""
    preliminary: tuple[str, ...]
    """Why its results are preliminary; empty where they are not."""
    notes: tuple[str, ...]
    """What to mind, one sentence each."""
    models: tuple[ModelEffectReport, ...]
    """In the manifest's order."""
    leaderboard: tuple[LeaderboardRow, ...]
    """Who benefits most."""


class ModelEffectReport(Record, frozen=True, kw_only=True):
    """One agent with one model."""

    model: str
    """The whole name of agent and model, as it was given."""
    agent: str
    """The agent's name."""
    agent_version: str | None
    """The version of its program; null where nobody knows."""
    resolved: tuple[str, ...]
    """What providers called the model in their answers."""
    simulated: bool
    """True where the results say nothing about any model."""
    planned: Count
    """Trials that were planned."""
    scored: Count
    """Trials that count."""
    outcomes: Mapping[str, Count]
    """How many trials ended in which outcome."""
    retried: Count
    """Trials that were tried again after a failure of the infrastructure."""
    cost_usd: float | None
    """Dollars of all trials of which the cost is known; null where it is of none."""
    biased: tuple[str, ...]
    """Why its results are biased; empty where nothing was found."""
    arms: tuple[ArmFigures, ...]
    """Over all tasks but the negative controls."""
    contrasts: tuple[ArmContrast, ...]
    """Over the same tasks."""
    skills: tuple[SkillEffectReport, ...]
    verdict: EffectVerdict
    """The verdict on the collection as a whole."""
    categories: tuple[CategoryContrasts, ...]
    controls: NegativeControls
    calibration: CalibrationContrast | None
    """The target against itself; null where the run has no such arm."""
    tasks: tuple[TaskReport, ...]


class ArmFigures(Record, frozen=True, kw_only=True):
    """One arm over a set of tasks."""

    arm: str
    """The name of the arm."""
    trials: Count
    """Scored trials."""
    tasks: Count
    """Tasks with a scored trial."""
    missing: Count
    """Planned trials that are not scored."""
    success: FullFigure
    """The share of scored trials that passed."""
    reward: FullFigure
    """The mean reward of the trials that have one."""
    invoked: InvokedTrials
    success_given_invoked: FullFigure
    """The share that passed of the trials in which a skill was opened. Descriptive: these trials choose themselves."""
    input_tokens: FullFigure
    """Mean over tasks; cached ones are counted."""
    output_tokens: FullFigure
    """Mean over tasks."""
    cached_tokens: FullFigure
    """Mean over tasks; a part of input_tokens."""
    cost_usd: FullFigure
    """Mean over tasks, dollars per trial."""
    duration_ms: FullFigure
    """Mean over tasks, of the agent alone."""
    turns: FullFigure
    """Mean over tasks."""
    tool_calls: FullFigure
    """Mean over tasks."""
    skill_calls: FullFigure | None = None
    """Mean over tasks: calls of tools of the server of skills per trial; null where none gave the skills."""
    flags: tuple[Literal["floor", "ceiling"], ...]
    """floor: at most 5 % pass; ceiling: at least 95 % do."""


class TaskInvocations(Record, frozen=True, kw_only=True):
    """Scored trials of all arms that stage skills, by whether a skill was opened."""

    yes: Count
    no: Count
    not_observable: Count


class InvokedTrials(TaskInvocations, frozen=True, kw_only=True):
    """Scored trials in which the agent opened a staged skill, did not, or cannot be seen to have."""

    rate: FullFigure
    """The share of trials with a skill opened, of those of which it is known."""


class ArmContrast(Record, frozen=True, kw_only=True):
    """Two arms compared, paired by task."""

    name: str
    """`arm` and `against` with a hyphen between them."""
    arm: str
    """The arm that is compared."""
    against: str
    """What it is compared with."""
    kind: ContrastKind
    """What it is for: primary decides the verdict, calibration and descriptive decide nothing. discovery: what is lost
    without the hint; knowledge: two deliveries with the hint; delivery: two without it.
    """
    tasks: Count
    """Tasks of which both sides were scored."""
    differing: Count
    """Tasks of these whose difference is not zero."""
    delta: FullFigure
    """The mean over tasks of the difference of success, with the interval of the cluster bootstrap; p is that of the
    sign-flip test.
    """
    t: IntervalEnds | None
    """Student's 95 % interval beside it, below 30 tasks, widened by one more task that differs; null from there on and
    where there is none.
    """
    wilcoxon_p: Share | None
    """Wilcoxon's signed-rank test, exact: whether the differences are symmetric about zero, not their mean.

    Null where not testable.
    """
    sign_flip_p: Share | None
    """The sign-flip test of the mean difference, exact. Null where not testable."""
    p_adjusted: Share | None
    """The sign-flip p after correction for several tests."""
    correction: Correction
    """The correction."""
    testable: bool
    """Whether six tasks or more differ: fewer cannot be significant."""
    note: str
    """Why it is not testable, or what to mind; empty where there is nothing to say."""
    normalised_gain: float | None
    """The gain as a share of what was left to gain: (with - without) / (1 - without); null where nothing was left.

    Read it beside the difference.
    """
    deltas: ContrastDeltas


class IntervalEnds(Record, frozen=True, kw_only=True):
    """The two ends of an interval of differences."""

    low: float | None
    high: float | None


class ContrastDeltas(Record, frozen=True, kw_only=True):
    """What else changes, by task: the arm less what it is against, over tasks of which both sides are known."""

    input_tokens: FullFigure
    output_tokens: FullFigure
    cost_usd: FullFigure
    duration_ms: FullFigure
    turns: FullFigure


class SkillEffectReport(Record, frozen=True, kw_only=True):
    """One skill, over the tasks that it is the target of."""

    skill: str
    """The skill that the tasks are for."""
    tasks: tuple[str, ...]
    """Ids of its tasks."""
    arms: tuple[ArmFigures, ...]
    contrasts: tuple[ArmContrast, ...]
    verdict: EffectVerdict


class EffectVerdict(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What the rules say of a skill, or of the whole collection."""

    word: VerdictWord
    """The verdict, by the rules in docs/statistics.md."""
    reason: str
    """What decided, in one sentence."""
    preliminary: tuple[str, ...]
    """Why it is preliminary; empty where it is not."""
    notes: tuple[str, ...] = ()
    """What to mind beside it: placebo, floor and ceiling, order of trials."""


class CategoryContrasts(Record, frozen=True, kw_only=True):
    """The contrasts of the tasks of one category."""

    category: str
    tasks: Count
    """Tasks of this category."""
    contrasts: tuple[ArmContrast, ...]


class NegativeControls(Record, frozen=True, kw_only=True):
    """What should make no difference."""

    tasks: tuple[str, ...]
    """Ids of the negative-control tasks."""
    arms: tuple[ArmFigures, ...]
    """Over these tasks."""
    contrasts: tuple[EquivalenceContrast, ...]
    passed: bool | None
    """True where every difference is shown to lie within the margin, false where one fails, null where neither is
    shown.
    """
    note: str
    """What could be shown, and what could not."""


class EquivalenceContrast(ArmContrast, frozen=True, kw_only=True, omit_defaults=False):
    """A contrast that should show nothing."""

    margin: Share
    """The largest difference that counts as none, as a share."""
    tost_p: Share | None
    """The p-value of the two one-sided tests: below 0.05 the difference is shown to lie within the margin.

    Null where there is none.
    """
    ninety: IntervalEnds | None
    """The 90 % interval that these tests go with; null where there is none."""
    equivalent: bool | None
    """True where the difference is shown to lie within the margin; false where the 90 % interval lies wholly beyond
    it; null where neither is shown.
    """
    over: Literal["controls", "all"] | None = None
    """The tasks that it is over: the negative-control tasks, or all tasks that have both arms."""
    bias_p: Share | None = None
    """Whether the arm makes any difference here: the larger p of exchanging trials within each task, exactly, and of
    Student's test over tasks; null where one of them cannot tell.
    """
    bias_p_adjusted: Share | None = None
    """The same after Holm's correction over all negative-control contrasts of the run."""
    failed: bool | None = None
    """Whether this contrast marks the run as biased."""


class CalibrationContrast(ArmContrast, frozen=True, kw_only=True):
    """The target compared with itself: what a run shows where there is nothing to show."""

    verdict: Literal["no difference shown", "differs", "not testable"]
    """Whether two identical arms differ."""


class TaskReport(Record, frozen=True, kw_only=True):
    """One task under all arms."""

    task_id: str
    slug: str
    skill: str | None
    """The target; none for a negative control, null where nothing says."""
    category: str
    difficulty: str
    arms: Mapping[str, TaskArmCounts]
    """By name of the arm; an arm that the task does not have is not there."""
    flip: Flip | None
    """Target against control: more passes, fewer, as many, or a side is missing; null for a task that has no target."""
    invoked: TaskInvocations


class TaskArmCounts(Record, frozen=True, kw_only=True):
    """One task in one arm."""

    n: Count
    """Scored trials."""
    passes: Count
    """Of these, those that passed."""
    success: float | None
    """Their share; null without a scored trial."""
    reward: float | None
    """The mean reward; null without any."""


class LeaderboardRow(Record, frozen=True, kw_only=True):
    """What a model gains by a skill, or by the whole collection, and its place among the others."""

    rank: Annotated[int, Meta(ge=1)] | None
    """Models with the whole collection, and pairs of model and skill, are ranked apart; null where there is no
    unbiased difference.
    """
    model: str
    skill: str | None
    """null: the collection as a whole."""
    delta: FullFigure
    """Success with the target less that without."""
    verdict: VerdictWord
