"""How long does the page take, how much memory does it need, how large is it, and how fast is it in a browser?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks._in_browser import look_at, missing_browser
from benchmarks._made_page import LAST, Size, write_page
from benchmarks._measure import Command, Options, Sample, environment, interleave, skill_health
from benchmarks._table import say_met

TITLE = "The page of 100 to 10,000 skills"
ROUNDS = 3
BYTES, SECONDS = 3e6, 5.0
MANY_BYTES, SORT, FRAME = 5e6, 200.0, 16.7
"""Bytes of a file of up to 2,000 skills; milliseconds of a sort and of a frame at 60 a second, up to 10,000."""


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
    if why := missing_browser():
        yield f"Not measured in a browser: {why}"
        return
    yield "\n".join(
        (
            "| skills without any run, in chromium | page | < 5 MB | elements | shown | sort | < 200 ms | frame, 95 % | < 16.7 ms |",
            "|---|---|---|---|---|---|---|---|---|",
            *(_seen(skills, options) for skills in LOOKED),
        )
    )


LOOKED = (12, 557, 2_000, 10_000)


def _seen(skills: int, options: Options) -> str:
    """A line on a page of so many skills, in a browser."""
    root = options.scratch / f"seen-{skills}"
    root.mkdir()
    write_skills(root, skills)
    page = root / "index.html"
    run = Command(
        skill_health("report", "--as-of", LAST.isoformat(), "--output", str(page)), root, environment(options.scratch)
    )
    interleave({"page": run}, 1)
    size, seen = page.stat().st_size, look_at(page)
    small = say_met(size < MANY_BYTES) if skills <= 2_000 else "-"
    return (
        f"| {skills:,} | {size / 1e6:.2f} MB | {small} | {seen.elements:,} | {seen.opened:,.0f} ms | **{seen.sort:.0f} ms** "
        f"| {say_met(seen.sort < SORT)} | **{seen.frame:.1f} ms**, {seen.late_frame:.1f} ms | {say_met(seen.frame < FRAME)} |"
    )


def write_skills(root: Path, skills: int) -> None:
    """Skills of which one in five has a broken link, one in twenty another name, and a third a thin description."""
    for at in range(skills):
        name = f"sort-crates-{at:05}"
        folder = root / "skills" / name
        folder.mkdir(parents=True)
        told = f"Sorts crates of kind {at}. Use when crate {at} is wanted." if at % 3 else "Sorts"
        link = f"See [the list](missing-{at}.md).\n" if at % 5 == 0 else ""
        head = f"---\nname: {name if at % 20 else 'Crates'}\ndescription: {told}\n---\n"
        (folder / "SKILL.md").write_text(f"{head}# Crates\n\nLook at crate {at}.\n{link}", encoding="utf-8")


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
