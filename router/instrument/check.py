"""Is the instrument to be trusted? Asked before money is spent, with planted skills and prompts, and of a finished run.

Before the first call of a run `instrument_run.check_plan` asks each model at most six questions over the catalogue
with a skill that nobody has (`sentinel.plant`), by the same pipeline as all others, and `planted.judge_planted` judges
the answers. `degenerate.judge_finished(sheet, planted_verdicts)` judges the finished run.

A Verdict is `trusted` where nothing speaks against the model, `failed` where something does, and neither where nobody
answered (`tested` False: a model that is gone, a server that is down). A run stops before its first paid call where a
priced model's verdict is `failed`, unless told to go on; for everything that is free the verdict only marks the report.
`check.json` is `to_record(planted_verdicts, finished_verdicts)`; `lines(verdicts)` is what people read.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from skill_health.bench import durable
from skill_health.bench.budget import AttemptMeter, Budget, add_known
from skill_health.bench.redact import redacted
from skill_health.bench.run.schedule import GRACE, CallLimits, Schedule, StopRun, interruptible
from skill_health.documents._record import record_values
from skill_health.documents.router_check import ModelVerdict
from skill_health.router.instrument.planted import Planted, judge_planted, plant, to_record
from skill_health.router.plan.choices import RouterChoices
from skill_health.router.plan.plan import Key, OpenModel, PlannedCall, Questions, RouterPlan
from skill_health.router.plan.retrieval import retrieve
from skill_health.router.records import Catalogue, Prompt, RoutingRequest, RoutingResult
from skill_health.router.routers._api import Router
from skill_health.router.routers._load import PROVIDER, RouterChoice, open_choice
from skill_health.router.run.outcome import RoutedAttempt, not_asked, read_attempt, to_kept, to_result
from skill_health.router.runs import CHECK, read_check
from skill_health.router.template import Template

MOST_ATTEMPTS = 2
Ask = Callable[[Key, OpenModel, Callable[[int], RoutingRequest], Sequence[str]], Awaitable[list[RoutedAttempt]]]
"""The attempts at one call, [] where a cap forbids one; raises StopRun. `RouterRunner.route` is one."""


@dataclass(frozen=True, slots=True)
class InstrumentCheck:
    """The verdicts in the order of the plan's models, and why the check ended early ("" where it did not)."""

    verdicts: tuple[ModelVerdict, ...]
    stop: str = ""

    def blocking(self, plan: RouterPlan) -> tuple[ModelVerdict, ...]:
        """The verdicts that keep a run from spending money: of models that failed and are not known to be free."""
        paid = {model.spec for model in plan.models if model.choice.kind == PROVIDER and not _free(model)}
        return tuple(verdict for verdict in self.verdicts if verdict.failed and verdict.model in paid)


@dataclass(frozen=True, slots=True)
class PlantedCollection:
    """What is planted, and the plan over it: its catalogue has the planted skill, its routers were opened on that."""

    planted: Planted
    plan: RouterPlan


def open_world(
    catalogue: Catalogue, choices: RouterChoices, template: Template, opened: Callable[[Catalogue], Iterable[OpenModel]]
) -> PlantedCollection:
    """Plant, and let `opened` open the models over what was planted; each is asked once, in as many stages as a run."""
    planted = plant(catalogue, template.none_allowed)
    models = tuple(replace(model, replications=1) for model in opened(planted.catalogue))
    retrieval = retrieve(planted.catalogue, planted.prompts, choices)
    plan = RouterPlan(planted.catalogue, planted.prompts, models, choices, template, retrieval)
    return PlantedCollection(planted, plan)


def _unheard(first: bool) -> None:
    """Nobody wants to be told of an interrupt."""


async def ask_world(
    world: PlantedCollection,
    ask: Ask,
    concurrency: int,
    grace: float = GRACE,
    on_interrupt: Callable[[bool], None] = _unheard,
) -> InstrumentCheck:
    """Ask every model what is planted, judge the answers, and close the routers.

    An interrupt stops the check, calls under way have the grace to end; `on_interrupt` is told whether it is the first.
    """
    plan = world.plan
    check = _Check(Questions(plan), ask)
    schedule = Schedule(check.call, CallLimits(concurrency, plan.limits(concurrency)), grace)
    try:
        with interruptible(lambda: on_interrupt(schedule.interrupt())):
            await schedule.run((call.model.group, call) for call in plan.calls())
    finally:
        for model in plan.models:
            await model.router.close()
    verdicts = (judge_planted(model.spec, model.choice.kind, world.planted, check.results) for model in plan.models)
    return InstrumentCheck(tuple(verdicts), schedule.reason)


