"""The plan's prompts.jsonl: one object a line with a prompt, its expected, acceptable and rejected skills."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.router.prompts._api import FileShape, Found, Known, PromptFile
from skill_health.router.prompts._look import PLAN_KEYS
from skill_health.router.prompts._rows import read_records

TITLE = "router prompts"


def fits(look: FileShape) -> bool:
    """JSON lines with the keys of a router prompt."""
    return look.kind in ("lines", "object") and not look.keys.isdisjoint(PLAN_KEYS) and "case_id" not in look.keys


def read(file: PromptFile, known: Known) -> Iterator[Found]:
    """The prompts of the file, held against the schema router-prompt."""
    return read_records(file, "prompts")
