"""How long does a commit wait? One skill in a cold process, against the import of three libraries."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from benchmarks._measure import ROOT, Command, Options, environment, interleave, python, skill_health
from benchmarks._table import Ratio, absolutes, ratios

TITLE = "One skill from a hook"
ROUNDS = 21
SKILL = "eval-statistics"
BASE = '`python -c "import click, yaml, markdown_it"`'
ALONE = "one skill, no cache"
CACHED = "the same, unchanged and cached"
EDITED = "the same, edited since"
MANY = "one of 12 skills, no cache"
MANY_CACHED = "one of 12 skills, unchanged and cached"
MANY_EDITED = "one of 12 skills, edited since"


def run(options: Options) -> Iterator[str]:
    """Measure the skill alone, and within a collection that the collection-wide rules read."""
    alone, many = options.scratch / "alone", options.scratch / "many"
    shutil.copytree(ROOT / "fixtures" / "skills" / SKILL, alone / "skills" / SKILL)
    for name in ("skills", "registries"):
        shutil.copytree(ROOT / "fixtures" / name, many / name)
    shutil.copy(ROOT / "fixtures" / "skill-health.toml", many)
    file = f"skills/{SKILL}/SKILL.md"
    env = environment(options.scratch)
    commands = {
        BASE: Command(python("-c", "import click, yaml, markdown_it"), alone, env),
        ALONE: Command(skill_health("lint", "--no-cache", file), alone, env),
        CACHED: Command(skill_health("lint", file), alone, env),
        MANY: Command(skill_health("lint", "--no-cache", file), many, env),
        MANY_CACHED: Command(skill_health("lint", file), many, env),
    }
    yield (
        f"`skill-health lint {file}` in a new process (compiled modules are warm), where the skill is alone and where "
        "it is one of the 12 of `fixtures/`, all of which the collection-wide rules must know."
    )
    samples = interleave(commands, options.rounds)
    yield ratios(
        samples,
        [Ratio(ALONE, BASE, 1.3), Ratio(CACHED, BASE, 1.0, strict=True), Ratio(MANY, BASE), Ratio(MANY_CACHED, BASE)],
    )
    yield absolutes(samples)
    edited = {
        BASE: commands[BASE],
        EDITED: commands[CACHED]._replace(before=lambda: _append(alone / file)),
        MANY_EDITED: commands[MANY_CACHED]._replace(before=lambda: _append(many / file)),
    }
    samples = interleave(edited, options.rounds)
    yield "A line is appended to the skill before each run, which is what a commit sees:"
    yield ratios(samples, [Ratio(EDITED, BASE), Ratio(MANY_EDITED, BASE)])


def _append(path: Path) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write("\nOne more line.\n")
