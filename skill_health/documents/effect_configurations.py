"""Finished runs as configurations: agent, model and arm side by side.

It is computed from the manifests, results and judgings of the runs alone; docs/statistics.md says how.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import Amount, Count, Difference, FullFigure, Record, Share
from skill_health.documents.effect_report import Correction

CONFIGURATIONS = "effectiveness-configurations.json"
"""The file in a folder of reports that it is saved as."""

ScoreName = Literal["success", "weighted", "goal", "instruction"]
"""How a trial is scored: it passed or not, or its rubric scores."""
SubstitutionWord = Literal["substitutes", "falls short", "not shown", "not testable"]
SavingWord = Literal["saves", "no saving", "not shown", "not testable"]
FailureKind = Literal[
    "timeout",
    "refusal",
    "no skill opened",
    "wrong skill opened",
    "wrong tool",
    "verifier near miss",
    "partly done",
    "nothing changed",
    "not known",
    "infrastructure",
    "quota",
    "auth",
    "cancelled",
    "unjudged",
    "no result",
]
"""Why a planned trial did not pass. The first nine are failures, the others missing data."""
PairedSides = Literal["arms", "substitution", "harnesses"]
UnpairedReason = Literal[
    "no score with the skill", "no score without the skill", "no score on either side", "in one run only",
    "another task now", "other skills staged",
]  # fmt: skip


class EffectConfigurations(Record, frozen=True, kw_only=True):
    """What `skill-health effectiveness configurations --format json` prints, and `--save` writes.

    Shares, scores and differences of them are shares of 1. Every figure counts tasks as its clusters.
    """

    ID: ClassVar = "skill-health/effectiveness-configurations/1"

    schema: Literal["skill-health/effectiveness-configurations/1"]
    tool_version: str
    """The version of skill-health that made it."""
    seed: Count
    """The seed of resampling."""
    score: ScoreName
    """The score that every table is by but those of configurations and criteria, which have all."""
    margin: Share
    """The non-inferiority margin: the largest loss of that score that still counts as none."""
    runs: tuple[ConfiguredRun, ...]
    """What was read, in the order given."""
    subjects: tuple[ConfiguredSubject, ...]
    """Agents with their models, by run: what the other parts call `subject`."""
    configurations: tuple[ConfigurationRow, ...]
    """Every subject in every arm, the control first."""
    means: tuple[ConfigurationMean, ...]
    """Each arm over all subjects; empty for one subject."""
    criteria: tuple[CriterionDelta, ...]
    """Criteria by what the skill changes in them, the largest change first, of either sign."""
    domains: tuple[DomainRow, ...]
    """By domain of the task and by domain of the skill, the largest difference first, each with its macro mean last."""
    cells: tuple[TaskSubjectCell, ...]
    """The heat map: every task with a target and every subject, by task, then in the order of subjects."""
    substitutions: tuple[SubstitutionRow, ...]
    """A cheaper model with the skill against a dearer one without it."""
    savings: tuple[TokenSaving, ...]
    """Tokens with the skill against without it, and whether the score is no worse."""
    harnesses: tuple[HarnessContrast, ...]
    """One model in two agents."""
    by_number: tuple[StratumRow, ...]
    """By the number of skills staged: 1, 2 to 3, 4 and more."""
    by_length: tuple[StratumRow, ...]
    """By the bytes of the SKILL.md files staged; empty where they are not known."""
    failures: tuple[FailureRow, ...]
    """Why trials did not pass: every kind that occurs, by subject and arm."""
    unpaired: tuple[UnpairedTask, ...]
    """Tasks that a comparison is without, and why."""
    notes: tuple[str, ...]
    """What to mind, one sentence each."""


class ConfiguredRun(Record, frozen=True, kw_only=True):
    """One run."""

    run_id: str
    created: str
    """When it began, in UTC."""
    replications: Count
    """Planned trials of each task, model and arm."""
    planned: Count
    """Trials that were planned."""
    scored: Count
    """Trials that count."""
    judging: str | None
    """The judging whose scores are used; null where there is none."""
    calibrated: bool | None
    """Whether its verdicts were held against those of people; null without a judging."""


class ConfiguredSubject(Record, frozen=True, kw_only=True):
    """One agent with one model in one run."""

    subject: str
    """Its name here: agent and model as they were given, with the run behind `@` where two runs have it."""
    run_id: str
    spec: str
    """Agent and model as they were given."""
    agent: str
    model: str
    """The model that the agent asks; empty where that is not said."""
    resolved: tuple[str, ...]
    """What providers called the model in their answers."""
    simulated: bool
    """True where the results say nothing about any model."""
    with_arm: str | None
    """The arm with the skill that its comparisons are about; null where the run lacks it or the control."""
    preliminary: tuple[str, ...]
    """Why its figures are preliminary, such as fewer than 3 replications; empty where they are not."""


class ConfigurationRow(Record, frozen=True, kw_only=True):
    """One subject in one arm over its tasks with a target, with what the arm adds to the control."""

    subject: str
    arm: str
    tasks: Count
    """Tasks with a scored trial."""
    trials: Count
    """Scored trials."""
    goal: FullFigure
    """Goal completion, by the criteria of the rubrics."""
    instruction: FullFigure
    """Instruction following, likewise."""
    weighted: FullFigure
    """Both by the weights of the rubrics."""
    success: FullFigure
    """The share of trials that passed."""
    duration_ms: FullFigure
    """Of the agent, by trial; so are the next three."""
    cost_usd: FullFigure
    input_tokens: FullFigure
    output_tokens: FullFigure
    delta: ConfigurationDelta | None
    """Against the control; null for the control, and where the run has none."""
    preliminary: bool
    """Whether its subject is preliminary."""


class ConfigurationDelta(Record, frozen=True, kw_only=True):
    """An arm less the control, paired by task."""

    goal: FullFigure
    instruction: FullFigure
    weighted: FullFigure
    success: FullFigure
    correction: Correction
    """Of p: Holm's over subjects where the arm is the one with the skill, else that of Benjamini and Hochberg."""
    gain: FullFigure
    """The normalised gain of the score of this document: the share of what was left to gain. No p-value."""


