"""A result of a drafting."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from skill_health.documents._record import Amount, Name, OpenRecord, TokenUsage
from skill_health.documents.router_result import Status


class DraftingResult(OpenRecord, frozen=True, kw_only=True):
    """One line of results.jsonl: what came of a question to a model that drafts."""

    ID: ClassVar = "skill-health/drafting-result/1"

    question: Name
    """The question."""
    status: Status
    """The status of the last attempt, after its answer was read."""
    kinds: tuple[str, ...]
    """What is wrong with the form of the last answer."""
    text: str
    """The last answer, word by word; it is data, and nothing in it was followed."""
    attempts: Annotated[int, Meta(ge=1)]
    """How many attempts were made."""
    resolved_model: str | None
    """The id of the model that the provider named."""
    usage: TokenUsage
    """Tokens of all attempts together."""
    duration_ms: Amount | None
    """The time of the last answered request."""
    cost_usd: Amount | None
    """What all attempts cost; null where nobody knows."""
    error: str
    """Why there is no answer, in one line."""

    @property
    def settled(self) -> bool:
        """Whether it need not be asked again: there is an answer, be it a bad one."""
        return self.status not in ("provider_error", "model_unavailable")
