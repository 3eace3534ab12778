"""A prepared run, carried out: the probes, the trials, and what is written when they are over."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TextIO

from skill_health.bench.journal import RESULTS, Journal
from skill_health.bench.run import conduct as engine
from skill_health.bench.run.conduct import RunOutcome, RunTerms
from skill_health.documents.effect_manifest import EffectManifest
from skill_health.documents.effect_report import EffectReport
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.plan.prepare import AT_ONCE, PreparedTrials
from skill_health.effectiveness.run.history import record_run
from skill_health.effectiveness.run.probes import Ask, Judge, Probing
from skill_health.effectiveness.run.run import Trial, TrialRunner
from skill_health.effectiveness.run.runner import agent_budget
from skill_health.effectiveness.run.runs import drop_halves, load_run

GRACE = 30.0
"""Seconds that trials under way have to end when the run is interrupted: each may have cost dollars already."""
Build = Callable[[EffectManifest, Sequence[TrialResult]], EffectReport]


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
        lambda runner, left: _written(prepared, runner.journal, left, by.build),
    )  # fmt: skip


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
