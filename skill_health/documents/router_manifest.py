"""The manifest of a router run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import UNSET, Meta, UnsetType

from skill_health.documents._record import CommitText, Count, Name, OpenRecord, Record, RunIdText, TimeText

NONE = "none"
"""The answer "no skill applies". It is a class of its own, beside the names of the skills."""

RouterKind = Literal["local", "provider", "simulated"]
RouterIndex = Literal["description", "body", "content"]


class RouterManifest(OpenRecord, frozen=True, kw_only=True, omit_defaults=False):
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
    orders: Literal["cyclic", "shared", "plan"]
    """How the orders of presentation are made: balanced, a few that all prompts share, or the plan's shuffle."""
    template: FrozenTemplate
    hashes: Mapping[str, str | None]
    """Hashes of what the run rests on (catalogue, prompts, template, config, prices, and bodies where local routers
    took part); null where one is not known.
    """
    models: tuple[FrozenRouter, ...]
    """The models, in the order of the results."""
    catalogue: tuple[CatalogueSkill, ...]
    """The skills that are shown, in the order of their paths."""
    prompts: tuple[Prompt, ...]
    """The prompts, in the order of the results."""
    selection: FrozenSelection
    imported: bool | UnsetType = UNSET
    """True for a run of another program; what it did not keep is null."""
    python: str | None = None
    """The version of Python."""
    index: RouterIndex | None = None
    """What local routers read of a skill."""
    price_table: str | None = None
    """The version of the table of prices."""
    omitted: tuple[CatalogueSkill, ...] = ()
    """The skills of the collection that are not shown."""
    gaps: tuple[LabelGap, ...] | UnsetType = UNSET
    """Skills whose files say what their descriptions lack."""
    retrieval: FrozenRetrieval | UnsetType = UNSET
    """What was retrieved for each prompt, where a model sees only that."""
    reuses: RunIdText | UnsetType = UNSET
    """The run whose answers to the same questions were taken over; only where one was named."""
    batch: bool | UnsetType = UNSET
    """True where the models of providers were asked in batches."""


class FrozenTemplate(OpenRecord, frozen=True, kw_only=True):
    """The prompt template."""

    name: str
    version: str | None
    """The version that the file declares."""
    digest: str | None
    """A hash of what is sent; null where that is not known."""
    none_allowed: bool
    """Whether an answer may say that no skill applies."""


class FrozenRetrieval(OpenRecord, frozen=True, kw_only=True):
    """The first of two stages: a free router that leaves a few skills for the models to choose from."""

    k: Annotated[int, Meta(ge=1)]
    """How many skills each prompt is shown, or all where there are fewer."""
    router: Name
    """The free router."""
    index: RouterIndex
    """What it reads of a skill."""
    settings: Mapping[str, Any]
    """What else is needed to repeat it."""
    shortlists: Mapping[str, tuple[Count, ...]]
    """For each prompt the places of the skills in `catalogue`, from 0, the best first."""


class FrozenRouter(OpenRecord, frozen=True, kw_only=True):
    """One model of a run."""

    spec: Name
    """The name as it was given."""
    kind: RouterKind
    """Where its answers come from."""
    replications: Annotated[int, Meta(ge=1)]
    """How often each prompt is asked of it: once where its answers cannot differ."""
    settings: Mapping[str, Any]
    """What else is needed to repeat its answers: versions, thresholds, limits."""
    price: Mapping[str, Any] | None
    """Its prices, in a batch where it is asked in batches; null where none is known or needed."""
    list_price: Mapping[str, Any] | UnsetType = UNSET
    """The prices of a call by itself, of a model that is asked in batches."""


class CatalogueSkill(OpenRecord, frozen=True, kw_only=True):
    """One skill of the collection, as it is listed or left out."""

    name: str
    text: str
    """The description as it is shown: whole, cut, or empty."""
    state: str
    """full, truncated or name-only; in `omitted` why it is not shown."""
    description: str
    """The whole description."""
    path: str
    """SKILL.md, relative to the root."""
    shared: str = ""
    """The name that it is listed by where others are as well; `name` then tells it from them by its folder."""


