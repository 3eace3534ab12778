"""JSON Schemas as tables of fields: docs/configuration.md and docs/schemas.md."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from skill_health.docs_markdown import code

Schema = Mapping[str, Any]

_BOUNDS = (
    ("minimum", "at least {}"), ("exclusiveMinimum", "more than {}"), ("maximum", "at most {}"),
    ("exclusiveMaximum", "less than {}"), ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"), ("minItems", "at least {} items"), ("maxItems", "at most {} items"),
)  # fmt: skip
_FINITE = 10**12
_NAMES = {"array": "list", "object": "table", "integer": "whole number", "string": "text"}


class Field(NamedTuple):
    """One field: its dotted path, its type and limits in words, and what the schema says of it.

    `name` marks a key that the user chooses by `<name>`, and an item of a list by `[]`.
    """

    name: str
    type: str
    required: bool
    default: str
    meaning: str


def fields(schema: Schema, whole: Schema | None = None, prefix: str = "") -> Iterator[Field]:
    """Every field of an object schema, with those inside it right after; references lead into `whole`."""
    whole = whole or schema
    schema = resolve(schema, whole)
    required = schema.get("required", ())
    for name, part in schema.get("properties", {}).items():
        yield from _field(f"{prefix}{name}", part, name in required, whole)
    extra = schema.get("additionalProperties")
    if isinstance(extra, Mapping):
        yield from _field(f"{prefix}<name>", extra, False, whole)


def _field(path: str, part: Schema, required: bool, whole: Schema) -> Iterator[Field]:
    found = resolve(part, whole)
    meaning = str(part.get("description", found.get("description", "")))
    default = json.dumps(found["default"], ensure_ascii=False) if "default" in found else ""
    yield Field(path, kind(found, whole), required, default if default not in ("{}",) else "", meaning)
    for inner, suffix in ((found, "."), (resolve(found.get("items", {}), whole), "[].")):
        if _is_table(inner):
            yield from fields(inner, whole, f"{path}{suffix}")


def kind(schema: Schema, whole: Schema) -> str:
    """The type of a value and its limits, in words."""
    schema = resolve(schema, whole)
    for key in ("oneOf", "anyOf"):
        if key in schema:
            return " or ".join(kind(part, whole) for part in schema[key])
    if "const" in schema:
        return code(json.dumps(schema["const"], ensure_ascii=False))
    if "enum" in schema:
        return ", ".join(code(json.dumps(value, ensure_ascii=False)) for value in schema["enum"])
    types = schema.get("type", ())
    names = [_NAMES.get(name, name) for name in ([types] if isinstance(types, str) else types)]
    if names == ["list"] and "items" in schema:
        names = [f"list of {kind(schema['items'], whole)}"]
    limits = list(_limits(schema))
    return (" or ".join(names) or "anything") + (f" ({', '.join(limits)})" if limits else "")


def _limits(schema: Schema) -> Iterator[str]:
    """The limits of a value; one that only keeps numbers finite is nothing to tell."""
    for key, text in _BOUNDS:
        if key == "minLength" and schema.get(key) == 1:
            yield "not empty"
        elif key in schema and schema[key] < _FINITE:
            yield text.format(schema[key])
    if "pattern" in schema:
        yield "not blank" if schema["pattern"] == r"\S" else f"matches {code(schema['pattern'])}"
    if "format" in schema:
        yield str(schema["format"])


def resolve(schema: Schema, whole: Schema) -> Schema:
    """The schema, or the one of `$defs` that it refers to. Raises KeyError for a reference to nowhere."""
    while "$ref" in schema:
        target: Any = whole
        for part in str(schema["$ref"]).removeprefix("#/").split("/"):
            target = target[part]
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    return schema


def _is_table(schema: Schema) -> bool:
    return bool(schema.get("properties")) or isinstance(schema.get("additionalProperties"), Mapping)
