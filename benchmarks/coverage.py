"""How often does each published interval contain the truth, and how often does a test find what is not there?

`python -m benchmarks.coverage [--quick] [--rounds N] [--seed N] [--only WORDS]` runs it by itself.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np

from benchmarks._measure import Options
from benchmarks._nulls import NULLS
from benchmarks._scenarios import EXHIBITS, SCENARIOS
from skill_health.core.forks import processors
from skill_health.stats.intervals import wilson_interval

TITLE = "Coverage of the published intervals, by simulation"
ROUNDS, QUICK = 1_000, 50
LEAST, MOST, ERROR = 0.93, 0.97, 0.05
HIGH = "too high"
TABLES = {**SCENARIOS, **EXHIBITS}
TESTS = "Nothing to be found"
_CHUNK = 25


class Tally(NamedTuple):
    """Of all simulated intervals (or tests), those that are given (testable), and of those the hits."""

    all: int = 0
    given: int = 0
    hits: int = 0

    def __add__(self, other: object) -> Tally:
        assert isinstance(other, Tally)
        return Tally(self.all + other.all, self.given + other.given, self.hits + other.hits)


Table = Mapping[str, Mapping[str, Tally]]


def run(options: Options, only: str = "") -> Iterator[str]:
    """Simulate `rounds` sweeps of each scenario whose title has the words `only`, in one process per core."""
    yield (
        "100 prompts x 3 replications of models with the stated accuracies; columns are how hard the prompts are "
        f"(ICC: how alike two calls of a prompt are). {options.rounds:,} sweeps each, seed {options.seed}. "
        f"{100 * LEAST:.0f}-{100 * MOST:.0f} % is required; in brackets the simulation's own 95 % interval."
    )
    titles = [title for title in (*TABLES, TESTS) if only.casefold() in title.casefold()]
    tables = simulate(options.rounds, options.seed, titles)
    for title in titles:
        if title == TESTS:
            yield f"### {title}\n\n{shown(tables[title], 'p < 0.05', 'not testable', errs)}"
        else:
            judge = covers if title in SCENARIOS else _unjudged
            yield f"### {title}\n\n{shown(tables[title], 'coverage', 'no interval', judge)}"


def simulate(rounds: int, seed: int, titles: Sequence[str]) -> dict[str, dict[str, dict[str, Tally]]]:
    """For each title, interval (or test) and column: the tally."""
    columns = [(title, column) for title in titles for column in (NULLS if title == TESTS else TABLES[title])]
    jobs = [(*column, start, min(start + _CHUNK, rounds)) for column in columns for start in range(0, rounds, _CHUNK)]
    cores = processors()
    found: dict[str, dict[str, dict[str, Tally]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(Tally)))
    # Linear-algebra threads within each process would only get in each other's way.
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    with ProcessPoolExecutor(cores, get_context("spawn")) as pool:
        for (title, column, *_), tallies in zip(jobs, pool.map(partial(_sweeps, seed), jobs, chunksize=2), strict=True):
            for what, tally in tallies.items():
                found[title][what][column] += tally
    return found


def _sweeps(seed: int, job: tuple[str, str, int, int]) -> dict[str, Tally]:
    title, column, start, stop = job
    tallies: defaultdict[str, Tally] = defaultdict(Tally)
    for sweep in range(start, stop):
        # Each sweep has its own random numbers, whichever process runs it.
        rng = np.random.default_rng([seed, crc32(f"{'' if title == TESTS else title}/{column}".encode()), sweep])
        if title != TESTS:
            for what, truth, estimate in TABLES[title][column](rng):
                low, high = estimate.low, estimate.high
                if low is None or high is None:
                    tallies[what] += Tally(1)
                else:
                    tallies[what] += Tally(1, 1, low - 1e-9 <= truth <= high + 1e-9)
        else:
            for what, p in NULLS[column](rng):
                tallies[what] += Tally(1, p is not None, p is not None and p < ERROR)
    return dict(tallies)


def covers(tally: Tally) -> str:
    """Whether the coverage is as required, allowing for simulation error."""
    low, high = wilson_interval(tally.hits, tally.given)
    if high < LEAST:
        return "**too low**"
    return "yes" if low <= MOST else HIGH


def _unjudged(tally: Tally) -> str:
    return "yes"


def errs(tally: Tally) -> str:
    """Whether a test finds what is not there more often than it claims."""
    return "**too often**" if wilson_interval(tally.hits, tally.given)[0] > ERROR else "yes"


def shown(table: Table, what: str, without: str, judge: Callable[[Tally], str]) -> str:
    """A table of intervals; shares that miss the requirement are marked."""
    columns = list(dict.fromkeys(column for row in table.values() for column in row))
    lines = [f"| % {what} of | {' | '.join(columns)} | all | {without} | met |", "|---" * (len(columns) + 4) + "|"]
    for name, row in table.items():
        total = sum(row.values(), Tally())
        cells = [_cell(row[column], judge) if column in row else "-" for column in columns]
        low, high = wilson_interval(total.hits, total.given) if total.given else (0.0, 1.0)
        share = f"**{100 * total.hits / max(total.given, 1):.1f}** ({100 * low:.1f}-{100 * high:.1f})"
        missing = f"{100 * (1 - total.given / total.all):.1f} %"
        # Too wide in one column is safe and is marked there; too narrow anywhere is wrong.
        wrong = {judge(tally) for tally in row.values() if tally.given} - {"yes", HIGH}
        met = next(iter(wrong), judge(total) if total.given else "-")
        lines.append(f"| {name} | {' | '.join(cells)} | {share} | {missing} | {met} |")
    return "\n".join(lines)


def _cell(tally: Tally, judge: Callable[[Tally], str]) -> str:
    if not tally.given:
        return "-"
    share = f"{100 * tally.hits / tally.given:.1f}"
    return share if judge(tally) == "yes" else f"{share} (!)"


def main(argv: list[str] | None = None) -> int:
    """Print the tables; returns 1 if an interval covers too little or a test errs too often."""
    parser = argparse.ArgumentParser("python -m benchmarks.coverage", description=TITLE)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} sweeps of each scenario instead of {ROUNDS}")
    parser.add_argument("--rounds", type=int, metavar="N", help="number of sweeps")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the simulation (1)")
    parser.add_argument("--only", default="", metavar="WORDS", help="only the tables whose title has these words")
    given = parser.parse_args(argv)
    rounds = given.rounds or (QUICK if given.quick else ROUNDS)
    if rounds < 1:
        parser.error("--rounds counts from 1")
    missed = False
    with tempfile.TemporaryDirectory(prefix="skill-health-bench-") as scratch:
        for part in run(Options(Path(scratch), None, 1, given.seed, rounds, None), given.only):
            print(part, end="\n\n", flush=True)
            missed |= "**too" in part
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
