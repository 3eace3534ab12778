"""A delta report."""

from __future__ import annotations

from typing import ClassVar, Literal

from skill_health.documents._record import CommitText, Count, NotedFigure, Record, TimeText


class DeltaReport(Record, frozen=True, kw_only=True):
    """What `skill-health delta REV --format json` prints: what a branch changes since it left REV.

    Health, listing and routing are computed for both states with the configuration of today; what agents were measured
    to do is not repeated, but said to hold or to be out of date.
    """

    ID: ClassVar = "skill-health/delta/1"

    schema: Literal["skill-health/delta/1"]
    version: str
    """The version of skill-health."""
    since: str
    """The revision as it was named."""
    base: CommitText
    """The commit that the work tree is compared with."""
    head: CommitText | None
    """The commit of the work tree; null before the first one."""
    skills: tuple[DeltaSkill, ...]
    """The skills that the branch adds, changes, moves or removes, in the order of their paths."""
    total: DeltaCounts
    """How many skills there are in all."""
    new: tuple[DeltaFinding, ...]
    """Findings that were not there, or were less severe; also in skills that the branch does not touch."""
    fixed: tuple[DeltaFinding, ...]
    """Findings that are gone, or are less severe."""
    older: Count
    """Findings in what was checked that were there before, and are left out."""
    listing: tuple[ListingDelta, ...]
    """What every request pays for the list of all skills; empty where one of the states cannot be listed."""
    routing: tuple[RoutingDelta, ...]
    """The labelled prompts by each router; empty where there are none, or nothing that is listed has changed."""
    measurements: tuple[DeltaMeasurement, ...]
    """What was measured of the skills that the branch touches, and whether it still holds."""
    reused: Count
    """How many measurements of other skills hold, as these are what they were, byte for byte."""
    notes: tuple[str, ...]
    """What could not be compared, and why."""


class DeltaCounts(Record, frozen=True, kw_only=True):
    """A number in both states."""

    before: Count
    after: Count


class DeltaSkill(Record, frozen=True, kw_only=True):
    """A skill that the branch touches. Tokens are estimates; those of a state in which it is not are 0."""

    name: str
    path: str
    """Its SKILL.md, relative to the root of the collection; where it was if it is gone."""
    kind: Literal["added", "changed", "moved", "removed"]
    before: str
    """The path that it had, where that is another one; else empty."""
    described: bool
    """Whether its name or description is another one now."""
    entry: DeltaCounts
    """Tokens of its name and description, which every request pays."""
    text: DeltaCounts
    """Tokens of its SKILL.md, which are paid when it is loaded."""
    new: Count
    """Findings in it that are new."""
    fixed: Count
    """Findings in it that are gone."""


class DeltaFinding(Record, frozen=True, kw_only=True):
    """A finding of one of the two states."""

    code: str
    rule: str
    severity: Literal["error", "warning", "info"]
    path: str
    """Relative to the root of the collection."""
    line: Count
    message: str
    help: str
    skill: str
    """The SKILL.md that it belongs to; empty for none."""
    cause: str
    """What was changed elsewhere that it comes from; empty where that is the line itself or is not known."""


class ListingCost(Record, frozen=True, kw_only=True):
    """A list of all skills as one host shows it."""

    tokens: Count
    cut: Count
    """Skills that are listed with a cut description."""
    names: Count
    """Skills that are listed by their names alone."""
    omitted: Count
    """Skills that are not listed."""


class ListingDelta(Record, frozen=True, kw_only=True):
    """What a host lists before and after."""

    host: str
    before: ListingCost
    after: ListingCost


class DeltaPrompt(Record, frozen=True, kw_only=True):
    """A prompt that found its skill and does so no longer."""

    id: str
    prompt: str
    expected: str
    """The skill, or none."""
    now: str
    """What comes first now; none where the router abstains."""


class RoutingDelta(Record, frozen=True, kw_only=True):
    """What the descriptions of both states do to the first places of a router that is computed here."""

    model: str
    before: NotedFigure
    """The share of right answers with the descriptions of before, with Wilson's interval."""
    after: NotedFigure
    """The same with those of now, of the same prompts and by the same threshold."""
    untested: Count
    """Prompts that no skill is for, and that this router cannot judge."""
    lost: tuple[DeltaPrompt, ...]
    gained: tuple[str, ...]
    """The ids of prompts that find their skill now and did not."""


class DeltaMeasurement(Record, frozen=True, kw_only=True):
    """The last measurement of one model with a skill that the branch touches."""

    skill: str
    """The path of its SKILL.md."""
    question: Literal["routing", "effect"]
    model: str
    run_id: str
    time: TimeText
    """When the run began, in UTC."""
    simulated: bool
    """Whether no model was asked or no agent run."""
    figure: NotedFigure
    """Recall, 0 to 1; or success with the skill less that without, -1 to 1."""
    verdict: str
    """What the rules came to; empty for routing."""
    outdated: bool | None
    """Whether the skill, or for routing its description, is another one now; null where that is not known."""
