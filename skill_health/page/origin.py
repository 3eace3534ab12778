"""A value of a JSON document together with where it stands in it, so that each figure on the page can be traced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class JsonNode:
    """A JSON value and its `origin`: the document's name, "#", and a JSON pointer (RFC 6901) into it.

    The names of documents are: status (`status --format json`), lint (`lint --score --format json`), history (the
    lines of skill-health-history.jsonl as a list, oldest first), router-history and effectiveness-history likewise,
    router/RUN and effectiveness/RUN (the report.json of that run), page (what `report --format json` adds).
    """

    value: Any
    origin: str

    def __getitem__(self, key: str | int) -> JsonNode:
        """A part of it. Raises KeyError or IndexError where there is none."""
        return JsonNode(self.value[key], f"{self.origin}/{_escaped(key)}")

    def get(self, key: str) -> JsonNode:
        """A part of an object; a Doc of None where it has none."""
        return JsonNode((self.value or {}).get(key), f"{self.origin}/{_escaped(key)}")

    def __iter__(self) -> Iterator[JsonNode]:
        """The items of a list, in order."""
        return (self[at] for at in range(len(self.value or ())))

    def __bool__(self) -> bool:
        """Whether there is a value, and one that is not empty."""
        return bool(self.value)

    def items(self) -> Iterator[tuple[str, JsonNode]]:
        """The keys and values of an object."""
        return ((key, self[key]) for key in self.value or {})

    def where(self, key: str, value: Any) -> JsonNode | None:
        """The first item of a list of objects whose `key` is `value`; None where there is none."""
        return next((each for each in self if each.value.get(key) == value), None)


def document(name: str, value: Any) -> JsonNode:
    """A whole document."""
    return JsonNode(value, f"{name}#")


def _escaped(key: str | int) -> str:
    return str(key).replace("~", "~0").replace("/", "~1")
