"""Task 012: audits of the brochure."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Edit = Callable[[Path], None]


def audit(**changes: dict[str, Any] | None) -> Edit:
    """Change entries of the oracle's audit, given as s07 and so on; None leaves one out."""

    def edit(workspace: Path) -> None:
        path = workspace / "audit.json"
        data = json.loads(path.read_text(encoding="utf-8"))
        for name, change in changes.items():
            if change is None:
                del data[name[1:]]
            else:
                data[name[1:]] |= change
        path.write_text(json.dumps(data), encoding="utf-8")

    return edit


def says(status: str, source: str | None = None, instead: str | None = None) -> dict[str, Any]:
    return {"status": status, "source": source, "instead": instead}


def without_folder_and_nulls(workspace: Path) -> None:
    path = workspace / "audit.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    for entry in data.values():
        entry["source"] = entry["source"] and entry["source"].removeprefix("sources/")
        entry["status"] = entry["status"].upper().replace(" ", "_")
        if entry["source"] is None:
            del entry["source"]
        if entry["instead"] is None:
            del entry["instead"]
    path.write_text(json.dumps(data), encoding="utf-8")


in_other_words = audit(
    s06={"instead": "the other way round"},
    s07={"instead": "It fell from 40 % to 31 %, which is 22.5 % less."},
    s08={"instead": "a drop of 9 points, that is 23 %"},
    s11={"instead": "28 % of the 60; only 23 answered"},
    s13={"instead": "38 ms is the median"},
    s19={"instead": "Tanks over 400 l"},
    s17={"instead": "1,2 W"},
)

RIGHT = {"012": [without_folder_and_nulls, in_other_words]}
WRONG = {
    "012": [
        ("03", audit(s03=says("no claim"))),
        ("06", audit(s06=says("backed", "sources/trial.md"))),
        ("07", audit(s07=says("backed", "sources/okafor-2024.txt"))),
        ("08", audit(s08=says("backed", "sources/magazine.md"))),
        ("08", audit(s08=says("wrong", "sources/magazine.md", "22.5 %"))),
        ("09", audit(s09=says("backed", "sources/magazine.md"))),
        ("10", audit(s10=says("unbacked"))),
        ("11", audit(s11=says("backed", "sources/installers.md"))),
        ("13", audit(s13=says("backed", "sources/readings.csv"))),
        ("15", audit(s15=says("backed", "sources/radio-test.md"))),
        ("15", audit(s15={"source": "claims.jsonl"})),
        ("16", audit(s16=says("backed", "sources/data-sheet.md"))),
        ("17", audit(s17={"instead": "another figure"})),
        ("18", audit(s18=says("unbacked"))),
        ("19", audit(s19=says("backed", "sources/drinking-water.md"))),
        ("20", audit(s20=says("unbacked"))),
        ("21", audit(s21=says("backed", "sources/prices-2025.md"))),
        ("22", audit(s22=says("no claim"))),
        ("12", audit(s12=None)),
    ]
}
