"""What the page knows beside the reports that it rests on, and the state that the next page compares with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import Count, DateText, Record, TimeText
from skill_health.documents.skill_grades import SkillGrade

StateField = Literal[
    "name", "verdict", "score", "recall", "recall_model", "effect", "effect_verdict", "tokens", "stale_claims"
]


class PageData(Record, frozen=True, kw_only=True):
    """What `report --format json` prints: what the page shows beside the reports that it rests on.

    That is the listing by host, the age of claims, trends, verdicts, answers, and what has changed since the last page.
    Paths are those of SKILL.md, relative to the root of the collection.
    """

    ID: ClassVar = "skill-health/page/1"

    schema: Literal["skill-health/page/1"]
    """The version of this form."""
    version: str
    """The version of skill-health."""
    title: str
    """The title of the page."""
    as_of: DateText
    """The day that the age of claims is judged on."""
    source: CollectionSource
    descriptions: Mapping[str, str]
    """By path, the description of each skill."""
    listing: SkillListings
    claims: ClaimAges | None
    """How long ago the sources of claims were looked at; null without a registry of claims."""
    trends: Mapping[str, ScoreTrend]
    """By path, the score now against that of the last comparable daily run but the newest."""
    marks: tuple[HistoryMark, ...]
    """What to mark in the history of the collection."""
    verdicts: Mapping[str, VerdictRecord]
    """By path, the verdict on the skill."""
    answers: Mapping[str, VerdictRecord]
    changes: PageChanges | None
    """What has changed since the last page; null where there is none to compare with."""
    state: PageState


class SkillListings(Record, frozen=True, kw_only=True):
    """What hosts spend on listing the skills."""

    hosts: tuple[HostListing, ...]
    """By folder of skills and host."""
    skills: Mapping[str, Count | None]
    """By path, the estimated tokens of its name and description as they are listed; null where it is not listed."""
    short: Mapping[str, tuple[str, ...]]
    """By the host's short name, the paths of the skills that it does not list in full."""


class HostListing(Record, frozen=True, kw_only=True):
    """What one host spends on the skills of one folder."""

    key: str
    """The host's short name."""
    title: str
    """Its name."""
    group: str
    """The folder that holds the folders of the skills, which the host loads as one collection; `.` for the root."""
    unit: str
    """What the budget counts: characters or tokens."""
    limit: Count | None
    """The budget; null where the host has none."""
    wanted: Count
    """What the listing would take in full, in the unit."""
    used: Count
    """What it takes, in the unit."""
    shown_tokens: Count
    """Tokens that what is listed adds to every request; an estimate where the host does not count tokens."""
    skills: Count
    """Skills that are to be listed."""
    full: Count
    """Of these, those that are shown in full."""
    truncated: Count
    """Those whose description is cut."""
    name_only: Count
    """Those shown by name only."""
    omitted: Count
    """Those left out."""


class ClaimAges(Record, frozen=True, kw_only=True):
    """The ages of all registered claims, and of those of each skill."""

    skills: Mapping[str, SkillClaims]
    """By path."""
    claims: Count
    """Claims in the registry."""
    stale: Count
    """Of these, those whose source should have been looked at again."""
    due: Count
    """Those that will be stale soon (`daily.due_days`)."""
    oldest_days: int | None
    """Days since the source was looked at that was looked at longest ago; null without claims."""


class SkillClaims(Record, frozen=True, kw_only=True):
    """The ages of the claims that a skill owns."""

    claims: Count
    """Claims in the registry."""
    stale: Count
    """Of these, those whose source should have been looked at again."""
    due: Count
    """Those that will be stale soon (`daily.due_days`)."""
    oldest_days: int | None
    """Days since the source was looked at that was looked at longest ago; null without claims."""
    median_days: float | None
    """Half of its claims were looked at longer ago; null without claims."""


class ScoreTrend(Record, frozen=True, kw_only=True):
    """How the score of a skill moves."""

    since: TimeText | None
    """When that run was, in UTC; null where there is none."""
    before: float | None
    """The score then."""
    now: float | None
    """The score now."""
    change: float | None
    """By how much it has risen; null where one side is not known."""


