"""Whether data keep to a published schema, told fast: a page checks megabytes of reports each time it is made.

A schema becomes nested functions once. They only ever say yes to what is valid; for whatever they do not know, or do
not like, the full validator has the last word and the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any

from skill_health.core.validation import load_schema, problems

Check = Callable[[Any], bool]
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}
_SILENT = frozenset(("$schema", "$id", "title", "description", "default", "$defs", "required", "additionalProperties"))

_MOST_NODES, _MOST_KEYS = 2_000, 100
"""So much of what is wrong is looked at for a sentence about it: the full validator tells every fault, and slowly."""


def broken(name: str, data: Mapping[str, Any]) -> str:
    """What is wrong with `data` by the schema `name`, in a sentence; "" where it is right."""
    if _compiled(name)(data):
        return ""
    part, left = _pruned(data, [_MOST_NODES])
    found = problems(name, part)
    if found:
        return found[0].message
    return "in a place that its length hides" if left else ""


def _pruned(value: Any, room: list[int]) -> tuple[Any, bool]:
    """A value with the beginnings of its lists, and whether something was left out. `room` holds how much more fits."""
    if isinstance(value, dict):
        # An object stays whole, unless it is a map: a key that was left out would seem to be missing.
        room[0] -= min(len(value), _MOST_KEYS)
        pairs = [(key, _pruned(each, room)) for key, each in islice(value.items(), _MOST_KEYS)]
        left = len(pairs) < len(value) or any(cut for _, (_, cut) in pairs)
        return {key: part for key, (part, _) in pairs}, left
    if not isinstance(value, list):
        return value, False
    parts: list[Any] = []
    left = False
    for each in value:
        if room[0] <= 0:
            return parts, True
        room[0] -= 1
        part, cut = _pruned(each, room)
        parts.append(part)
        left = left or cut
    return parts, left


@cache
def _compiled(name: str) -> Check:
    return _Compiler(load_schema(name)).check(load_schema(name))


class _Compiler:
    """The functions of one schema; a definition is compiled once."""

    def __init__(self, whole: Mapping[str, Any]) -> None:
        self._whole = whole
        self._known: dict[str, Check] = {}

    def check(self, schema: Any) -> Check:
        """The function of a part of the schema."""
        if not isinstance(schema, Mapping):
            return _always if schema is True else _never
        parts = [self._part(key, schema) for key in schema if key not in _SILENT]
        if "properties" in schema or "required" in schema or "additionalProperties" in schema:
            parts.append(self._object(schema))
        if not parts:
            return _always
        return parts[0] if len(parts) == 1 else _all(tuple(parts))

    def _part(self, key: str, schema: Mapping[str, Any]) -> Check:
        wanted = schema[key]
        match key:
            case "type":
                return _typed([wanted] if isinstance(wanted, str) else wanted)
            case "const":
                return _among([wanted])
            case "enum":
                return _among(wanted)
            case "minimum":
                return lambda value: not isinstance(value, int | float) or value >= wanted
            case "maximum":
                return lambda value: not isinstance(value, int | float) or value <= wanted
            case "minLength":
                return lambda value: not isinstance(value, str) or len(value) >= wanted
            case "minItems":
                return lambda value: not isinstance(value, list) or len(value) >= wanted
            case "pattern":
                search = re.compile(wanted).search
                return lambda value: not isinstance(value, str) or search(value) is not None
            case "items":
                return _each(self.check(wanted))
            case "oneOf":
                choices = tuple(map(self.check, wanted))
                return lambda value: sum(choice(value) for choice in choices) == 1 and _told_apart(wanted)
            case "$ref":
                return self._reference(wanted)
            case "properties":
                return _always
        return _never

    def _reference(self, target: str) -> Check:
        if target not in self._known:
            # A definition that holds itself finds this instead, and is left to the full validator.
            self._known[target] = _never
            found: Any = self._whole
            for part in target.removeprefix("#/").split("/"):
                found = found[part]
            self._known[target] = self.check(found)
        return self._known[target]

    def _object(self, schema: Mapping[str, Any]) -> Check:
        known = {key: self.check(part) for key, part in schema.get("properties", {}).items()}
        more = self.check(schema.get("additionalProperties", True))
        required = frozenset(schema.get("required", ()))

        def fits(value: Any) -> bool:
            if not isinstance(value, dict):
                return True
            return required <= value.keys() and all(known.get(key, more)(each) for key, each in value.items())

        return fits


def _told_apart(choices: Sequence[Any]) -> bool:
    """Whether at most one choice can hold: null or something else. The functions do not say no for certain."""
    kinds = [str(each.get("type", "")).replace("integer", "number") for each in choices]
    return all(kind in _TYPES for kind in kinds) and len(set(kinds)) == len(kinds)


def _typed(names: Sequence[str]) -> Check:
    kinds = frozenset(kind for name in names for kind in _TYPES[name])
    if "integer" not in names:
        return lambda value: type(value) in kinds
    return lambda value: type(value) in kinds or (type(value) is float and value.is_integer())


def _among(values: Sequence[Any]) -> Check:
    texts = frozenset(each for each in values if isinstance(each, str))
    # JSON has one kind of number, in which 1 is 1.0; Python also holds True for 1.
    others = tuple((isinstance(each, bool), each) for each in values if not isinstance(each, str))
    return lambda value: value in texts if isinstance(value, str) else (isinstance(value, bool), value) in others


def _each(check: Check) -> Check:
    return lambda value: not isinstance(value, list) or all(map(check, value))


def _all(checks: tuple[Check, ...]) -> Check:
    return lambda value: all(check(value) for check in checks)


def _always(_: Any) -> bool:
    return True


def _never(_: Any) -> bool:
    return False
