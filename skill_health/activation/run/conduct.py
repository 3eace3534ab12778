"""A prepared run, carried out: the probes, each request within the caps and journaled, and what is then written."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import TextIO

from msgspec import structs

from skill_health.activation.call.load import LoadRecord
from skill_health.activation.call.workshop import Workshop
from skill_health.activation.plan.plan import ActivationPlan, PlannedLoad
from skill_health.activation.plan.prepare import AT_ONCE, PreparedActivation
from skill_health.activation.run.runs import load_activation_run, stream_of
from skill_health.bench import durable
from skill_health.bench.budget import Budget
from skill_health.bench.journal import RESULTS, Journal
from skill_health.bench.run import conduct as engine
from skill_health.bench.run.conduct import RunOutcome, RunTerms
from skill_health.core.files import is_there
from skill_health.documents.activation_attempt import LoadAttempt
from skill_health.documents.activation_result import LoadKey, LoadResult
from skill_health.effectiveness.run.probes import REQUESTS, Ask, Judge, Probing
from skill_health.effectiveness.run.runner import AgentRunner, agent_budget
from skill_health.effectiveness.trial.spec import TrialSpec

GRACE = 20.0
"""Seconds that requests under way have to end when the run is interrupted."""
Load = Callable[[TrialSpec, Workshop, int, tuple[str, ...]], Awaitable[LoadRecord]]
"""Makes one request, as `skill_health.activation.call.load.run_load` does."""


class ActivationRunner(AgentRunner[PlannedLoad, LoadResult]):
    """One run of requests, or what is left of it."""

    ATTEMPT = LoadAttempt
    FINE = ("loaded", "answered", "turn_limit")

    def __init__(self, plan: ActivationPlan, journal: Journal, budget: Budget, load: Load, probing: Probing) -> None:
        super().__init__(plan, journal, budget, probing)
        self.plan = plan
        self._load = load
        self._workshop = Workshop(journal.folder)
        self._texts = {prompt.prompt_id: prompt.text for prompt in plan.prompts}

    def wanted(self) -> Iterator[PlannedLoad]:
        """All requests in the order that they are made in."""
        return self.plan.loads()

    def reserved(self, planned: PlannedLoad) -> float:
        """The most dollars of one request."""
        return planned.model.reserved

    def settled(self, result: LoadResult) -> bool:
        """Whether nothing is to be asked again."""
        return result.scored

    def where(self, result: LoadResult) -> str:
        """The request for people."""
        return f"{result.model}, prompt {result.prompt_id}"

    async def start(self, planned: PlannedLoad, cell: TrialSpec) -> LoadResult:
        """One request, with what its result rests on in the run's folder."""
        others = tuple(text for prompt, text in self._texts.items() if prompt != planned.prompt.prompt_id)
        record = await self._load(cell, self._workshop, self.plan.choices.turns, others)
        return await asyncio.to_thread(self._kept, planned.key, record, cell.attempt)

    async def close(self) -> None:
        """Remove the workspace."""
        await self._workshop.close()

    def _kept(self, key: LoadKey, record: LoadRecord, attempt: int) -> LoadResult:
        name = stream_of(key)
        place = os.path.join(self.journal.folder, name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        durable.replace(place, record.stream)
        if record.result.request:
            request = os.path.join(self.journal.folder, REQUESTS, f"{record.result.request}.txt")
            if not is_there(request) and record.result.disagreement:
                os.makedirs(os.path.dirname(request), exist_ok=True)
                durable.replace(request, record.request)
        return structs.replace(record.result, stream=name, attempts=attempt)


@dataclass(frozen=True, slots=True)
class ActivationRunOptions(RunTerms):
    """How a run is made, which is no part of what it asks."""

    concurrency: int = AT_ONCE
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

    Raises as `skill_health.bench.run.conduct.conduct` does; GateError where an agent sees other skills than it should.
    """
    by, plan = by or parts(), prepared.plan

    def begin(journal: Journal) -> ActivationRunner:
        budget = agent_budget(terms, journal, plan.models, "request")
        probing = Probing(plan.probes(), journal.folder, by.ask, by.judge)
        return ActivationRunner(plan, journal, budget, by.load, probing)

    return engine.conduct(
        prepared.place, plan.secrets, terms, stream, begin,
        lambda runner, left: _written(prepared, runner.journal, left),
    )  # fmt: skip


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
