"""Whether a candidate for a description routes better than today's."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import Count, Figure, Record, Share

SuggestionVerdict = Literal["better", "not_confirmed", "no_better", "no_candidate"]


class SuggestionReport(Record, frozen=True, kw_only=True):
    """What `skill-health suggest description --format json` prints. It holds no text of a sealed prompt."""

    ID: ClassVar = "skill-health/description-suggestion/1"

    schema: Literal["skill-health/description-suggestion/1"]
    skill: str
    verdict: SuggestionVerdict
    """better: the sealed prompts confirm it; not_confirmed: they do not; no_better: no candidate was ahead on the
    others, and the sealed ones were left alone; no_candidate: none was fit to be measured.
    """
    measured_by: tuple[str, ...]
    """The routers; a prompt counts by the share of them that put the right skill first."""
    today: Share | None
    """The share of prompts to select on that today's description routes right; null where there are none."""
    train: Count
    """How many prompts candidates were selected on."""
    train_clusters: Count
    """How many of them are independent."""
    sealed: Count
    """How many prompts are sealed."""
    candidates: tuple[MeasuredCandidate, ...]
    """In the order in which they were given."""
    best: Annotated[int, Meta(ge=1)] | None
    """The number of the candidate that was ahead, from 1; null where none was."""
    confirmation: SealedConfirmation | None
    """What the sealed prompts say of it; null where they were left alone."""
    notes: tuple[str, ...]


class MeasuredCandidate(Record, frozen=True, kw_only=True):
    """A candidate on the prompts that it may be selected on, where the best of several looks better than it is."""

    number: Annotated[int, Meta(ge=1)]
    source: str
    """The file or the model that it is from."""
    description: str
    fault: str
    """Why it was not measured; empty where it was."""
    share: Share | None
    """The share of prompts that it routes right."""
    difference: Figure | None
    """Against today's description, prompt by prompt."""


class SealedConfirmation(Record, frozen=True, kw_only=True):
    """The best candidate against today's description on the sealed prompts."""

    today: Share
    candidate: Share
    difference: Figure
    """Prompt by prompt, with its interval and the p-value of the sign-flip test."""
    moved: Count
    """How many independent prompts it routes otherwise."""
    use: Annotated[int, Meta(ge=1)]
    """Which use of these prompts for this skill it is; 1 for the first."""
    level: Share
    """What the one-sided p-value had to stay at or below: 0.05 / (use (use + 1)), 0.05 over all uses together."""
