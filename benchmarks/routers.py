"""Local routers over 1,000 skills and 1,000 prompts, and the cost of the router's hook for a commit."""

from __future__ import annotations

import asyncio
import json
import math
import random
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import cast

from benchmarks._generate import generate
from benchmarks._measure import ROOT, Command, Failed, Options, environment, interleave, python, skill_health
from benchmarks._route_once import BODY, answer, make_collection
from skill_health.config.settings import RouterSettings
from skill_health.core.errors import UsageError
from skill_health.router.records import Catalogue, Prompt
from skill_health.router.routers._load import open_choice, resolve
from skill_health.router.routers._local import LocalRouter

TITLE = "Routers that need no model"
ROUNDS = 5
SIZE, TARGET = 1_000, {"lexical:bm25": 5.0, "lexical:overlap": None, "lexical:tfidf": None, "lexical": None}
LARGE, ASKED = 2_000, 500
# Router, index, and what is wanted: seconds and MiB. The first is what the others are compared with.
PROCESSES: dict[str, tuple[str, str, float | None, int | None]] = {
    "`lexical:bm25`": ("lexical:bm25", "description", None, None),
    "`lexical`": ("lexical", "description", 10, 300),
    "`lexical`, content": ("lexical", "content", None, None),
    "`hybrid`, no cache": ("hybrid", "description", 60, None),
    "`hybrid`, vectors cached": ("hybrid", "description", 5, None),
}
HOOK_SKILLS, HOOK_PROMPTS, HOOK_TARGET = 30, 60, 1.0
_HEAD = "| measured | n | median | min - max | target | ratio to it | met |\n|---|---|---|---|---|---|---|"
_COLD_HEAD = "| measured | n | ratio | median | memory | target | met |\n|---|---|---|---|---|---|---|"


def run(options: Options) -> Iterator[str]:
    """Measure the lexical routers in this process, and the hook as a process of its own."""
    catalogue, prompts = make_collection(SIZE, SIZE, options.seed)
    yield (
        f"Indexing {SIZE:,} generated skills and answering {SIZE:,} prompts one by one, as a run does (seed "
        f"{options.seed}; descriptions of 20 to 60 words, prompts of 8 to 30). Imports are not counted."
    )
    rows = [_HEAD]
    for spec, target in TARGET.items():
        took = []
        for nth in range(options.rounds + 1):
            start = time.perf_counter()
            _ask_all(spec, catalogue, prompts)
            # The first round imports the library.
            took += [time.perf_counter() - start] if nth else []
        rows.append(_row(spec, took, target))
    yield "\n".join(rows)
    yield (
        f"The same with {LARGE:,} skills and {ASKED} prompts, each in a new process with its imports. For *content* each "
        f"skill has a SKILL.md of {BODY:,} words. The ratio is to the first router in the same round; memory is the peak."
    )
    yield "\n".join([_COLD_HEAD, *_cold(options)])
    yield (
        f"`skill-health router hook` in a new process, one of {HOOK_SKILLS} descriptions changed, {HOOK_PROMPTS} prompts "
        "(compiled modules are warm); and where only the body of a skill has changed, or nothing:"
    )
    yield "\n".join([_HEAD, *_hook(options)])


def _ask_all(spec: str, catalogue: Catalogue, prompts: list[Prompt]) -> None:
    try:
        router = cast(LocalRouter, open_choice(resolve(spec, RouterSettings()), catalogue))
    except UsageError as error:
        raise Failed(str(error)) from error
    asyncio.run(answer(router, catalogue, prompts))


def _cold(options: Options) -> Iterator[str]:
    """Whole processes: time and memory, beside the first of them in the same round."""
    cache = options.scratch / "vectors"
    env = environment(options.scratch, SKILL_HEALTH_CACHE_DIR=str(cache))

    def forget() -> None:
        shutil.rmtree(cache, ignore_errors=True)

    commands = {
        name: Command(
            python("-m", "benchmarks._route_once", spec, index, str(LARGE), str(ASKED), str(options.seed)),
            ROOT, env, forget if "no cache" in name else None, (0,),
        )
        for name, (spec, index, _, _) in PROCESSES.items()
    }  # fmt: skip
    samples = interleave(commands, options.rounds)
    base = samples[next(iter(PROCESSES))]
    for name, (_, _, seconds, megabytes) in PROCESSES.items():
        took = samples[name]
        wall, peak = median(one.wall for one in took), max(one.peak for one in took) / 2**20
        ratio = median(one.wall / other.wall for one, other in zip(took, base, strict=True))
        met = wall < (seconds or math.inf) and peak < (megabytes or math.inf)
        target = f"< {seconds:g} s" + (f", < {megabytes} MiB" if megabytes else "") if seconds else "-"
        answer_ = ("yes" if met else "**no**") if seconds else "-"
        yield f"| {name} | {len(took)} | **{ratio:.2f}** | {wall:.1f} s | {peak:.0f} MiB | {target} | {answer_} |"


def _hook(options: Options) -> Iterator[str]:
    root = options.scratch / "hook"
    generate(root, HOOK_SKILLS, options.seed)
    folders = sorted((root / "skills").iterdir())
    rng = random.Random(options.seed)
    labels = [rng.choice(folders).name for _ in range(HOOK_PROMPTS)]
    records = [
        {"prompt_id": f"p{n}", "prompt": f"What about the {name.replace('-', ' ')}?", "expected_primary_skill": name}
        for n, name in enumerate(labels)
    ]
    (root / "prompts.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    env = environment(options.scratch, GIT_CONFIG_NOSYSTEM="1")
    for command in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=B", "-c", "user.email=b@example.com", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *command], cwd=root, env=env, check=True)
    first = folders[0] / "SKILL.md"
    text = first.read_text(encoding="utf-8")
    edited = text.replace('description: "Sorts ', 'description: "Sorts and orders ', 1)
    states = {"a description": edited, "a body": f"{text}\nOne more line.\n", "nothing": text}
    if edited == text:
        raise Failed("the generated skill has no description to change")
    for name, state in states.items():
        command = Command(skill_health("router", "hook"), root, env, lambda state=state: _write(first, state))
        samples = interleave({name: command}, options.rounds)[name]
        yield _row(f"hook, {name} changed", [sample.wall for sample in samples], HOOK_TARGET)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="")


def _row(name: str, took: list[float], target: float | None) -> str:
    middle = median(took)
    spread = f"{min(took):.2f} - {max(took):.2f} s"
    if target is None:
        return f"| {name} | {len(took)} | {middle:.2f} s | {spread} | - | - | - |"
    met = "yes" if middle < target else "**no**"
    return f"| {name} | {len(took)} | {middle:.2f} s | {spread} | < {target:g} s | **{middle / target:.2f}** | {met} |"
