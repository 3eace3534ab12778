"""A manifest in JSON: its values, where they stand, and what is wrong with its text."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

from skill_health.core.json_places import JsonPath, JsonPlaces, find_places
from skill_health.core.strict_json import MAX_DEPTH, JsonProblem, is_too_deep, parse_object
from skill_health.skill.model import Span


class JsonFile:
    """One JSON file of the repository, by its path relative to the root. `data` is {} where it holds no object.

    A file with a key that stands twice still has its values: the last one counts, as in every host.
    """

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.problem: JsonProblem | None = None
        self.data: dict[str, Any] = {}
        try:
            self.data = parse_object(text)
        except JsonProblem as problem:
            self.problem = problem
            self.data = _read_anyway(text)

    @property
    def is_read(self) -> bool:
        """Whether hosts make something of it, whatever is wrong with its text."""
        return self.problem is None or bool(self.data)

    @cached_property
    def places(self) -> JsonPlaces:
        """Where its values stand; found when the first finding asks."""
        return find_places(self.text)

    def span(self, *path: str | int) -> Span:
        """The place of a value; that of the nearest one around it where there is none."""
        return self.at(self._offset(path))

    def key_span(self, *path: str | int) -> Span:
        """The place of a key."""
        found = self.places.keys.get(path)
        return self.span(*path) if found is None else self.at(found)

    def at(self, offset: int) -> Span:
        """The line and column of an offset."""
        before = self.text[:offset]
        return Span(before.count("\n") + 1, offset - before.rfind("\n"))

    def _offset(self, path: JsonPath) -> int:
        while path and path not in self.places.values:
            path = path[:-1]
        return self.places.values.get(path, 0)


def _read_anyway(text: str) -> dict[str, Any]:
    """What hosts make of a text that we do not like: repeated keys are read by them."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) and not is_too_deep(data, MAX_DEPTH) else {}
