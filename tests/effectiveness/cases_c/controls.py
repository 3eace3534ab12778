"""The negative controls (016 to 020): right results in every form that a task allows, and near misses."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

Change = Callable[[Path], object]


def sub(file: str, pattern: str, text: str, count: int = 1) -> Change:
    """A change of the oracle's result by a regular expression that must fit."""

    def change(workspace: Path) -> None:
        path = workspace / file
        changed, times = re.subn(pattern, text, path.read_text("utf-8"), count=count, flags=re.MULTILINE)
        assert times
        path.write_text(changed, "utf-8", newline="")

    return change


def put(file: str, text: str) -> Change:
    return lambda workspace: (workspace / file).write_text(text, "utf-8")


def move(old: str, new: str) -> Change:
    return lambda workspace: (workspace / old).rename(workspace / new)


def rewrite(file: str, change: Callable[[list[str]], list[str]]) -> Change:
    """A change of the oracle's result, line by line; the lines keep their ends."""

    def changed(workspace: Path) -> None:
        lines = (workspace / file).read_bytes().decode("utf-8").splitlines(keepends=True)
        (workspace / file).write_bytes("".join(change(lines)).encode("utf-8"))

    return changed


def both(*changes: Change) -> Change:
    def change(workspace: Path) -> None:
        for each in changes:
            each(workspace)

    return change


def swap(one: str, other: str) -> Change:
    """Two pieces in each other's crates."""
    names = {one: other, other: one}
    return rewrite(
        CRATES, lambda lines: [re.sub(rf"\b(?:{one}|{other})\b", lambda found: names[found[0]], line) for line in lines]
    )


def split(line: str) -> tuple[str, str]:
    """One crate as two."""
    first, _, rest = line.strip().partition(" ")
    return first, rest


DATES, PROGRAM, SCANS, METRIC, CRATES = "dates.txt", "labels.py", "scans", "metric.txt", "packing.txt"
JULE, SECOND, TIM = (f"{SCANS}/2025-03-09_moeller_0{number}.txt" for number in (1, 2, 3))

RIGHT_WAYS: dict[str, dict[str, Change]] = {
    "016": {
        "a tab and a dot": sub(DATES, r"^(\d+) ", r"\1.\t", 0),
        "no newline at the end": sub(DATES, r"\n\Z", ""),
        "a blank line between generations": sub(DATES, r"^(9 )", r"\n\1"),
    },
    "017": {
        "an escape for the tab": sub(PROGRAM, r'"\t\|\t"', r'"\\t|\\t"'),
        "a comment wrapped elsewhere": sub(PROGRAM, r" the\n# cold room\.", "\n# the cold room."),
        "a continued line with two spaces": sub(
            PROGRAM, r"^            name\[:WIDTH\],|^        name\[:WIDTH\],", "      name[:WIDTH],"
        ),
        "a condition on one line": sub(PROGRAM, r"if number > 1:\n\s+print", "if number > 1: print"),
        "other words in a row of their own": sub(
            PROGRAM,
            r"name, shelf, cents, grams = \(\n.*\n.*\n.*\n.*\n    \)",
            'name, shelf = row["name"], row["shelf"]\n    cents, grams = int(row["cents"]), int(row["grams"] or 0)',
        ),
    },
    "018": {
        "a note of what was done, beside the folder": put("done.md", "All renamed.\n"),
        "another time stamp": lambda workspace: os.utime(workspace / JULE, (0, 0)),
    },
    "019": {
        "a decimal comma": sub(METRIC, r"(\d)\.(\d)", r"\1,\2", 0),
        "a real minus, the other micro, no-break spaces": both(
            sub(METRIC, "-25", "\u221225"), sub(METRIC, "µ", "\u03bc"), sub(METRIC, " kg", "\u00a0kg", 0)
        ),
        "a plus-minus sign for the tolerance": sub(METRIC, r", tolerance 2\.8 K", " ± 2.8 K"),
    },
    "020": {
        "the crates and their pieces the other way round": rewrite(
            CRATES, lambda lines: [f"{' '.join(line.split()[::-1])}\n" for line in lines[::-1]]
        ),
        "commas and CRLF": rewrite(CRATES, lambda lines: [f"{', '.join(line.split())}\r\n" for line in lines]),
        "other crates that are as few": put(
            CRATES,
            "retort churn pew\ngrapnel flatiron stove\nyoke almanac atlas press\nskillet trivet anvil globe\n"
            "cradle loom settle\ncarafe beaker spindle ledger\nshuttle dresser herbarium\n",
        ),
        "a script left behind": put("pack.py", "print(1)\n"),
    },
}

