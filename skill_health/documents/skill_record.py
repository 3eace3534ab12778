"""The joined record of skills."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import Amount, Count, Figure, NotedFigure, Record, RunIdText, Share, TimeText
from skill_health.documents.effect_composition import PairTruth, PairWord
from skill_health.documents.effect_history import ModelEffect
from skill_health.documents.judge_report import CalibrationSummary, SkillScores
from skill_health.documents.next_steps import NextStep, SharedStep
from skill_health.documents.router_risk import AlikeShare, RiskValidation
from skill_health.documents.skill_grades import SkillGrade

SkillState = Literal["ok", "failed", "stale", "not measured", "not testable", "not listed", "fix first"]


class SkillRecords(Record, frozen=True, kw_only=True):
    """What `status --format json` prints: what is known of each skill.

    That is its health now, and what the last runs of the router and of the effectiveness benchmark say of it.
    """

    ID: ClassVar = "skill-health/skill-record/1"

    schema: Literal["skill-health/skill-record/1"]
    """The version of this form."""
    version: str
    """The version of skill-health."""
    profile: str
    """The profile of the scores."""
    skills: tuple[SkillRecord, ...]
    """The skills in the order of their paths."""
    routing: tuple[RouterRunRecord, ...]
    """Each router or model as a whole, the best first."""
    effect: tuple[ModelEffect, ...]
    """Each agent over the whole collection, the latest first."""
    next: tuple[SharedStep, ...]
    """Every step once."""
    notes: tuple[str, ...]
    """What could not be read."""
    risk: CollectionRisk | None = None
    """How likely skills lose their requests, as the last daily run rated them; absent where none has."""


class CollectionRisk(Record, frozen=True, kw_only=True):
    """The risks that the last daily run kept. They are of its day; nothing is rated anew."""

    time: TimeText
    """When that run began, in UTC."""
    changed: bool
    """Whether a skill, its listing or the version is another one now."""
    validation: RiskValidation
    """What the probabilities rest on."""
    rated: Count
    """How many of the skills have a risk."""
    riskiest: str | None
    """The path of the skill of highest risk; null where none is rated."""
    bins: tuple[RiskBin, ...]
    """The rated skills by how skills like them fared, those of lowest risk first."""
    notes: tuple[str, ...]
    """What to mind about the probabilities."""


class RiskBin(Record, frozen=True, kw_only=True):
    """Skills of about the same risk."""

    skills: Annotated[int, Meta(ge=1)]
    """How many of the rated skills are in it."""
    least: Share
    """The lowest risk among them."""
    most: Share
    """The highest."""
    alike: AlikeShare
    """How skills of other collections fared that had such a risk."""


class SkillRecord(Record, frozen=True, kw_only=True):
    """Everything that is known of a skill."""

    name: str
    """The skill's name."""
    path: str
    """Its SKILL.md, relative to the root of the collection."""
    digest: str | None
    """A hash of its name and of every file, as agents would get it; null where a file cannot be read."""
    grade: SkillGrade
    """The verdict on it: the worst of what was measured."""
    health: SkillHealth
    routing: SkillRouting
    effect: SkillEffects
    composition: SkillGrade
    """How it does beside others: the worst of its pairs."""
    activation: SkillGrade
    """Whether live agents load it where they should: those that were really asked, of its description as it is now."""
    next: tuple[NextStep, ...]
    """What is missing, in the order of the questions."""
    risk: SkillRisk | None = None
    """How likely it loses its requests; absent where the last daily run did not rate it."""
    pairs: tuple[MeasuredPair, ...] = ()
    """How it does beside others: the last run of each model that tried the two, real ones first, then the latest."""
    loads: tuple[SkillLoads, ...] = ()
    """How often live agents load it: the last run of each, real ones first, then the latest."""


class SkillRisk(Record, frozen=True, kw_only=True):
    """How likely a skill loses its requests, told from words alone by the last daily run."""

    listed: str
    """The name that it is listed by, as the thief is named by its own."""
    probability: Share
    """That fewer than half of its requests find it."""
    alike: AlikeShare
    """How skills of other collections fared that had a probability like this one."""
    passages: Count
    """How many passages of its body were asked as if they were requests."""
    lost: Count
    """How many of these another description answers as well or better."""
    thief: str
    """The skill that answers most of those; empty where there is none."""
    words: tuple[str, ...]
    """Telling words of its body that its description lacks, the most telling first."""


class SkillHealth(Record, frozen=True, kw_only=True):
    """Is it well formed, honest and free of leaks?"""

    state: Literal["ok", "failed"]
    """Whether lint finds nothing that fails it."""
    grade: SkillGrade
    """The verdict of lint: needs work where there are findings from `needs-work` on, or the score is flagged."""
    score: Amount | None
    """Null where it cannot be scored. Above 1 only under the profile plan-v2.3.0."""
    flags: tuple[str, ...]
    """Reasons to look at it."""
    errors: Count
    warnings: Count
    infos: Count


class SkillRouting(Record, frozen=True, kw_only=True):
    """Do requests find it?"""

    state: SkillState
    """failed: a model loses most requests for it, and that is no chance. stale: its description has changed since."""
    grade: SkillGrade
    """By the models that were really asked, of its description as it is now, in runs that passed their check."""
    prompts: Count
    """Prompts in the registry that expect it."""
    models: tuple[SkillRouted, ...]
    """The last run of each model, the best model first."""


