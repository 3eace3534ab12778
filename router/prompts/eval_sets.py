"""A JSON object {skill_name, evals}: the eval set of skill-creator and agentskills.io, beside the skill.

Its prompts are tasks for that skill, so that each of them should load it, unless the record says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from skill_health.core.strict_json import item_lines, kind_of, top_level
from skill_health.registries.records import BadRecord
from skill_health.router.prompts._api import FileShape, Found, Known, PromptFile
from skill_health.router.prompts._look import LABEL_KEYS, PLAN_KEYS, SET_KEYS, TEXT_KEYS, read_object
from skill_health.router.prompts._rows import row_prompt

TITLE = "prompts of eval sets"
_TASKS = "evals"


def fits(look: FileShape) -> bool:
    """A JSON object with a list of evals or queries, or of cases with a request and a label."""
    ours = not look.keys.isdisjoint(SET_KEYS) and look.keys.isdisjoint(PLAN_KEYS)
    # Tasks are meant for their skill; of anything else, and much is called cases, there must be labels.
    told = _TASKS in look.keys or not (look.inner.isdisjoint(TEXT_KEYS) or look.inner.isdisjoint(LABEL_KEYS))
    return look.kind in ("object", "lines") and ours and told


def read(file: PromptFile, known: Known) -> Iterator[Found]:
    """The prompts of the set; the skill is `skill_name`, else the one in whose folder the file lies."""
    text, data = read_object(file.raw)
    key = next((key for key in SET_KEYS if key in data), SET_KEYS[0])
    items = data.get(key)
    if not isinstance(items, list):
        message = f"{key} must be a list, not {kind_of(items)}"
        yield BadRecord(file.path, 1, 1, message, "It holds one object for each prompt.", "prompts")
        return
    at = dict(top_level(text))[key]
    skill = _skill(data, known, file.skill) or file.skill
    for line, item in zip(item_lines(text, at), items, strict=True):
        yield row_prompt(file, line, item, known, skill, default=True if key == _TASKS else None)


def _skill(data: Mapping[str, Any], known: Known, own: str) -> str:
    named = next((data[key] for key in ("skill_name", "skill") if key in data), None)
    return (known.name_near(named, own) or named) if isinstance(named, str) else ""