class ConfigurationMean(Record, frozen=True, kw_only=True):
    """All subjects in one arm, over tasks: each task weighs the same, and so does each subject within it."""

    arm: str
    subjects: Count
    """How many have a score in this arm and in the control."""
    score: FullFigure
    """Their score in this arm, over tasks that a subject has in both."""
    control: FullFigure
    """The same in the control."""
    delta: FullFigure
    """The difference."""
    gain: FullFigure
    """The mean of their normalised gains, of those that have one; the interval leaves tasks out of all at once."""
    gains: Count
    """How many have one."""
    preliminary: bool
    """Whether a subject of it is preliminary."""


class CriterionDelta(Record, frozen=True, kw_only=True):
    """One criterion of one task with and without the skill, over all subjects that have both."""

    task_id: str
    skill: str | None
    criterion: str
    text: str
    """What it asks for; empty where no judging says it."""
    group: Literal["goal", "instruction"]
    by: str
    """Who decides it: the kind of a check, or judge."""
    points: Amount
    """What it is worth; the criteria of a group sum to 100."""
    subjects: Count
    """Over how many subjects."""
    met_with: Count
    """Trials with the skill that meet it,"""
    of_with: Count
    """of those in which it is decided."""
    met_without: Count
    """The same without the skill."""
    of_without: Count
    delta: FullFigure
    """The difference of shares; clusters counts subjects, and p is exact within subjects, corrected over criteria."""
    preliminary: bool
    """Whether a subject of it is preliminary."""


class DomainRow(Record, frozen=True, kw_only=True):
    """The tasks of one domain, over all subjects; each task weighs the same, and each subject within it."""

    of: Literal["task", "skill"]
    """Whose domain it is."""
    domain: str | None
    """Its name, empty where none is given; null for the macro mean, in which every domain weighs the same."""
    tasks: Count
    subjects: Count
    score_with: float | None
    score_without: float | None
    delta: FullFigure
    """Their difference, with an interval over tasks; p is corrected over the domains of this kind."""
    preliminary: bool


class TaskSubjectCell(Record, frozen=True, kw_only=True):
    """One task and one subject: a cell of the heat map."""

    task_id: str
    slug: str
    skill: str | None
    subject: str
    n_with: Count
    """Trials with the skill that have a score."""
    score_with: float | None
    """Their mean; null without any."""
    n_without: Count
    score_without: float | None
    delta: Difference | None
    """Their difference; null where a side is missing."""
    low: Difference | None
    """Its 95 % interval over trials of this task; null where there is none, as for scores other than success."""
    high: Difference | None


