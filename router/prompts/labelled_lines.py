"""JSON lines of {query, skill, should_trigger}, or of a request and whom it expects; lines with `//` are comments."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.core.strict_json import JsonProblem, read_line, read_lines
from skill_health.router.prompts._api import FileShape, Found, Known, PromptFile
from skill_health.router.prompts._look import LABEL_KEYS, PLAN_KEYS, SET_KEYS, TEXT_KEYS, look_at, uncommented
from skill_health.router.prompts._rows import row_prompt, unreadable

TITLE = "labelled queries"


def fits(look: FileShape) -> bool:
    """JSON lines with a request and a label."""
    ours = bool(look.keys & TEXT_KEYS) and bool(look.keys & LABEL_KEYS) and not look.keys & PLAN_KEYS
    return look.kind in ("lines", "object") and ours and look.keys.isdisjoint(SET_KEYS)


def read(file: PromptFile, known: Known) -> Iterator[Found]:
    """The requests of the file; a line that is no object is a bad record. A single object may span several lines."""
    single, raw = look_at(file.raw).kind == "object", uncommented(file.raw)
    for line in [read_line(raw)] if single else read_lines(raw):
        if line.data is None:
            problem = line.problem or JsonProblem("unreadable")
            bad = unreadable(file, line.text, problem)
            yield bad._replace(line=line.number + bad.line - 1, help=problem.help or "One JSON object per line.")
        else:
            yield row_prompt(file, line.number, line.data, known, file.skill)
