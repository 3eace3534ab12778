"""The run itself: each trial made within the caps, journaled, and made again where the infrastructure failed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from msgspec import structs

from skill_health.bench.budget import Budget
from skill_health.bench.journal import Journal, read_clock
from skill_health.bench.schedule import GRACE, RunnerWork, StopRun
from skill_health.documents._record import convert_record, record_values
from skill_health.documents.effect_attempt import TrialAttempt
from skill_health.documents.effect_result import Key, TrialResult
from skill_health.effectiveness.plan.plan import Planned, TrialPlan
from skill_health.effectiveness.run.runs import folder_of, make_way
from skill_health.effectiveness.trial.spec import TrialSpec

MOST_ATTEMPTS = 3
OUTAGE = 5
"""So many trials in a row of which no attempt came to an end, and a model is left alone."""
_STOPS = ("quota", "auth")

Trial = Callable[[TrialSpec, str], Awaitable[TrialResult]]
"""Runs the trial of a cell and keeps it in a folder, as `skill_health.effectiveness.trial.trial.run_trial` does."""
Expected = Mapping[str, tuple[str, ...] | None]
"""What an agent lists beside skills of the collection, by the name of the model; None where nobody knows."""


class TrialRunner(RunnerWork[Planned]):
    """One run, or what is left of it.

    `disagreed` is what an agent was offered against the plan, "" where that did not happen. `on_result` is told of each
    result once it is durable.
    """

    def __init__(self, plan: TrialPlan, journal: Journal, budget: Budget, trial: Trial) -> None:
        super().__init__(journal, budget)
        self.plan = plan
        self.disagreed = ""
        self.expected: Expected = {}
        self.on_result: Callable[[TrialResult], None] = lambda result: None
        self._trial = trial

    def left(self) -> int:
        """How many trials have no result."""
        return sum(key not in self.journal.results for key in self.plan.keys())  # noqa: SIM118

    async def run(self, concurrency: int, grace: float = GRACE) -> None:
        """Make every trial that has no result yet."""
        planned = [each for each in self.plan.trials() if each.key not in self.journal.results]
        pairs = ((each.model.server, each) for each in planned)
        await self.do(self._make, pairs, concurrency, self.plan.at_once(concurrency), grace)

    async def _make(self, planned: Planned) -> None:
        """Make one trial, again where the infrastructure failed; without a result where a cap or outage forbids it."""
        spec = planned.model.spec
        result, number = self._recorded(planned.key)
        for _ in range(0 if result else MOST_ATTEMPTS - number % MOST_ATTEMPTS):
            usd = planned.model.reserved * planned.arm.agents
            if spec in self.down or not await self.admitted(usd):
                return
            result = await self._attempt(planned, number, usd)
            number += 1
            if result.outcome == "cancelled":
                return
            if result.outcome != "infrastructure":
                self.errors.pop(spec, None)
                break
        if result and not result.finished:
            self._note_failure(spec, result)
        if result and (result.finished or spec not in self.down):
            await self.journal.add(record_values(result))
            self.on_result(result)

    def _recorded(self, key: Key) -> tuple[TrialResult | None, int]:
        """What earlier processes saw of a key and did not live to write as its result; and the attempts that failed."""
        failed = 0
        for event in self.journal.past.ends.get(key, ()):
            try:
                result = convert_record(event, TrialAttempt).result
            except ValueError:
                continue
            if not result:
                continue
            if result.finished and result.key == key:
                return result, failed
            failed += result.outcome == "infrastructure"
        return None, failed

    async def _attempt(self, planned: Planned, failed: int, usd: float) -> TrialResult:
        """One attempt after so many that failed; `usd` is reserved for it. Raises StopRun where it stops the run."""
        folder = folder_of(planned.key)
        place = os.path.join(self.journal.folder, folder)
        actual: float | None = None
        try:
            start = TrialAttempt(event="start", key=planned.key, attempt=failed + 1, at=read_clock(), reserved_usd=usd)
            await self.journal.append(record_values(start))
            await asyncio.to_thread(make_way, place, failed)
            cell = replace(self.plan.cell(planned), attempt=failed + 1, expected=self.expected.get(planned.model.spec))
            result = structs.replace(await self._trial(cell, place), attempts=failed + 1, folder=folder)
            actual = 0.0 if planned.model.free else result.cost_usd
        except asyncio.CancelledError:
            end = TrialAttempt(
                event="end",
                key=planned.key,
                attempt=failed + 1,
                at=read_clock(),
                outcome="cancelled",
                cost_usd=None,
            )
            self.journal.note(record_values(end))
            raise
        finally:
            self.charge(usd, actual)
        end = TrialAttempt(
            event="end",
            key=planned.key,
            attempt=failed + 1,
            at=read_clock(),
            outcome=result.outcome,
            cost_usd=actual,
            error=result.error,
            result=result,
        )
        if reason := self._reason_to_stop(result):
            await self.journal.append(record_values(end))
            raise StopRun(reason)
        # The result, or the start of the next attempt, takes this line to the disk with it.
        self.journal.note(record_values(end))
        return result

    def _reason_to_stop(self, result: TrialResult) -> str:
        if result.outcome in _STOPS:
            return f"{result.outcome}: {result.error}"
        if result.disagreement:
            where = f"{result.model}, {result.arm}, task {result.task_id}"
            self.disagreed = self.disagreed or f"{where}: {result.disagreement}"
            return self.disagreed
        return ""

    def _note_failure(self, spec: str, result: TrialResult) -> None:
        errors = self.errors.setdefault(spec, [])
        errors.append(result.error)
        if len(errors) >= OUTAGE and spec not in self.down:
            self.down[spec] = f"{spec} did not come to an end in {len(errors)} trials in a row: {result.error}"
