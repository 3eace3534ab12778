"""A library of 100,000 skills: how long 1,000 prompts take, with what memory, and what its index on disk saves."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from statistics import median

from benchmarks._measure import ROOT, Command, Options, Sample, environment, measure, python
from benchmarks._table import say_met

TITLE = "A library of 100,000 skills"
ROUNDS = 1
SMALL, LARGE, PROMPTS = 10_000, 100_000, 1_000
SECONDS, BYTES = 60.0, 2e9
_HEAD = "| `lexical`, {prompts:,} prompts | n | seconds of CPU | of wall clock | peak memory | target | met |\n"
_HEAD += "|---|---|---|---|---|---|---|"


def run(options: Options) -> Iterator[str]:
    """Route in new processes: where nothing is on disk, and where the index is."""
    yield (
        f"Generated skills with descriptions of 20 to 60 words, {PROMPTS:,} prompts of 8 to 30 words (seed {options.seed}), "
        "each row a new process with its imports and the making of the collection, prompts one after the other. The target "
        "is for processor time, which other work on the machine does not stretch."
    )
    rows = [_HEAD.format(prompts=PROMPTS)]
    taken: dict[tuple[int, bool], list[Sample]] = {}
    for size in (SMALL, LARGE):
        for kept in (False, True):
            taken[size, kept] = [_once(options, size, PROMPTS, kept) for _ in range(options.rounds)]
            rows.append(
                _row(f"{size:,} skills, {'index on disk' if kept else 'nothing on disk'}", taken[size, kept], kept)
            )
    yield "\n".join(rows)
    per_skill = _ratio(taken[LARGE, True], taken[SMALL, True], LARGE / SMALL)
    saved = _ratio(taken[LARGE, True], taken[LARGE, False])
    yield (
        f"Ten times the skills take {per_skill:.2f} of ten times the processor time; the index on disk leaves {saved:.2f} of "
        "what a process without it takes."
    )


def _once(options: Options, size: int, prompts: int, kept: bool) -> Sample:
    cache = options.scratch / "indexes"

    def forget() -> None:
        shutil.rmtree(cache, ignore_errors=True)

    arguments = ("lexical", "description", str(size), str(prompts), str(options.seed))
    env = environment(options.scratch, SKILL_HEALTH_CACHE_DIR=str(cache))
    command = python("-m", "benchmarks._route_once", *arguments)
    return measure(Command(command, ROOT, env, None if kept else forget, (0,)))


def _row(name: str, samples: Sequence[Sample], judged: bool) -> str:
    cpu, wall = median(one.cpu for one in samples), median(one.wall for one in samples)
    peak = max(one.peak for one in samples)
    target = f"< {SECONDS:g} s, < {BYTES / 1e9:g} GB" if judged else "-"
    met = say_met(cpu < SECONDS and peak < BYTES) if judged else "-"
    return f"| {name} | {len(samples)} | **{cpu:.1f}** | {wall:.1f} | **{peak / 1e6:,.0f} MB** | {target} | {met} |"


def _ratio(some: Sequence[Sample], others: Sequence[Sample], scale: float = 1.0) -> float:
    return median(one.cpu for one in some) / median(one.cpu for one in others) / scale
