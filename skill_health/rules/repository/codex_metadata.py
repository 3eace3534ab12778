"""The metadata of a skill for Codex cannot be used

## What
`agents/openai.yaml` of a skill: YAML that cannot be parsed, `interface` or `policy` that are no mappings, a
`display_name`, `short_description` or `default_prompt` that is no text, a `brand_color` that is not #RRGGBB, an icon
that is not there, `allow_implicit_invocation` that is neither true nor false, and tools under `dependencies` without
`type` or `value`.

## Why
Codex leaves the field out, or all of them: the skill stands in the list without its name and picture, or is invoked
although it should not be.

## Bad
```yaml
interface:
  icon_small: ./assets/icon.svg       # there is no such file
```

## Good
```yaml
interface:
  icon_small: ./assets/notes.svg
```

## Fix
Correct the value. There is no automatic fix.

## Source
MUST · developers.openai.com/codex/skills, "agents/openai.yaml" (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import normpath

from skill_health.core.strict_json import kind_of, quote
from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.frontmatter import explain, load
from skill_health.skill.model import Field, Skill, Span
from skill_health.text.patterns import lazy

CODE = "RP028"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


_FILE = "agents/openai.yaml"
_COLOR = lazy(r"#[0-9A-Fa-f]{6}")
_ICONS = ("icon_small", "icon_large")
_TEXTS = ("display_name", "short_description", "default_prompt")


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report what Codex cannot use."""
    if _FILE not in skill.files:
        return
    path = skill.path_of(_FILE)
    text = context.read(path)
    if text is None or not text.strip():
        return
    fields, defects, error = load(text, 0)
    if error is not None:
        defects = [explain(error, text.split("\n"), 1)]
    for defect in defects:
        if defect.kind not in ("alias", "non-string-key"):
            message = defect.message.replace("the frontmatter", "the file")
            yield Hit(defect.span, message, defect.help, path)
    for message, help_, span in _flaws(fields, skill, context):
        yield Hit(span, message, help_, path)


Flaw = tuple[str, str, Span]


def _flaws(fields: tuple[Field, ...], skill: Skill, context: Context) -> Iterator[Flaw]:
    for field in fields:
        if field.key in ("interface", "policy") and field.value is not None and not isinstance(field.value, dict):
            yield f"`{field.key}` is {kind_of(field.value)}, not a mapping", "indent its keys below it", field.span
        elif field.key == "interface":
            for part in field.fields:
                yield from _interface(part, skill, context)
        elif field.key == "policy":
            for part in field.fields:
                if part.key == "allow_implicit_invocation" and not isinstance(part.value, bool):
                    yield f"`{part.key}` is {quote(part.value)}", "write true or false", part.span
        elif field.key == "dependencies" and isinstance(field.value, dict):
            tools = field.value.get("tools")
            for tool in tools if isinstance(tools, list) else ():
                lacking = [key for key in ("type", "value") if not (isinstance(tool, dict) and tool.get(key))]
                if lacking:
                    yield f"a tool under `dependencies` has no `{lacking[0]}`", f"add `{lacking[0]}`", field.span


def _interface(part: Field, skill: Skill, context: Context) -> Iterator[Flaw]:
    value = part.value
    if part.key in _TEXTS and not isinstance(value, str):
        yield f"`{part.key}` is {kind_of(value)}, not text", "put it in quotes", part.span
    elif part.key == "brand_color" and not (isinstance(value, str) and _COLOR.fullmatch(value)):
        said = "empty: # begins a comment" if value is None else quote(value)
        yield f"`brand_color` is {said}", 'write "#RRGGBB" in quotes', part.span
    elif part.key in _ICONS and isinstance(value, str) and "://" not in value:
        place = normpath(f"{skill.folder}/{value.removeprefix('./')}".lstrip("/"))
        if not context.exists(place):
            yield (
                f"`{part.key}` names {quote(value)}, which is not there",
                "correct the path, or add the file",
                part.span,
            )
