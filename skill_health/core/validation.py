"""Validates data against the published JSON Schemas and reports problems in plain words.

Importing `jsonschema` takes longer than a small run, so it is imported at the first record.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from skill_health.core.strict_json import kind_of, quote
from skill_health.text.near import nearest

SCHEMAS = Path(__file__).with_name("schemas")
_TYPES = {
    "string": "text",
    "null": "null",
    "array": "a list",
    "object": "an object",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
}


class Problem(NamedTuple):
    """One way in which data violates its schema: the top-level key concerned ("" for none) and a sentence."""

    key: str
    message: str


@cache
def load_schema(name: str) -> Mapping[str, Any]:
    """The published schema `schemas/<name>.schema.json`."""
    schema: Mapping[str, Any] = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    return schema


def problems(name: str, data: Mapping[str, Any]) -> list[Problem]:
    """What is wrong with `data` according to the schema `name`, in the order of the data's keys; [] if it is valid.

    Unknown keys are allowed, unless one is a near miss of a known key that is absent.
    """
    order = {key: nth for nth, key in enumerate(data)}
    found: dict[Problem, None] = {}
    typos = _typos(load_schema(name)["properties"], data)
    for key, meant in typos.items():
        found[Problem(key, f"{quote(key)} is not a known key; did you mean {quote(meant)}?")] = None
    for error in _validator(name).iter_errors(data):
        for problem in _explain(error):
            if problem.key not in typos.values():
                found[problem] = None
    return sorted(found, key=lambda problem: (order.get(problem.key, -1), problem.message))


@cache
def _validator(name: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(load_schema(name), format_checker=Draft202012Validator.FORMAT_CHECKER)


def _typos(known: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, str]:
    absent = [key for key in known if key not in data]
    found: dict[str, str] = {}
    for key in data:
        if key not in known and (near := nearest(key, absent, 0.85)):
            found[key] = near
    return found


def _explain(error: Any) -> list[Problem]:
    path = [str(part) if isinstance(part, str) else f"[{part}]" for part in error.absolute_path]
    dotted = ".".join(path).replace(".[", "[")
    top = path[0] if path else ""
    value, wanted = error.instance, error.validator_value
    if error.validator == "required":
        return [Problem(key, f"{_at(dotted, key)} is missing") for key in wanted if key not in value]
    return [Problem(top, f"{dotted or 'the record'} {_sentence(error.validator, wanted, value, error.schema)}")]


def _at(dotted: str, key: str) -> str:
    return f"{dotted}.{key}" if dotted else key


def _sentence(validator: str, wanted: Any, value: Any, schema: Mapping[str, Any]) -> str:
    """What `value` must be; jsonschema's own sentence for a keyword that our schemas do not use."""
    match validator:
        case "type":
            names = [wanted] if isinstance(wanted, str) else wanted
            return f"must be {' or '.join(_TYPES[name] for name in names)}, not {kind_of(value)}"
        case "enum":
            near = nearest(value, wanted) if isinstance(value, str) else ""
            hint = f"; did you mean {quote(near)}?" if near else ""
            return f"must be one of {', '.join(wanted)}, not {quote(value)}{hint}"
        case "pattern" if not str(value).strip():
            return "is blank"
        case "pattern":
            return f"must be {schema.get('description', wanted)}, not {quote(value)}"
        case "format":
            return f"must be a date written as 2026-05-15, not {quote(value)}"
        case "maxLength":
            return f"has {len(value)} characters; {wanted} are allowed"
        case "uniqueItems":
            return f"names {quote(next(item for item in value if value.count(item) > 1))} twice"
        case "exclusiveMinimum":
            return f"must be more than {wanted}, not {quote(value)}"
    return f"breaks the schema's {validator}"
