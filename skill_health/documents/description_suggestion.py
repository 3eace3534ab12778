"""Whether a candidate for a description routes better than today's."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import Amount, Count, Figure, Record, Share

SuggestionVerdict = Literal["better", "not_confirmed", "no_better", "no_candidate", "not_testable"]


class SuggestionReport(Record, frozen=True, kw_only=True):
    """What `skill-health suggest description --format json` prints. It holds no text of a sealed prompt."""

    ID: ClassVar = "skill-health/description-suggestion/1"

    schema: Literal["skill-health/description-suggestion/1"]
    skill: str
    verdict: SuggestionVerdict
    """better: the sealed prompts confirm it; not_confirmed: they do not; no_better: no candidate was ahead on the
    others, and the sealed ones were left alone; no_candidate: none was fit to be measured;
    not_testable: models left too many prompts without an answer.
    """
    measured_by: tuple[str, ...]
    """The free routers, or the models where some were asked: these alone decide. A prompt counts by the share of
    routers, or by the mean over models of the share of answers, that put the right skill first.
    """
    beside: tuple[str, ...] = ()
    """The free routers that are shown beside models, and decide nothing."""
    replications: Annotated[int, Meta(ge=1)] = 1
    """How often each model was asked each prompt."""
    cost_usd: Amount | None = 0.0
    """What the answers of the models that measured cost; null where that is not known."""
    runs: tuple[str, ...] = ()
    """The runs of the models, in the order in which they were made."""
    today: Share | None
    """The share of prompts to select on that today's description routes right; null where nothing was measured."""
    today_beside: Share | None = None
    """The same by the routers beside."""
    train: Count
    """How many prompts there are to select on."""
    answered: Count
    """How many of them have an answer of each model under each description: candidates were compared on these."""
    train_clusters: Count
    """How many of those are independent."""
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
    beside: Share | None = None
    """The same by the routers beside."""
    difference: Figure | None
    """Against today's description, prompt by prompt."""


class SealedConfirmation(Record, frozen=True, kw_only=True):
    """The best candidate against today's description on the sealed prompts."""

    answered: Count
    """How many of the sealed prompts have an answer of each model under both descriptions."""
    today: Share | None
    """The share of those that is routed right; null where too many have no answer."""
    candidate: Share | None
    difference: Figure | None
    """Prompt by prompt, with its interval and the p-value of the sign-flip test."""
    moved: Count
    """How many independent prompts it routes otherwise."""
    use: Annotated[int, Meta(ge=1)]
    """Which use of these prompts for this skill it is; 1 for the first."""
    level: Share
    """What the one-sided p-value had to stay at or below: 0.05 / (use (use + 1)), 0.05 over all uses together."""
