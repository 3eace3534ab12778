"""How long does the page take, how much memory does it need, how large is it, and how fast is it in a browser?"""

from __future__ import annotations

import re
import shutil
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
    if options.tree is None:
        yield (
            "A whole process without a cache: lint, reading of all histories, reports and trials, drawing and writing. "
            f"The ratio is to a lint of the same collection without a cache in the same run; n = {options.rounds} rounds."
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
    yield "\n".join((*_HEAD, *(line for name, root in _looked(options) for line in _seen(name, root, options))))


LOOKED = (12, 557, 2_000, 10_000)
_HEAD = (
    "| skills without any run, in chromium | n | page | < 5 MB | elements | build | to lint | shown | sort | < 200 ms "
    "| frame, 95 % | 60 a second |",
    "|---|---|---|---|---|---|---|---|---|---|---|---|",
)


def _looked(options: Options) -> Iterator[tuple[str, Path]]:
    """The collections of which a page is looked at: a copy of the real one, else made ones."""
    if options.tree is not None:
        root = options.scratch / options.tree.name
        shutil.copytree(options.tree, root, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        yield options.tree.name, root
        return
    for skills in LOOKED:
        root = options.scratch / f"seen-{skills}"
        root.mkdir()
        write_skills(root, skills)
        yield "made", root


def _seen(name: str, root: Path, options: Options) -> list[str]:
    """A line on the page of a collection in a browser, and one before it on what another checkout makes of the same."""
    pages = {"": root / "index.html"} | ({"before: ": root / "before.html"} if options.against else {})
    env = environment(options.scratch)
    envs = {"": env, "before: ": env | {"PYTHONPATH": str(options.against)}}
    day = ("--as-of", LAST.isoformat(), "--no-cache")
    commands = {
        label: Command(
            skill_health("report", *day, "--output", str(page)), root, envs[label],
            lambda page=page: page.unlink(missing_ok=True),  # type: ignore[misc]
        )
        for label, page in pages.items()
    }  # fmt: skip
    samples = interleave({**commands, "lint": Command(skill_health("lint", *day), root, env)}, options.rounds)
    lints = [run.wall for run in samples["lint"]]
    return [
        _seen_line(f"{label}{name}", page, [run.wall for run in samples[label]], lints)
        for label, page in sorted(pages.items(), reverse=True)
    ]


def _seen_line(name: str, page: Path, walls: list[float], lints: list[float]) -> str:
    size, seen, skills = page.stat().st_size, look_at(page), count_skills(page)
    small = say_met(size < MANY_BYTES) if skills <= 2_000 else "-"
    ratio = median(wall / lint for wall, lint in zip(walls, lints, strict=True))
    return (
        f"| {name} | {skills:,} | {size / 1e6:.2f} MB | {small} | {seen.elements:,} | {median(walls):.1f} s | {ratio:.1f} "
        f"| {seen.opened:,.0f} ms | **{seen.sort:,.0f} ms** | {say_met(seen.sort < SORT)} "
        f"| **{seen.frame:.1f} ms**, {seen.late_frame:.1f} ms | {say_met(round(seen.frame, 1) <= FRAME)} |"
    )


def count_skills(page: Path) -> int:
    """How many skills a page says that it is about."""
    found = re.search(r"· ([0-9,]+) skills?", page.read_text(encoding="utf-8"))
    return int(found[1].replace(",", "")) if found else 0


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
