"""How often a sweep that stops when it knows enough is wrong, and how much of it is asked.

    python -m benchmarks settling

500 independent prompts with three replications before and after an edit; accuracy is 0.8, and half of a call's variance
lies between prompts. The edit moves the chance of each prompt alike. Nothing is asked: answers are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks._measure import Options
from benchmarks.endpoints import share
from skill_health.router.compare.compare import ALPHA
from skill_health.router.compare.settle import FEWEST, LOOKS
from skill_health.stats.hypothesis_tests import anytime_interval, anytime_p

TITLE = "Sweeps that stop when they know enough, by simulation"
ROUNDS = 1_000
PROMPTS, REPS, ACCURACY = 500, 3, 0.8
SCENARIOS = (
    (0.05, 0.0), (0.05, -0.05), (0.05, -0.1), (0.05, -0.2), (0.05, 0.05),
    (0.1, 0.0), (0.1, -0.1), (0.1, -0.2),
)  # fmt: skip
"""Margins of the question, and by how much the edit changes top-1."""


class Settling(NamedTuple):
    """What became of simulated sweeps: verdicts, the share of the prompts that was asked, and intervals that missed."""

    runs: int
    kept: int
    lost: int
    asked: float
    asked_spread: float
    missed: int


def differences(rng: np.random.Generator, shift: float) -> NDArray[np.float64]:
    """The differences of one sweep, in the order in which prompts are asked."""
    # A beta distribution whose variance is half of that of a call.
    before = rng.beta(ACCURACY, 1 - ACCURACY, PROMPTS)
    part = abs(shift) / (1 - ACCURACY if shift > 0 else ACCURACY)
    after = before + part * (1 - before) if shift > 0 else before * (1 - part)
    return (rng.binomial(REPS, after) - rng.binomial(REPS, before)) / REPS


def simulate(margin: float, shift: float, runs: int, seed: int = 1, alpha: float = ALPHA) -> Settling:
    """So many sweeps of one model, looked at as `router sweep --settle` does."""
    rng = np.random.Generator(np.random.PCG64(seed))
    size = max(FEWEST, math.ceil(PROMPTS / LOOKS))
    looks = [*range(size, PROMPTS, size), PROMPTS]
    kept = lost = missed = 0
    asked = []
    for _ in range(runs):
        values = differences(rng, shift).tolist()
        verdict, there = _stop(values, looks, margin, alpha)
        kept, lost = kept + (verdict == "kept"), lost + (verdict == "lost")
        asked.append(there / PROMPTS)
        low, high = anytime_interval(values[:there], alpha, -1.0, 1.0)
        missed += not low <= shift <= high
    return Settling(runs, kept, lost, float(np.mean(asked)), float(np.std(asked)), missed)


def _stop(values: list[float], looks: list[int], margin: float, alpha: float) -> tuple[str, int]:
    """The verdict, and after how many prompts: of all looks the first that settles it."""

    def settled(there: int) -> str:
        above, below = anytime_p(values[:there], -margin, -1.0, 1.0)
        return "kept" if above <= alpha / 2 else "lost" if below <= alpha / 2 else ""

    if not settled(looks[-1]):
        return "open", looks[-1]
    # What is settled stays so: these p-values never rise.
    first, last = 0, len(looks) - 1
    while first < last:
        middle = (first + last) // 2
        if settled(looks[middle]):
            last = middle
        else:
            first = middle + 1
    return settled(looks[first]), looks[first]


def run(options: Options) -> Iterator[str]:
    """One row for each scenario."""
    yield f"{options.rounds:,} simulated sweeps of one model each, {PROMPTS} prompts x {REPS} replications, {LOOKS} looks"
    yield "\n".join(_rows(options))


def _rows(options: Options) -> Iterator[str]:
    yield "| fallen by more than | the edit changes top-1 by | it has not | it has | wrong | prompts asked | truth outside the interval |"
    yield "|---:|---:|---:|---:|---|---:|---|"
    for margin, shift in SCENARIOS:
        found = simulate(margin, shift, options.rounds, options.seed)
        wrong = found.kept if shift <= -margin else found.lost
        yield (
            f"| {margin:.2f} | {shift:+.2f} | {found.kept / found.runs:.1%} | {found.lost / found.runs:.1%} | "
            f"{share(wrong, found.runs)} | {found.asked:.0%} | {share(found.missed, found.runs)} |"
        )
