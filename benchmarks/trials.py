"""What does a run cost besides its agents: wall clock against the ideal, our own processor time, and the report?"""

from __future__ import annotations

import asyncio
import gc
import resource
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import NamedTuple, cast

from benchmarks._made_trials import MODELS, REPLICATIONS, REPORTED, TASKS, write_collection, write_run
from benchmarks._measure import Command, Failed, Options, Sample, environment, interleave, skill_health
from benchmarks._table import say_met
from simulators.agents import scripted
from skill_health.bench.budget import Budget
from skill_health.config.settings import Effectiveness
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.agents._api import Agent
from skill_health.effectiveness.plan.choices import choices
from skill_health.effectiveness.plan.inputs import load_inputs
from skill_health.effectiveness.plan.prepare import PreparedTrials, prepare
from skill_health.effectiveness.records import CONDITIONS
from skill_health.effectiveness.run.conduct import Trial, TrialRunner
from skill_health.effectiveness.sandbox._load import back_end
from skill_health.effectiveness.trial.spec import TrialSpec
from skill_health.effectiveness.trial.trial import run_trial

TITLE = "120 trials of an agent that takes a second, and a report of 10,000 trials"
ROUNDS = 3
TRIALS, SLEEP, CONCURRENCY = 120, 1.0, 16
AGENT = f"scripted:sleep={SLEEP},base=0.3,target=0.4"
IDEAL = TRIALS * SLEEP / CONCURRENCY
MAX_RATIO, MAX_CPU_MS = 1.3, 60.0
FORMATS = ("text", "markdown", "json")
SECONDS, MEMORY = 10.0, 500e6


class Run(NamedTuple):
    """One round: seconds of wall clock, of our processor time, and of that of all processes together."""

    wall: float
    cpu: float
    total: float


def run(options: Options) -> Iterator[str]:
    """Make the trials in each sandbox that works here, and report on made-up results."""
    root = options.scratch / "collection"
    write_collection(root)
    yield (
        f"Ideal: {TRIALS} trials x {SLEEP:g} s / {CONCURRENCY} at once = {IDEAL:g} s. Staging, sandbox, agent, diff, verifier and "
        f"journal are in it; {TASKS} small tasks x {len(CONDITIONS)} conditions, n = {options.rounds} rounds. The processor time is "
        "that of our process, without agents and verifiers."
    )
    lines = [
        "| sandbox | wall / ideal | min - max | target | met | CPU for each trial | min - max | target | met |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for sandbox in ("bubblewrap", "none"):
        if back_end(sandbox).found():
            rounds = [_round(root, options.scratch / f"{sandbox}-{nth}", sandbox) for nth in range(options.rounds + 1)]
            # The first round does the lazy imports.
            lines.append(_line(sandbox, rounds[1:]))
    yield "\n".join(lines)
    yield _simulated(root, options)
    yield from _report(options)


def _simulated(root: Path, options: Options) -> str:
    """What a simulated agent costs as a function against itself as a program, in trials that come to nothing."""
    agent = "scripted:base=0,target=0"
    ratios = []
    for nth in range(options.rounds + 1):
        place = options.scratch / f"simulated-{nth}"
        called = _round(root, place / "called", "none", agent)
        ratios.append(called.total / _round(root, place / "started", "none", agent, _started).total)
    return (
        f"A simulated agent without a sandbox, called as a function against started as a program, verifiers included: "
        f"**{median(ratios[1:]):.2f}** of the processor time of all processes ({min(ratios[1:]):.2f} - "
        f"{max(ratios[1:]):.2f}), {TRIALS} trials, n = {options.rounds} rounds."
    )


async def _started(cell: TrialSpec, place: str) -> TrialResult:
    """A trial whose simulated agent is a program."""
    parts = {**vars(scripted), "command": lambda job: replace(scripted.command(job), simulation=None)}
    agent = cast(Agent, SimpleNamespace(**parts))
    return await run_trial(replace(cell, choice=replace(cell.choice, agent=agent)), place)


def _round(root: Path, reports: Path, sandbox: str, agent: str = AGENT, trial: Trial = run_trial) -> Run:
    prepared = _prepared(root, reports, sandbox, agent)
    gc.collect()
    with prepared.place.open(()) as journal:
        runner = TrialRunner(prepared.plan, journal, Budget(None, None), trial)
        wall, cpu, children = time.perf_counter(), time.process_time(), _of_children()
        asyncio.run(runner.run(CONCURRENCY))
        own = time.process_time() - cpu
        taken = Run(time.perf_counter() - wall, own, own + _of_children() - children)
        outcomes = [record["outcome"] for record in journal.results.values()]
    if len(outcomes) != TRIALS or not set(outcomes) <= {"pass", "fail"}:
        raise Failed(f"{len(outcomes)} trials came to {', '.join(sorted(set(outcomes)))}")
    return taken


def _of_children() -> float:
    """The processor time of all children that have ended."""
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def _prepared(root: Path, reports: Path, sandbox: str, agent: str) -> PreparedTrials:
    inputs = load_inputs([str(root / "tasks")])
    options = {"agents": (agent,), "sandbox": sandbox, "reps": 1}
    chosen = choices(options, Effectiveness())
    return prepare(inputs, inputs.tasks, chosen, str(reports), datetime.now(UTC), anew=True, concurrency=CONCURRENCY)


def _line(name: str, rounds: list[Run]) -> str:
    ratios = [each.wall / IDEAL for each in rounds]
    costs = [each.cpu / TRIALS * 1e3 for each in rounds]
    cells = [name]
    for values, target, unit in ((ratios, MAX_RATIO, ""), (costs, MAX_CPU_MS, " ms")):
        middle = median(values)
        cells += [f"**{middle:.2f}**{unit}", f"{min(values):.2f} - {max(values):.2f}", f"<= {target:g}{unit}"]
        cells.append(say_met(middle <= target))
    return f"| {' | '.join(cells)} |"


def _report(options: Options) -> Iterator[str]:
    """Measure each format in a process of its own, over one made-up run."""
    folder = options.scratch / "reports" / "effectiveness" / "20260101T000000Z-bench"
    count = write_run(folder, options.seed)
    yield (
        f"A report of {count:,} trials ({REPORTED} tasks x {len(CONDITIONS)} conditions x {REPLICATIONS} replications x "
        f"{MODELS} models), a whole process, reading included; n = {options.rounds} rounds."
    )
    env = environment(options.scratch)
    commands = {
        name: Command(skill_health("effectiveness", "report", str(folder), "--format", name), options.scratch, env)
        for name in FORMATS
    }
    samples = interleave(commands, options.rounds)
    lines = [
        "| format | wall clock | min - max | CPU | target | met | peak memory | target | met |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    yield "\n".join([*lines, *(_reported(name, runs) for name, runs in samples.items())])


def _reported(name: str, runs: list[Sample]) -> str:
    walls = [run.wall for run in runs]
    middle, peak = median(walls), max(run.peak for run in runs)
    return (
        f"| {name} | **{middle:.1f} s** | {min(walls):.1f} - {max(walls):.1f} | {median(run.cpu for run in runs):.1f} s "
        f"| < {SECONDS:.0f} s | {say_met(middle < SECONDS)} | **{peak / 1e6:,.0f} MB** | < {MEMORY / 1e6:.0f} MB | {say_met(peak < MEMORY)} |"
    )
