"""The text that a model is asked: a versioned file with three placeholders, filled in literally.

The first line of a template may be `<!-- template: NAME VERSION; with none -->` (or `without none`). It is not sent. It
says whether an answer may be NONE; a file without it is taken as the plan's own, which forces a skill.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from skill_health.core.errors import UsageError
from skill_health.core.files import blake2b, read_small
from skill_health.router.records import NONE, ListedSkill, Mode
from skill_health.text.patterns import lazy

PLACEHOLDERS = ("{{SKILL_COUNT}}", "{{SKILL_BLOCK}}", "{{USER_PROMPT}}")
_FOLDER = os.path.join(os.path.dirname(__file__), "templates")
_HEADER = lazy(r"<!-- template: ([\w-]{1,40}) ([\w.-]{1,20}); (with|without) none -->\n")
_ANY = lazy(r"\{\{(?:SKILL_COUNT|SKILL_BLOCK|USER_PROMPT)\}\}")


@dataclass(frozen=True, slots=True)
class Template:
    """A template as it was read. `digest` covers what is sent and whether NONE is allowed."""

    name: str
    version: str
    text: str
    none_allowed: bool
    digest: str


def load_template(name: str) -> Template:
    """The template of this name, or in this file (a path has a slash or a dot).

    Raises UsageError where there is none, or where it lacks a placeholder.
    """
    if "/" in name or os.sep in name or "." in name:
        data = read_small(name)
        if data is None:
            raise UsageError(f"cannot read the template {name}: a text file of at most 1 MiB is needed")
        return _template(data, name, os.path.splitext(os.path.basename(name))[0])
    known = _own()
    if name not in known:
        raise UsageError(f"there is no template {name!r}: take {' or '.join(sorted(known))}, or the path of a file")
    return _template(read_small(known[name]) or b"", name, name)


def _own() -> dict[str, str]:
    """The newest version of each template of ours, by name."""
    files = sorted(os.listdir(_FOLDER), key=lambda file: (len(file), file))
    return {file.rpartition("-")[0]: os.path.join(_FOLDER, file) for file in files if file.endswith(".md")}


def _template(data: bytes, shown: str, name: str) -> Template:
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise UsageError(f"the template {shown} is not UTF-8 text") from None
    header = _HEADER.match(text)
    version, none_allowed = "", False
    if header:
        name, version, none_allowed = header[1], header[2], header[3] == "with"
        text = text[header.end() :]
    missing = [each for each in PLACEHOLDERS[1:] if each not in text]
    if missing:
        raise UsageError(
            f"the template {shown} lacks {' and '.join(missing)}: without it a model is not asked anything"
        )
    digest = blake2b(json.dumps([text, none_allowed]).encode(), digest_size=16).hexdigest()
    return Template(name, version, text, none_allowed, digest)


def render(template: Template, skills: Sequence[ListedSkill], prompt: str) -> str:
    """The whole text of one question. Placeholders inside skills and prompts stay what they are: text."""
    values = dict(zip(PLACEHOLDERS, (str(len(skills)), block(skills), prompt), strict=True))
    return _ANY.sub(lambda match: values[match.group()], template.text)


def shared_part(template: Template, skills: Sequence[ListedSkill]) -> int:
    """How many characters at the start of a question are the same whatever the prompt."""
    return len(render(replace(template, text=template.text.partition(PLACEHOLDERS[2])[0]), skills, ""))


def block(skills: Sequence[ListedSkill]) -> str:
    """The listing: `N. name`, below it the description as the host shows it.

    Descriptions are indented, so that no line of them can pass for an entry of its own.
    """
    return "\n\n".join(_entry(number, skill) for number, skill in enumerate(skills, 1))


def _entry(number: int, skill: ListedSkill) -> str:
    lines = [
        f"{number}. {' '.join(skill.listed_as.split())}",
        *(f"   {line.strip()}" for line in skill.text.splitlines() if line.strip()),
    ]
    return "\n".join(lines)


def listed_names(skills: Iterable[ListedSkill]) -> tuple[str, ...]:
    """The names that an answer may hold, each once."""
    return tuple(dict.fromkeys(skill.listed_as for skill in skills))


def answer_schema(names: Sequence[str], none_allowed: bool) -> Mapping[str, Any]:
    """The JSON Schema that json_schema mode sends: names in the catalogue's order, so that it is the same in each call.

    It stays within what providers' strict modes accept: limits of length, uniqueness and range are left to `answers`.
    """
    entries = [*names, NONE] if none_allowed else list(names)
    properties = {
        "ranking": {"type": "array", "items": {"type": "string", "enum": entries}},
        "confidence": {"type": "number"},
        "rationale": {"type": "string"},
    }
    return {
        "type": "object", "properties": properties, "required": list(properties), "additionalProperties": False,
    }  # fmt: skip


def question_size(template: Template, skills: Sequence[ListedSkill], mode: Mode) -> Callable[[str], int]:
    """A function from a prompt's text to the bytes of its question about these skills, in whatever order they stand.

    In json_schema mode the schema that is sent along counts too.
    """
    frame = size_of(render(template, skills, ""))
    if mode == "json_schema":
        frame += schema_size(answer_schema(listed_names(skills), template.none_allowed))
    times = template.text.count(PLACEHOLDERS[2])
    return lambda text: frame + times * size_of(text)


def schema_size(schema: Mapping[str, Any] | None) -> int:
    """The bytes of a schema as JSON; 0 where there is none."""
    return 0 if schema is None else len(json.dumps(schema))


def size_of(text: str) -> int:
    """The bytes of a text in UTF-8."""
    return len(text.encode("utf-8", "replace"))
