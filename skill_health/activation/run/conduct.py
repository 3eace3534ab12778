"""A prepared run, carried out: the probes, the requests, and what is written when they are over."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TextIO

from skill_health.activation.plan.prepare import AT_ONCE, PreparedActivation
from skill_health.activation.run.run import ActivationRunner, Load
from skill_health.activation.run.runs import load_activation_run
from skill_health.bench.budget import Budget, spent_on
from skill_health.bench.journal import RESULTS, Journal
from skill_health.bench.progress import Progress, write_progress
from skill_health.bench.run_folder import drop_reports
from skill_health.bench.schedule import INTERRUPTED, RunOutcome, Schedule, interruptible
from skill_health.core.errors import GateError
from skill_health.effectiveness.agents._api import unproved_of
from skill_health.effectiveness.run.probes import Ask, Judge, ProbeRequest, Probing
from skill_health.effectiveness.run.runs import PROBES

GRACE = 20.0
"""Seconds that requests under way have to end when the run is interrupted."""


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
    report = build_activation_report(run.manifest, run.results)
    if not left:
        record_activation(prepared.reports, run.manifest, report)
    written = [*write_reports(run.folder, report), os.path.join(run.folder, RESULTS)]
    missing = sum(not result.scored for result in run.results)
    return RunOutcome(run.folder, left, report=report, written=tuple(written), missing=missing)
