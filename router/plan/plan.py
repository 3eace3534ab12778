"""Choices -> the models that are asked, the manifest that freezes it all, and the calls in the order they are made."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from skill_health import __version__
from skill_health.bench.prices import PriceTable, TieredPrice
from skill_health.config.settings import Provider, RouterSettings
from skill_health.discovery.changes import Revision
from skill_health.documents.router_manifest import (
    FrozenRouter,
    FrozenSelection,
    FrozenTemplate,
    LabelGap,
    RouterManifest,
)
from skill_health.router.listing import catalogue_digest, sole_names
from skill_health.router.plan.choices import RouterChoices
from skill_health.router.plan.manifest import bodies_digest, config_digest, freeze_listing, prompts_digest
from skill_health.router.plan.orders import base_order, group_of, presentation, rotate
from skill_health.router.plan.retrieval import Retrieval
from skill_health.router.records import Catalogue, ListedSkill, Prompt, RoutingRequest
from skill_health.router.routers._api import BatchRouter, Router
from skill_health.router.routers._load import PROVIDER, RouterChoice
from skill_health.router.template import Template, answer_schema, listed_names, question_size, render, shared_part

if TYPE_CHECKING:
    from skill_health.bench.run.batches import BatchLane

MOST_AT_ONCE = 64
UNNAMED = "unnamed"
"""The id of a run that has no folder yet."""
Key = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class OpenModel:
    """One model of a run, opened. `group` names the server that its calls share the limits of.

    One that is `batched` is asked in batches, at its `price`; `list_price` is what a call by itself costs.
    """

    choice: RouterChoice
    router: Router
    replications: int
    price: TieredPrice | None
    batched: bool = False
    list_price: TieredPrice | None = None

    @property
    def spec(self) -> str:
        """The name as the user gave it."""
        return self.choice.spec

    @property
    def group(self) -> str:
        """What shares a limit of calls under way: a provider, or all that is computed here."""
        return self.spec.partition(":")[0] if self.choice.kind == PROVIDER else self.choice.kind

    @property
    def concurrency(self) -> int:
        """How many of its calls may be under way: the provider's own limit, if it is one."""
        return (self.choice.provider or Provider("")).concurrency if self.choice.kind == PROVIDER else MOST_AT_ONCE

    @property
    def think_tags(self) -> bool:
        """Whether thoughts may stand before its answers."""
        return (self.choice.provider or Provider("")).think_tags

    @property
    def wired(self) -> bool:
        """Whether its attempts count against caps: everything but what is computed here."""
        return self.choice.kind != "local"

    def one_by_one(self) -> OpenModel:
        """The same for calls that are made by themselves."""
        return replace(self, price=self.list_price, batched=False) if self.batched else self


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One (prompt, model, replication) that a result is wanted for; replications count from 0."""

    prompt: Prompt
    model: OpenModel
    replication: int

    @property
    def key(self) -> Key:
        """The key of its result."""
        return (self.prompt.prompt_id, self.model.spec, self.replication)


@dataclass(frozen=True, slots=True)
class RouterPlan:
    """Everything that a run asks, and how. With a `retrieval` each prompt is shown its shortlist alone."""

    catalogue: Catalogue
    prompts: tuple[Prompt, ...]
    models: tuple[OpenModel, ...]
    choices: RouterChoices
    template: Template
    retrieval: Retrieval | None = None

    def calls(self) -> list[PlannedCall]:
        """All calls in the order they are made: models and conditions share the time of day.

        Where orders are shared, prompts of one order follow each other.
        """
        most, prompts = max((model.replications for model in self.models), default=0), self.prompts
        if self.choices.orders == "shared":
            prompts = tuple(sorted(prompts, key=lambda prompt: group_of(prompt.prompt_id, self.choices.seed)))
        return [
            PlannedCall(prompt, model, replication)
            for replication in range(most)
            for prompt in prompts
            for model in self.models
            if replication < model.replications
        ]

    def keys(self) -> Iterator[Key]:
        """The keys of all calls in the order of the finished results."""
        for prompt in self.prompts:
            for model in self.models:
                for replication in range(model.replications):
                    yield prompt.prompt_id, model.spec, replication

    def lanes(self) -> list[BatchLane]:
        """Whom the batches of the run go to."""
        return [
            model.router.lane(model.price)
            for model in self.models
            if model.batched and isinstance(model.router, BatchRouter)
        ]

    def limits(self, total: int | None = None) -> dict[str, int]:
        """How many calls of each group may be under way at once; none of them more than `total`."""
        return {model.group: min(model.concurrency, total or model.concurrency) for model in self.models}


class Questions:
    """Calls -> requests. Texts that several models are asked are put together once."""

    def __init__(self, plan: RouterPlan) -> None:
        self._skills = {skill.name: skill for skill in plan.catalogue.shown}
        self._names, self._choices, self._template = plan.catalogue.names, plan.choices, plan.template
        self._shortlists = plan.retrieval.shortlists if plan.retrieval else {}
        self._base = base_order(self._names, plan.choices.seed)
        self._whole, self._sole = self._answers(self._names), sole_names(plan.catalogue.shown)
        self._ordered = lru_cache(256)(self._order)
        self._texts = lru_cache(64)(self._text)
        self._shared = lru_cache(256)(lambda order: shared_part(self._template, self._listed(order)))
        self._schemas = lru_cache(64)(self._schema)

    def order(self, call: PlannedCall) -> tuple[str, ...]:
        """The names in presentation order."""
        by_model = call.model.spec if self._choices.orders == "plan" else ""
        return self._ordered(call.prompt.prompt_id, by_model, call.replication)

    def answers(self, call: PlannedCall) -> tuple[str, ...]:
        """The names that an answer may hold: those that are read, and for what is computed here those of the skills."""
        names = self._shortlists.get(call.prompt.prompt_id)
        if not call.model.wired:
            return self._names if names is None else names
        return self._whole if names is None else self._answers(names)

    def meant(self, call: PlannedCall) -> Mapping[str, str]:
        """The skills that listed names stand for where others that have the name are not shown."""
        names = self._shortlists.get(call.prompt.prompt_id)
        return self._sole if names is None else sole_names(self._skills[name] for name in names)

    def request(self, call: PlannedCall, attempt: int) -> RoutingRequest:
        """The question of one attempt. What is computed here is spared the text, which it does not read."""
        order = self.order(call)
        text = self._texts(order, call.prompt.text) if call.model.wired else ""
        schema = self._schemas(self.answers(call)) if self._choices.mode == "json_schema" else None
        shared = self._shared(order) if text and self.shares(call) else 0
        return RoutingRequest(call.prompt, call.replication, self._listed(order), text, schema, attempt, shared)

    def shares(self, call: PlannedCall) -> bool:
        """Whether other prompts are asked of its model in the same order, one by one."""
        return self._choices.orders == "shared" and not self._shortlists and not call.model.batched

    def _answers(self, names: Sequence[str]) -> tuple[str, ...]:
        """The listed names in the catalogue's order, so that nobody can tell the best of a shortlist."""
        there = set(names)
        return listed_names(self._skills[name] for name in self._names if name in there)

    def _schema(self, names: tuple[str, ...]) -> Mapping[str, Any]:
        return answer_schema(names, self._template.none_allowed)

    def _order(self, prompt_id: str, model: str, replication: int) -> tuple[str, ...]:
        choices, names = self._choices, self._shortlists.get(prompt_id)
        if names is None and choices.orders != "plan":
            return rotate(self._base, prompt_id, replication, choices.seed, choices.orders)
        asked = self._names if names is None else names
        return presentation(asked, prompt_id, model, replication, choices.seed, choices.orders)

    def _text(self, order: tuple[str, ...], prompt: str) -> str:
        return render(self._template, self._listed(order), prompt)

    def _listed(self, order: Sequence[str]) -> tuple[ListedSkill, ...]:
        return tuple(self._skills[name] for name in order)


