"""A prepared run, carried out: the instrument check, the calls, and what is written when they are over."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TextIO

from skill_health.bench.budget import Budget, spent_on
from skill_health.bench.journal import RESULTS, Journal
from skill_health.bench.progress import Progress, write_progress
from skill_health.bench.run_folder import drop_reports
from skill_health.bench.schedule import GRACE, INTERRUPTED, RunOutcome, interruptible
from skill_health.core.errors import GateError
from skill_health.documents._record import convert_record
from skill_health.documents.router_check import ModelVerdict
from skill_health.documents.router_result import RoutingResult
from skill_health.router.history import record_run
from skill_health.router.instrument.check import InstrumentCheck, check_plan, stored_verdicts, write_check
from skill_health.router.instrument.finished import judge_finished
from skill_health.router.instrument.planted import lines
from skill_health.router.plan.prepare import PreparedSweep
from skill_health.router.report import build_report
from skill_health.router.reports import write_reports
from skill_health.router.run.run import RouterRunner
from skill_health.router.runs import CHECK, load_manifest, read_check, read_results
from skill_health.router.scores.judge import judge, read_facts

AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class RouterRunOptions:
    """How a run is made, which is no part of what it asks.

    Caps count the attempts and dollars `before` it, too, where a command makes several runs. `checked`: one of these
    has made the instrument check.
    """

    max_runs: int | None = None
    max_usd: float | None = None
    concurrency: int = AT_ONCE
    despite_check: bool = False
    quiet: bool = False
    grace: float = GRACE
    before: tuple[int, float] = (0, 0.0)
    checked: bool = False


@dataclass(frozen=True, slots=True)
class AnsweredRun:
    """The results of a run that are there, and the verdicts of its instrument check.

    `left`, `reason` and `capped` are as in `RunOutcome`; `spent` are the attempts and dollars of this run alone.
    """

    results: tuple[RoutingResult, ...]
    verdicts: tuple[ModelVerdict, ...]
    left: int
    reason: str
    capped: bool
    spent: tuple[int, float]


def conduct(prepared: PreparedSweep, terms: RouterRunOptions, stream: TextIO | None) -> RunOutcome:
    """Make the calls that have no result yet, and write results, check, reports and history.

    Raises UsageError where another process has the journal, GateError where the instrument check forbids the
    first paid call, and AbortedError where the disk does not take what is to be written. What is done is kept
    whatever happens.
    """
    with prepared.place.open(prepared.keys) as journal:
        drop_reports(journal.folder)
        conductor, reason = _carry_out(prepared, terms, stream, journal, _budget(prepared, terms, journal))
        runner = conductor.runner
        left = runner.left()
        if left and (reason == INTERRUPTED or not journal.results):
            return RunOutcome(journal.folder, left, reason, bool(runner.capped))
        return replace(_written(prepared, journal, conductor.verdicts, left), reason=reason, capped=bool(runner.capped))


def answer_prompts(prepared: PreparedSweep, terms: RouterRunOptions, stream: TextIO | None) -> AnsweredRun:
    """Make the calls as `conduct` does, and write their results and the check alone: no report, no history.

    A run without reports is not over: the same one finds these results, and asks for what is missing. Raises as
    `conduct` does.
    """
    with prepared.place.open(prepared.keys) as journal:
        budget = _budget(prepared, terms, journal)
        conductor, reason = _carry_out(prepared, terms, stream, journal, budget)
        runner, (attempts, usd) = conductor.runner, terms.before
        return AnsweredRun(
            results=tuple(convert_record(record, RoutingResult) for record in journal.results.values()),
            verdicts=conductor.verdicts,
            left=runner.left(),
            reason=reason,
            capped=bool(runner.capped),
            spent=(budget.attempts - attempts, round(budget.spent - usd, 9)),
        )


def _carry_out(
    prepared: PreparedSweep, terms: RouterRunOptions, stream: TextIO | None, journal: Journal, budget: Budget
) -> tuple[_Conductor, str]:
    """Make the calls, and say why they ended early, "" where they did not."""
    for problem in journal.past.problems:
        write_progress(stream, f"{problem}\n")
    conductor = _Conductor(prepared, terms, stream, journal, budget)
    try:
        reason = asyncio.run(conductor.run())
    except KeyboardInterrupt:
        reason = INTERRUPTED
    if not conductor.runner.left():
        journal.finish(prepared.plan.keys())
    return conductor, reason


def _budget(prepared: PreparedSweep, terms: RouterRunOptions, journal: Journal) -> Budget:
    """The caps, with what earlier processes spent: by their attempts, and not less than their results took."""
    wired = {model.spec for model in prepared.plan.models if model.wired}
    attempts, usd = spent_on(journal.results.values(), wired)
    past, (calls, dollars) = journal.past, terms.before
    attempts, usd = max(past.attempts, attempts), max(past.usd, usd)
    return Budget(terms.max_runs, terms.max_usd, attempts=calls + attempts, spent=dollars + usd)


class _Conductor:
    """One run under way."""

    def __init__(
        self, prepared: PreparedSweep, terms: RouterRunOptions, stream: TextIO | None, journal: Journal, budget: Budget
    ) -> None:
        self.verdicts: tuple[ModelVerdict, ...] = ()
        self.runner = RouterRunner(prepared.plan, journal, budget, prepared.reserve)
        self._prepared, self._terms, self._stream, self._budget = prepared, terms, stream, budget
        self._folder = journal.folder

    async def run(self) -> str:
        """Check and run; why it stopped before its end, "" where it did not."""
        plan, terms = self._prepared.plan, self._terms
        try:
            if self.runner.left():
                if not terms.checked and (stop := await self._check()):
                    return stop
                with self._progress() as progress, interruptible(self._interrupted):
                    self.runner.on_result = lambda result: progress.update(result.status, self._spent())
                    await progress.beside(
                        self.runner.run(terms.concurrency, plan.limits(terms.concurrency), terms.grace)
                    )
            else:
                self.verdicts = stored_verdicts(self._folder)
            return self.runner.stopped or self.runner.capped or "; ".join(self.runner.down.values())
        finally:
            for model in plan.models:
                await model.router.close()

    async def _check(self) -> str:
        """The instrument check, unless this run has passed it already. Raises GateError where it must not go on."""
        plan, terms = self._prepared.plan, self._terms
        self.verdicts = stored_verdicts(self._folder)
        asked = {verdict.model for verdict in self.verdicts if verdict.tested}
        checked = InstrumentCheck(self.verdicts)
        if asked != {model.spec for model in plan.models} or checked.blocking(plan):
            ask, at_once = self.runner.ask, terms.concurrency
            checked = await check_plan(plan, self._prepared.train, ask, at_once, terms.grace, self._told)
            self.verdicts = checked.verdicts
            if checked.stop:
                return checked.stop
            write_check(self._folder, checked.verdicts, (), self._prepared.keys)
            for line in lines(verdict for verdict in checked.verdicts if not verdict.trusted):
                write_progress(self._stream, f"instrument check: {line}\n")
            for verdict in checked.verdicts:
                if not (verdict.answered or terms.despite_check):
                    self.runner.give_up(verdict.model)
        if (blocking := checked.blocking(plan)) and not terms.despite_check:
            names = ", ".join(verdict.model for verdict in blocking)
            raise GateError(
                f"the instrument check failed for {names}, so nothing more was asked: see {os.path.join(self._folder, CHECK)}, "
                "or go on with --despite-check"
            )
        return ""

    def _progress(self) -> Progress:
        planned = sum(1 for _ in self._prepared.plan.keys())  # noqa: SIM118
        return Progress(planned, self._stream, done=planned - self.runner.left(), quiet=self._terms.quiet)

    def _spent(self) -> float | None:
        priced = any(model.price and not model.price.free for model in self._prepared.plan.models)
        return self._budget.spent if priced else None

    def _interrupted(self) -> None:
        self._told(self.runner.interrupt())

    def _told(self, first: bool) -> None:
        if first:
            grace = f"{self._terms.grace:.0f} s"
            write_progress(
                self._stream,
                f"\nstopping: calls under way have {grace} to end; interrupt again to abandon them\n",
            )


def _written(prepared: PreparedSweep, journal: Journal, planted: Sequence[ModelVerdict], left: int) -> RunOutcome:
    """What is written of a run from its files, so that it is the same however often the run was interrupted."""
    folder = journal.folder
    manifest = load_manifest(folder)
    results = read_results(os.path.join(folder, RESULTS))
    finished = () if left else judge_finished(judge(read_facts(manifest), results), planted)
    check = write_check(folder, planted, finished, prepared.keys)
    record = read_check(folder)
    report = build_report(manifest, results, record)
    if not left:
        record_run(prepared.reports, manifest, report, record)
    written = [*write_reports(folder, report), os.path.join(folder, RESULTS), check]
    failed = sorted({verdict.model for verdict in (*planted, *finished) if verdict.failed})
    missing = sum(not result.scored for result in results)
    return RunOutcome(folder, left, report=report, written=tuple(written), untrusted=tuple(failed), missing=missing)
