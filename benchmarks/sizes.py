"""What do a hundred, a thousand, ten thousand and a hundred thousand skills cost, in time and in memory?"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

from benchmarks._measure import Command, Options, Sample, environment, measure, skill_health
from benchmarks._table import say_met
from benchmarks._trees import Tree, prepare

TITLE = "From a hundred skills to a hundred thousand"
ROUNDS = 1
SIZES = (100, 1_000, 10_000, 100_000)
LINEAR, MEMORY = 1.15, 300e6


def run(options: Options) -> Iterator[str]:
    """Each size in turn, a run each: without a cache that knows anything, unchanged, and one edited skill as a hook."""
    yield (
        "Processor time of all processes, and peak memory of the largest. The ratio is that of the time for each skill to "
        f"the same at {_worded(SIZES[1])} skills; linear within {LINEAR:g} and {MEMORY / 1e6:g} MB are the targets."
    )
    lines = [
        "| skills | run | processor time, s | for each skill, ms | ratio | met | peak memory, MB | met |",
        "|---|---|---|---|---|---|---|---|",
    ]
    # With a size to compare with first, the smallest after it.
    order = (SIZES[1], SIZES[0], *(size for size in SIZES[2:] if size <= max(options.skills, SIZES[2])))
    rows: dict[int, list[str]] = {}
    each: dict[str, float] = {}
    for size in order:
        rows[size] = []
        for what, sample in _runs(options, size):
            own = sample.cpu / size
            ratio = own / each.setdefault(what, own)
            hook = what.startswith("hook")
            linear = "" if hook or size <= SIZES[1] else say_met(ratio <= LINEAR)
            cells = ("", "") if hook else (f"{1e3 * own:.2f}", f"{ratio:.2f}")
            rows[size].append(
                f"| {_worded(size)} | {what} | {sample.cpu:.2f} | {cells[0]} | {cells[1]} | {linear} "
                f"| {sample.peak / 1e6:,.0f} | {say_met(sample.peak < MEMORY)} |"
            )
    yield "\n".join([*lines, *(line for size in sorted(rows) for line in rows[size])])


def _runs(options: Options, size: int) -> Iterator[tuple[str, Sample]]:
    scratch = options.scratch / str(size)
    scratch.mkdir()
    tree = prepare(options._replace(scratch=scratch, skills=size, tree=None))
    env = environment(scratch)
    everything = Command(skill_health("lint", "--jobs", "2"), tree.root, env)
    yield "first, filling the cache", measure(everything)
    yield "unchanged", measure(everything)
    yield "hook on one edited skill", measure(_hook(tree, env))
    shutil.rmtree(scratch)


def _hook(tree: Tree, env: dict[str, str]) -> Command:
    tree.append(0)
    skill = tree.skills[0]
    return Command(skill_health("lint", "--force-exclude", os.path.join(tree.root, skill)), tree.root, env)


def _worded(size: int) -> str:
    return f"{size:,}"
