"""The run itself: each call asked within the caps, journaled, read, and asked once more where its format failed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from skill_health.bench.budget import AttemptMeter, Budget
from skill_health.bench.journal import Journal
from skill_health.bench.run.conduct import RunTerms
from skill_health.bench.run.questions import ModelQuestion, ModelRunner
from skill_health.bench.run.schedule import GRACE
from skill_health.documents._record import record_values
from skill_health.documents.router_attempt import AttemptReply, RoutingAttempt
from skill_health.router.plan.plan import Key, OpenModel, PlannedCall, Questions, RouterPlan
from skill_health.router.records import RoutingRequest, RoutingResult
from skill_health.router.routers._api import BatchRouter
from skill_health.router.routers._load import PROVIDER
from skill_health.router.run.outcome import RoutedAttempt, not_asked, read_attempt, to_kept, to_result

OUTAGE = 20
Reserve = Callable[[OpenModel, RoutingRequest], float]


class RouterRunner(ModelRunner[PlannedCall]):
    """One run, or what is left of it.

    `reserve` says what one request can cost at most, in dollars; `cancelling` that batches are to be cancelled.
    `reused` are answers of another run.
    """

    ATTEMPT = RoutingAttempt
    cancelling = False
    reused: Mapping[Key, RoutingResult] = MappingProxyType({})

    def __init__(
        self,
        plan: RouterPlan,
        journal: Journal,
        budget: Budget,
        reserve: Reserve,
    ) -> None:
        super().__init__(journal, budget)
        self.plan = plan
        self._reserve = reserve
        self._questions = Questions(plan)
        self._gone: dict[str, str] = {}
        self._first: dict[tuple[str, tuple[str, ...]], asyncio.Event] = {}

    def keys(self) -> Iterator[Key]:
        """The keys of all calls in the order of the finished results."""
        return self.plan.keys()

    async def take_over(self, terms: RunTerms) -> None:
        """Write down the answers of another run that are wanted."""
        for key, result in self.reused.items():
            if self.wants(key):
                await self.journal.add(record_values(result))

    async def run(self, concurrency: int, grace: float = GRACE) -> None:
        """Make every call that has no result yet."""
        calls = [call for call in self.plan.calls() if self.wants(call.key)]
        limits = self.plan.limits(concurrency)
        if lanes := self.plan.lanes():
            self.take_batches(lanes, self.cancelling)
            # Calls that wait for a batch are under way all at once.
            limits |= {model.group: len(calls) for model in self.plan.models if model.batched}
            concurrency += len(calls)
        await self.do(self._call, ((call.model.group, call) for call in calls), concurrency, limits, grace)

    async def _call(self, call: PlannedCall) -> None:
        spec = call.model.spec
        if spec in self.down:
            return
        if spec not in self._gone:
            order, names = self._questions.order(call), self._questions.answers(call)
            request = lambda number: self._questions.request(call, number)  # noqa: E731
            route = self.route_batched if call.model.batched else self.route
            async with self._after_first(call, order):
                attempts = await route(call.key, call.model, request, names)
            if not attempts:
                return
            if attempts[-1].outcome != "model_unavailable":
                meant = self._questions.meant(call)
                await self._write(to_result(call.prompt, spec, call.replication, order, attempts, meant))
                return
            self._gone.setdefault(spec, attempts[-1].reply.error)
        await self._write(not_asked(call.prompt, spec, call.replication, self._gone[spec]))

    @asynccontextmanager
    async def _after_first(self, call: PlannedCall, order: Sequence[str]) -> AsyncIterator[None]:
        """Wait for the first call of a model in an order that others share: it fills the provider's cache for them."""
        name = (call.model.spec, tuple(order))
        if not self._questions.shares(call) or not call.model.wired:
            yield
        elif name in self._first:
            await self._first[name].wait()
            yield
        else:
            asked = self._first[name] = asyncio.Event()
            try:
                yield
            finally:
                asked.set()

    async def _write(self, result: RoutingResult) -> None:
        await self.settle(record_values(result), result.status)

    async def route(
        self, key: Key, model: OpenModel, request: Callable[[int], RoutingRequest], names: Sequence[str]
    ) -> list[RoutedAttempt]:
        """The attempts at one call, recorded ones first; [] where a cap forbids one that is needed.

        Raises StopRun where a reply stops the run, or where the run has been stopped meanwhile.
        """
        posed, model = cache(request), model.one_by_one()

        async def send(number: int, meter: AttemptMeter) -> AttemptReply:
            kept = to_kept(await model.router.ask(posed(number)), model.price)
            return replace(kept, cost_usd=0.0) if kept.cost_usd is None and not meter.charged else kept

        return await self.ask(
            ModelQuestion(
                key, model.spec,
                most_usd=lambda number: self._reserve(model, posed(number)) if model.wired else 0.0,
                send=send,
                read=lambda reply: read_attempt(reply, names, self.plan.template.none_allowed, model.think_tags),
                outage=OUTAGE if model.choice.kind == PROVIDER else 0,
                metered=model.wired,
            )
        )  # fmt: skip

    async def route_batched(
        self, key: Key, model: OpenModel, request: Callable[[int], RoutingRequest], names: Sequence[str]
    ) -> list[RoutedAttempt]:
        """The same in a batch. Nothing that was posed is kept: all calls wait at once."""
        router = model.router
        assert isinstance(router, BatchRouter)

        async def send(number: int, meter: AttemptMeter) -> AttemptReply:
            raise RuntimeError("a call of a batch is not sent by itself")

        return await self.ask(
            ModelQuestion(
                key, model.spec,
                most_usd=lambda number: self._reserve(model, request(number)),
                send=send,
                read=lambda reply: read_attempt(reply, names, self.plan.template.none_allowed, model.think_tags),
                outage=0,
                pose=lambda number: router.converse(request(number)),
            )
        )  # fmt: skip

    def reason_to_stop(self, question: ModelQuestion[Any], reply: AttemptReply) -> str:
        """Why no more may be asked after this reply; a model that is not there has results that say so."""
        return f"{reply.stop}: {reply.error}" if reply.stop else ""
