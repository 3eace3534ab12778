"""The run itself: each request made within the caps, journaled, and made again where the infrastructure failed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from msgspec import structs

from skill_health.activation.call.load import LoadRecord
from skill_health.activation.call.workshop import Workshop
from skill_health.activation.plan.plan import ActivationPlan, PlannedLoad
from skill_health.activation.run.runs import stream_of
from skill_health.bench import durable
from skill_health.bench.budget import Budget
from skill_health.bench.journal import Journal, read_clock
from skill_health.bench.schedule import GRACE, RunnerWork, StopRun
from skill_health.documents._record import convert_record, record_values
from skill_health.documents.activation_attempt import LoadAttempt
from skill_health.documents.activation_result import LoadKey, LoadResult
from skill_health.effectiveness.run.probes import REQUESTS
from skill_health.effectiveness.run.run import MOST_ATTEMPTS, OUTAGE
from skill_health.effectiveness.trial.spec import TrialSpec

_STOPS = ("quota", "auth")
Load = Callable[[TrialSpec, Workshop, int, tuple[str, ...]], Awaitable[LoadRecord]]
"""Makes one request, as `skill_health.activation.call.load.run_load` does."""
Beside = Mapping[str, tuple[str, ...] | None]
"""What an agent lists beside skills of the collection, by the name of the model; None where nobody knows."""


class ActivationRunner(RunnerWork[PlannedLoad]):
    """One run, or what is left of it.

    `disagreed` is what an agent was offered against the plan, "" where that did not happen. `on_result` is told of each
    result once it is durable.
    """

    def __init__(self, plan: ActivationPlan, journal: Journal, budget: Budget, load: Load) -> None:
        super().__init__(journal, budget)
        self.plan = plan
        self.disagreed = ""
        self.beside: Beside = {}
        self.on_result: Callable[[LoadResult], None] = lambda result: None
        self._load = load
        self._workshop = Workshop(journal.folder)
        self._texts = {prompt.prompt_id: prompt.text for prompt in plan.prompts}

    def left(self) -> int:
        """How many requests have no result."""
        return sum(key not in self.journal.results for key in self.plan.keys())  # noqa: SIM118

    async def run(self, concurrency: int, grace: float = GRACE) -> None:
        """Make every request that has no result yet."""
        planned = [each for each in self.plan.loads() if each.key not in self.journal.results]
        pairs = ((each.model.server, each) for each in planned)
        try:
            await self.do(self._make, pairs, concurrency, self.plan.at_once(concurrency), grace)
        finally:
            await self._workshop.close()

    async def _make(self, planned: PlannedLoad) -> None:
        """Make one request, again where the infrastructure failed; no result where a cap or outage forbids it."""
        spec = planned.model.spec
        result, number = self._recorded(planned.key)
        for _ in range(0 if result else MOST_ATTEMPTS - number % MOST_ATTEMPTS):
            if spec in self.down or not await self.admitted(planned.model.reserved):
                return
            result = await self._attempt(planned, number)
            number += 1
            if result.outcome != "infrastructure":
                self.errors.pop(spec, None)
                break
        if result and not result.scored:
            self._note_failure(spec, result)
        if result and (result.scored or spec not in self.down):
            await self.journal.add(record_values(result))
            self.on_result(result)

    def _recorded(self, key: LoadKey) -> tuple[LoadResult | None, int]:
        """What earlier processes saw of a key and did not live to write as its result; and the attempts that failed."""
        failed = 0
        for event in self.journal.past.ends.get(key, ()):
            try:
                result = convert_record(event, LoadAttempt).result
            except ValueError:
                continue
            if not result:
                continue
            if result.scored and result.key == key:
                return result, failed
            failed += result.outcome == "infrastructure"
        return None, failed

    async def _attempt(self, planned: PlannedLoad, failed: int) -> LoadResult:
        """One attempt after so many that failed. Raises StopRun where it stops the run."""
        usd, key = planned.model.reserved, planned.key
        actual: float | None = None
        try:
            start = LoadAttempt(event="start", key=key, attempt=failed + 1, at=read_clock(), reserved_usd=usd)
            await self.journal.append(record_values(start))
            cell = replace(self.plan.cell(planned), attempt=failed + 1, expected=self.beside.get(planned.model.spec))
            others = tuple(text for prompt, text in self._texts.items() if prompt != planned.prompt.prompt_id)
            record = await self._load(cell, self._workshop, self.plan.choices.turns, others)
            actual = 0.0 if planned.model.free else record.result.cost_usd
            result = await asyncio.to_thread(self._kept, key, record, failed + 1)
        except asyncio.CancelledError:
            self.journal.note(self._end(key, failed + 1, None, None))
            raise
        finally:
            self.charge(usd, actual)
        end = self._end(key, failed + 1, result, actual)
        if reason := self._reason_to_stop(result):
            await self.journal.append(end)
            raise StopRun(reason)
        # The result, or the start of the next attempt, takes this line to the disk with it.
        self.journal.note(end)
        return result

    def _end(self, key: LoadKey, attempt: int, result: LoadResult | None, usd: float | None) -> dict[str, object]:
        end = LoadAttempt(
            event="end", key=key, attempt=attempt, at=read_clock(),
            outcome=result.outcome if result else "cancelled", cost_usd=usd,
        )  # fmt: skip
        return record_values(structs.replace(end, error=result.error, result=result) if result else end)

    def _kept(self, key: LoadKey, record: LoadRecord, attempt: int) -> LoadResult:
        """The result, once what it rests on is in the run's folder."""
        name = stream_of(key)
        place = os.path.join(self.journal.folder, name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        durable.replace(place, record.stream)
        if record.result.request:
            request = os.path.join(self.journal.folder, REQUESTS, f"{record.result.request}.txt")
            if not os.path.exists(request) and record.result.disagreement:
                os.makedirs(os.path.dirname(request), exist_ok=True)
                durable.replace(request, record.request)
        return structs.replace(record.result, stream=name, attempts=attempt)

    def _reason_to_stop(self, result: LoadResult) -> str:
        if result.outcome in _STOPS:
            return f"{result.outcome}: {result.error}"
        if result.disagreement:
            self.disagreed = self.disagreed or f"{result.model}, prompt {result.prompt_id}: {result.disagreement}"
            return self.disagreed
        return ""

    def _note_failure(self, spec: str, result: LoadResult) -> None:
        errors = self.errors.setdefault(spec, [])
        errors.append(result.error)
        if len(errors) >= OUTAGE and spec not in self.down:
            self.down[spec] = f"{spec} did not come to an end in {len(errors)} requests in a row: {result.error}"