class SkillRouted(Record, frozen=True, kw_only=True):
    """A skill in the last run of one model."""

    model: str
    """The router or model as it was named."""
    run_id: str
    time: TimeText
    """When the run began, in UTC."""
    local: bool
    """Whether it computes and asks no model."""
    simulated: bool
    """Whether no model was asked."""
    trusted: bool | None
    """Whether the instrument check passed; null where that is not known."""
    selection: str
    """Which prompts were asked: all, filter or sweep."""
    recall: NotedFigure
    """How often the skill came first where it is expected."""
    precision: NotedFigure
    """How often it was right where it came first."""
    changed: bool | None
    """Whether its description is another one now; null where that is not known."""
    listed: str
    """The name by which the run lists the skill: of a skill in a plugin, plugin:skill."""
    retrieved: Count = 0
    """How many skills a first stage left for each prompt; 0 where there was none."""


class SkillLoads(Record, frozen=True, kw_only=True):
    """How often one live agent loads a skill, by the last activation run of the agent."""

    model: str
    """Agent and model as they were named."""
    run_id: str
    time: TimeText
    """When the run began, in UTC."""
    simulated: bool
    """Whether no agent was asked."""
    unproved: str = ""
    """What nobody sees of an agent that asks servers of its own; empty for all others."""
    changed: bool | None
    """Whether its description is another one now; null where that is not known."""
    preliminary: tuple[str, ...]
    """Why it is not final."""
    recall: NotedFigure
    """Where it is expected, it is the first that is opened."""
    precision: NotedFigure
    """Where it is opened first, it is expected or acceptable."""
    false_fire_near: NotedFigure
    """Where it must not fire, it is the first that is opened."""


class SkillEffects(Record, frozen=True, kw_only=True):
    """Do agents do better with it?"""

    state: SkillState
    """failed: agents do worse with it. stale: it has changed since."""
    grade: SkillGrade
    """By the agents that were really run, of the skill as it is now."""
    tasks: tuple[str, ...]
    """Folders of the tasks that name it as their target."""
    models: tuple[ModelEffect, ...]
    """The last run of each model, the latest first, simulated ones last."""
    judged: tuple[JudgedEffect, ...] = ()
    """What the last judging of each of these runs says of the skill, in the same order."""
    bundles: tuple[ModelEffect, ...] = ()
    """The last run of each model with a bundle that the skill is in. What a bundle does is not what one of its skills
    does, so these decide no state."""


class MeasuredPair(Record, frozen=True, kw_only=True):
    """Two skills together, by the last run of one model that tried them."""

    first: str
    """The skill whose name sorts first."""
    second: str
    variant: str
    """What the arms had beside the skills: +hint, or empty for nothing."""
    model: str
    """Agent and model as they were named."""
    run_id: str
    time: TimeText
    """When the run began, in UTC."""
    simulated: bool
    """Whether no agent was run."""
    unproved: str = ""
    """What nobody sees of an agent that ran under a weaker proof; empty for all others."""
    changed: bool | None
    """Whether one of the two is another one now; null where that is not known."""
    biased: tuple[str, ...]
    """Why nothing of it is to be trusted."""
    preliminary: tuple[str, ...]
    """Why it is not final."""
    verdict: PairWord
    """What the rules came to."""
    reason: str
    """Why."""
    tasks: Count
    """Tasks with a scored trial in all arms of the pair."""
    interaction: NotedFigure
    """Both less the first less the second plus none, of success rates, -2 to 2: zero where the effects add up."""
    truth: PairTruth | None
    """Whether it is true what the collection says of the two; null where it says nothing."""

    @property
    def key(self) -> tuple[str, str, str]:
        """Which pair it is: the skills, and what the arms had beside them."""
        return self.first, self.second, self.variant


class JudgedEffect(Record, frozen=True, kw_only=True):
    """A skill by the judged criteria of its tasks: what the report of a judging says, and how far to trust it."""

    run_id: str
    """The run whose trials were judged."""
    judging: RunIdText
    """The judging."""
    time: TimeText
    """When it began, in UTC."""
    judges: tuple[str, ...]
    """The judges, as they were named."""
    calibration: CalibrationSummary | None
    """How the verdicts compare with those of people; null where nobody has held them against each other."""
    repeats: Figure
    """The share of verdicts that are others when the same judge is asked the same once more."""
    simulated: bool
    """Whether no agent was run."""
    changed: bool | None
    """Whether the skill is another one now; null where that is not known."""
    scores: SkillScores
    """With the skill and without."""


class RouterRunRecord(Record, frozen=True, kw_only=True):
    """The last run of one router or model as a whole."""

    model: str
    """The router or model as it was named."""
    run_id: str
    time: TimeText
    """When the run began, in UTC."""
    n: Count
    """Calls that are scored."""
    planned: Count
    """Calls that were planned."""
    selection: str
    """Which prompts were asked: all, filter or sweep."""
    simulated: bool
    """Whether no model was asked."""
    trusted: bool | None
    """Whether the instrument check passed; null where that is not known."""
    top1: TopShare
    changed: tuple[str, ...] | None
    """Skills whose description has changed since; null where that is not known."""


class TopShare(Record, frozen=True, kw_only=True):
    """The share of right answers with its 95 % interval."""

    value: float | None
    low: float | None
    high: float | None
