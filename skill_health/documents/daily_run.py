"""A line of the history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import Amount, CommitText, Count, DateText, FindingKey, Record, TimeText


class DailyRun(Record, frozen=True, kw_only=True):
    """One line of skill-health-history.jsonl: what one daily run found."""

    ID: ClassVar = "skill-health/history/1"

    schema: Literal["skill-health/history/1"]
    time: TimeText
    """When the run began, in UTC."""
    commit: CommitText | None
    """The commit of the collection; null outside git."""
    dirty: bool | None
    """Whether files of the collection differed from the commit, the reports aside; null where that is not known."""
    version: str
    """The version of skill-health."""
    profile: str
    """The scoring profile."""
    configuration: str
    """A hash of the settings and the profile that scores and findings depend on.

    Lines with another one are not comparable.
    """
    rules: str
    """A hash of the version and of the codes of the rules that ran. Lines with another one are not comparable."""
    as_of: DateText
    """The day that claims were judged on."""
    paths: tuple[str, ...]
    """What was asked for, relative to the root."""
    summary: DailySummary
    skills: Mapping[str, DailySkill]
    """The skills, by the path of their SKILL.md relative to the root."""
    other: tuple[FindingKey, ...]
    """The content keys of findings outside any skill, such as those of registries."""
    claims: DailyClaim | None


class DailySummary(Record, frozen=True, kw_only=True):
    """The collection as a whole."""

    skills: Count
    """How many skills were checked."""
    mean: Amount | None
    """The mean of the scores; null where nothing was scored."""
    min: Amount | None
    """The lowest score."""
    max: Amount | None
    """The highest score."""
    flagged: Count | None
    """How many skills were flagged."""
    errors: Count
    """Findings of this severity, those of a baseline among them."""
    warnings: Count
    """Likewise."""
    infos: Count
    """Likewise."""


class DailySkill(Record, frozen=True, kw_only=True):
    """skill."""

    name: str
    """The declared name, at most 200 characters of it; the folder's where none is declared."""
    score: Amount | None
    """Null where the skill was not scored. Above 1 only under the profile plan-v2.3.0, which does not clamp."""
    flagged: bool | None
    """Null where the skill was not scored."""
    components: Mapping[str, Amount | None]
    """The value of each component of the score; null where it did not apply."""
    evidence: Mapping[str, Mapping[str, Amount]]
    """The counts behind each component."""
    counts: Mapping[str, Annotated[int, Meta(ge=1)]]
    """Findings by the code of the rule; a rule that found nothing is not named."""
    description: str | None
    """A hash of the description; null where there is none."""
    listed: bool
    """Whether hosts list the skill: false with disable-model-invocation."""
    tokens: Count | None
    """Estimated tokens of the body; null where the file could not be read."""
    lines: Count | None
    """Lines of the file; null where it could not be read."""
    findings: tuple[FindingKey, ...]
    """The content keys of the findings, sorted; one stands there as often as it was found."""


class DailyClaim(Record, frozen=True, kw_only=True):
    """Ids of registered claims; null without a registry."""

    stale: tuple[str, ...]
    """Overdue for review on that day."""
    due: tuple[str, ...]
    """Not overdue yet, but soon."""
