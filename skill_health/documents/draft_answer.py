"""An answer of a drafting."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from skill_health.documents._record import Amount, OpenRecord, TokenUsage
from skill_health.documents.router_result import Status


class DraftAnswer(OpenRecord, frozen=True, kw_only=True, omit_defaults=False):
    """One line of results.jsonl: the answer to one question, of which a drafting has exactly one."""

    ID: ClassVar = "skill-health/drafting-result/1"

    question: str
    """The question, as the manifest has it."""
    model: str
    """Who was asked."""
    status: Status
    """finished: the answer could be read. With every other status there is none."""
    text: str = ""
    """The answer, word by word, even if it could not be read; empty where there is none, or nothing was left to ask."""
    kinds: tuple[str, ...] = ()
    """What is wrong with the form of the last answer."""
    attempts: Annotated[int, Meta(ge=0)] = 1
    """How often it was asked: an answer that cannot be read is asked for once more."""
    resolved_model: str | None = None
    """The model that the provider named."""
    usage: TokenUsage = TokenUsage()
    """Tokens of all attempts."""
    duration_ms: Amount | None = None
    """Of the last request."""
    cost_usd: Amount | None = None
    """Dollars of all attempts; null where nobody knows."""
    error: str = ""
    """Why there is no answer, in one line."""

    @property
    def scored(self) -> bool:
        """Whether the model answered, well or badly; everything else is asked again when the drafting goes on."""
        return self.status in ("finished", "format_failure", "refusal", "truncated")
