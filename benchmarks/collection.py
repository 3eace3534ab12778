"""How long does a whole collection take, and a commit to it, against a linter written in Rust?"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path

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
HOOK = "hook on one skill, no cache"
HOOK_EDITED = "hook on one skill, edited since, from the cache"


def run(options: Options) -> Iterator[str]:
    """Measure ours without a cache, with one edit and with none, a commit of one skill, and agnix, on the same tree."""
    program = _agnix.program(options.agnix)
    tree = prepare(options)
    env = environment(options.scratch)
    # Settings mark the whole tree as one collection, as git would: a hook then looks at all of it.
    (tree.root / "skill-health.toml").touch()
    commits = tree._replace(root=options.scratch / "commits", skills=tree.skills[:1])
    shutil.copytree(tree.root, commits.root, symlinks=True)
    edits = count(1)
    _git(commits.root, "init", "--quiet")
    _git(commits.root, "add", "--all")
    _git(commits.root, "commit", "--quiet", "--message", "All skills")

    def stage() -> None:
        commits.append(next(edits))
        _git(commits.root, "add", "--all")

    ours = skill_health("lint", "--jobs", "2")
    commands = {
        BASE: Command([program, "."], tree.root, env),
        COLD: Command([*ours, "--no-cache"], tree.root, env),
        EDITED: Command(ours, tree.root, env, before=lambda: tree.append(next(edits))),
        SAME: Command(ours, tree.root, env),
        HOOK: Command(skill_health("lint", "--staged", "--no-cache"), commits.root, env, before=stage),
        HOOK_EDITED: Command(skill_health("lint", "--staged"), commits.root, env, before=stage),
    }
    yield (
        f"{tree.name}, `skill-health lint --jobs 2` against `agnix .` in the same folder, text output of both thrown "
        "away. Before each run after an edit a line is appended to another SKILL.md. The hook judges a commit to a copy "
        "of the tree: a line is appended to one of its skills and staged before each run. agnix keeps no cache; it also "
        "reads other kinds of files (CLAUDE.md, hooks ...), and it runs other rules."
    )
    samples = interleave(commands, options.rounds)
    yield ratios(
        samples,
        [
            Ratio(COLD, BASE, 2.5),
            Ratio(EDITED, BASE, 0.4),
            Ratio(SAME, BASE),
            Ratio(HOOK, BASE, 0.5),
            Ratio(HOOK_EDITED, BASE, 0.2),
        ],
    )
    yield absolutes(samples)


def _git(root: Path, *arguments: str) -> None:
    named = {f"GIT_{who}_{what}": "x@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(["git", *arguments], cwd=root, env={**os.environ, **named}, check=True)
