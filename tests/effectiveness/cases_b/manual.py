"""Task 015: the skill in order, laid out in other ways, and what is easily overlooked."""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Callable
from pathlib import Path

Edit = Callable[[Path], None]
SKILL = "meter-readings"


def change(name: str, *pairs: tuple[str, str]) -> Edit:
    def edit(workspace: Path) -> None:
        path = workspace / SKILL / name
        text = path.read_text(encoding="utf-8")
        for old, new in pairs:
            assert old in text, old
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")

    return edit


def both(*edits: Edit) -> Edit:
    def edit(workspace: Path) -> None:
        for one in edits:
            one(workspace)

    return edit


def added(name: str, text: str) -> Edit:
    def edit(workspace: Path) -> None:
        path = workspace / SKILL / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    return edit


def moved(old: str, new: str) -> Edit:
    def edit(workspace: Path) -> None:
        target = workspace / SKILL / new
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(workspace / SKILL / old, target)

    return edit


def tables_as_csv(workspace: Path) -> None:
    """Both tables become files for a program, and the main file says how to search them."""
    main = workspace / SKILL / "SKILL.md"
    text = main.read_text(encoding="utf-8")
    for name in ("tariff-codes", "meter-types"):
        source = workspace / SKILL / "references" / f"{name}.md"
        rows = [
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in source.read_text(encoding="utf-8").splitlines()
            if re.match(r"\| [A-Z]-", line)
        ]
        source.unlink()
        (workspace / SKILL / "assets").mkdir(exist_ok=True)
        with (workspace / SKILL / "assets" / f"{name}.csv").open("w", encoding="utf-8", newline="") as handle:
            csv.writer(handle, delimiter=";").writerows(rows)
        text = text.replace(f"references/{name}.md", f"assets/{name}.csv")
    main.write_text(text, encoding="utf-8")


def one_file_per_group(workspace: Path) -> None:
    """A short file for each series of meters, the script beside the main file, a folded description."""
    source = workspace / SKILL / "references" / "meter-types.md"
    parts = re.findall(r"(?ms)^## ((\w) series[^\n]*)\n(.*?)(?=^## |\Z)", source.read_text(encoding="utf-8"))
    source.unlink()
    links = []
    for title, letter, text in parts:
        name = f"references/meter-types-{letter.lower()}.md"
        (workspace / SKILL / name).write_text(f"# {title}\n\n{text}", encoding="utf-8")
        links.append(f"[{letter}-...]({name})")
    moved("scripts/check.py", "check.py")(workspace)
    (workspace / SKILL / "scripts").rmdir()
    change(
        "SKILL.md",
        ("[meter types](references/meter-types.md)", " ".join(links)),
        ("scripts/check.py", "check.py"),
        ('description: "Prepares', "description: >-\n  Prepares"),
        ('sent a file back."', "sent a file back."),
        ('metadata:\n  updated: "2026-10-01"\n', ""),
    )(workspace)


def searched_instead_of_listed(workspace: Path) -> None:
    for name in ("tariff-codes", "meter-types"):
        path = workspace / SKILL / "references" / f"{name}.md"
        text = re.sub(r"(?s)## Contents\n.*?\n(?=\S*## )", "", path.read_text(encoding="utf-8"), count=1)
        path.write_text(text, encoding="utf-8")
        change(
            "SKILL.md",
            (f"(references/{name}.md)", f"(references/{name}.md), with `grep -n '<code>' references/{name}.md`"),
        )(workspace)


def script(text: str) -> Edit:
    return added("scripts/check.py", text)


def rows_dropped(workspace: Path) -> None:
    path = workspace / SKILL / "references" / "tariff-codes.md"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text(
        "".join(line for n, line in enumerate(lines) if not (line.startswith("| T-") and n % 5)), encoding="utf-8"
    )


def no_contents(workspace: Path) -> None:
    path = workspace / SKILL / "references" / "meter-types.md"
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r"(?s)## Contents\n.*?(?=How many)", "", text), encoding="utf-8")


ORACLE = Path(__file__).resolve().parents[3] / "fixtures" / "tasks" / "015-meter-manual" / "oracle" / "check.py"
CHECK = ORACLE.read_text(encoding="utf-8")
WRITES = CHECK.replace(
    '    suspicious = [', '    open(name, "a", encoding="latin-1").write("checked\\n")\n    suspicious = [', 1
)  # fmt: skip
NAMED = "- A line of the export has no `digits`: [meter types](references/meter-types.md), for digits and factor.\n"
RIGHT = {"015": [tables_as_csv, one_file_per_group, searched_instead_of_listed]}
WRONG = {
    "015": [
        ("file name", added("skill.md", "see SKILL.md")),
        ("frontmatter", change("SKILL.md", ('description: "Prep', "description: Prep"), ('file back."', "file back."))),
        ("frontmatter", change("SKILL.md", ("name: meter-readings", "name: Meter_Readings"))),
        ("frontmatter", change("SKILL.md", ('metadata:\n  updated: "2026-10-01"', "updated: 2026-10-01"))),
        ("frontmatter", change("SKILL.md", ('"2026-10-01"', "2026-10-01"))),
        ("what all runs needed", change("SKILL.md", ("mrx export --raw --month", "mrx export --month"))),
        ("what all runs needed", change("SKILL.md", ("add 100000 with five digits,\n   1000000 with six", "add one turn"))),
        ("what all runs needed", change("SKILL.md", ("decimal comma", "decimals"))),
        ("what some runs needed", rows_dropped),
        ("what some runs needed", change("references/corrections.md", ("`amended.txt`", "a file"))),
        ("not in the way", change("SKILL.md", (NAMED, NAMED + "- A slip without a signature: `--kind E`.\n"))),
        ("what none needed", change("SKILL.md", ("## Gotchas", "The old terminal: `trm19 --dump A:`.\n\n## Gotchas"))),
        ("what none needed", added("references/history.md", "| 2017-05-02 | Ilse | first version |\n")),
        ("named in the main file", change("SKILL.md", (NAMED, ""))),
        ("named in the main file", added("CHANGELOG.txt", "See the history.\n")),
        (
            "named in the main file",
            both(
                moved("references/calendar.md", "references/days/calendar.md"),
                change("SKILL.md", ("references/calendar.md", "references/days/calendar.md")),
            ),
        ),
        ("links", change("SKILL.md", ("(references/calendar.md)", "(references/days.md), `references/calendar.md`"))),
        ("the place is found", no_contents),
        ("no machine's path", change("SKILL.md", ("scripts/check.py <export>", "/home/ilse/check.py <export>"))),
        ("check.py prints", script(CHECK.replace("0.99", "0.9"))),
        ("check.py prints", script(CHECK.replace("> 5 *", ">= 4 *"))),
        ("check.py tells apart", script(CHECK.replace("return int(bool(suspicious))", "return 0"))),
        ("check.py tells apart", script(CHECK.replace("return 2", "return 1"))),
        ("check.py tells apart", script(CHECK.replace("except (OSError, KeyError, ValueError, AttributeError)", "except OSError"))),
        ("check.py only reads", script(WRITES)),
        ("check.py prints", both(script(CHECK), added("check.py", CHECK))),
    ]
}  # fmt: skip
