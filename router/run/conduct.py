"""A prepared run, carried out: the instrument check, the calls, and what is written when they are over."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TextIO

from skill_health.bench.budget import Budget
from skill_health.bench.journal import RESULTS, Journal
from skill_health.bench.progress import write_progress
from skill_health.bench.run import conduct as engine
from skill_health.bench.run.conduct import RunOutcome, RunTerms, budget_of, carry_out, say_stopping
from skill_health.bench.run.merge import RunShard, merge_shards
from skill_health.core.errors import GateError
from skill_health.documents._record import convert_record
from skill_health.documents.router_check import ModelVerdict
from skill_health.documents.router_result import RoutingResult
from skill_health.router.history import record_run
from skill_health.router.instrument.check import (
    InstrumentCheck,
    check_plan,
    join_verdicts,
    stored_verdicts,
    write_check,
)
from skill_health.router.instrument.finished import judge_finished
from skill_health.router.instrument.planted import lines
from skill_health.router.plan.prepare import PreparedSweep
from skill_health.router.report import build_report
from skill_health.router.reports import write_reports
from skill_health.router.run.run import RouterRunner
from skill_health.router.runs import CHECK, OF_ROUTER, load_manifest, read_check, read_results
from skill_health.router.scores.judge import judge, read_facts


@dataclass(frozen=True, slots=True)
class RouterRunOptions(RunTerms):
    """How a run is made, which is no part of what it asks; `checked`: one before it has made the instrument check.

    With `cancel_batches` nothing is asked: what is with providers is cancelled, and what is done of it kept.
    """

    _: KW_ONLY
    despite_check: bool = False
    cancel_batches: bool = False
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

    Raises as `skill_health.bench.run.conduct.conduct` does; GateError where the instrument check forbids the first paid
    call.
    """
    return engine.conduct(
        prepared.place, prepared.keys, terms, stream,
        lambda journal: _CheckedRunner(prepared, terms, journal, _budget(prepared, terms, journal)),
        lambda runner, left: write_run(prepared.reports, runner.journal.folder, runner.verdicts, prepared.keys, left),
    )  # fmt: skip


def answer_prompts(prepared: PreparedSweep, terms: RouterRunOptions, stream: TextIO | None) -> AnsweredRun:
    """Make the calls as `conduct` does, and write their results and the check alone: no report, no history.

    A run without reports is not over: the same one finds these results, and asks for what is missing. Raises as
    `conduct` does.
    """
    with prepared.place.open(prepared.keys) as journal:
        budget = _budget(prepared, terms, journal)
        runner, (attempts, usd) = _CheckedRunner(prepared, terms, journal, budget), terms.before
        runner.others = prepared.place.others
        reason = carry_out(runner, terms, stream)
        return AnsweredRun(
            results=tuple(convert_record(record, RoutingResult) for record in journal.results.values()),
            verdicts=runner.verdicts,
            left=runner.left(),
            reason=reason,
            capped=bool(runner.capped),
            spent=(budget.attempts - attempts, round(budget.spent - usd, 9)),
        )


def _budget(prepared: PreparedSweep, terms: RouterRunOptions, journal: Journal) -> Budget:
    wired = {model.spec for model in prepared.plan.models if model.wired}
    asked = lambda record: record["model"] in wired  # noqa: E731
    return budget_of(terms, journal, counts=asked, costs=asked)


class _CheckedRunner(RouterRunner):
    """One run with the instrument check before it, whose `verdicts` it keeps."""

    def __init__(self, prepared: PreparedSweep, terms: RouterRunOptions, journal: Journal, budget: Budget) -> None:
        super().__init__(prepared.plan, journal, budget, prepared.reserve)
        self.verdicts = () if terms.checked and self.left() else stored_verdicts(journal.folder)
        self._prepared, self._options, self.cancelling = prepared, terms, terms.cancel_batches
        self.reused = prepared.reused

    @property
    def spent(self) -> float | None:
        """Dollars so far, None where nothing has a price."""
        priced = any(model.price and not model.price.free for model in self.plan.models)
        return self.budget.spent if priced else None

    async def close(self) -> None:
        """Close the routers."""
        for model in self.plan.models:
            await model.router.close()

    async def check(self, terms: RunTerms, stream: TextIO | None) -> str:
        """The instrument check, unless this run has passed it already. Raises GateError where it must not go on."""
        plan, options, folder = self.plan, self._options, self.journal.folder
        if options.checked or options.cancel_batches:
            return ""
        asked = {verdict.model for verdict in self.verdicts if verdict.tested}
        checked = InstrumentCheck(self.verdicts)
        if asked != {model.spec for model in plan.models} or checked.blocking(plan):
            checked = await check_plan(
                plan, self._prepared.train, self.route, terms.concurrency, terms.grace,
                lambda first: say_stopping(self, first, terms, stream),
            )  # fmt: skip
            self.verdicts = checked.verdicts
            if checked.stop:
                return checked.stop
            write_check(folder, checked.verdicts, (), self._prepared.keys)
            for line in lines(verdict for verdict in checked.verdicts if not verdict.trusted):
                write_progress(stream, f"instrument check: {line}\n")
            for verdict in checked.verdicts:
                if not (verdict.answered or options.despite_check):
                    self.give_up(verdict.model)
        if (blocking := checked.blocking(plan)) and not options.despite_check:
            names = ", ".join(verdict.model for verdict in blocking)
            raise GateError(
                f"the instrument check failed for {names}, so nothing more was asked: see {os.path.join(folder, CHECK)}, "
                "or go on with --despite-check"
            )
        return ""


def merge(folders: Sequence[str], reports: str) -> RunOutcome:
    """Put the shards of a run together, and write results, check, reports and history as for one that ran whole.

    Raises as `merge_shards` does.
    """
    verdicts: tuple[ModelVerdict, ...] = ()

    def bring(shards: Sequence[RunShard], target: str) -> None:
        nonlocal verdicts
        verdicts = join_verdicts([stored_verdicts(each.folder) for each in shards])
        write_check(target, verdicts, (), ())

    merged = merge_shards(folders, OF_ROUTER, reports, bring)
    return write_run(reports, merged.folder, verdicts, (), merged.left)


def write_run(reports: str, folder: str, planted: Sequence[ModelVerdict], keys: Sequence[str], left: int) -> RunOutcome:
    """What is written of a run from its files, so that it is the same however often the run was interrupted.

    `keys` are in none of it. A run of which keys are `left` gets no line of the history.
    """
    manifest = load_manifest(folder)
    results = read_results(os.path.join(folder, RESULTS))
    finished = () if left else judge_finished(judge(read_facts(manifest), results), planted)
    check = write_check(folder, planted, finished, keys)
    record = read_check(folder)
    report = build_report(manifest, results, record)
    if not left:
        record_run(reports, manifest, report, record)
    written = [*write_reports(folder, report), os.path.join(folder, RESULTS), check]
    failed = sorted({verdict.model for verdict in (*planted, *finished) if verdict.failed})
    missing = sum(not result.scored for result in results)
    return RunOutcome(folder, left, report=report, written=tuple(written), untrusted=tuple(failed), missing=missing)
