"""What became of a batch of calls to a model."""

from __future__ import annotations

from typing import ClassVar, Literal

from skill_health.documents._record import Count, Name, OpenRecord


class BatchEvent(OpenRecord, frozen=True, kw_only=True, omit_defaults=True):
    """One line of batches.jsonl: what became of a batch. Its calls are the attempts that name it.

    A batch counts from `sending`, which comes before it is handed in, unless it is `void`.
    """

    ID: ClassVar = "skill-health/model-batch/1"

    event: Literal["sending", "submitted", "cancelled", "ended", "void"]
    """sending: about to be handed in. submitted: the provider has it. cancelled: we asked the provider to cancel it.
    ended: its answers are there. void: it was never begun, so nothing was paid.
    """
    batch: Name
    """Our name of it."""
    at: str
    """When, in UTC."""
    model: str = ""
    """sending: the model, as the manifest has it."""
    calls: Count = 0
    """sending: how many calls are in it. ended: how many of them have an answer."""
    provider_id: str = ""
    """submitted: the provider's id of it."""
    note: str = ""
    """void, ended: why, and what the provider says of it, in one line."""