def question_sizes(plan: RouterPlan) -> Mapping[str, int]:
    """The bytes of the question of each prompt, by its id; in whatever order the skills stand."""
    mode = plan.choices.mode
    if plan.retrieval is None:
        size = question_size(plan.template, plan.catalogue.shown, mode)
        return {prompt.prompt_id: size(prompt.text) for prompt in plan.prompts}
    skills = {skill.name: skill for skill in plan.catalogue.shown}
    found = {}
    for prompt in plan.prompts:
        listed = [skills[name] for name in plan.retrieval.shortlists[prompt.prompt_id]]
        found[prompt.prompt_id] = question_size(plan.template, listed, mode)(prompt.text)
    return found


def to_manifest(
    plan: RouterPlan,
    routing: RouterSettings,
    prices: PriceTable,
    selection: FrozenSelection,
    revision: Revision,
    gaps: tuple[LabelGap, ...] = (),
    run_id: str = UNNAMED,
) -> RouterManifest:
    """The manifest of a run; what gives it its folder sets `run_id` and `created`."""
    choices, template = plan.choices, plan.template
    hashes: dict[str, str | None] = {
        "catalogue": catalogue_digest(plan.catalogue),
        "prompts": prompts_digest(plan.prompts),
        "template": template.digest,
        "config": config_digest(routing, [model.group for model in plan.models]),
        "prices": prices.digest,
    }
    if not all(model.wired for model in plan.models):
        hashes["bodies"] = bodies_digest(plan.catalogue)
    return RouterManifest(
        version=1,
        kind="router",
        run_id=run_id,
        created=None,
        tool_version=__version__,
        python=platform.python_version(),
        commit=revision.commit,
        dirty=revision.dirty,
        seed=choices.seed,
        replications=choices.reps,
        mode=choices.mode,
        listing=choices.listing,
        orders=choices.orders,
        index=choices.index,
        template=FrozenTemplate(
            name=template.name, version=template.version, digest=template.digest, none_allowed=template.none_allowed
        ),
        hashes=hashes,
        models=tuple(_freeze_model(model) for model in plan.models),
        price_table=prices.version,
        catalogue=freeze_listing(plan.catalogue.shown),
        omitted=freeze_listing(plan.catalogue.omitted),
        prompts=plan.prompts,
        selection=selection,
        gaps=gaps,
        retrieval=plan.retrieval.freeze(plan.catalogue) if plan.retrieval else UNSET,
        batch=True if any(model.batched for model in plan.models) else UNSET,
    )


def _freeze_model(model: OpenModel) -> FrozenRouter:
    return FrozenRouter(
        spec=model.spec,
        kind=model.choice.kind,
        replications=model.replications,
        settings=model.router.describe(),
        price=model.price.to_json() if model.price else None,
        list_price=model.list_price.to_json() if model.list_price else UNSET,
    )
