"""The joined record of skills."""

from __future__ import annotations

from typing import ClassVar, Literal

from skill_health.documents._record import Count, NotedFigure, Record, Share, TimeText


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
    skills: tuple[JoinedSkill, ...]
    """The skills in the order of their paths."""
    routing: tuple[RouterRunRecord, ...]
    """Each router or model as a whole, the best first."""
    effect: tuple[SkillEffectRow, ...]
    """Each agent over the whole collection, the latest first."""
    next: tuple[NextStepForAll, ...]
    """Every step once."""
    notes: tuple[str, ...]
    """What could not be read."""


class JoinedSkill(Record, frozen=True, kw_only=True):
    """skill."""

    name: str
    """The skill's name."""
    path: str
    """Its SKILL.md, relative to the root of the collection."""
    digest: str | None
    """A hash of its name and of every file, as agents would get it; null where a file cannot be read."""
    health: HealthRecord
    routing: RoutingRecordOfSkill
    effect: EffectRecordOfSkill
    next: tuple[NextStepRecord, ...]
    """What is missing, in the order of the questions."""


class HealthRecord(Record, frozen=True, kw_only=True):
    """Is it well formed, honest and free of leaks?"""

    state: Literal["ok", "failed"]
    """Whether lint finds nothing that fails it."""
    score: Share | None
    """Between 0 and 1; null where it cannot be scored."""
    flags: tuple[str, ...]
    """Reasons to look at it, whatever its score."""
    errors: Count
    warnings: Count
    infos: Count


class RoutingRecordOfSkill(Record, frozen=True, kw_only=True):
    """Do requests find it?"""

    state: Literal["ok", "failed", "stale", "not measured", "not testable", "not listed", "fix first"]
    """failed: a model loses most requests for it, and that is no chance. stale: its description has changed since."""
    prompts: Count
    """Prompts in the registry that expect it."""
    models: tuple[SkillModelRecord, ...]
    """The last run of each model, the best model first."""


class SkillModelRecord(Record, frozen=True, kw_only=True):
    """model."""

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


class EffectRecordOfSkill(Record, frozen=True, kw_only=True):
    """Do agents do better with it?"""

    state: Literal["ok", "failed", "stale", "not measured", "not testable", "not listed", "fix first"]
    """failed: agents do worse with it. stale: it has changed since."""
    tasks: tuple[str, ...]
    """Folders of the tasks that name it as their target."""
    models: tuple[SkillEffectRow, ...]
    """The last run of each model, the latest first, simulated ones last."""


class SkillEffectRow(Record, frozen=True, kw_only=True):
    """The last run of one model with one skill."""

    model: str
    """Agent and model as they were named."""
    skill: str | None
    """The skill; null for the whole collection."""
    time: TimeText
    """When the run began, in UTC."""
    run_id: str
    verdict: Literal["helps", "no evidence", "harmful", "not testable", "biased"]
    """What the rules came to."""
    reason: str
    """Why."""
    tasks: Count
    """Tasks that it is about."""
    scored: Count
    """Trials that count."""
    trials: Count
    """Trials that were planned."""
    simulated: bool
    """Whether no agent was run."""
    changed: bool | None
    """Whether the skill is another one now; null where that is not known."""
    delta: NotedFigure
    """Success with the skill less that without, from -1 to 1."""
    biased: tuple[str, ...]
    """Why nothing of it is to be trusted."""
    preliminary: tuple[str, ...]
    """Why it is not final."""


class NextStepRecord(Record, frozen=True, kw_only=True):
    """next."""

    gap: str
    """What is missing, in a few words."""
    advice: str
    """What to do about it."""
    command: str
    """The command that comes next; empty where none does it."""


class RouterRunRecord(Record, frozen=True, kw_only=True):
    """routing."""

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
    top1: Top1Share
    changed: tuple[str, ...] | None
    """Skills whose description has changed since; null where that is not known."""


class Top1Share(Record, frozen=True, kw_only=True):
    """The share of right answers with its 95 % interval."""

    value: float | None
    low: float | None
    high: float | None


class NextStepForAll(Record, frozen=True, kw_only=True):
    """next."""

    gap: str
    """What is missing, in a few words."""
    advice: str
    """What to do about it."""
    command: str
    """The command that comes next; empty where none does it."""
    skills: tuple[str, ...]
    """The skills that it is for."""
