"""Does ten times the collection take ten times as long, and how much memory does it need?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchmarks._measure import Command, Options, Sample, environment, interleave, measure, skill_health
from benchmarks._table import Ratio, absolutes, ratios
from benchmarks._trees import prepare

TITLE = "Ten times the collection"
ROUNDS = 3
TIMES = 10
LINEAR = 1.15
MEMORY = 250e6
KINDS = {
    "no cache": ["--no-cache"],
    "from the cache, unchanged": [],
    "from the cache, scores as JSON": ["--score", "--format", "json"],
}


def run(options: Options) -> Iterator[str]:
    """Measure one and ten times the collection: seconds for each skill, and the peak memory of any process."""
    small, large = prepare(options), prepare(options, TIMES)
    env = environment(options.scratch)
    commands, rows = {}, []
    for what, flags in KINDS.items():
        argv = skill_health("lint", "--jobs", "2", *flags)
        one, ten = (f"{tree.name}, {what}" for tree in (small, large))
        commands[one] = Command(argv, small.root, env)
        commands[ten] = Command(argv, large.root, env)
        rows.append(Ratio(ten, one, LINEAR, scale=len(large.skills) / len(small.skills)))
    yield "Seconds for each skill, the large collection over the small one; linear within 15 % is the target."
    samples = interleave(commands, options.rounds)
    yield ratios(samples, rows)
    full = skill_health("lint", "--jobs", "2", "--score", "--format", "json")
    first = Command(full, large.root, environment(options.scratch / "first"))
    yield _memory({**samples, f"{large.name}, first run with a cache, scores as JSON": [measure(first)]})
    yield absolutes(samples)


def _memory(samples: Mapping[str, Sequence[Sample]]) -> str:
    lines = ["| peak memory of any process | MB | target | met |", "|---|---|---|---|"]
    for name, runs in samples.items():
        peak = max(run.peak for run in runs)
        met = "yes" if peak < MEMORY else "**no**"
        lines.append(f"| {name} | **{peak / 1e6:,.0f}** | < {MEMORY / 1e6:.0f} | {met} |")
    return "\n".join(lines)
