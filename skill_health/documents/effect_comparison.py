"""A comparison of two effectiveness runs."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import Count, Record, Share
from skill_health.documents.effect_report import ContrastKind, Correction, IntervalEnds, VerdictWord


class EffectComparisonReport(Record, frozen=True, kw_only=True):
    """What `effectiveness compare --format json` prints."""

    ID: ClassVar = "skill-health/effectiveness-comparison/1"

    schema: Literal["skill-health/effectiveness-comparison/1"]
    """The version of this form."""
    run: ComparedEffectRun
    """The run."""
    baseline: ComparedEffectRun
    """What it is compared with."""
    skills: tuple[ComparedStagedSkill, ...]
    """Skills that are not the same."""
    same_skills: Count
    """Skills that are."""
    tasks: ComparedTasks
    differences: tuple[str, ...]
    """What else is not the same."""
    cautions: tuple[str, ...]
    """What to be careful about."""
    models: tuple[ComparedModelEffect, ...]
    """The models of both runs."""
    worse: tuple[WorseSkill, ...]
    """What got significantly worse."""


class ComparedEffectRun(Record, frozen=True, kw_only=True):
    """Which run it is."""

    run_id: str
    """The run."""
    created: str | None
    """When it began, in UTC."""
    commit: str | None
    """The commit of the collection; null outside git."""
    dirty: bool | None
    """Whether files differed from the commit."""
    tool_version: str | None
    """The version of skill-health."""


class ComparedStagedSkill(Record, frozen=True, kw_only=True):
    """A skill that is not the same in both runs."""

    name: str
    kind: Literal["edited", "added", "removed"]
    before: str | None
    """Its digest in the baseline; null where it was not there."""
    after: str | None
    """Its digest in the run; null where it is not there."""
    description: bool
    """Whether its description was edited, too."""


class ComparedTasks(Record, frozen=True, kw_only=True):
    """Which tasks the runs share, and which they do not."""

    common: tuple[str, ...]
    """Tasks that start alike, are verified alike and are for the same skill in both."""
    compared: Count
    """Those of them that are for a skill."""
    changed: tuple[ChangedTask, ...]
    """Tasks that are not the same any more, and are left out."""
    only_run: tuple[str, ...]
    """Tasks of the run only."""
    only_baseline: tuple[str, ...]
    """Tasks of the baseline only."""


class ChangedTask(Record, frozen=True, kw_only=True):
    """A task of both runs that is another one now."""

    task_id: str
    what: str
    """What of it is not the same."""


class ComparedModelEffect(Record, frozen=True, kw_only=True):
    """What has changed for one model."""

    model: str
    """Agent and model as they were named."""
    simulated: SimulatedChange
    version: VersionChange
    resolved: ResolvedModelChange
    coverage: TrialCoverageChange
    verdict: VerdictChange
    """On the collection."""
    contrasts: tuple[ComparedContrast, ...]
    """Over all tasks that are for a skill."""
    arms: tuple[ComparedArm, ...]
    """Each arm by itself."""
    skills: tuple[ComparedSkillEffect, ...]
    """Each skill by itself."""
    flips: tuple[TaskFlip, ...]
    """Tasks and arms that pass more or less often now, the greatest losses first."""


class SimulatedChange(Record, frozen=True, kw_only=True):
    """Whether no agent was run."""

    before: bool
    after: bool


class VersionChange(Record, frozen=True, kw_only=True):
    """The version of the agent's program."""

    before: str | None
    after: str | None


class ResolvedModelChange(Record, frozen=True, kw_only=True):
    """What the provider called the model."""

    before: tuple[str, ...]
    after: tuple[str, ...]


class TrialCoverageChange(Record, frozen=True, kw_only=True):
    """Trials that were planned, and those that count."""

    before: TrialCoverage
    after: TrialCoverage


class TrialCoverage(Record, frozen=True, kw_only=True):
    """The trials of one model in one run."""

    planned: Count
    scored: Count


class VerdictChange(Record, frozen=True, kw_only=True):
    """The verdict in the baseline and in the run; null where there was none."""

    before: VerdictWord | None
    after: VerdictWord | None


class ComparedArm(Record, frozen=True, kw_only=True):
    """An arm before and after, or what it adds to another one."""

    arm: str
    """The arm."""
    against: str | None
    """What it is compared with; null for the arm by itself."""
    kind: ContrastKind
    """What it is for: primary decides."""
    tasks: Count
    """Tasks with a scored trial on all sides."""
    differing: Count
    """Tasks of these that changed."""
    before: ContrastFigure
    """In the baseline."""
    after: ContrastFigure
    """In the run."""
    delta: ContrastFigure
    """The mean over tasks of the change, as a share, with the interval of the bootstrap by task."""
    t: IntervalEnds | None
    """Student's interval, widened where most tasks are alike.

    It decides below 30 tasks, and is null from there on and where there is none.
    """
    correction: Correction
    """The correction."""
    testable: bool
    """Whether six tasks or more changed: fewer cannot be significant."""
    note: str
    """Why it is not testable."""


class ComparedContrast(ComparedArm, frozen=True, kw_only=True):
    """What an arm adds to another one, before and after, and whether that was lost."""

    lost: bool
    """Whether it is primary and shows a loss."""


class ContrastFigure(Record, frozen=True, kw_only=True):
    """A number with its interval."""

    value: float | None
    """Null where it cannot be had."""
    low: float | None
    """The lower end of the 95 % interval; null where there is none."""
    high: float | None
    """The upper end."""
    n: Count
    """Tasks behind it; of an arm before and after, trials."""
    clusters: Count
    """Tasks behind it."""
    p: Share | None
    """Of the sign-flip test; null where it is not testable."""
    p_adjusted: Share | None
    """After the correction for several tests."""
    note: str
    """Why there is no number or no interval."""


class ComparedSkillEffect(Record, frozen=True, kw_only=True):
    """What has changed for one skill."""

    skill: str
    tasks: tuple[str, ...]
    """Its tasks."""
    verdict: VerdictChange
    contrasts: tuple[ComparedContrast, ...]


class TaskFlip(Record, frozen=True, kw_only=True):
    """A task that passes more or less often in one arm than before."""

    task_id: str
    skill: str | None
    """The skill that the task is for; null where nothing says."""
    arm: str
    before: TaskPasses
    after: TaskPasses


class TaskPasses(Record, frozen=True, kw_only=True):
    """How often one task passed in one arm."""

    n: Annotated[int, Meta(ge=1)]
    """Scored trials."""
    passes: Count
    """Of these, those that passed."""


class WorseSkill(Record, frozen=True, kw_only=True):
    """A skill, or the collection, that got significantly worse."""

    model: str
    skill: str | None
    """null: the collection as a whole."""
    tasks: Count
    delta: ContrastFigure
