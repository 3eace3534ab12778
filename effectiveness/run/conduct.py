"""A prepared run, carried out: the probes, the trials, and what is written when they are over."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO

from msgspec import UNSET, structs

from skill_health.bench.budget import Budget
from skill_health.bench.journal import RESULTS, Journal
from skill_health.bench.run import conduct as engine
from skill_health.bench.run.conduct import RunOutcome, RunTerms
from skill_health.bench.run.merge import RunShard, copy_beside, merge_shards
from skill_health.core.errors import AbortedError, UsageError
from skill_health.core.files import here
from skill_health.documents._record import record_values
from skill_health.documents.effect_attempt import TrialAttempt
from skill_health.documents.effect_manifest import EffectManifest
from skill_health.documents.effect_report import EffectReport
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.plan.extend import Extension
from skill_health.effectiveness.plan.plan import OF_TRIALS, Planned, TrialPlan
from skill_health.effectiveness.plan.prepare import AT_ONCE, PreparedTrials
from skill_health.effectiveness.run.history import record_run
from skill_health.effectiveness.run.probes import Ask, Judge, Probing, join_probes
from skill_health.effectiveness.run.rescore import Rescored, replace_verdict, rescore
from skill_health.effectiveness.run.runner import AgentRunner, agent_budget
from skill_health.effectiveness.run.runs import (
    drop_halves,
    folder_of,
    folder_of_attempt,
    load_run,
    make_way,
    read_result,
)
from skill_health.effectiveness.sandbox._load import back_end
from skill_health.effectiveness.trial.spec import TrialSpec
from skill_health.effectiveness.workspace.scripts import ScriptOptions
from skill_health.executors._api import Executor

GRACE = 30.0
"""Seconds that trials under way have to end when the run is interrupted: each may have cost dollars already."""
Trial = Callable[[TrialSpec, str], Awaitable[TrialResult]]
"""Runs the trial of a cell and keeps it in a folder, as `skill_health.effectiveness.trial.trial.run_trial` does."""
Build = Callable[[EffectManifest, Sequence[TrialResult]], EffectReport]


class TrialRunner(AgentRunner[Planned, TrialResult]):
    """One run of trials, or what is left of it; those of `extension` are taken over."""

    ATTEMPT = TrialAttempt
    FINE = ("pass", "fail")

    def __init__(
        self,
        plan: TrialPlan,
        journal: Journal,
        budget: Budget,
        trial: Trial,
        probing: Probing | None = None,
        extension: Extension | None = None,
    ) -> None:
        super().__init__(plan, journal, budget, probing)
        self.plan = plan
        self._trial, self._extension = trial, extension

    def wanted(self) -> Iterator[Planned]:
        """All trials in the order that they are made in."""
        return self.plan.trials()

    def reserved(self, planned: Planned) -> float:
        """The most dollars of one trial: of each agent that its arm starts."""
        return planned.model.reserved * planned.arm.agents

    def settled(self, result: TrialResult) -> bool:
        """Whether nothing is to be tried again."""
        return result.finished

    def where(self, result: TrialResult) -> str:
        """The trial for people."""
        return f"{result.model}, {result.arm}, task {result.task_id}"

    async def start(self, planned: Planned, cell: TrialSpec) -> TrialResult:
        """One trial, kept in its folder."""
        folder = folder_of(planned.key)
        place = os.path.join(self.journal.folder, folder)
        await asyncio.to_thread(make_way, place, cell.attempt - 1)
        return structs.replace(await self._trial(cell, place), attempts=cell.attempt, folder=folder)

    async def take_over(self, terms: RunTerms) -> None:
        """Take over every trial that has no result yet; its folder is copied first, so that a kill loses nothing.

        Those whose verifier has changed are verified again; one that cannot be is left to be made anew. Raises
        AbortedError where nothing can be run or written.
        """
        if (extension := self._extension) is None:
            return
        plan, journal = self.plan, self.journal
        waiting = [key for key in extension.trials if self.wants(key)]
        again = [extension.trials[key] for key in waiting if key in extension.verify_again]
        tasks = {task.id: task for task in plan.tasks}
        options = ScriptOptions(back_end(plan.sandbox.name), plan.sandbox.image, terms.concurrency)
        verified = await rescore(extension.donor.folder, again, tasks, options) if again else []
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


@dataclass(frozen=True, slots=True)
class TrialRunOptions(RunTerms):
    """How a run is made, which is no part of what it tries."""

    concurrency: int = AT_ONCE
    grace: float = GRACE


@dataclass(frozen=True, slots=True)
class RunParts:
    """What does the work: runs a trial, asks an agent what it sees, judges that, and builds the report."""

    trial: Trial
    ask: Ask
    judge: Judge
    build: Build


def parts(executor: Executor | None = None) -> RunParts:
    """The real ones, with trials made by the workers of an executor."""
    from skill_health.effectiveness.effects.build import build_report
    from skill_health.effectiveness.run.probes import problems, run_probe
    from skill_health.effectiveness.trial.trial import run_trial

    if executor is None or not executor.host:
        return RunParts(run_trial, run_probe, problems, build_report)
    from skill_health.effectiveness.run.workers import AgentWorkers

    return RunParts(AgentWorkers(executor).run_trial, run_probe, problems, build_report)


def conduct(
    prepared: PreparedTrials, terms: TrialRunOptions, stream: TextIO | None, by: RunParts | None = None
) -> RunOutcome:
    """Make the trials that have no result yet, and write results, report and history.

    Raises as `skill_health.bench.run.conduct.conduct` does; GateError where an agent sees other skills than it should.
    """
    by, plan = by or parts(), prepared.plan

    def begin(journal: Journal) -> TrialRunner:
        drop_halves(journal.folder)
        budget = agent_budget(terms, journal, plan.models, "trial")
        probing = Probing(plan, journal.folder, by.ask, by.judge)
        return TrialRunner(plan, journal, budget, by.trial, probing, prepared.extension)

    return engine.conduct(
        prepared.place, plan.secrets, terms, stream, begin,
        lambda runner, left: write_run(prepared.reports, runner.journal.folder, left, by.build),
    )  # fmt: skip


def merge(folders: Sequence[str], reports: str) -> RunOutcome:
    """Put the shards of a run together with their trials, and write all that is written of one that ran whole.

    Raises as `merge_shards` does, and UsageError where an agent was seen to be offered other things in one shard than
    in another.
    """
    merged = merge_shards(folders, OF_TRIALS, reports, _bring_trials)
    return write_run(reports, merged.folder, merged.left, parts().build)


def _bring_trials(shards: Sequence[RunShard], target: str) -> None:
    join_probes([each.folder for each in shards], target)
    for each in shards:
        for record in each.results.values():
            result = read_result(record)
            if result.folder != folder_of(result.key):
                raise UsageError(
                    f"{here(each.folder)} is damaged: it does not say where the trial {result.key} is kept"
                )
            copy_beside(each.folder, target, result.folder)
            for attempt in range(1, result.attempts):
                copy_beside(each.folder, target, folder_of_attempt(result.folder, attempt))


def write_run(reports: str, folder: str, left: int, build: Build) -> RunOutcome:
    """What is written of a run from its files, so that it is the same however often the run was interrupted.

    A run of which keys are `left` gets no line of the history.
    """
    from skill_health.effectiveness.reports import write_reports

    run = load_run(folder)
    report = build(run.manifest, run.results)
    if not left:
        record_run(reports, run.manifest, report, run.results)
    written = [*write_reports(run.folder, report), os.path.join(run.folder, RESULTS)]
    biased = tuple(model.model for model in report.models if model.biased)
    missing = sum(not result.finished for result in run.results)
    return RunOutcome(run.folder, left, report=report, written=tuple(written), untrusted=biased, missing=missing)
