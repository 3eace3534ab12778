"""A JSON list of {query, should_trigger} in the folder of a skill: trigger queries, as agentskills.io describes them.

The eval sets of skill-creator's run_eval, run_loop and improve_description are the same list.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.core.strict_json import item_lines
from skill_health.router.prompts._api import FileShape, Found, Known, PromptFile
from skill_health.router.prompts._look import TEXT_KEYS, read_list
from skill_health.router.prompts._rows import row_prompt

TITLE = "trigger queries"


def fits(look: FileShape) -> bool:
    """A JSON list of objects with a request."""
    return look.kind == "list" and not TEXT_KEYS.isdisjoint(look.keys)


def read(file: PromptFile, known: Known) -> Iterator[Found]:
    """The queries of the list; the skill is the one in whose folder the file lies, unless a query names another."""
    text, items = read_list(file.raw)
    for line, item in zip(item_lines(text, 0), items, strict=True):
        yield row_prompt(file, line, item, known, file.skill)
