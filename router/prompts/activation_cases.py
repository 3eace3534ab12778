"""The plan's activation-cases.jsonl: the same as router prompts, with a case_id."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.router.prompts._api import FileShape, Found, Known, PromptFile
from skill_health.router.prompts._rows import read_records

TITLE = "activation cases"


def fits(look: FileShape) -> bool:
    """JSON lines with a case_id."""
    return look.kind in ("lines", "object") and "case_id" in look.keys


def read(file: PromptFile, known: Known) -> Iterator[Found]:
    """The cases of the file, held against the schema activation-case."""
    return read_records(file, "activation")
