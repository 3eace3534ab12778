"""A prepared run, carried out: the probes, each request within the caps and journaled, and what is then written."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TextIO

from msgspec import structs

from skill_health.activation.call.load import LoadRecord
from skill_health.activation.call.workshop import Workshop
from skill_health.activation.plan.plan import ActivationPlan, PlannedLoad
from skill_health.activation.plan.prepare import AT_ONCE, PreparedActivation
from skill_health.activation.run.runs import load_activation_run, stream_of
from skill_health.bench import durable
from skill_health.bench.budget import Budget, spent_on
from skill_health.bench.journal import RESULTS, Journal, read_clock
from skill_health.bench.progress import Progress, write_progress
from skill_health.bench.run_folder import drop_reports
from skill_health.bench.schedule import INTERRUPTED, RunnerWork, RunOutcome, Schedule, StopRun, interruptible
from skill_health.core.errors import GateError
from skill_health.documents._record import convert_record, record_values
from skill_health.documents.activation_attempt import LoadAttempt
from skill_health.documents.activation_result import LoadKey, LoadResult
from skill_health.effectiveness.agents._api import unproved_of
from skill_health.effectiveness.run.probes import REQUESTS, Ask, Judge, ProbeRequest, Probing
from skill_health.effectiveness.run.run import MOST_ATTEMPTS, OUTAGE
from skill_health.effectiveness.run.runs import PROBES
from skill_health.effectiveness.trial.spec import TrialSpec

GRACE = 20.0
"""Seconds that requests under way have to end when the run is interrupted."""
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


@dataclass(frozen=True, slots=True)
class ActivationRunOptions:
    """How a run is made, which is no part of what it asks."""

    max_runs: int | None = None
    max_usd: float | None = None
    concurrency: int = AT_ONCE
    quiet: bool = False
    grace: float = GRACE


@dataclass(frozen=True, slots=True)
class ActivationParts:
    """What does the work: makes a request, asks an agent what it sees, and judges that."""

    load: Load
    ask: Ask
    judge: Judge


def parts() -> ActivationParts:
    """The real ones."""
    from skill_health.activation.call.load import run_load
    from skill_health.effectiveness.run.probes import problems, run_probe

    return ActivationParts(run_load, run_probe, problems)


def conduct(
    prepared: PreparedActivation, terms: ActivationRunOptions, stream: TextIO | None, by: ActivationParts | None = None
) -> RunOutcome:
    """Make the requests that have no result yet, and write results, report and history.

    Raises UsageError where another process has the journal, GateError where an agent sees other skills than it should,
    before or in a request, and AbortedError where the disk does not take what is to be written. What is done is kept
    whatever happens.
    """
    with prepared.place.open(prepared.plan.secrets) as journal:
        for problem in journal.past.problems:
            write_progress(stream, f"{problem}\n")
        drop_reports(journal.folder)
        conductor = _Conductor(prepared, terms, stream, journal, by or parts())
        try:
            reason = asyncio.run(conductor.run())
        except KeyboardInterrupt:
            reason = INTERRUPTED
        runner = conductor.runner
        if runner.disagreed:
            raise GateError(f"an agent saw other things than it should, so the run stopped: {runner.disagreed}")
        left = runner.left()
        if left and (reason == INTERRUPTED or not journal.results):
            return RunOutcome(journal.folder, left, reason, bool(runner.capped))
        if not left:
            journal.finish(prepared.plan.keys())
        return replace(_written(prepared, journal, left), reason=reason, capped=bool(runner.capped))


class _Conductor:
    """One run under way."""

    def __init__(
        self, prepared: PreparedActivation, terms: ActivationRunOptions, stream: TextIO | None, journal: Journal,
        by: ActivationParts,
    ) -> None:  # fmt: skip
        self._prepared, self._terms, self._stream = prepared, terms, stream
        self._budget = _budget(prepared, terms, journal)
        self.runner = ActivationRunner(prepared.plan, journal, self._budget, by.load)
        self._probing = Probing(prepared.plan.probes(), journal.folder, by.ask, by.judge)
        self._interrupt: Callable[[], bool] = self.runner.interrupt

    async def run(self) -> str:
        """Ask what agents see, and make the requests; why it stopped before its end, "" where it did not."""
        runner, terms = self.runner, self._terms
        if not runner.left():
            return ""
        with interruptible(self._interrupted):
            if stop := await self._probe():
                return stop
            self._interrupt = runner.interrupt
            with self._progress() as progress:
                runner.on_result = lambda result: progress.update(result.outcome, self._spent())
                await progress.beside(runner.run(terms.concurrency, terms.grace))
        return runner.stopped or runner.capped or "; ".join(runner.down.values())

    async def _probe(self) -> str:
        """The probes that were not made yet. Raises GateError where one disagrees with the plan."""
        probing, terms = self._probing, self._terms
        left = len(probing.wanted) - len(probing.records)
        for model in self._prepared.plan.models:
            if unseen := unproved_of(model.choice.agent):
                write_progress(self._stream, f"{model.spec}, under a weaker proof: {unseen}\n")
        with Progress(left, self._stream, quiet=terms.quiet, fine=("asked",), what="agents asked: ") as progress:
            probing.on_probe = lambda probe: progress.update("disagrees" if probe.problems else "asked")
            stop = await progress.beside(probing.run(terms.concurrency, self._began, terms.grace))
        if stop:
            return stop
        if problems := probing.problems:
            more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            path = os.path.join(self.runner.journal.folder, PROBES)
            raise GateError(
                f"nothing was spent, since an agent would not see what it should: {problems[0]}{more}; see {path}"
            )
        self.runner.beside = probing.expected()
        return ""

    def _began(self, schedule: Schedule[ProbeRequest]) -> None:
        self._interrupt = schedule.interrupt

    def _interrupted(self) -> None:
        if self._interrupt():
            grace = f"{self._terms.grace:.0f} s"
            write_progress(
                self._stream, f"\nstopping: what is under way has {grace} to end; interrupt again to abandon it\n"
            )

    def _progress(self) -> Progress:
        planned = sum(1 for _ in self._prepared.plan.keys())  # noqa: SIM118
        done = planned - self.runner.left()
        fine = ("loaded", "answered", "turn_limit")
        return Progress(planned, self._stream, done=done, quiet=self._terms.quiet, fine=fine)

    def _spent(self) -> float | None:
        priced = any(not model.free for model in self._prepared.plan.models)
        return self._budget.spent if priced else None


def _budget(prepared: PreparedActivation, terms: ActivationRunOptions, journal: Journal) -> Budget:
    """The caps, with what earlier processes spent: by their attempts, and not less than their results took."""
    models = prepared.plan.models
    attempts, _ = spent_on(journal.results.values(), {model.spec for model in models})
    _, usd = spent_on(journal.results.values(), {model.spec for model in models if not model.free})
    past = journal.past
    return Budget(
        terms.max_runs, terms.max_usd, attempts=max(past.attempts, attempts), spent=max(past.usd, usd), what="request"
    )


def _written(prepared: PreparedActivation, journal: Journal, left: int) -> RunOutcome:
    """What is written of a run from its files, so that it is the same however often the run was interrupted."""
    from skill_health.activation.history import record_activation
    from skill_health.activation.report import build_activation_report
    from skill_health.activation.reports import write_reports

    run = load_activation_run(journal.folder)
    report = build_activation_report(run.manifest, run.results, prepared.plan.choices.routers)
    if not left:
        record_activation(prepared.reports, run.manifest, report)
    written = [*write_reports(run.folder, report), os.path.join(run.folder, RESULTS)]
    missing = sum(not result.scored for result in run.results)
    return RunOutcome(run.folder, left, report=report, written=tuple(written), missing=missing)
