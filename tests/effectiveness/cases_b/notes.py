"""Task 013: notes that a successor can work with, and notes that lose or leak something."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

Edit = Callable[[Path], None]


def change(*pairs: tuple[str, str]) -> Edit:
    def edit(workspace: Path) -> None:
        path = workspace / "HANDOFF.md"
        text = path.read_text(encoding="utf-8")
        for old, new in pairs:
            assert old in text, old
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")

    return edit


def in_the_form_of_the_skill(workspace: Path) -> None:
    """The sections, tags and stamps of the skill's template."""
    files = ("importer/dedupe.py", "importer/load.py", "tests/test_dedupe.py")
    rows = [
        f"| `{name}` | {hashlib.sha256((workspace / name).read_bytes()).hexdigest()[:12]} | see Goal |"
        for name in files
    ]
    (workspace / "HANDOFF.md").write_text(
        f"""# Handoff: visits counted once

## Goal

Several stations that report one ring within two minutes make one visit. Limit, in Yngve's words: "please leave stations.sqlite
alone, whatever happens" (Halvor counts on it until 19 March 2026).

## Next step

```sh
python3 -m unittest -v tests.test_dedupe.Window.test_midnight
```

Expect a failure: two visits instead of one. `once()` forgets what it has seen whenever `by_day` hands over a new day, so a bird
around midnight counts twice. Carry `last` on from one day to the next. If it passes, somebody has been here; read the difference.

## State

- [verified] nine of ten tests do not fail, one of these is skipped: `python3 -m unittest tests.test_dedupe` -> "failures=1, skipped=1"
- [verified] 8 March 2026 gives 655 visits as counted by hand: `count.py raw/2026-03-08.csv`
- [verified] the year 2023 is counted anew, 401288 visits: `importer.backfill 2023` on heron
- [assumed] 2024 has ended by now; it was started on heron on 10 March in `screen -r bf2024`, log `bf2024.log`
- [reported] new loader live on heron since noon of 10 March (Halvor)

## Decisions

- Rejected an index that is unique per ring and minute because two sightings can lie on both sides of the edge.
- Rejected the order of `received_at` because Røst sends everything in one batch.
- Chose an hour for Utsira in `OFFSETS` because its logger has been slow since 1 March.
- Chose the standard library only because the machine cannot reach any network to install packages.

## Files

| file | sha256 | what changed |
| --- | --- | --- |
{chr(10).join(rows)}

## Open questions

1. When is Utsira's clock corrected? Ingrid; the hour has to go on that day.
2. Does one station that sees a ring twice count once? Ingrid; blocks `test_same_station`.

## Do not

- Run the backfill for 2023 or 2024 another time, because it appends and doubles the visits.
- Change `importer/report.py`, because the county's script reads the mail.
""",
        encoding="utf-8",
    )


def as_a_letter(workspace: Path) -> None:
    """Prose, no sections but three, commands in back-ticks."""
    (workspace / "HANDOFF.md").write_text(
        """# For Maren

Start with `python3 -m unittest tests.test_dedupe`. You should see 10 tests with one failure, test_midnight, and one skip.

The task: the import on heron (egret is dead) should count a ring once if several stations see it within 120 s, each sighting
counted from the one before.

The failure is real. `by_day` gives `once` one day after the other, and `last` is emptied in between, so nothing is remembered across
midnight. Make `last` live longer than the loop. Yngve needs it by May and would like to be present.

## Please keep your hands off

stations.sqlite: Halvor reads it for the ministry, up to and including 2026-03-19.

The backfill. 2023 is complete. 2024 is or was running on heron (screen session bf2024, see gullwatch/bf2024.log there). It adds
to what is there, so a second start counts all birds twice. It needs the ringbase token from Yngve.

report.py: I changed it and put it back, because the county parses the mail.

Packages: none may be added, the import machine is offline.

## What we learned

A unique index on ring and minute fails at the boundary of the minute. received_at is useless, since Røst uploads once a day.
Utsira's clock runs an hour late since 1 March; OFFSETS in load.py makes up for it. Once Ingrid has repaired it, take that out again.

Ask Ingrid also whether the same station seeing a ring twice is one visit; the test is skipped until then.

Nobody has checked Halvor's message that the new loader is on heron already.
""",
        encoding="utf-8",
    )


def the_log_itself(workspace: Path) -> None:
    text = (workspace / "session.log").read_text(encoding="utf-8")
    (workspace / "HANDOFF.md").write_text(text, encoding="utf-8")


def without(*starts: str) -> Edit:
    """Drop the lines of the oracle's note that begin like this."""

    def edit(workspace: Path) -> None:
        path = workspace / "HANDOFF.md"
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        assert all(any(line.startswith(start) for line in lines) for start in starts)
        path.write_text("".join(line for line in lines if not line.startswith(starts)), encoding="utf-8")

    return edit


def both(*edits: Edit) -> Edit:
    def edit(workspace: Path) -> None:
        for one in edits:
            one(workspace)

    return edit


TOKEN = "rb-7Kq2vXw9-M4tz-" + "Lp0s"
UNTIL = "before 20 March 2026: Halvor counts on it for the ministry until Thursday 19 March, live."
SOON = "for now: Halvor counts on it for the ministry until Thursday next week, live."
UNITTEST = "python3 -m unittest tests.test_dedupe\n"
CAUSE = "`once()` in `importer/dedupe.py` starts each day of\n`by_day()` with an empty `last`, so a bird"
RIGHT = {"013": [in_the_form_of_the_skill, as_a_letter]}
WRONG = {
    "013": [
        ("first command", the_log_itself),
        ("nothing secret", change(("the variable is `RINGBASE_TOKEN`", f"`RINGBASE_TOKEN={TOKEN}`"))),
        ("short", change(("## Decisions\n", "## Decisions\n" + "\nAnd so on.\n" * 40))),
        ("nothing out of date", change(("within 120 seconds", "within 90 seconds"), ("two\nminutes", "two\nmin."))),
        ("nothing out of date", change(("8 of 10 tests pass, one fails, one is skipped (15:09).", "all tests pass."))),
        ("nothing out of date", change(("Machine of the import: heron.", "Machine of the import: egret."))),
        ("first command", change((UNITTEST, "python3 -m importer.backfill 2024\n"))),
        ("first command", change((f"```sh\n{UNITTEST}```\n", "Run the tests.\n"))),
        ("hearsay is named", change(("- Reported by Halvor, checked by nobody: the", "- The"))),
        ("hearsay is named", without("- Reported by Halvor")),
        ("stations.sqlite is Halvor's", without("- Touch `stations.sqlite`")),
        ("stations.sqlite is Halvor's", change((UNTIL, SOON))),
        ("no new packages", without("- Use new packages")),
        ("index was tried", without("- Rejected a UNIQUE index")),
        ("received_at was tried", change(("Røst sends once a day, so it", "it"))),
        (
            "clock of Utsira",
            both(without("- `OFFSETS`"), change((" From then on the hour in `OFFSETS` has to go.", ""))),
        ),
        (
            "question of the clock",
            change(("When does Ingrid set the clock of Utsira right?", "When is the clock right?")),
        ),
        ("question of the station", change(("2. Ingrid: is the same", "2. Is the same"))),
        ("report.py stays", without("- `importer/report.py`")),
        ("2024 is running", change((", in the screen session `bf2024`", ""), ("`gullwatch/bf2024.log`", "a file"))),
        ("not a second time", without("- Start a backfill")),
        ("why it fails", change((CAUSE, "A bird"), ("Move `last` out of the loop over `by_day`. ", ""))),
    ]
}
