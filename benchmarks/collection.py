"""How long does a whole collection take, at first and after an edit, against a linter written in Rust?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from benchmarks import _agnix
from benchmarks._measure import Command, Options, environment, interleave, skill_health
from benchmarks._table import Ratio, absolutes, ratios
from benchmarks._trees import prepare

TITLE = "A collection"
ROUNDS = 11
BASE = f"agnix {_agnix.VERSION}"
COLD = "no cache, two processes"
EDITED = "from the cache, after one edit"
SAME = "from the cache, unchanged"


def run(options: Options) -> Iterator[str]:
    """Measure ours without a cache, with one edit and with none, and agnix, on the same tree."""
    program = _agnix.program(options.agnix)
    tree = prepare(options)
    env = environment(options.scratch)
    edits = count(1)
    ours = skill_health("lint", "--jobs", "2")
    commands = {
        BASE: Command([program, "."], tree.root, env),
        COLD: Command([*ours, "--no-cache"], tree.root, env),
        EDITED: Command(ours, tree.root, env, before=lambda: tree.append(next(edits))),
        SAME: Command(ours, tree.root, env),
    }
    yield (
        f"{tree.name}, `skill-health lint --jobs 2` against `agnix .` in the same folder, text output of both thrown "
        "away. Before each run after an edit a line is appended to another SKILL.md. agnix keeps no cache; it also "
        "reads other kinds of files (CLAUDE.md, hooks ...), and it runs other rules."
    )
    samples = interleave(commands, options.rounds)
    yield ratios(samples, [Ratio(COLD, BASE, 2.5), Ratio(EDITED, BASE, 0.4), Ratio(SAME, BASE)])
    yield absolutes(samples)
