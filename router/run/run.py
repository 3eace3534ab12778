"""The run itself: each call asked within the caps, journaled, read, and asked once more where its format failed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from skill_health.bench.budget import AttemptMeter, Budget
from skill_health.bench.journal import Journal, read_clock
from skill_health.bench.run.conduct import RunnerWork
from skill_health.bench.run.schedule import GRACE, StopRun
from skill_health.documents._record import record_values
from skill_health.documents.router_attempt import RoutingAttempt
from skill_health.router.plan.plan import Key, OpenModel, PlannedCall, Questions, RouterPlan
from skill_health.router.records import RoutingRequest, RoutingResult
from skill_health.router.routers._load import PROVIDER
from skill_health.router.run.outcome import Attempt, from_event, not_asked, read_attempt, to_event, to_result

MOST_ATTEMPTS = 2
OUTAGE = 20
Reserve = Callable[[OpenModel, RoutingRequest], float]


class RouterRunner(RunnerWork[PlannedCall]):
    """One run, or what is left of it.

    `reserve` says what one request can cost at most, in dollars.
    """

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

    def keys(self) -> Iterator[Key]:
        """The keys of all calls in the order of the finished results."""
        return self.plan.keys()

    async def run(self, concurrency: int, grace: float = GRACE) -> None:
        """Make every call that has no result yet."""
        calls = [call for call in self.plan.calls() if call.key not in self.journal.results]
        limits = self.plan.limits(concurrency)
        await self.do(self._call, ((call.model.group, call) for call in calls), concurrency, limits, grace)

    async def _call(self, call: PlannedCall) -> None:
        spec = call.model.spec
        if spec in self.down:
            return
        if spec not in self._gone:
            order = self._questions.order(call)
            attempts = await self.ask(call.key, call.model, lambda number: self._questions.request(call, number), order)
            if not attempts:
                return
            if attempts[-1].status != "model_unavailable":
                await self._write(to_result(call.prompt, spec, call.replication, order, attempts))
                return
            self._gone.setdefault(spec, attempts[-1].reply.error)
        await self._write(not_asked(call.prompt, spec, call.replication, self._gone[spec]))

    async def _write(self, result: RoutingResult) -> None:
        await self.settle(record_values(result), result.status)

    async def ask(
        self, key: Key, model: OpenModel, request: Callable[[int], RoutingRequest], names: Sequence[str]
    ) -> list[Attempt]:
        """The attempts at one call, recorded ones first; [] where a cap forbids one that is needed.

        Raises StopRun where a reply stops the run, or where the run has been stopped meanwhile.
        """
        recorded = self._recorded(key, model, names)
        attempts: list[Attempt] = []
        for number in range(1, MOST_ATTEMPTS + 1):
            attempt = recorded.get(number)
            if attempt is None:
                question = request(number)
                usd = self._reserve(model, question) if model.wired else 0.0
                if model.wired and not await self.admitted(usd):
                    return []
                attempt, refused = await self._attempt(key, number, model, question, names, usd)
                if refused:
                    return []
            attempts.append(attempt)
            if attempt.status != "format_failure":
                break
        return attempts

    def _recorded(self, key: Key, model: OpenModel, names: Sequence[str]) -> dict[int, Attempt]:
        """The attempts that an earlier process has seen end, and whose result it did not live to write."""
        found: dict[int, Attempt] = {}
        for event in self.journal.past.ends.get(key, ()):
            if told := from_event(event):
                number, reply = told
                attempt = read_attempt(reply, names, self.plan.template.none_allowed, model.price, model.think_tags)
                if attempt.answered:
                    found.setdefault(number, attempt)
        return found

    def give_up(self, spec: str) -> None:
        """Leave a model alone whose last calls ended in errors: they have no result, and a resumed run asks them."""
        if errors := self.errors.get(spec):
            self.down[spec] = f"{spec} did not answer {len(errors)} calls in a row: {errors[-1]}"

    def _note_error(self, model: OpenModel, attempt: Attempt) -> None:
        """A server that is down costs minutes of patience for each call: after many of them it is left alone."""
        if attempt.status != "provider_error":
            self.errors.pop(model.spec, None)
        elif model.choice.kind == PROVIDER:
            self.errors.setdefault(model.spec, []).append(attempt.reply.error)
            if len(self.errors[model.spec]) >= OUTAGE:
                self.give_up(model.spec)

    async def _attempt(
        self, key: Key, number: int, model: OpenModel, request: RoutingRequest, names: Sequence[str], usd: float
    ) -> tuple[Attempt, bool]:
        """The attempt, and whether a cap kept it from being sent again; `usd` is reserved for it."""

        def line(event: Literal["start", "end"], **more: Any) -> dict[str, Any]:
            made = RoutingAttempt(event=event, key=key, attempt=number, at=read_clock(), **more)
            return record_values(made)

        async def begin() -> None:
            if model.wired:
                await self.journal.append(line("start", reserved_usd=usd))

        async def again(usd: float) -> bool:
            if admitted := await self.admitted(usd):
                await begin()
            return admitted

        meter = AttemptMeter(usd, again, self.charge)
        actual: float | None = None
        try:
            await begin()
            with meter.running():
                reply = await model.router.ask(request)
            attempt = read_attempt(reply, names, self.plan.template.none_allowed, model.price, model.think_tags)
            if attempt.usd is None and not meter.charged:
                attempt = replace(attempt, usd=0.0)
            actual = attempt.usd
        except asyncio.CancelledError:
            self.journal.note(line("end", status="cancelled") | {"cost_usd": None})
            raise
        finally:
            if model.wired:
                meter.end(actual)
        record = line("end") | record_values(to_event(attempt))
        if reply.stop:
            await self.journal.append(record)
            raise StopRun(f"{reply.stop}: {reply.error}")
        self._note_error(model, attempt)
        # The result, or the start of the next attempt, takes this line to the disk with it.
        self.journal.note(record)
        return attempt, meter.refused
