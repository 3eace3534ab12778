"""A prepared run, carried out: the probes, the trials, and what is written when they are over."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TextIO

from msgspec import UNSET, structs

from skill_health.bench.budget import Budget, spent_on
from skill_health.bench.journal import RESULTS, Journal
from skill_health.bench.progress import Progress, write_progress
from skill_health.bench.run_folder import drop_reports
from skill_health.bench.schedule import INTERRUPTED, RunOutcome, Schedule, interruptible
from skill_health.core.errors import AbortedError, GateError
from skill_health.documents._record import record_values
from skill_health.documents.effect_manifest import EffectManifest
from skill_health.documents.effect_report import EffectReport
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.agents._api import unproved_of
from skill_health.effectiveness.plan.extend import Extension
from skill_health.effectiveness.plan.plan import TrialPlan
from skill_health.effectiveness.plan.prepare import AT_ONCE, PreparedTrials
from skill_health.effectiveness.run.history import record_run
from skill_health.effectiveness.run.probes import Ask, Judge, ProbeRequest, Probing
from skill_health.effectiveness.run.rescore import Rescored, replace_verdict, rescore
from skill_health.effectiveness.run.run import Trial, TrialRunner
from skill_health.effectiveness.run.runs import PROBES, drop_halves, load_run
from skill_health.effectiveness.sandbox._load import back_end
from skill_health.effectiveness.workspace.scripts import ScriptOptions

GRACE = 30.0
"""Seconds that trials under way have to end when the run is interrupted: each may have cost dollars already."""
Build = Callable[[EffectManifest, Sequence[TrialResult]], EffectReport]


@dataclass(frozen=True, slots=True)
class TrialRunOptions:
    """How a run is made, which is no part of what it tries."""

    max_runs: int | None = None
    max_usd: float | None = None
    concurrency: int = AT_ONCE
    quiet: bool = False
    grace: float = GRACE


@dataclass(frozen=True, slots=True)
class RunParts:
    """What does the work: runs a trial, asks an agent what it sees, judges that, and builds the report."""

    trial: Trial
    ask: Ask
    judge: Judge
    build: Build


def parts() -> RunParts:
    """The real ones."""
    from skill_health.effectiveness.effects.build import build_report
    from skill_health.effectiveness.run.probes import problems, run_probe
    from skill_health.effectiveness.trial.trial import run_trial

    return RunParts(run_trial, run_probe, problems, build_report)


def conduct(
    prepared: PreparedTrials, terms: TrialRunOptions, stream: TextIO | None, by: RunParts | None = None
) -> RunOutcome:
    """Make the trials that have no result yet, and write results, report and history.

    Raises UsageError where another process has the journal, GateError where an agent sees other skills than it should,
    before or in a trial, and AbortedError where the disk does not take what is to be written. What is done is kept
    whatever happens.
    """
    by = by or parts()
    with prepared.place.open(prepared.plan.secrets) as journal:
        for problem in journal.past.problems:
            write_progress(stream, f"{problem}\n")
        drop_reports(journal.folder)
        drop_halves(journal.folder)
        conductor = _Conductor(prepared, terms, stream, journal, by)
        try:
            reason = asyncio.run(conductor.run())
        except KeyboardInterrupt:
            reason = INTERRUPTED
        runner = conductor.runner
        if runner.disagreed:
            raise GateError(f"an agent saw other skills than it should, so the run stopped: {runner.disagreed}")
        left = runner.left()
        if left and (reason == INTERRUPTED or not journal.results):
            return RunOutcome(journal.folder, left, reason, bool(runner.capped))
        if not left:
            journal.finish(prepared.plan.keys())
        return replace(_written(prepared, journal, left, by.build), reason=reason, capped=bool(runner.capped))


class _Conductor:
    """One run under way."""

    def __init__(
        self, prepared: PreparedTrials, terms: TrialRunOptions, stream: TextIO | None, journal: Journal, by: RunParts
    ) -> None:
        self._prepared, self._terms, self._stream = prepared, terms, stream
        self._budget = _budget(prepared, terms, journal)
        self.runner = TrialRunner(prepared.plan, journal, self._budget, by.trial)
        self._probing = Probing(prepared.plan, journal.folder, by.ask, by.judge)
        self._interrupt: Callable[[], bool] = self.runner.interrupt

    async def run(self) -> str:
        """Ask what agents see, and try; why it stopped before its end, "" where it did not."""
        runner, terms = self.runner, self._terms
        if extension := self._prepared.extension:
            await take_over(extension, self._prepared.plan, runner.journal, terms.concurrency)
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
        if left and not terms.quiet:
            write_progress(self._stream, f"asking agents what they see with {left} sets of skills\n")
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
        self.runner.expected = probing.expected()
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
        return Progress(planned, self._stream, done=done, quiet=self._terms.quiet, fine=("pass", "fail"))

    def _spent(self) -> float | None:
        priced = any(not model.free for model in self._prepared.plan.models)
        return self._budget.spent if priced else None


async def take_over(extension: Extension, plan: TrialPlan, journal: Journal, at_once: int) -> None:
    """Take over every trial that has no result yet; its folder is copied first, so that a kill loses nothing.

    Those whose verifier has changed are verified again; one that cannot be is left to be made anew. Raises AbortedError
    where nothing can be run or written.
    """
    waiting = [key for key in extension.trials if key not in journal.results]
    again = [extension.trials[key] for key in waiting if key in extension.verify_again]
    tasks = {task.id: task for task in plan.tasks}
    terms = ScriptOptions(back_end(plan.sandbox.name), plan.sandbox.image, at_once)
    verified = await rescore(extension.donor.folder, again, tasks, terms) if again else []
    judged = {each.before.key: each for each in verified if each.word in ("same", "changed")}
    for key in waiting:
        new = judged.get(key)
        if key in extension.verify_again and new is None:
            continue
        result = new.after if new else extension.trials[key]
        maker = extension.donor.run_id if result.taken_from is UNSET else result.taken_from
        await asyncio.to_thread(_copy_trial, extension.donor.folder, journal.folder, result.folder, new)
        await journal.add(record_values(structs.replace(result, taken_from=maker)))


def _copy_trial(donor: str, run: str, folder: str, new: Rescored | None) -> None:
    """Copy the folder of a trial, with its new verdict where there is one; it is there as a whole or not at all."""
    place = os.path.join(run, folder)
    above, name = os.path.split(place)
    half = os.path.join(above, f".{name[:80]}-taken")
    try:
        os.makedirs(above, exist_ok=True)
        shutil.rmtree(half, ignore_errors=True)
        shutil.copytree(os.path.join(donor, folder), half, symlinks=True)
        if new:
            replace_verdict(half, new)
        shutil.rmtree(place, ignore_errors=True)
        os.rename(half, place)
    except (OSError, shutil.Error) as error:
        raise AbortedError(f"cannot take over {folder}: {getattr(error, 'strerror', None) or error}") from error


def _budget(prepared: PreparedTrials, terms: TrialRunOptions, journal: Journal) -> Budget:
    """The caps, with what earlier processes spent: by their attempts, and not less than their results took.

    What was taken over was paid for in another run.
    """
    models = prepared.plan.models
    records = [record for record in journal.results.values() if not record.get("taken_from")]
    attempts, _ = spent_on(records, {model.spec for model in models})
    _, usd = spent_on(records, {model.spec for model in models if not model.free})
    past = journal.past
    return Budget(
        terms.max_runs, terms.max_usd, attempts=max(past.attempts, attempts), spent=max(past.usd, usd), what="trial"
    )


def _written(prepared: PreparedTrials, journal: Journal, left: int, build: Build) -> RunOutcome:
    """What is written of a run from its files, so that it is the same however often the run was interrupted."""
    from skill_health.effectiveness.reports import write_reports

    run = load_run(journal.folder)
    report = build(run.manifest, run.results)
    if not left:
        record_run(prepared.reports, run.manifest, report, run.results)
    written = [*write_reports(run.folder, report), os.path.join(run.folder, RESULTS)]
    biased = tuple(model.model for model in report.models if model.biased)
    missing = sum(not result.finished for result in run.results)
    return RunOutcome(run.folder, left, report=report, written=tuple(written), untrusted=biased, missing=missing)