class HistoryMark(Record, frozen=True, kw_only=True):
    """Something to mark in the history of the collection."""

    time: TimeText
    """The run that it was first seen in, in UTC."""
    line: Count
    """Its place among the lines that are shown, from 0."""
    kind: Literal["drop", "rise", "rules", "configuration", "gap"]
    """The mean falls or rises beyond `daily.max_drop`; other rules or another configuration, so that the lines cannot
    be compared; days without a run.
    """
    text: str
    """What it is, in a sentence."""


class VerdictRecord(Record, frozen=True, kw_only=True):
    """A verdict on a skill, or the answer to a question about the collection."""

    grade: SkillGrade
    """The verdict: fail, needs work, passing or not measured."""
    detail: str
    """What was found, in a word or two; empty where the grade says it all."""
    question: Annotated[int, Meta(ge=1, le=5)]
    """Which of the four questions it answers; 5: whether live agents load the skill."""
    reason: str
    """Why, with the figures."""
    advice: str
    """What to do about it; empty where there is nothing to do."""
    command: str
    """The command that comes next, as it is given in the root of the collection; empty where none does it."""


class PageChanges(Record, frozen=True, kw_only=True):
    """What is another than on the last page."""

    since: PageBefore
    added: tuple[NamedSkill, ...]
    """Skills that are new."""
    removed: tuple[NamedSkill, ...]
    """Skills that are gone."""
    skills: tuple[MovedSkill, ...]
    """Skills that have changed."""


class PageBefore(Record, frozen=True, kw_only=True):
    """The page that is compared with."""

    as_of: str
    """Its day."""
    version: str
    """The version of skill-health that made it."""


class NamedSkill(Record, frozen=True, kw_only=True):
    """A skill that has come or gone."""

    path: str
    """Its SKILL.md."""
    name: str
    """Its name."""


class MovedSkill(Record, frozen=True, kw_only=True):
    """A skill that has changed, and what of it."""

    path: str
    """Its SKILL.md."""
    name: str
    """Its name."""
    what: tuple[StateMove, ...]
    """What has changed."""


class StateMove(Record, frozen=True, kw_only=True):
    """A change of one value of a skill."""

    field: StateField
    """What has changed."""
    before: str | float | None
    """As it was; null where it was not known."""
    after: str | float | None
    """As it is."""


class PageState(Record, frozen=True, kw_only=True):
    """What the next page compares with."""

    schema: Literal["skill-health/page-state/1"]
    """The version of this form."""
    as_of: DateText
    """The day of the page."""
    version: str
    """The version of skill-health."""
    skills: Mapping[str, StateOfSkill]
    """By the path of SKILL.md."""
    previous: PreviousState | None
    """What this page is compared with; null where there is nothing."""


class StateOfSkill(Record, frozen=True, kw_only=True):
    """What the next page compares of a skill."""

    name: str
    """The skill's name."""
    verdict: str
    """The word of its verdict."""
    score: float | None
    """Its score; null where it cannot be scored."""
    recall: float | None
    """How often it came first where it is expected, by the best model, simulated ones left out."""
    recall_model: str | None
    """That model."""
    effect: float | None
    """The difference of success with it and without, by the latest run, simulated ones left out."""
    effect_verdict: str | None
    """The verdict of that run."""
    tokens: Count | None
    """Tokens of its name and description; null where hosts do not list it."""
    stale_claims: Count | None
    """Its claims that are stale; null without a registry."""


class PreviousState(Record, frozen=True, kw_only=True):
    """The state of the page before."""

    as_of: str
    """Its day."""
    version: str
    """Its version."""
    skills: Mapping[str, StateOfSkill]
    """By the path of SKILL.md."""


class CollectionSource(Record, frozen=True, kw_only=True):
    """Where the collection comes from."""

    name: str
    """The name of its repository, such as owner/skills; empty where git names none on the web."""
    repository: str
    """The address of the repository that it is in; empty where git names none on the web."""
    commit: str | None
    """The commit that is checked out; null outside git. Files may have changed since."""
    folder: str
    """The collection's folder in the repository; empty for the top."""
