"""What a run asks: the command line's settings over the configuration's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import cast

from skill_health.config.settings import RouterSettings
from skill_health.documents.router_manifest import RouterIndex, RouterManifest
from skill_health.executors.shards import Shard
from skill_health.router.lexicon.fields import CONTENT, DESCRIPTION
from skill_health.router.plan.orders import Orders
from skill_health.router.records import Mode


@dataclass(frozen=True, slots=True)
class RouterChoices:
    """What a run asks, with the configuration filling in what the command line leaves open.

    Above 0, `retrieve` is how many skills the `retriever` leaves for each prompt. With `batch` models of providers are
    asked in batches.
    """

    models: tuple[str, ...]
    reps: int
    seed: int
    mode: Mode
    listing: str
    template: str
    index: RouterIndex
    orders: Orders
    retrieve: int = 0
    retriever: str = "hybrid"
    batch: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterOptions:
    """What a command line says of a run; None or () where it leaves that to the configuration."""

    paths: tuple[str, ...] = ()
    config_file: str | None = None
    prompt_files: tuple[str, ...] = ()
    field_map: str | None = None
    prompt_ids: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    split: tuple[str, ...] = ()
    skip_bad: bool = False
    namesakes: str | None = None
    models: tuple[str, ...] = ()
    seed: int | None = None
    mode: Mode | None = None
    listing: str | None = None
    template: str | None = None
    index: RouterIndex | None = None
    retrieve: int | None = None
    retriever: str | None = None
    out: str | None = None
    reps: int | None = None
    orders: Orders = "cyclic"
    max_runs: int | None = None
    max_budget_usd: float | None = None
    unsafe_no_cost_cap: bool = False
    concurrency: int | None = None
    batch: bool = False
    cancel_batches: bool = False
    dry_run: bool = False
    despite_check: bool = False
    quiet: bool = False
    shard: Shard | None = None
    executor: str = "local"
    reuse: str = ""
    named: str = ""
    no_resume: bool = False
    time: datetime | None = None
    repeated: str = ""
    format_: str = "text"


def index_of(index: RouterIndex | None, retrieve: int | None, routing: RouterSettings) -> RouterIndex:
    """What local routers read: what is asked for, else as configured.

    Where nothing is, that is what is listed; but a first of two stages, which shows nobody what it reads, searches all.
    """
    stages = routing.retrieve if retrieve is None else retrieve
    if index or routing.indexing != DESCRIPTION or not stages:
        return index or cast(RouterIndex, routing.indexing)
    return CONTENT


def narrow(given: RouterOptions, repeated: RouterManifest) -> RouterOptions:
    """The options, with what a repeated run says of the prompts to read and the skills to list."""
    chosen = () if repeated.selection.kind == "all" else tuple(prompt.prompt_id for prompt in repeated.prompts)
    stages = repeated.retrieval or None
    return replace(
        given, prompt_ids=chosen, listing=repeated.listing, index=repeated.index, retrieve=stages.k if stages else 0
    )


def choices_of(manifest: RouterManifest, template: str | None = None) -> RouterChoices:
    """The choices that a run was made with; `template` is the file of one that is not ours, whose name it has."""
    stages = manifest.retrieval or None
    return RouterChoices(
        models=tuple(model.spec for model in manifest.models),
        reps=manifest.replications,
        seed=manifest.seed or 0,
        mode=manifest.mode,
        listing=manifest.listing,
        template=template or manifest.template.name,
        index=manifest.index or DESCRIPTION,
        orders=manifest.orders,
        retrieve=stages.k if stages else 0,
        retriever=stages.router if stages else "hybrid",
        batch=manifest.batch is True,
    )


def choices(given: RouterOptions, routing: RouterSettings) -> RouterChoices:
    """The settings in force: the command line's, else the configuration's."""
    return RouterChoices(
        models=given.models or tuple(routing.models),
        reps=routing.reps if given.reps is None else given.reps,
        seed=routing.seed if given.seed is None else given.seed,
        mode=given.mode or cast(Mode, routing.mode),
        listing=routing.listing if given.listing is None else given.listing,
        template=routing.template if given.template is None else given.template,
        index=index_of(given.index, given.retrieve, routing),
        orders=given.orders,
        retrieve=routing.retrieve if given.retrieve is None else given.retrieve,
        retriever=given.retriever or routing.retriever,
        batch=given.batch or given.cancel_batches,
    )