class SubstitutionRow(Record, frozen=True, kw_only=True):
    """A cheaper model with the skill against a dearer one without it, paired by task."""

    small: str
    """The subject that costs less without the skill."""
    large: str
    """The other one."""
    tasks: Count
    score_small: float | None
    """The mean score of the small one with the skill, over these tasks."""
    score_large: float | None
    """That of the large one without."""
    cost_small: float | None
    """Dollars for each trial, likewise."""
    cost_large: float | None
    delta: FullFigure
    """The small one with the skill less the large one without."""
    least: Difference | None
    """The lower end of the one-sided 95 % interval: it is no worse where this is above minus the margin."""
    worse_p: Share | None
    """The p-value that it is not worse by the margin."""
    cost_delta: FullFigure
    """Dollars for each trial, the same way round."""
    cost_ratio: FullFigure | None = None
    """The geometric mean over tasks of the one's dollars over the other's; absent in older documents."""
    cost_ratio_most: float | None = None
    """The upper end of the 95 % interval of the ratio of the whole dollars: it costs less where this is below 1."""
    cost_most: float | None = None
    """In older documents, the upper end of the one-sided 95 % interval of `cost_delta`."""
    cost_p: Share | None
    """That it costs less, for a typical task and in the whole; null where not testable."""
    p: Share | None
    """The larger of both: both must hold."""
    p_adjusted: Share | None
    """After Holm's correction over all rows."""
    verdict: SubstitutionWord
    reason: str
    preliminary: bool


class TokenSaving(Record, frozen=True, kw_only=True):
    """Tokens with the skill against without it, at no loss of quality: both must hold."""

    subject: str
    tasks: Count
    tokens_with: float | None
    """Tokens read and written for each trial, over these tasks."""
    tokens_without: float | None
    tokens_delta: FullFigure
    """With less without."""
    tokens_ratio: FullFigure | None = None
    """The geometric mean over tasks of the tokens with the skill over those without; absent in older documents."""
    tokens_ratio_most: float | None = None
    """The upper end of the 95 % interval of the ratio of the whole tokens: they are saved where this is below 1."""
    tokens_most: float | None = None
    """In older documents, the upper end of the one-sided 95 % interval of `tokens_delta`."""
    tokens_p: Share | None
    """That tokens are saved, for a typical task and in the whole; null where not testable."""
    delta: FullFigure
    """Of the score."""
    least: Difference | None
    """The lower end of the one-sided 95 % interval."""
    worse_p: Share | None
    p: Share | None
    """The larger of both: both must hold."""
    p_adjusted: Share | None
    """After Holm's correction over all subjects."""
    verdict: SavingWord
    reason: str
    preliminary: bool


class HarnessContrast(Record, frozen=True, kw_only=True):
    """Two agents with one model, paired by task."""

    model: str
    one: str
    """The subject,"""
    other: str
    """and what it is compared with."""
    side: Literal["with", "without", "gain"]
    """With the skill, without it, or what the skill adds."""
    tasks: Count
    score_one: float | None
    """The mean over these tasks; of side gain, the difference that the skill makes."""
    score_other: float | None
    delta: FullFigure
    """One less the other; p is corrected over all rows (Benjamini and Hochberg)."""
    preliminary: bool


class StratumRow(Record, frozen=True, kw_only=True):
    """Tasks with so many or so long skills, over all subjects."""

    stratum: str
    """Its name."""
    least: Annotated[int, Meta(ge=0)]
    """From so many skills or bytes on,"""
    most: Annotated[int, Meta(ge=0)] | None
    """up to so many; null for no end."""
    arms: tuple[str, ...]
    """The arms that stage them."""
    tasks: Count
    subjects: Count
    score_with: float | None
    score_without: float | None
    delta: FullFigure
    """With less without, over tasks; p is corrected over the strata (Benjamini and Hochberg)."""
    preliminary: bool


class FailureRow(Record, frozen=True, kw_only=True):
    """How many trials of one subject in one arm ended in one way."""

    subject: str
    arm: str
    kind: FailureKind
    missing: bool
    """Whether such trials are missing data; the others count as failures."""
    count: Annotated[int, Meta(ge=1)]
    planned: Count
    """Planned trials of this subject in this arm; n of the share is those scored, or planned where missing."""
    share: FullFigure
    tasks: tuple[str, ...]
    """Where they happened."""


class UnpairedTask(Record, frozen=True, kw_only=True):
    """A task that a comparison is without."""

    of: PairedSides
    """Arms of one subject, a small and a large model, or two agents."""
    task_id: str
    subject: str
    other: str | None
    """The other subject; null where arms are compared."""
    reason: UnpairedReason
