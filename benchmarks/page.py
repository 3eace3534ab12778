"""How long does the page take, how much memory does it need, and how large is it?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks._made_page import LAST, Size, write_page
from benchmarks._measure import Command, Options, Sample, environment, interleave, skill_health
from benchmarks._table import say_met

TITLE = "The page of 100 and of 1,000 skills"
ROUNDS = 3
BYTES, SECONDS = 3e6, 5.0


class Case(NamedTuple):
    """A collection to make a page of. `bound` says whether the targets apply to it."""

    name: str
    size: Size
    bound: bool


CASES = (
    Case("100 skills, 30 days, 2,000 trials", Size(100, 30, 2_000), True),
    Case("1,000 skills, 30 days, 2,000 trials", Size(1_000, 30, 2_000, prompts=1), False),
)


def run(options: Options) -> Iterator[str]:
    """Make each collection, and time its page and a lint of the same skills in turn, each in a process of its own."""
    yield (
        "A whole process without a cache: lint, reading of all histories, reports and trials, drawing and writing. The "
        f"ratio is to a lint of the same collection without a cache in the same run; n = {options.rounds} rounds."
    )
    lines = [
        "| collection | page | target | met | seconds | min - max | target | met | ratio to lint | peak memory |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for case in CASES:
        lines.append(_measured(case, options))
    yield "\n".join(lines)


def _measured(case: Case, options: Options) -> str:
    root = options.scratch / f"skills-{case.size.skills}"
    root.mkdir()
    write_page(root, case.size, options.seed)
    page = root / "index.html"
    env = environment(options.scratch)
    day = ("--as-of", LAST.isoformat(), "--no-cache")
    # Each round makes a first page: there is no earlier one to compare with.
    commands = {
        "page": Command(
            skill_health("report", *day, "--output", str(page)), root, env, lambda: page.unlink(missing_ok=True)
        ),
        "lint": Command(skill_health("lint", *day), root, env),
    }
    samples = interleave(commands, options.rounds)
    return _line(case, page, samples["page"], [sample.wall for sample in samples["lint"]])


def _line(case: Case, page: Path, runs: list[Sample], lints: list[float]) -> str:
    size, walls = page.stat().st_size, [run.wall for run in runs]
    middle = median(walls)
    ratio = median(wall / lint for wall, lint in zip(walls, lints, strict=True))
    weight = f"< {BYTES / 1e6:g} MB | {say_met(size < BYTES)}" if case.bound else "- | -"
    time = f"< {SECONDS:g} s | {say_met(middle < SECONDS)}" if case.bound else "- | -"
    return (
        f"| {case.name} | **{size / 1e6:.2f} MB** | {weight} | **{middle:.1f} s** | {min(walls):.1f} - {max(walls):.1f} | {time} "
        f"| {ratio:.1f} | {max(run.peak for run in runs) / 1e6:,.0f} MB |"
    )
