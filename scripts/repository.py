"""`python -m scripts.repository FOLDER`: what the family `repository` finds in nine public repositories.

FOLDER holds a checkout of each, called OWNER+NAME. The counts of warnings and errors are held against those that were
read (docs/repository-nine.jsonl). Without a folder the table of docs/repository.md is printed.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from skill_health.config.settings import config_with, load_config
from skill_health.discovery.corpus import discover
from skill_health.lint.pipeline import run
from skill_health.rules._api import Severity

READ = Path(__file__).resolve().parents[1] / "docs" / "repository-nine.jsonl"
DAY = date(2026, 11, 23)


def readings() -> list[dict[str, Any]]:
    """What was read: a line for each repository and rule, with the numbers of right and wrong findings."""
    return [json.loads(line) for line in READ.read_text("utf-8").splitlines()]


def table() -> Iterator[str]:
    """The readings as a table."""
    yield "| repository | commit | rule | right | wrong | what it is |"
    yield "|---|---|---|---|---|---|"
    for row in readings():
        yield "| {repository} | {commit} | {code} | {right} | {wrong} | {reason} |".format(**row)
    right, wrong = (sum(row[key] for row in readings()) for key in ("right", "wrong"))
    yield f"| all | | | {right} | {wrong} | |"


def compare(folder: Path) -> Iterator[str]:
    """Each repository and rule with another number of findings than was read."""
    read = Counter({(row["repository"], row["code"]): row["right"] + row["wrong"] for row in readings()})
    for repository in dict.fromkeys(row["repository"] for row in readings()):
        root = folder / repository.replace("/", "+")
        config = config_with(load_config(str(root)), select=("repository",), ignore=("RP019",))
        found = run(discover([str(root)], config, str(root)), config, DAY, use_cache=False).findings
        counts = Counter(f.code for f in found if f.severity is not Severity.INFO)
        for code in sorted({*counts, *(code for name, code in read if name == repository and code)}):
            if counts[code] != read[repository, code]:
                yield f"{repository} {code}: {counts[code]} found, {read[repository, code]} read"


def main() -> int:
    """Print the table, or what differs from it."""
    lines = list(compare(Path(sys.argv[1])) if sys.argv[1:] else table())
    print("\n".join(lines or ["as read"]))
    return int(bool(sys.argv[1:] and lines))


if __name__ == "__main__":
    raise SystemExit(main())
