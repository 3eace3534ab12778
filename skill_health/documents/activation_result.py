"""A result of an activation run."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, UnsetType

from skill_health.documents._record import Amount, Count, OpenRecord, TokenUsage
from skill_health.documents.effect_result import Source

ActivationOutcome = Literal[
    "loaded", "answered", "turn_limit", "timeout", "limit", "refusal", "infrastructure", "quota", "auth", "cancelled"
]
GIVEN: tuple[ActivationOutcome, ...] = ("loaded", "answered", "turn_limit", "timeout", "limit", "refusal")
"""The outcomes of agents that had their chance; the others are missing data."""
LoadVerdict = Literal["yes", "no", "cannot_tell"]
LoadKey = tuple[str, str, int, int]
"""What a run has exactly one result for: prompt, model, size of the collection, replication."""


class LoadResult(OpenRecord, frozen=True, omit_defaults=False):
    """One line of results.jsonl: what became of one request to one agent."""

    ID: ClassVar = "skill-health/activation-result/1"

    prompt_id: str
    """The request, as the manifest has it."""
    model: str
    """The name of agent and model as the manifest has it."""
    size: Annotated[int, Meta(ge=1)]
    """How many skills were staged."""
    replication: Count
    """Counted from 0."""
    outcome: ActivationOutcome
    """How it ended: a skill was opened, the agent was done, its turns, its time or what it may take were used up, or
    its
    model refused; the last four are missing data.
    """
    loaded: LoadVerdict = "cannot_tell"
    """Whether it opened a skill. What cannot be told is no "no"."""
    first: str | None = None
    """The skill that it opened first; null for none, and where that cannot be told."""
    opened: tuple[str, ...] = ()
    """All that it opened until it was stopped, in order."""
    evidence: tuple[str, ...] = ()
    """By what that is known."""
    why: str = ""
    """Why it cannot be told, where it cannot."""
    offered: tuple[str, ...] | None = None
    """The staged skills in the order in which they stood in the first request to the model, or in which the agent
    listed
    them where nobody sees a request; null where neither is known.
    """
    turns: Count | None = None
    """Answers of the model to requests that had tools; null where nobody saw them."""
    usage: TokenUsage = TokenUsage()
    usage_source: Source = ""
    """Who says the usage."""
    cost_usd: Amount | None = None
    """Dollars; null where nobody knows."""
    cost_source: Source = ""
    """Who says the dollars."""
    duration_ms: Amount | None = None
    """Of the agent alone."""
    resolved_model: str | None = None
    """The model that the provider named."""
    tree: str = ""
    """A hash of all that lay in the workspace, the home and the temporary folder before the agent was started. It is
    that
    of a control workspace with the same skills, in which no agent ever was.
    """
    served: Count = 0
    """How many requests the workspace had served before."""
    renewed: bool = False
    """Whether a used workspace was given up before this request, because it was not as it had been."""
    request: str = ""
    """A hash of the first request to the model, kept below the run's folder; empty where nobody sees one."""
    stream: str = ""
    """The file, relative to the run's folder, with what the agent printed."""
    attempts: Annotated[int, Meta(ge=1)] = 1
    """How often it was tried, those that ended in infrastructure failures included."""
    notes: tuple[str, ...] = ()
    """What was found odd."""
    error: str = ""
    """Why it is missing data; empty otherwise."""
    disagreement: str | UnsetType = UNSET
    """What the agent was offered against the plan, which ends the run; not there where nothing is known against it."""

    @property
    def key(self) -> LoadKey:
        """What a run has exactly one result for."""
        return (self.prompt_id, self.model, self.size, self.replication)

    @property
    def scored(self) -> bool:
        """Whether the agent had its chance, be it told or not what it made of it."""
        return self.outcome in GIVEN

    @property
    def known(self) -> bool:
        """Whether it is known what it opened."""
        return self.scored and self.loaded != "cannot_tell"
