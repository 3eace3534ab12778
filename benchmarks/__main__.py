"""`python -m benchmarks [NAME]...` prints one Markdown section for each question (by default all of them).

A question is a module here with a `TITLE`, the number of `ROUNDS` it needs, and `run(options)`, which yields paragraphs
and tables.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from benchmarks._measure import Failed, Options
from benchmarks._table import machine

# In this order: what `parse` reads into this process would count as memory of processes started later.
LINTER = ("hook", "collection", "scale", "editor", "parse")
ROUTER = ("routers", "calls", "router_report", "resampling", "coverage")
FREE = ("free_routers", "learned_weights", "separate_fields")
EFFECTIVENESS = ("trials", "endpoints", "power", "loading")
PAGE = ("page",)
DAILY = ("history",)
RISK = ("risk",)
MODELS = ("carry_over",)
SIZES = ("sizes",)
LEAKS = ("leaks",)
JUDGING = ("judging",)
ACTIVATION = ("activation",)
LIBRARY = ("library", "library_curve")
SETTLING = ("settling",)
EXECUTORS = ("executors", "registries")
QUESTIONS = (
    *LINTER,
    *ROUTER,
    *FREE,
    *EFFECTIVENESS,
    *PAGE,
    *DAILY,
    *SIZES,
    *RISK,
    *MODELS,
    *LEAKS,
    *JUDGING,
    *ACTIVATION,
    *LIBRARY,
    *SETTLING,
    *EXECUTORS,
)
NOT_MEASURED = "Not measured: "


def main(argv: list[str] | None = None) -> int:
    """Answer the questions; returns 0, or 1 if something could not be measured."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description="Speed and memory, as ratios taken in one run."
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"what to measure (the first five): {', '.join(QUESTIONS)}"
    )
    parser.add_argument("--tree", type=Path, metavar="PATH", help="a real collection instead of the generated one")
    parser.add_argument("--skills", type=int, default=529, metavar="N", help="size of the generated collection (529)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the generated collection (1)")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds of each measurement (as many as each needs)")
    parser.add_argument("--agnix", metavar="PROGRAM", help="an installed agnix (else pip installs one)")
    parser.add_argument(
        "--against", type=Path, metavar="PATH", help="page: a checkout whose page is measured beside it"
    )
    parser.add_argument("--write", type=Path, metavar="FILE", help="also put the tables between the marks in this file")
    given = parser.parse_args(argv)
    if unknown := [name for name in given.names if name not in QUESTIONS]:
        parser.error(f"there is no question {unknown[0]!r}; there are {', '.join(QUESTIONS)}")
    if given.skills < 1 or (given.rounds is not None and given.rounds < 1):
        parser.error("--skills and --rounds count from 1")
    if given.tree is not None and not given.tree.is_dir():
        parser.error(f"--tree: no such folder: {given.tree}")
    if given.against is not None and not (given.against / "skill_health").is_dir():
        parser.error(f"--against: no checkout of this project: {given.against}")
    named = set(given.names)
    groups = {
        "router": {*ROUTER},
        "free": {*FREE},
        "effectiveness": {*EFFECTIVENESS},
        "page": {*PAGE},
        "daily": {*DAILY},
        "sizes": {*SIZES},
        "risk": {*RISK},
        "models": {*MODELS},
        "leaks": {*LEAKS},
        "judging": {*JUDGING},
        "library": {*LIBRARY},
    }
    kind = next(
        (name for name, group in groups.items() if named and named <= group), "real" if given.tree else "generated"
    )
    if given.write is not None and not (given.write.is_file() and _cut(given.write, kind)):
        parser.error(f"--write: {given.write} has no lines '<!-- begin {kind} -->' and '<!-- end {kind} -->'")
    parts: list[str] = []
    for part in _answers(given):
        print(part, end="\n\n", flush=True)
        parts.append(part)
    if given.write is not None:
        # Text outside the marks is kept; headings go one level deeper.
        head, tail = _cut(given.write, kind) or ("", "")
        tables = "\n\n".join(parts).replace("\n## ", "\n### ")
        given.write.write_text(f"{head}\n{tables}\n\n{tail}", encoding="utf-8")
    return int(any(part.startswith(NOT_MEASURED) for part in parts))


def _answers(given: argparse.Namespace) -> Iterator[str]:
    yield machine()
    for name in [name for name in QUESTIONS if name in (given.names or LINTER)]:
        question = import_module(f"benchmarks.{name}")
        yield f"## {question.TITLE}"
        with tempfile.TemporaryDirectory(prefix="skill-health-bench-") as scratch:
            tree = given.tree.resolve() if given.tree else None
            against = given.against.resolve() if given.against else None
            rounds = given.rounds or question.ROUNDS
            options = Options(Path(scratch).resolve(), tree, given.skills, given.seed, rounds, given.agnix, against)
            try:
                yield from question.run(options)
            except Failed as error:
                yield f"{NOT_MEASURED}{error}"


def _cut(path: Path, kind: str) -> tuple[str, str] | None:
    """The text before and after the tables of this kind, marks included; None without marks."""
    head, begin, rest = path.read_text(encoding="utf-8").partition(f"<!-- begin {kind} -->\n")
    _, end, tail = rest.partition(f"<!-- end {kind} -->\n")
    return (head + begin, end + tail) if begin and end else None


if __name__ == "__main__":
    sys.exit(main())
