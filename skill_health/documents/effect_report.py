"""An effectiveness report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import Count, FullFigure, Record, Share
from skill_health.documents.effect_composition import PairComposition
from skill_health.documents.effect_loading import LoadingEffect, SelectedFigure
from skill_health.documents.quality_report import AuthoringAssociation

VerdictWord = Literal[
    "helps", "cheaper", "any text helps", "unexplained gain", "no evidence", "harmful", "not testable", "biased"
]
EfficiencyWord = Literal[
    "cheaper", "any text helps", "unexplained gain", "dearer", "no evidence", "not testable", "biased"
]
EfficiencyMeasure = Literal["dollars", "tokens"]
ContrastKind = Literal[
    "primary", "secondary", "interaction", "discovery", "knowledge", "delivery", "loading", "calibration", "descriptive"
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
    extends: tuple[str, ...] = ()
    """The runs that this one took trials over from, the first one first: each could be looked at."""
    taken_over: Count = 0
    """Trials of these runs that are counted here."""
    authoring: AuthoringAssociation | None = None
    """How the skills are written beside what each adds, in the mean over models that are not biased; null where both
    are known of fewer than six.
    """


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
    unproved: str = ""
    """What nobody sees of this agent, which ran under a weaker proof by the user's wish; empty for all others."""
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
    efficiency: EfficiencyVerdict | None = None
    """The second endpoint over the same tasks; null where the run does not have both arms, or is older than it."""
    categories: tuple[CategoryContrasts, ...]
    controls: NegativeControls
    calibration: CalibrationContrast | None
    """The target against itself; null where the run has no such arm."""
    tasks: tuple[TaskReport, ...]
    contributions: tuple[SkillContribution, ...] = ()
    """What is lost without each skill, the greatest loss first; where the run has arms that leave one out."""
    penalties: tuple[PenaltyContrast, ...] = ()
    """Discovery penalties against each other; where the run has deliveries with the hint and without it."""
    loading: LoadingEffect | None = None
    """What loading does beside the offer; null where the run does not have both arms, or is older than it."""
    composition: tuple[PairComposition, ...] = ()
    """Two skills at a time: none, either one, both; empty where the run has no such arms."""


class SkillContribution(Record, frozen=True, kw_only=True):
    """What one skill adds to others: an arm with all of them less the arm that leaves it out, over the same tasks."""

    rank: Annotated[int, Meta(ge=1)] | None
    """Its place among those against the same arm; equal ones share one, null where nothing is known."""
    skill: str
    """The skill that is left out."""
    against: str
    """The arm that has all skills: the collection, or the targets of a task."""
    tasks: Count
    """Tasks of which both sides were scored."""
    delta: FullFigure
    """Success with it less success without: the contrast of the arm that leaves it out, with the sign turned; p is
    corrected with all other secondary contrasts.
    """
    testable: bool
    """Whether six tasks or more differ."""
    above: tuple[str, ...]
    """The skills that it is shown to contribute more than: sign-flip tests of all pairs, corrected by Holm's method."""


class PenaltyContrast(Record, frozen=True, kw_only=True):
    """The discovery penalty of an arm less that of the same arm in a plainer delivery, over the tasks with all four."""

    arm: str
    """The arm, without the hint: its penalty is what the same arm with the hint succeeds more often."""
    against: str
    """The arm in the plainer delivery, without the hint."""
    tasks: Count
    """Tasks with a scored trial in all four arms."""
    differing: Count
    """Tasks of these whose penalties are not equal."""
    delta: FullFigure
    """The mean difference over tasks; above zero more is lost in `arm`. p is that of the sign-flip test, corrected over
    all such differences of the model (Holm).
    """
    testable: bool
    """Whether six tasks or more differ."""
    note: str
    """Why it is not testable; empty where it is."""


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
    tests: FullFigure | None = None
    """The passed share of the tests in the reports of verifiers, per trial; absent where there are no such reports. It
    decides nothing."""
    best_of: tuple[BestOf, ...] = ()
    """What several tries at a task come to, beside the mean of single ones; empty for runs without replications."""
    invoked: InvokedTrials
    success_given_invoked: SelectedFigure
    """The share that passed of the trials in which a skill was opened. Biased by selection: these trials choose
    themselves. It describes, and compares with nothing; `loading` says what loading does.
    """
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
    creation: CreationFigures | None = None
    """What it took to write the skills, in an arm whose agent writes them itself; a part of the figures above."""


