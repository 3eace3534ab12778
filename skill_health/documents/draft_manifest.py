"""The manifest of a drafting: what a model is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import Count, Name, OpenRecord, RunIdText, TimeText


class DraftManifest(OpenRecord, frozen=True, kw_only=True):
    """manifest.json of a drafting: which questions are put to which models. It is frozen before the first call."""

    ID: ClassVar = "skill-health/drafting-manifest/1"

    version: Literal[1]
    """The version of this form."""
    kind: Literal["drafting"]
    """What is in the folder."""
    run_id: RunIdText
    """The name of the drafting, and of its folder."""
    created: TimeText
    """When it began, in UTC; what it drafts is dated so."""
    tool_version: str
    """The version of skill-health that wrote the manifest."""
    python: str
    """The version of Python."""
    of: Literal["prompts", "tasks", "descriptions", "leaks"]
    """What is drafted."""
    seed: Count
    """The seed of retries and splits."""
    hashes: Mapping[str, str]
    """Hashes of what the drafting rests on: prices."""
    models: tuple[FrozenWriter, ...]
    """Who is asked."""
    price_table: str | None
    """The version of the table of prices."""
    questions: tuple[FrozenQuestion, ...]
    """What is asked, in the order of the results."""


class FrozenWriter(OpenRecord, frozen=True, kw_only=True):
    """A model, as it was found and priced."""

    spec: Name
    """The name as it was given."""
    protocol: str
    """How it is asked."""
    base_url: str
    """Its server."""
    price: Mapping[str, Any] | None
    """Its price; null where none is known."""


class FrozenQuestion(OpenRecord, frozen=True, kw_only=True):
    """One question."""

    question: Name
    """Its id."""
    model: str
    """Who is asked."""
    digest: str
    """A hash of the question; of one that needs other answers, of what it is made by."""
    after: tuple[str, ...] = ()
    """The questions whose answers it needs."""
    max_output: Annotated[int, Meta(ge=1)]
    """The tokens that its answer may have."""