async def check_plan(
    plan: RouterPlan,
    train: Iterable[Prompt],
    ask: Ask,
    concurrency: int,
    grace: float = GRACE,
    on_interrupt: Callable[[bool], None] = _unheard,
) -> InstrumentCheck:
    """The check of a run that is planned. Raises UsageError where a router cannot be opened."""
    choices, usable = plan.choices, tuple(train)

    def router(choice: RouterChoice, catalogue: Catalogue) -> Router:
        return open_choice(
            choice,
            catalogue,
            train=usable,
            seed=choices.seed,
            index=choices.index,
            mode=choices.mode,
            none_allowed=plan.template.none_allowed,
        )

    def opened(catalogue: Catalogue) -> list[OpenModel]:
        return [replace(model, router=router(model.choice, catalogue)) for model in plan.models]

    world = open_world(plan.catalogue, choices, plan.template, opened)
    return await ask_world(world, ask, concurrency, grace, on_interrupt)


def _free(model: OpenModel) -> bool:
    return model.price is not None and model.price.free


class _Check:
    """The calls of one check, and their results so far."""

    def __init__(self, questions: Questions, ask: Ask) -> None:
        self.results: list[RoutingResult] = []
        self._questions, self._ask = questions, ask
        self._gone: dict[str, str] = {}

    async def call(self, call: PlannedCall) -> None:
        """Ask one planted prompt. Raises StopRun."""
        spec = call.model.spec
        if spec not in self._gone:
            order = self._questions.order(call)
            attempts = await self._ask(
                call.key,
                call.model,
                lambda number: self._questions.request(call, number),
                self._questions.answers(call),
            )
            if not attempts:
                raise StopRun("a cap leaves no room for the instrument check")
            if attempts[-1].outcome != "model_unavailable":
                self.results.append(to_result(call.prompt, spec, 0, order, attempts, self._questions.meant(call)))
                return
            self._gone.setdefault(spec, attempts[-1].reply.error)
        self.results.append(not_asked(call.prompt, spec, 0, self._gone[spec]))


class DirectAsker:
    """Asks without a journal, for a check that is no part of a run. `reserve` is as in `RouterRunner`."""

    def __init__(self, plan: RouterPlan, budget: Budget, reserve: Callable[[OpenModel, RoutingRequest], float]) -> None:
        self._none_allowed, self._budget, self._reserve = plan.template.none_allowed, budget, reserve

    async def ask(
        self, key: Key, model: OpenModel, request: Callable[[int], RoutingRequest], names: Sequence[str]
    ) -> list[RoutedAttempt]:
        """See `Ask`."""
        attempts: list[RoutedAttempt] = []
        while len(attempts) < MOST_ATTEMPTS and (not attempts or attempts[-1].outcome == "format_failure"):
            question = request(len(attempts) + 1)
            held = self._reserve(model, question) if model.wired else 0.0
            if model.wired and not self._budget.reserve(held):
                return []
            meter, usd = AttemptMeter(held, self._admit, self._budget.charge), None
            try:
                with meter.running():
                    reply = await model.router.ask(question)
                kept = to_kept(reply, model.price)
                attempt = read_attempt(kept, names, self._none_allowed, model.think_tags)
                usd = kept.cost_usd if meter.charged else 0.0
            finally:
                if model.wired:
                    meter.end(usd)
            if reply.stop:
                raise StopRun(f"{reply.stop}: {reply.error}")
            if meter.refused:
                return []
            attempts.append(attempt)
        return attempts

    async def _admit(self, usd: float) -> bool:
        return self._budget.reserve(usd)


def stored_verdicts(folder: str) -> tuple[ModelVerdict, ...]:
    """The verdicts on what was planted that an earlier process wrote down; () where there is no sound record."""
    record = read_check(folder)
    return record.planted if record else ()


def join_verdicts(shards: Sequence[Sequence[ModelVerdict]]) -> tuple[ModelVerdict, ...]:
    """One verdict on each model of those that the shards of a run came to by themselves: the worst, at the cost of all.

    A model that failed in one shard has failed; where nobody answered in one, what others found stands.
    """
    found: dict[str, list[ModelVerdict]] = {}
    for verdict in (each for verdicts in shards for each in verdicts):
        found.setdefault(verdict.model, []).append(verdict)
    return tuple(
        structs.replace(
            min(verdicts, key=lambda each: (not each.failed, not each.tested)),
            cost_usd=add_known((each.cost_usd for each in verdicts), 9),
        )
        for verdicts in found.values()
    )


def write_check(
    folder: str, planted: Sequence[ModelVerdict], finished: Sequence[ModelVerdict], keys: Sequence[str]
) -> str:
    """Write the record, without the keys; its path. Raises OSError. Only for a folder that is locked."""
    path = os.path.join(folder, CHECK)
    text = redacted(durable.to_json(record_values(to_record(planted, finished))), keys) + "\n"
    durable.replace(path, text.encode("utf-8", "backslashreplace"))
    return path