class CreationFigures(Record, frozen=True, kw_only=True):
    """The agents of an arm that wrote skills for themselves, over its scored trials."""

    written: Count
    """Trials with skills that were staged."""
    nothing: Count
    """Trials in which none was written; the task was done without."""
    unusable: Count
    """Trials in which nothing could be staged of what was written; the task was done without."""
    input_tokens: FullFigure
    """Mean over tasks, of the writing alone."""
    output_tokens: FullFigure
    """Mean over tasks, of the writing alone."""
    cost_usd: FullFigure
    """Mean over tasks, dollars per trial, of the writing alone."""
    duration_ms: FullFigure
    """Mean over tasks, of the writing alone."""


class BestOf(Record, frozen=True, kw_only=True):
    """The best of k tries, as a mean over the tasks with at least k scored trials; `n` counts their trials."""

    k: Annotated[int, Meta(ge=2)]
    """How many tries."""
    pass_at_k: FullFigure
    """The chance that one of them passes, without bias."""
    reward: FullFigure
    """The expected best reward, over the tasks with as many rewards."""


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
    without the hint; knowledge: two deliveries with the hint; delivery: two without it; loading: an arm whose agent is
    ordered to open the skills.
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
    """Student's 95 % interval beside it, below 30 tasks, widened where most tasks are alike; null from there on and
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
    """The skill that the tasks are for, or the name of a bundle of several."""
    skills: tuple[str, ...] = ()
    """The skills of a bundle; empty for a single one."""
    tasks: tuple[str, ...]
    """Ids of its tasks."""
    arms: tuple[ArmFigures, ...]
    contrasts: tuple[ArmContrast, ...]
    verdict: EffectVerdict
    efficiency: EfficiencyVerdict | None = None
    """The second endpoint; null where the run does not have both arms, or is older than it."""
    loading: LoadingEffect | None = None
    """What loading does beside the offer; null as above."""


class EfficiencyVerdict(Record, frozen=True, kw_only=True):
    """What the target takes of what the control takes, where it succeeds no less often."""

    word: EfficiencyWord
    """cheaper: the skill's own gain; dearer: it takes more, whatever success is. docs/statistics.md has the rules."""
    reason: str
    """What decided, in one sentence."""
    measure: EfficiencyMeasure
    """Dollars where every scored trial of these arms has a price, else tokens, read and written."""
    ratio: FullFigure
    """The geometric mean over tasks of the target's mean amount over the control's; `p` is the two-sided sign-flip
    test, `p_adjusted` that it is lower, for a typical task and in the whole, and success no worse, corrected together
    with the test of success.
    """
    most: float | None = None
    """The upper end of the 95 % interval of the ratio of the whole amounts, heavy tails counted; null without one."""
    whole_p: Share | None = None
    """The two-sided p of that ratio: of the whole amounts being alike."""
    margin: Share
    """The largest loss of success that counts as none."""
    least: float | None
    """The lower end of the one-sided 95 % interval of the difference of success; null where there is none."""
    no_worse_p: Share | None
    """The p-value of a loss as large as the margin."""
    own_p_adjusted: Share | None
    """The same as `ratio.p_adjusted` of being lower than every text of no use, too; null where not testable."""
    against: tuple[AmountContrast, ...]
    """The target against the texts of no use, and these against the control."""


class AmountContrast(Record, frozen=True, kw_only=True):
    """Two arms compared in what they take, paired by task."""

    arm: str
    """The arm that is compared."""
    against: str
    """What it is compared with."""
    ratio: FullFigure
    """The geometric mean over tasks of the one's mean amount over the other's."""


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
