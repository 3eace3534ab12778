"""A drift report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from msgspec import Meta, field

from skill_health.documents._record import (
    Amount,
    CommitText,
    Count,
    DateText,
    FindingKey,
    NotedFigure,
    Record,
    Share,
    TimeText,
)


class DriftDocument(Record, frozen=True, kw_only=True):
    """What `skill-health daily --format json` prints: what has changed since the run it compares with."""

    ID: ClassVar = "skill-health/drift/1"

    schema: Literal["skill-health/drift/1"]
    run: DriftRun
    before: DriftRun | None
    basis: Literal["nothing", "listing", "findings"]
    """How much of the two runs could be compared: nothing, only the skills and their descriptions, or all."""
    differences: tuple[str, ...]
    """Why the earlier run could not be compared in full."""
    passed: Count
    """How many later runs were passed over because they are not comparable."""
    reasons: tuple[str, ...]
    """The limits that were exceeded, one sentence each; the exit code is 1 where there is any."""
    mean: DriftNumber
    """The mean score of the collection."""
    same: SameSkills | None
    window: RunWindow | None
    skills: tuple[ChangedSkill, ...]
    """The skills of both runs that changed."""
    added: tuple[str, ...]
    """Paths that are new."""
    removed: tuple[str, ...]
    """Paths that are gone."""
    renamed: tuple[RenamedSkill, ...]
    """Skills that are known by their name or description under another path."""
    new: tuple[NewFinding, ...]
    """Findings that were not there."""
    fixed: tuple[FixedFinding, ...]
    """Findings that are gone."""
    rules: tuple[RuleCountChange, ...]
    """Findings by rule, where their number changed."""
    claims: ClaimsChange | None
    descriptions: tuple[str, ...]
    """Skills of which hosts list another name or description now."""
    router: RoutingState | None
    effectiveness: EffectState | None
    problems: tuple[str, ...]
    """Lines of the history that were left out."""


class DriftRun(Record, frozen=True, kw_only=True):
    """A run."""

    time: TimeText
    """When, in UTC."""
    commit: CommitText | None
    """The commit of the collection; null outside git."""
    dirty: bool | None
    """Whether files of the collection differed from the commit, the reports aside; null where that is not known."""
    version: str
    profile: str
    as_of: DateText
    """The day that claims were judged on."""


class DriftNumber(Record, frozen=True, kw_only=True):
    """A number in both runs. Null: not known or not applicable, which is not zero."""

    before: Amount | None
    after: Amount | None


class SameSkills(Record, frozen=True, kw_only=True):
    """The mean score of the skills that both runs score, and how many they are."""

    skills: Count
    before: Amount | None
    after: Amount | None


class RunWindow(Record, frozen=True, kw_only=True):
    """The means of the last comparable runs, and how many of them are higher than today's, equal and lower."""

    runs: Annotated[int, Meta(ge=1)]
    since: str | None
    """When the first of them ran; null where it is undated."""
    median: Amount
    above: Count
    equal: Count
    below: Count


class ChangedSkill(Record, frozen=True, kw_only=True):
    """A skill of both runs that changed."""

    path: str
    """The path of SKILL.md now."""
    was: str
    """Its path in the earlier run."""
    name: str
    score: DriftNumber
    flagged: FlaggedChange
    components: tuple[DriftedComponent, ...]
    """The components that changed."""
    rules: tuple[RuleCountChange, ...]
    """The rules that found more or less."""


class FlaggedChange(Record, frozen=True, kw_only=True):
    """flagged."""

    before: bool | None
    after: bool | None


class DriftedComponent(Record, frozen=True, kw_only=True):
    """component."""

    name: str
    before: Amount | None
    after: Amount | None
    note: str
    """Why the value is what it is now."""
    evidence: EvidenceChange


class EvidenceChange(Record, frozen=True, kw_only=True):
    """evidence."""

    before: Mapping[str, float]
    """Counts then."""
    after: Mapping[str, float]
    """Counts now."""


class RuleCountChange(Record, frozen=True, kw_only=True):
    """Findings of one rule in both runs."""

    code: str
    before: Amount | None
    after: Amount | None


class RenamedSkill(Record, frozen=True, kw_only=True):
    """renamed."""

    from_: str = field(name="from")
    to: str


class NewFinding(Record, frozen=True, kw_only=True):
    """new."""

    skill: str
    """The path of the skill; "" for none."""
    key: FindingKey
    """See the history."""
    severity: Literal["error", "warning", "info"]
    code: str
    n: Annotated[int, Meta(ge=1)]
    """How many more there are than in the other run."""
    places: tuple[FindingPlace, ...]


class FindingPlace(Record, frozen=True, kw_only=True):
    """place."""

    path: str
    line: Annotated[int, Meta(ge=1)]
    col: Annotated[int, Meta(ge=1)]
    message: str


class FixedFinding(Record, frozen=True, kw_only=True):
    """fixed."""

    skill: str
    """The path of the skill; "" for none."""
    key: FindingKey
    """See the history."""
    severity: Literal["error", "warning", "info"]
    code: str
    n: Annotated[int, Meta(ge=1)]
    """How many more there are than in the other run."""


class ClaimsChange(Record, frozen=True, kw_only=True):
    """Null without a registry of claims."""

    stale: tuple[DueClaim, ...]
    """Overdue now and not then."""
    reviewed: tuple[str, ...]
    """Overdue then and not now."""
    due: tuple[DueClaim, ...]
    """Overdue soon."""


class DueClaim(Record, frozen=True, kw_only=True):
    """claim."""

    claim_id: str
    owning_skill: str
    path: str
    """The registry."""
    line: Annotated[int, Meta(ge=1)]
    reviewed: DateText
    """The last day somebody looked at its source."""
    due: DateText
    """The last day it is good for."""
    overdue: int
    """Days past due; negative: days left."""


class RoutingState(Record, frozen=True, kw_only=True):
    """What the history of the router (router-history.jsonl) says; null where there is none."""

    models: tuple[RoutingRow, ...]
    """The last run of each model, by its name."""
    problems: tuple[str, ...]
    """What of that history could not be read."""


class RoutingRow(Record, frozen=True, kw_only=True):
    """The last run of one model."""

    model: str
    time: TimeText
    """When the run began, in UTC."""
    run_id: str
    top1: Share | None
    """The share of right answers; null where nothing was scored."""
    low: Share | None
    """The lower end of its 95 % interval."""
    high: Share | None
    """The upper end."""
    top1_n: Count
    """Calls with a right answer to count, which top1 is about."""
    n: Count
    """How many calls were scored."""
    planned: Count
    """How many calls were planned."""
    coverage: Share | None
    """n of planned; null where nothing was planned."""
    selection: str
    """Which prompts were asked: all, filter (some), or sweep (what an edit of descriptions called for)."""
    simulated: bool
    """Whether the answers were simulated."""
    trusted: bool | None
    """Whether the instrument check passed; null where it was not made."""
    changed: tuple[str, ...] | None
    """Skills with another description now than in that run; null where that is not known."""


class EffectState(Record, frozen=True, kw_only=True):
    """What the history of the effectiveness benchmark (effectiveness-history.jsonl) says; null where there is none."""

    effects: tuple[DriftEffectRow, ...]
    """The last run of each model and skill."""
    problems: tuple[str, ...]
    """What of that history could not be read."""


class DriftEffectRow(Record, frozen=True, kw_only=True):
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
