"""The manifest of a router run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import CommitText, Count, Name, OpenRecord, RunIdText, TimeText


class RouterManifest(OpenRecord, frozen=True, kw_only=True):
    """manifest.json of a run: what was asked, frozen before the first call.

    Reports need it and the results, nothing else.
    """

    ID: ClassVar = "skill-health/router-manifest/1"

    version: Literal[1]
    """The version of this form."""
    kind: Literal["router"]
    """Which benchmark the run is of."""
    run_id: RunIdText
    """The name of the run, and of its folder."""
    created: TimeText | None
    """When the run began, in UTC; null where an imported run does not say."""
    tool_version: str
    """The version of skill-health that wrote the manifest."""
    commit: CommitText | None
    """The commit of the collection; null outside git."""
    dirty: bool | None
    """Whether files of the collection differed from the commit; null where that is not known."""
    seed: int | None
    """The seed of orders, samples and resampling."""
    replications: Annotated[int, Meta(ge=1)]
    """How often each prompt was to be asked of a model whose answers can differ."""
    mode: Literal["text", "json_schema"]
    """How the answer is asked for. Runs of different modes are never compared."""
    listing: str
    """full, or the host whose budget the listing keeps."""
    orders: Literal["cyclic", "plan"]
    """How the orders of presentation are made."""
    template: FrozenTemplate
    hashes: Mapping[str, str | None]
    """Hashes of what the run rests on (catalogue, prompts, template, config, prices, and bodies where local routers
    took part); null where one is not known.
    """
    models: tuple[FrozenRouter, ...]
    """The models, in the order of the results."""
    catalogue: tuple[CatalogueSkill, ...]
    """The skills that are shown, in the order of their paths."""
    prompts: tuple[FrozenPrompt, ...]
    """The prompts, in the order of the results."""
    selection: FrozenSelection
    imported: bool = False
    """True for a run of another program; what it did not keep is null."""
    python: str | None = None
    """The version of Python."""
    index: Literal["description", "body"] | None = None
    """What local routers read of a skill."""
    price_table: str | None = None
    """The version of the table of prices."""
    omitted: tuple[CatalogueSkill, ...] = ()
    """The skills of the collection that are not shown."""
    gaps: tuple[FrozenGap, ...] = ()
    """Skills whose files say what their descriptions lack."""


class FrozenTemplate(OpenRecord, frozen=True, kw_only=True):
    """The prompt template."""

    name: str
    version: str | None
    """The version that the file declares."""
    digest: str | None
    """A hash of what is sent; null where that is not known."""
    none_allowed: bool
    """Whether an answer may say that no skill applies."""


class FrozenRouter(OpenRecord, frozen=True, kw_only=True):
    """model."""

    spec: Name
    """The name as it was given."""
    kind: Literal["local", "provider", "simulated"]
    """Where its answers come from."""
    replications: Annotated[int, Meta(ge=1)]
    """How often each prompt is asked of it: once where its answers cannot differ."""
    settings: Mapping[str, Any]
    """What else is needed to repeat its answers: versions, thresholds, limits."""
    price: Mapping[str, Any] | None
    """Its prices; null where none is known or needed."""


class CatalogueSkill(OpenRecord, frozen=True, kw_only=True):
    """catalogue."""

    name: str
    text: str
    """The description as it is shown: whole, cut, or empty."""
    state: str
    """full, truncated or name-only; in `omitted` why it is not shown."""
    description: str
    """The whole description."""
    path: str
    """SKILL.md, relative to the root."""


class FrozenPrompt(OpenRecord, frozen=True, kw_only=True):
    """prompt."""

    prompt_id: Name
    text: str
    expected: str | None
    """The skill that must come first; null where none applies, or where that is not known."""
    known: bool
    """False where the label only says which skills must not fire."""
    acceptable: tuple[str, ...]
    """Skills that may come first without harm."""
    rejected: tuple[str, ...]
    """Skills that must not fire."""
    family: str
    """Paraphrases of one request share it; empty: a family of its own."""
    tags: tuple[str, ...] = ()
    split: str = ""
    reason: str = ""
    source: str = ""
    """path:line of the label."""


class FrozenSelection(OpenRecord, frozen=True, kw_only=True):
    """Which of the prompts were asked, and why."""

    kind: Literal["all", "sweep", "filter"]
    """all, filter (some prompts, as asked), or sweep (those that an edit of descriptions called for)."""


class FrozenGap(OpenRecord, frozen=True, kw_only=True):
    """gap."""

    skill: str
    prompts: Count | None = None
    """Prompts that expect it."""
    by_description: Count | None = None
    """Those that a search by the listed text finds."""
    by_body: Count | None = None
    """Those that a search of the whole file finds."""
    missed: tuple[Mapping[str, Any], ...] = ()
    """Prompts that only the latter finds."""
    words: tuple[str, ...] = ()
    """What the file and those prompts say and the listed text does not."""
