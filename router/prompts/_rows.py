"""One labelled request of the formats that speak of one skill at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skill_health.core.strict_json import JsonProblem, kind_of
from skill_health.core.validation import problems
from skill_health.registries.records import BadRecord
from skill_health.router.prompts._api import Found, Known, PromptFile
from skill_health.router.prompts._label import LabelFault, read_label, subject_of
from skill_health.router.records import Prompt

SCHEMA = "labelled-query"
_FIELDS = f"The fields are described by the schema skill-health/{SCHEMA}/1."
_TEXTS = ("query", "prompt", "question")


def row_prompt(
    file: PromptFile, line: int, row: object, known: Known, skill: str = "", default: bool | None = None
) -> Found:
    """The prompt that a record describes.

    `skill` is the one that the file speaks of, for records that name none; their ids count within it. `default`
    is what `should_trigger` is where neither it nor an expected skill is given.

    A request that should not trigger a skill has a known answer only where the record names it: an expected skill
    that is exactly one of the collection, or null. `should_trigger` false for no skill says that none should fire.
    """
    record_id = row.get("id") if isinstance(row, Mapping) else None

    def bad(message: str, advice: str) -> BadRecord:
        shown = str(record_id) if isinstance(record_id, str | int) else ""
        return BadRecord(file.path, line, 1, message, advice, "prompts", shown)

    if not isinstance(row, Mapping):
        return bad(f"not an object but {kind_of(row)}", "Each record is an object with a query and a label.")
    if found := problems(SCHEMA, row):
        return bad("; ".join(problem.message for problem in found[:3]), _FIELDS)
    text = next((row[key] for key in _TEXTS if key in row), "")
    if not text:
        return bad("the request is missing", "Say in `query` what the user asks for.")
    label = read_label(row, known, skill, default)
    if isinstance(label, LabelFault):
        return bad(label.message, label.advice)
    return Prompt(
        prompt_id=_within(subject_of(row, known, skill) if skill else "", record_id),
        text=text,
        expected=label.expected,
        known=label.is_known,
        rejected=label.rejected,
        source=f"{file.path}:{line}",
        **extras(row),
    )


def extras(row: Mapping[str, Any]) -> dict[str, Any]:
    """What every format may say of a prompt beyond its label. The values are of the right types."""
    return {
        "family": row.get("family") or "",
        "tags": tuple(dict.fromkeys(row.get("tags") or ())),
        "split": row.get("split") or "",
        "reason": row.get("reason") or "",
    }


def unreadable(file: PromptFile, text: str, problem: JsonProblem) -> BadRecord:
    """A file or line whose JSON cannot be read, with the place where it stops."""
    before = text[: problem.offset]
    line, col = before.count("\n") + 1, problem.offset - before.rfind("\n")
    return BadRecord(file.path, line, col, problem.message, problem.help or "Correct the file.", "prompts")


def _within(skill: str, record_id: object) -> str:
    """The id of a record; one that counts within a skill carries the skill's name."""
    if record_id is None:
        return ""
    text = str(record_id)
    return f"{skill}:{text}" if skill and not text.startswith(skill) else text
