"""Runs made up for tests in which two skills are tried alone and together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effects_made import MODEL, manifest, task, trial

from skill_health.documents.effect_result import TrialResult

FIRST, SECOND = "csv", "sql"
BOTH = f"subset:{FIRST}+{SECOND}"
SWAPPED = f"subset:{SECOND}+{FIRST}"
CELLS = ("control", f"subset:{FIRST}", f"subset:{SECOND}", BOTH)
SAID = {
    "skill": FIRST, "other": SECOND, "path": "csv/SKILL.md", "line": 9, "source": "section",
    "quote": "- **sql** - for queries over what was cleaned",
}  # fmt: skip


def pair_manifest(tasks: int, arms: Sequence[str] = CELLS, declared: bool = True, **more: Any) -> dict[str, Any]:
    """A manifest of so many tasks for the first skill, each tried in all arms."""
    pair = {"skills": [FIRST, SECOND], "declared": [SAID] if declared else []}
    return manifest([task(f"{n:03}", FIRST) for n in range(tasks)], arms, pairs=[pair], **more)


def counted(passes: Sequence[Sequence[int]], of: int = 3, arms: Sequence[str] = CELLS) -> list[TrialResult]:
    """The results of tasks of which each arm passed so many of `of` trials."""
    return [
        trial(f"{n:03}", arm, at, at < passed, MODEL)
        for n, row in enumerate(passes)
        for arm, passed in zip(arms, row, strict=True)
        for at in range(of)
    ]
