"""A line of the states beside the daily history."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import OpenRecord
from skill_health.documents.daily_line import StateKey
from skill_health.documents.daily_run import DailySkill

FactKind = Literal["skill", "claim", "finding"]
ClaimDue = Literal["stale", "due"]
FactValue = DailySkill | ClaimDue | Annotated[int, Meta(ge=1, le=1_000_000)]


class StateFact(OpenRecord, frozen=True, kw_only=True):
    """One line of skill-health-states.jsonl: what one skill, claim or finding is like in a state of the collection.

    A state is all that stands in the state below it, its base, but for what its own lines say. Lines are never changed;
    those of a state stand somewhere behind those of its base.
    """

    ID: ClassVar = "skill-health/daily-state/1"

    schema: Literal["skill-health/daily-state/1"]
    state: StateKey
    """The key of the state: a hash of all its lines, each with zeros in this place."""
    base: StateKey | None
    """The state below; null where all there is stands in the lines of this one."""
    kind: FactKind
    """What it is about; `finding` is one outside any skill."""
    name: str
    """The path of the SKILL.md, the id of the claim, or the content key of the finding."""
    value: FactValue | None
    """The skill; when the claim is due; how often the finding was found. Null: no longer there."""
