"""What the drafts of every kind have in common: where they come from, and what became of them."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from skill_health.documents._record import Name, OpenRecord, Record, TimeText

DraftState = Literal["proposed", "rejected", "accepted"]
DraftMaker = Literal["model", "template", "transcript"]
DraftJudge = Literal["validation", "model", "person"]

DigestText = Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
DraftId = Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9-]{0,79}$")]


class DraftedSkill(Record, frozen=True, kw_only=True):
    """A skill that a draft was made from, as it was then."""

    name: Name
    path: str
    """SKILL.md, relative to the root."""
    digest: DigestText
    """A hash of its SKILL.md."""


class DraftOrigin(Record, frozen=True, kw_only=True):
    """What made a draft."""

    by: DraftMaker
    """model; template: sentences filled with what the skill says, which is weaker; transcript: an agent's log."""
    model: str = ""
    """model: the name as it was given."""
    resolved: str = ""
    """model: the id that the provider named. transcript: the agent whose log it was."""
    run: str = ""
    """model: the run in which it was asked."""
    template: str = ""
    """template: which one."""


class DraftVerdict(Record, frozen=True, kw_only=True):
    """What became of a draft; who decided is never kept, only whether it was a program or a person."""

    by: DraftJudge
    at: TimeText
    code: str = ""
    """validation, model: which rule or check rejected it, in a stable word."""
    reason: str = ""
    """rejected: why."""


class Draft(OpenRecord, frozen=True, kw_only=True):
    """What a file of `drafts/` holds, of whatever kind. A kind adds the field `content`, a record of its own.

    It is edited where the hash of `content` is no longer that of what was generated.
    """

    version: Literal[1]
    id: DraftId
    state: DraftState
    """proposed: nobody has decided; rejected: kept with its reason; accepted: its content is in the registry."""
    skills: tuple[DraftedSkill, ...]
    """The skills it was made from, the one that it is about first."""
    origin: DraftOrigin
    created: TimeText
    generated: DigestText
    """A hash of the content as it was generated."""
    split: Literal["train", "test"]
    """The part of the test set that it belongs to, settled before any description was tuned; test is sealed."""
    family: str = ""
    """Drafts that were made from the same passage, or are alike, share it; they are split and resampled together."""
    notes: tuple[str, ...] = ()
    """What a reviewer should know: no reason to reject it."""
    verdict: DraftVerdict | None = None
    """The latest decision; none as long as it is proposed."""
