"""A use of sealed prompts."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._draft import DigestText
from skill_health.documents._record import Count, Name, OpenRecord, TimeText


class SealedUse(OpenRecord, frozen=True, kw_only=True):
    """One line of drafts/sealed-uses.jsonl: sealed prompts were looked at, to confirm one description of one skill.

    It is written before they are looked at. Each further use of the same prompts has to meet a stricter level.
    """

    ID: ClassVar = "skill-health/sealed-use/1"

    schema: Literal["skill-health/sealed-use/1"]
    at: TimeText
    skill: Name
    """The skill whose description was to be confirmed."""
    number: Annotated[int, Meta(ge=1)]
    """Which use it is of any of these prompts for this skill, from 1."""
    before: DigestText
    """A hash of today's description."""
    after: DigestText
    """A hash of the candidate."""
    measure: DigestText
    """A hash of what they were measured by: routers, or models and the run of their answers, and the listing."""
    prompts: tuple[str, ...]
    """The ids of the sealed prompts."""
    seed: Count