class Prompt(OpenRecord, frozen=True, omit_defaults=False):
    """One labelled request."""

    prompt_id: Name
    text: str
    expected: str | None
    """The skill that must come first; null where none applies, or where that is not known."""
    known: bool = True
    """False where the label only says which skills must not fire: there is no right answer to count."""
    acceptable: tuple[str, ...] = ()
    """Skills that may come first without harm."""
    rejected: tuple[str, ...] = ()
    """Skills that must not fire."""
    family: str = ""
    """Paraphrases of one request share it, and are resampled and split together; empty: a family of its own."""
    tags: tuple[str, ...] = ()
    split: str = ""
    reason: str = ""
    source: str = ""
    """path:line of the label."""

    @property
    def target(self) -> str | None:
        """The class that is right: a skill's name, NONE, or None where that is not known."""
        return (self.expected or NONE) if self.known else None

    @property
    def cluster(self) -> str:
        """What is resampled as a whole: the family, else the prompt itself."""
        return f"family:{self.family}" if self.family else f"prompt:{self.prompt_id}"


class SweepSelection(Record, frozen=True, kw_only=True):
    """What a sweep selected, and why; only there."""

    since: str
    """What the descriptions are compared with: a revision, or the run of the baseline."""
    changed: tuple[str, ...]
    """Skills whose listed text has changed since."""
    affected: tuple[AffectedPrompt, ...]
    """Prompts that can tell what the change did."""
    controls: tuple[str, ...]
    """A fixed sample of the others."""
    of: Count
    """How many prompts there were to select from."""
    testable: Count
    """How many of those have a right answer to count."""


class AffectedPrompt(Record, frozen=True, kw_only=True):
    """A prompt that can tell what a change did."""

    prompt_id: str
    why: tuple[str, ...]
    """Which skill of its label changed, or with which one it was confused."""


class FrozenSelection(OpenRecord, frozen=True, kw_only=True):
    """Which of the prompts were asked, and why."""

    kind: Literal["all", "sweep", "filter"]
    """all, filter (some prompts, as asked), or sweep (those that an edit of descriptions called for)."""
    of: Count | None = None
    """filter, sweep: how many prompts there were to select from."""
    prompt_ids: tuple[str, ...] | None = None
    """filter: only these prompts."""
    skills: tuple[str, ...] | None = None
    """filter: only prompts labelled with these skills."""
    split: tuple[str, ...] | None = None
    """filter: only prompts of these splits."""
    since: str | None = None
    """sweep: what the descriptions were compared with."""
    changed: tuple[str, ...] | None = None
    """sweep: the skills whose listed text had changed."""
    affected: tuple[AffectedPrompt, ...] | None = None
    """sweep: the prompts that can tell what the change did."""
    controls: tuple[str, ...] | None = None
    """sweep: a fixed sample of the others."""
    testable: Count | None = None
    """sweep: how many of all prompts have a right answer to count."""


class LabelGap(OpenRecord, frozen=True, kw_only=True):
    """What the description of one skill lacks, by two searches for words."""

    skill: str
    prompts: Count
    """Prompts that expect it."""
    by_description: Count
    """Those that a search of the listed descriptions finds."""
    by_body: Count
    """Those that a search of the whole files finds."""
    missed: tuple[MissedPrompt, ...]
    """Those that only the latter finds."""
    words: tuple[str, ...]
    """In the file and in those prompts and not in what is listed, the weightiest first."""


class MissedPrompt(OpenRecord, frozen=True, kw_only=True):
    """A prompt that only a search of the whole file finds."""

    prompt_id: str
    instead: str | None
    """What the description's search puts first; null where nothing fits."""
