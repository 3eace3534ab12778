"""What does a trial cost more on a worker of Ray than here? Both are run in turn, with few and with many trials."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from benchmarks._made_trials import TASKS, write_collection
from benchmarks._measure import Command, Failed, Options, Sample, environment, interleave, python

TITLE = "Trials on workers of Ray beside trials here"
ROUNDS = 3
WORKERS, SLEEP, FEW, MANY = 2, 0.5, 1, 4
"""Trials at once, the seconds that the scripted agent takes, and the replications of a short run and a long one."""
ARMS = "control,target"


def run(options: Options) -> Iterator[str]:
    """The time of a short run, which is mostly that of starting, and of one trial more."""
    if find_spec("ray") is None:
        raise Failed("Ray is not installed (pip install ray)")
    root = options.scratch / "collection"
    write_collection(root)
    executors = ("local", f"ray:{WORKERS}")
    commands = {
        f"{executor} {reps}": _command(options.scratch, root, executor, reps)
        for reps in (FEW, MANY)
        for executor in executors
    }
    found = interleave(commands, options.rounds)
    yield (
        f"{TASKS} tasks in two arms, {FEW} and {MANY} replications of a scripted agent that takes {SLEEP:g} s, {WORKERS} at once, "
        f"without a sandbox; median of {options.rounds} rounds, least and most in brackets."
    )
    yield "\n".join(_rows(found, executors))


def _command(scratch: Path, root: Path, executor: str, reps: int) -> Command:
    out = scratch / f"out-{executor.partition(':')[0]}-{reps}"
    words = [
        "effectiveness", "run", str(root / "tasks"), "--agents", f"scripted:sleep={SLEEP}", "--sandbox", "none", "--quiet", "--arms", ARMS,
        "--reps", str(reps), "--concurrency", str(WORKERS), "--executor", executor, "--out", str(out), "--no-resume",
    ]  # fmt: skip
    return Command(
        python("-m", "simulators", *words),
        root,
        environment(scratch),
        lambda: shutil.rmtree(out, ignore_errors=True),
        (0, 1, 3),
    )


def _rows(found: Mapping[str, Sequence[Sample]], executors: Sequence[str]) -> Iterator[str]:
    more = TASKS * 2 * (MANY - FEW)
    yield "| executor | short run | each trial more | of these, processor time of our process |"
    yield "|---|---|---|---|"
    walls = []
    for executor in executors:
        both = list(zip(found[f"{executor} {FEW}"], found[f"{executor} {MANY}"], strict=True))
        walls.append([1000 * (long.wall - short.wall) / more for short, long in both])
        cpu = [1000 * (long.cpu - short.cpu) / more for short, long in both]
        started = [short.wall for short, _ in both]
        yield f"| {executor} | {_spread(started, 's')} | {_spread(walls[-1], 'ms')} | {_spread(cpu, 'ms')} |"
    here, there = walls
    ratio = median(far / near for near, far in zip(here, there, strict=True))
    yield f"\nOn workers a trial more takes {ratio:.3f} times what it takes here."


def _spread(values: Sequence[float], unit: str) -> str:
    return f"{median(values):.3g} {unit} ({min(values):.3g}-{max(values):.3g})"
