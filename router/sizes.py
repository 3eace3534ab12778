"""How many bytes a question has, without putting every one of them together."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from skill_health.router.records import ListedSkill, Mode
from skill_health.router.template import PLACEHOLDERS, Template, answer_schema, render


def question_size(template: Template, skills: Sequence[ListedSkill], mode: Mode) -> Callable[[str], int]:
    """A function from a prompt's text to the bytes of its question about these skills, in whatever order they stand.

    In json_schema mode the schema that is sent along counts too.
    """
    frame = size_of(render(template, skills, ""))
    if mode == "json_schema":
        frame += schema_size(answer_schema([skill.name for skill in skills], template.none_allowed))
    times = template.text.count(PLACEHOLDERS[2])
    return lambda text: frame + times * size_of(text)


def schema_size(schema: Mapping[str, Any] | None) -> int:
    """The bytes of a schema as JSON; 0 where there is none."""
    return 0 if schema is None else len(json.dumps(schema))


def size_of(text: str) -> int:
    """The bytes of a text in UTF-8."""
    return len(text.encode("utf-8", "replace"))
