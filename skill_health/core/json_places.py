"""Where the values of a JSON text stand, so that a finding can point at one of them."""

from __future__ import annotations

import json
from typing import NamedTuple

from skill_health.text.patterns import lazy

JsonPath = tuple[str | int, ...]
"""The keys and positions that lead to a value."""

_TOKEN = lazy(r'[ \t\r\n]*(?:("(?:[^"\\]|\\.)*")|([{}\[\],:])|([^\s{}\[\],:"]+))')


class JsonPlaces(NamedTuple):
    """The offset of each value by the path to it, and of each key of an object; `again` are keys that stand twice."""

    values: dict[JsonPath, int]
    keys: dict[JsonPath, int]
    again: tuple[tuple[str, int], ...]


class _Container:
    """An object or list that is being read: `key` is the key or position of its next value; None before a key."""

    def __init__(self, path: JsonPath, is_list: bool) -> None:
        self.path, self.is_list = path, is_list
        self.key: str | int | None = 0 if is_list else None


def find_places(text: str) -> JsonPlaces:
    """The places of everything in a JSON text, as far as it can be read; no depth or size makes it fail."""
    values: dict[JsonPath, int] = {}
    keys: dict[JsonPath, int] = {}
    again: list[tuple[str, int]] = []
    open_: list[_Container] = []
    at = 0
    while match := _TOKEN.match(text, at):
        at = match.end()
        word, sign, start = match[1], match[2], match.start(match.lastindex or 0)
        top = open_[-1] if open_ else None
        if sign in ("}", "]"):
            if not open_:
                break
            open_.pop()
        elif sign == ",":
            if top is not None:
                top.key = top.key + 1 if isinstance(top.key, int) else None
        elif sign == ":":
            continue
        elif top is not None and top.key is None:
            if word is None:
                break
            top.key = _unquoted(word)
            place = (*top.path, top.key)
            if place in keys:
                again.append((top.key, start))
            keys[place] = start
        else:
            path = (*top.path, top.key) if top is not None and top.key is not None else ()
            values[path] = start
            if sign:
                open_.append(_Container(path, sign == "["))
            elif top is None:
                break
    return JsonPlaces(values, keys, tuple(again))


def _unquoted(word: str) -> str:
    try:
        return str(json.loads(word))
    except ValueError:
        return word[1:-1]
