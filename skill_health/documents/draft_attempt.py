"""An attempt of a drafting."""

from __future__ import annotations

from typing import ClassVar

from skill_health.documents.router_attempt import ModelAttempt


class DraftAttempt(ModelAttempt, frozen=True, kw_only=True, omit_defaults=True):
    """One line of attempts.jsonl: the start or the end of one request to a model.

    From the ends a lost result is had again.
    """

    ID: ClassVar = "skill-health/drafting-attempt/1"

    key: tuple[str]
    """The question."""
