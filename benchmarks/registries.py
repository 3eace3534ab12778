"""What do registries take: shards of a lint run and their merge, and router runs of very many calls?

Memory and processor time are measured at two sizes, and the line through both says what two million skills would take,
or a million calls.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks._measure import Command, Options, Sample, environment, measure, python, skill_health
from benchmarks._trees import Tree, prepare

TITLE = "Registries of millions: shards, and a million calls"
ROUNDS = 1
SHARDS, TIMES, REGISTRY = 4, 10, 2_000_000
MEMORY = 4e9
PROMPTS, REPLICATIONS, MODELS, CALLS = 250, (5, 20), 8, 1_000_000
LATENCY_MS, MAX_CPU_MS = 10, 2.0


class Measured(NamedTuple):
    """A size with the processor seconds and the peak bytes of a run."""

    size: int
    cpu: float
    peak: int


def run(options: Options) -> Iterator[str]:
    """Both, one after the other."""
    yield "\n".join(_shards(options))
    yield "\n".join(_calls(options))


def _shards(options: Options) -> Iterator[str]:
    yield f"A made collection in {SHARDS} shards (`lint --shard K/{SHARDS}`), and `merge`; nothing is cached.\n"
    yield f"| step | skills | processor time | peak memory | of {REGISTRY:,} skills | target | met |"
    yield "|---|---|---|---|---|---|---|"
    found: dict[str, list[Measured]] = {"one shard": [], "merge": []}
    for tree in (prepare(options), prepare(options, TIMES)):
        shards = [_measure_shard(options, tree, number) for number in range(1, SHARDS + 1)]
        found["one shard"].append(shards[0])
        files = [str(_file(options, tree, number)) for number in range(1, SHARDS + 1)]
        merged = _run(
            options,
            tree.root,
            "merge",
            *files,
            "--format",
            "json",
            "--output",
            str(options.scratch / "merged"),
        )
        found["merge"].append(Measured(len(tree.skills), merged.cpu, merged.peak))
    for step, both in found.items():
        whole = REGISTRY if step == "merge" else REGISTRY // 1000
        told = f"{REGISTRY:,} at once" if step == "merge" else "2,000 in each of 1,000 shards"
        for each in both[:-1]:
            yield f"| {step} | {each.size:,} | {each.cpu:.2f} s | {each.peak / 1e6:.0f} MB | | | |"
        memory = _extrapolate(both, whole)
        met = "yes" if memory < MEMORY else "**no**"
        yield (
            f"| {step} | {both[-1].size:,} | {both[-1].cpu:.2f} s | {both[-1].peak / 1e6:.0f} MB | **{memory / 1e9:.2f} GB** ({told}) | "
            f"< {MEMORY / 1e9:.0f} GB | {met} |"
        )


def _extrapolate(both: list[Measured], size: int) -> float:
    """The memory at a size, on the line through two that were measured."""
    small, large = both
    slope = (large.peak - small.peak) / (large.size - small.size)
    return large.peak + max(0.0, slope) * (size - large.size)


def _file(options: Options, tree: Tree, number: int) -> Path:
    return options.scratch / f"{tree.name}-{number}.shard"


def _measure_shard(options: Options, tree: Tree, number: int) -> Measured:
    found = _run(
        options, tree.root, "lint", "--jobs", "1", "--no-cache", "--shard", f"{number}/{SHARDS}", "--output", str(_file(options, tree, number)),
    )  # fmt: skip
    return Measured(len(tree.skills) // SHARDS, found.cpu, found.peak)


def _run(options: Options, root: Path, *words: str) -> Sample:
    return measure(Command(skill_health(*words), root, environment(options.scratch)))


def _calls(options: Options) -> Iterator[str]:
    root = options.scratch / "routed"
    for topic in ("maps", "plums", "songs"):
        folder = root / "skills" / f"{topic}-work"
        folder.mkdir(parents=True)
        text = f"---\nname: {topic}-work\ndescription: Sorts {topic}. Use when {topic} are in a mess.\n---\n# Work\n\nSort.\n"
        (folder / "SKILL.md").write_text(text, encoding="utf-8")
    prompts = (
        {
            "prompt_id": f"p{n}", "prompt": f"sort my songs, number {n}", "expected_primary_skill": "songs-work",
            "acceptable_secondary_skills": [], "rejected_skills": [], "reason": "Made.",
        }
        for n in range(PROMPTS)
    )  # fmt: skip
    (root / "prompts.jsonl").write_text("".join(json.dumps(each) + "\n" for each in prompts), encoding="utf-8")
    (root / "skill-health.toml").write_text("", encoding="utf-8")
    models = ",".join(f"scripted:skill=0.9,latency={LATENCY_MS},seed={seed}" for seed in range(MODELS))
    both = []
    for reps in REPLICATIONS:
        words = [
            "router", "run", ".", "--prompts", "prompts.jsonl", "--models", models, "--reps", str(reps), "--quiet", "--concurrency", "64",
            "--no-resume", "--out", str(options.scratch / f"calls-{reps}"),
        ]  # fmt: skip
        found = measure(Command(python("-m", "simulators", *words), root, environment(options.scratch)))
        both.append(Measured(PROMPTS * reps * MODELS, found.cpu, found.peak))
    yield (
        f"{MODELS} simulated models that answer after {LATENCY_MS} ms, {PROMPTS} prompts, 64 calls at once; the journal is written as for "
        "real ones, and the report at the end is in it.\n"
    )
    yield f"| calls | processor time of each | target | met | peak memory | of {CALLS:,} calls |"
    yield "|---|---|---|---|---|---|"
    for each in both:
        cpu = 1000 * each.cpu / each.size
        told = f"{_extrapolate(both, CALLS) / 1e9:.2f} GB" if each is both[-1] else ""
        met = "yes" if cpu <= MAX_CPU_MS else "**no**"
        yield f"| {each.size:,} | **{cpu:.2f}** ms | <= {MAX_CPU_MS:g} ms | {met} | {each.peak / 1e6:.0f} MB | {told} |"
