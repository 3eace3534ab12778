"""`python -m benchmarks [NAME]...` prints one Markdown section for each question (by default all of them).

A question is a module here with a `TITLE`, the number of `ROUNDS` that it needs, and `run(options)`, which yields
paragraphs and tables.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from benchmarks._measure import Failed, Options
from benchmarks._table import machine

# In this order: what `parse` reads into this process would count as memory of those that are started later.
QUESTIONS = ("hook", "collection", "scale", "parse")


def main(argv: list[str] | None = None) -> int:
    """Answer the questions; 0, or 1 where something could not be measured."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description="Speed and memory, as ratios taken in one run."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"what to measure (all): {', '.join(QUESTIONS)}")
    parser.add_argument("--tree", type=Path, metavar="PATH", help="a real collection instead of the generated one")
    parser.add_argument("--skills", type=int, default=529, metavar="N", help="size of the generated collection (529)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the generated collection (1)")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds of each measurement (as many as each needs)")
    parser.add_argument("--agnix", metavar="PROGRAM", help="an agnix that is there already (else pip installs one)")
    given = parser.parse_args(argv)
    if unknown := [name for name in given.names if name not in QUESTIONS]:
        parser.error(f"nothing is called {unknown[0]!r}; there are {', '.join(QUESTIONS)}")
    if given.skills < 1 or (given.rounds is not None and given.rounds < 1):
        parser.error("--skills and --rounds count from 1")
    if given.tree is not None and not given.tree.is_dir():
        parser.error(f"--tree: no such folder: {given.tree}")
    print(machine())
    failed = False
    for name in [name for name in QUESTIONS if name in (given.names or QUESTIONS)]:
        question = import_module(f"benchmarks.{name}")
        print(f"\n## {question.TITLE}", flush=True)
        with tempfile.TemporaryDirectory(prefix="skill-health-bench-") as scratch:
            tree = given.tree.resolve() if given.tree else None
            rounds = given.rounds or question.ROUNDS
            options = Options(Path(scratch).resolve(), tree, given.skills, given.seed, rounds, given.agnix)
            try:
                for part in question.run(options):
                    print(f"\n{part}", flush=True)
            except Failed as error:
                failed = True
                print(f"\nNot measured: {error}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
