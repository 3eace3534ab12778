"""Which skills are likely to lose their requests."""

from __future__ import annotations

from typing import ClassVar, Literal

from skill_health.documents._record import Count, Record, Share


class RiskReport(Record, frozen=True, kw_only=True):
    """What `skill-health router risk --format json` prints: per skill, how likely it loses its requests, and why."""

    ID: ClassVar = "skill-health/router-risk/1"

    schema: Literal["skill-health/router-risk/1"]
    listing: str
    """What is listed: "full", or what this host would show."""
    validation: RiskValidation
    """What the probabilities rest on."""
    skills: tuple[RatedRisk, ...]
    """The skills that are listed, the likeliest loser first; those without a probability last, by name and path."""
    notes: tuple[str, ...]
    """How the collection was listed."""


class RiskValidation(Record, frozen=True, kw_only=True):
    """How the model did on labelled prompts of collections that it had not seen."""

    collections: Count
    skills: Count
    lost: Count
    """How many of these found fewer than half of their prompts."""
    auc: Share
    """How often a lost skill had the higher probability than one of the same collection that was not lost."""
    low: Share
    """The lower end of the 95 % interval."""
    high: Share
    """The upper end."""


class RatedRisk(Record, frozen=True, kw_only=True):
    """One skill."""

    skill: str
    """The name."""
    path: str
    """The path of its SKILL.md."""
    probability: Share | None
    """That fewer than half of its requests find it; null where that cannot be said, and the note says why."""
    alike: AlikeShare | None
    """How skills fared that had a probability like this one."""
    passages: Count
    """How many passages of its body were asked as if they were requests."""
    lost: Count
    """How many of these its own listing answers no better than another."""
    thief: str
    """The skill that answers most of those; empty where there is none."""
    taken: Count
    """How many it answers."""
    nearest: str
    """The skill whose listing is most like its own; empty where none shares a word."""
    similarity: Share
    """How alike they are: the cosine."""
    missing_words: Share
    """The share of the most telling words of the body that the listing lacks."""
    words: tuple[str, ...]
    """Those words, the most telling first: candidates for the description."""
    trigger: bool
    """Whether the listed text says when to use the skill."""
    cuts: tuple[HostCut, ...]
    """The hosts that do not show its whole description."""
    note: str
    """Why there is no probability."""


class AlikeShare(Record, frozen=True, kw_only=True):
    """Skills of other collections that had a probability like this one's."""

    skills: Count
    lost: Count
    low: Share
    """The lower end of the 95 % interval of that share."""
    high: Share
    """The upper end."""


class HostCut(Record, frozen=True, kw_only=True):
    """A host that does not show a whole description."""

    host: str
    state: str
    """What it does: "truncated", "name-only" or "omitted"."""