NEAR_MISSES: dict[str, dict[str, Change]] = {
    "016": {
        "the days of the old calendar": sub(DATES, "1701-01-05", "1700-12-25"),
        "ten days after 1700 as well": sub(DATES, "1719-02-06", "1719-02-05"),
        "a leap day that is none": sub(DATES, "1700-03-11", "1700-03-10"),
        "a year that begins in January": sub(DATES, "1730-04-04", "1729-04-04"),
        "the feast of the same January year": sub(DATES, "1712-03-15", "1711-02-24"),
        "the year after the change begins in March": sub(DATES, "1752-02-14", "1753-02-14"),
        "eleven days after the change, too": sub(DATES, "1752-09-14", "1752-09-25"),
        "Easter of the new calendar before it was": sub(DATES, "1733-04-06", "1733-03-30"),
        "the eve in the clerk's year of its day": sub(DATES, "1744-04-04", "1745-04-04"),
        "the day itself where one after it is meant": sub(DATES, "1719-02-06", "1719-02-13"),
        "an entry left out": sub(DATES, r"^7 .*\n", ""),
        "sorted backwards": rewrite(DATES, lambda lines: lines[::-1]),
        "a day twice": rewrite(DATES, lambda lines: [*lines, lines[-1]]),
    },
    "017": {
        "the tab inside the text became spaces": sub(PROGRAM, r'"\t\|\t"', '"    |    "'),
        "double quotes around a double quote": sub(PROGRAM, r"'Bread and \"Brötchen\"'", r'"Bread and \\"Brötchen\\""'),
        "a line too long": sub(PROGRAM, r"the\n# cold room\.", "the cold room."),
        "a comment lost": sub(PROGRAM, r"\s+# the law wants.*\n\s+# so\?", ""),
        "one blank line between functions": sub(PROGRAM, r"\n\n\ndef label", "\n\ndef label"),
        "two blank lines after the imports": sub(PROGRAM, r"import csv\n", "import csv\n\n"),
        "no newline at the end": sub(PROGRAM, r"\n\Z", ""),
        "two spaces for a level": sub(
            PROGRAM, r"^    if not grams:\n        return None$", "    if not grams:\n      return None"
        ),
        "a comment with two spaces": sub(PROGRAM, r"^    # One label has(.*)", r"  # One label has\1"),
        "a docstring reworded": sub(PROGRAM, "The price with two decimals", "Price with two decimals"),
        "fixed on the way": sub(PROGRAM, r"int\(row\[\"grams\"\] or 0\)", 'int(row["grams"] or 1)'),
        "single quotes left in one place": sub(PROGRAM, r'"utf-8"', "'utf-8'"),
        "a program that does not end": sub(PROGRAM, r"^    return 0$", "    while True: pass"),
        "no program any more": put(PROGRAM, "def main(:\n"),
    },
    "018": {
        "ordered by the old names, not the pages": both(
            move(JULE, f"{SCANS}/x"), move(SECOND, JULE), move(f"{SCANS}/x", SECOND)
        ),
        "one letter overwritten": lambda workspace: (workspace / SECOND).replace(workspace / JULE),
        "page numbers as words": both(
            move(f"{SCANS}/2025-04-01_gross_01.jpg", f"{SCANS}/x"),
            move(f"{SCANS}/2025-04-01_gross_02.jpg", f"{SCANS}/2025-04-01_gross_01.jpg"),
            move(f"{SCANS}/x", f"{SCANS}/2025-04-01_gross_02.jpg"),
        ),
        "an umlaut without its e": move(f"{SCANS}/2024-11-30_sued_01.md", f"{SCANS}/2024-11-30_sud_01.md"),
        "jpeg left": move(f"{SCANS}/2025-04-01_gross_01.jpg", f"{SCANS}/2025-04-01_gross_01.jpeg"),
        "the index renamed, too": move(f"{SCANS}/INDEX.TXT", f"{SCANS}/index.txt"),
        "a letter changed": sub(TIM, "caretaker", "janitor"),
        "a copy left under its old name": lambda workspace: shutil.copy(workspace / TIM, workspace / SCANS / "old.txt"),
        "a link in place of a letter": lambda workspace: (
            (workspace / TIM).rename(workspace / "kept"),
            (workspace / TIM).symlink_to("../kept"),
        ),
    },
    "019": {
        "half to even": sub(METRIC, "191 mm", "190 mm"),
        "a difference converted like a temperature": sub(METRIC, r"5\.0 K", "-12.8 K"),
        "the tolerance converted like a temperature": sub(METRIC, r"2\.8 K", "-15.0 K"),
        "stone forgotten": sub(METRIC, r"1356\.69", "100.70"),
        "rounded before adding up": sub(METRIC, "2149 mm", "2150 mm"),
        "degrees for a difference": sub(METRIC, r"5\.0 K", "5.0 °C"),
        "a decimal too few": sub(METRIC, r"-25\.0", "-25"),
        "imperial gallons": sub(METRIC, r"6\.62", "7.96"),
        "the metric line left out": sub(METRIC, r"^Speed.*\n", ""),
    },
    "020": {
        "eight crates": rewrite(CRATES, lambda lines: [*lines[:-1], *(f"{each}\n" for each in split(lines[-1]))]),
        "a piece left behind": sub(CRATES, r"\bloom ?", ""),
        "a piece in two crates": sub(CRATES, r"\bloom\b", "loom press"),
        "glass beside iron": swap("carafe", "cradle"),
        "too heavy": swap("globe", "settle"),
        "a set parted": swap("beaker", "carafe"),
        "a piece that is not there": sub(CRATES, r"\bpress\b", "vase"),
        "all in one": rewrite(CRATES, lambda lines: [" ".join(lines).replace("\n", "") + "\n"]),
    },
}


def named(cases: dict[str, Change]) -> list[Any]:
    for name, change in cases.items():
        change.__name__ = name
    return list(cases.values())


RIGHT = {task: named(cases) for task, cases in RIGHT_WAYS.items()}
WRONG = {task: named(cases) for task, cases in NEAR_MISSES.items()}
