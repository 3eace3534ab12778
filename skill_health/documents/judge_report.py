"""The report of a judging."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from msgspec import field

from skill_health.documents._record import Amount, Count, Figure, FullFigure, OpenRecord, Share, TimeText
from skill_health.documents.judge_manifest import CheckedCriterion, EvidenceFlag, LeftOutTrial
from skill_health.documents.judge_result import JudgeVerdict

KappaKind = Literal["", "cohen", "fleiss"]
ScoreVerdict = Literal["higher", "lower", "no_evidence", "not_testable"]
NOT_CALIBRATED = "not calibrated"
"""What every display says of verdicts that nobody has held against those of people."""


class JudgeReport(OpenRecord, frozen=True, kw_only=True, omit_defaults=False):
    """report.json of a judging: scores by criteria, and how far they can be trusted."""

    ID: ClassVar = "skill-health/judging-report/1"

    version: Literal[1]
    """The version of this form."""
    kind: Literal["judging-report"]
    """What it is."""
    run_id: str
    """The judging."""
    of_run: str
    """The run whose trials were judged."""
    created: TimeText
    """When the judging began."""
    calibration: CalibrationSummary | None
    """How the verdicts compare with those of people; null where nobody has held them against each other."""
    votes_planned: Count
    """Votes of all judges on all trials."""
    votes_read: Count
    """Those whose answer could be read; the others are missing."""
    judges: tuple[JudgeFigures, ...]
    """The judges, in the order of the manifest."""
    agreement: JudgeAgreement
    """How far the judges agree."""
    repeats: Figure
    """The share of verdicts that are others when the same judge is asked the same once more."""
    contrasts: tuple[ScoreContrast, ...]
    """Differences of the weighted score between arms."""
    trials: tuple[RubricScore, ...]
    """The scores, in the order of the manifest."""
    left_out: tuple[LeftOutTrial, ...]
    """Trials that were not judged, and why."""
    cost_usd: Amount | None
    """Dollars of all calls, also of those that were taken over; null where nobody knows."""
    skills: tuple[SkillScores, ...] = ()
    """The scores of each skill by each model; empty in reports of earlier versions."""
    skill_shown: Count = 0
    """Trials whose evidence names a staged skill, as where the agent opened it: there judges may know the arm."""
    taken_over: Mapping[str, Count] = field(default_factory=dict)
    """Votes that were not asked for here but in a judging of a run that this one extends, by the judging."""


class CalibrationSummary(OpenRecord, frozen=True, kw_only=True):
    """What a calibration found of the verdicts that are counted."""

    judging: str = ""
    """The judging that was calibrated, where it is another one by the same panel; empty for this one."""
    labels: Count
    """Verdicts of people that were compared."""
    accuracy: Figure
    kappa: Figure
    leniency: Figure
    """Verdicts met where people say not met, minus the reverse, as a share."""


class JudgeFigures(OpenRecord, frozen=True, kw_only=True):
    """One judge."""

    judge: str
    """The name as it was given."""
    resolved: tuple[str, ...]
    """The models that its provider named."""
    asked: Count
    """Votes that have a result."""
    read: Count
    """Those whose answer could be read."""
    void: Count
    """Verdicts in these that do not count: what they quote is not there, or their points contradict them."""
    verdicts: Count
    """Verdicts in these."""
    unread: Mapping[str, Count] = field(default_factory=dict)
    """Why the others could not be read: how many results have each status."""
    repeats: Figure
    """The share of its verdicts that are others when it is asked the same once more."""
    cost_usd: Amount | None
    """Dollars; null where nobody knows."""


class JudgeAgreement(OpenRecord, frozen=True, kw_only=True):
    """How far judges agree on the same criterion of the same trial, each by its first vote."""

    raw: Figure
    """The share of pairs of judges that say the same."""
    kappa: Figure
    """The same beyond chance."""
    kind: KappaKind
    """cohen for two judges, fleiss for more; empty for one."""
    disputed: tuple[DisputedCriterion, ...]
    """The criteria on which judges differ, those with most differences first."""


class DisputedCriterion(OpenRecord, frozen=True, kw_only=True):
    """A criterion on which judges differ."""

    task: str
    criterion: str
    differing: Count
    """Trials in which they differ."""
    trials: Count
    """Trials in which more than one judge has a verdict."""


class ScoreContrast(OpenRecord, frozen=True, kw_only=True):
    """Two arms of a model compared by the weighted score."""

    model: str
    name: str
    arm: str
    against: str
    kind: str
    """primary, secondary, interaction or calibration."""
    delta: FullFigure
    """The mean over tasks of the difference of mean scores, as a share of all points."""
    verdict: ScoreVerdict | None
    """What a primary contrast says after Holm's correction over models; null for every other."""


class SkillScores(OpenRecord, frozen=True, kw_only=True):
    """One skill by one model, over the tasks that it is the target of, with it and without."""

    skill: str
    model: str
    arm: str
    """The arm with the skill."""
    against: str
    """The arm without."""
    trials: Count
    """Trials of these tasks and arms that were judged."""
    left_out: Count
    """Those that were not."""
    missing: Share
    """The share of the judged points of all these trials that no verdict settles."""
    goal: ScoreSides
    """By the criteria about the goal."""
    instruction: ScoreSides
    """By those about following instructions."""
    weighted: ScoreSides
    """Both by the weights of the rubrics."""
    verdict: ScoreVerdict
    """What the weighted difference says after Holm's correction over skills and models."""


class ScoreSides(OpenRecord, frozen=True, kw_only=True):
    """A score with a skill and without, as a share of all points."""

    with_skill: Figure
    """The mean over trials."""
    without: Figure
    delta: FullFigure
    """The mean over tasks of the difference of mean scores; p is that of the weighted score alone."""


class RubricScore(OpenRecord, frozen=True, kw_only=True):
    """One trial. Scores are percent of the points of criteria that are settled; null where none is."""

    task_id: str
    model: str
    arm: str
    replication: Count
    folder: str
    goal: Amount | None
    """Of the criteria about the goal."""
    instruction: Amount | None
    """Of those about following instructions."""
    weighted: Amount | None
    """Both by the weights of the rubric; null where a group that has criteria has no score."""
    coverage: Share
    """The share of the points of judged criteria that a verdict settles."""
    criteria: tuple[SettledCriterion, ...]
    """The judged criteria, in the order of the rubric."""
    flags: tuple[EvidenceFlag, ...]
    """What in the evidence is written for a judge."""
    checked: tuple[CheckedCriterion, ...] = ()
    """What checks decided, which counts in the scores as well."""

    @property
    def key(self) -> tuple[str, str, str, int]:
        """The trial: task, model, arm, replication."""
        return (self.task_id, self.model, self.arm, self.replication)


class SettledCriterion(OpenRecord, frozen=True, kw_only=True):
    """What the votes on one criterion of one trial come to."""

    criterion: str
    verdict: JudgeVerdict | None
    """What more than half of the votes that count say; null where there is no such majority."""
    points: Amount | None
    """The mean of what this majority gives; null unless the criterion is met or not met."""
    met: Count
    """Votes that count."""
    not_met: Count
    cannot_tell: Count
    missing: Count
    """Votes that do not count: void, or without an answer that could be read."""
