"""The manifest of a drafting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from skill_health.documents._record import Count, Name, OpenRecord, RunIdText, TimeText


class DraftingManifest(OpenRecord, frozen=True, kw_only=True):
    """manifest.json of a drafting: the questions that a model is asked, frozen before the first call."""

    ID: ClassVar = "skill-health/drafting-manifest/1"

    version: Literal[1]
    """The version of this form."""
    kind: Literal["drafting"]
    """What is in the folder."""
    run_id: RunIdText
    """The name of the drafting, and of its folder."""
    created: TimeText
    """When it began, in UTC."""
    tool_version: str
    """The version of skill-health that wrote the manifest."""
    python: str
    """The version of Python."""
    stage: Name
    """What is asked for: proposals, tasks, or whether tasks are ambiguous."""
    hashes: Mapping[str, str]
    """Hashes of what the drafting rests on: prices."""
    models: tuple[FrozenDrafter, ...]
    """The model that is asked."""
    price_table: str | None
    """The version of the table of prices."""
    questions: tuple[FrozenQuestion, ...]
    """The questions, in the order of the results."""


class FrozenDrafter(OpenRecord, frozen=True, kw_only=True):
    """A model that drafts, as it was found and priced."""

    spec: Name
    """The name as it was given."""
    protocol: str
    """How it is asked."""
    base_url: str
    """Its server."""
    price: Mapping[str, Any] | None
    """Its price; null where none is known."""


class FrozenQuestion(OpenRecord, frozen=True, kw_only=True):
    """A question; its text follows from the files that it is about."""

    id: Name
    """Its name, unique in the drafting."""
    digest: str
    """A hash of all of it."""
    size: Count
    """Its bytes."""
    max_output: Count
    """The tokens that an answer may have."""
