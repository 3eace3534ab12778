"""A matcher that tries what Python's tries, in the same order, and counts it: so growth is measured without a clock."""

from __future__ import annotations

import re._compiler as compiler
import re._constants as names
import re._parser as parser
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Groups = Mapping[int, tuple[int, int]]
Found = Iterator[tuple[int, Groups]]
Way = Callable[[int, Groups], Found]
ONE = {names.LITERAL, names.NOT_LITERAL, names.ANY, names.IN}
MOST = 4_000_000
REPEATS = {names.MAX_REPEAT, names.MIN_REPEAT, names.POSSESSIVE_REPEAT}


class TooManySteps(Exception):
    """Of a pattern that would not come to an end in a lifetime."""


class Counted:
    """A pattern. `steps` counts the characters looked at and the alternatives tried.

    Each part of the pattern is a generator of the places where it may end, best first; to track back is to ask for
    the next one. What a single character or place is, Python's own compiler says.
    """

    def __init__(self, pattern: str | bytes, flags: int = 0) -> None:
        tree = parser.parse(pattern, flags)
        self.steps = 0
        self.text: str | bytes = ""
        self._whole = self._sequence(tree, tree.state.flags)

    def match(self, text: str | bytes, to_the_end: bool = False) -> tuple[int, int] | None:
        self.text = text
        ends = (end for end, _ in self._whole(0, {}) if not to_the_end or end == len(text))
        return next(((0, end) for end in ends), None)

    def finditer(self, text: str | bytes) -> Iterator[tuple[int, int]]:
        self.text = text
        start, empty_at = 0, -1
        while start <= len(text):
            self.steps += 1
            ends = (end for end, _ in self._whole(start, {}) if end > start or start != empty_at)
            if (end := next(ends, None)) is None:
                start += 1
            else:
                yield start, end
                start, empty_at = end, end if end == start else -1

    def _sequence(self, tree: Any, flags: int) -> Way:
        parts = [self._part(op, value, flags) for op, value in tree]

        def go(at: int, groups: Groups, nth: int = 0) -> Found:
            if nth == len(parts):
                yield at, groups
                return
            self.steps += 1
            if self.steps > MOST:
                raise TooManySteps
            for end, found in parts[nth](at, groups):
                yield from go(end, found, nth + 1)

        return go

    def _part(self, op: Any, value: Any, flags: int) -> Way:
        if op in ONE:
            return self._one(op, value, flags)
        if op in REPEATS:
            low, high, inner = value
            single = len(inner) == 1 and inner[0][0] in ONE
            most = 1 << 60 if high is names.MAXREPEAT else high
            repeat = self._characters if single else self._repeat
            return repeat(op, low, most, inner, flags)
        if op in (names.ASSERT, names.ASSERT_NOT):
            return self._look(op is names.ASSERT, *value, flags)
        if op is names.SUBPATTERN:
            group, add, remove, inner = value
            return self._capture(group, self._sequence(inner, flags & ~remove | add))
        if op is names.BRANCH:
            return self._branch([self._sequence(each, flags) for each in value[1]])
        if op is names.ATOMIC_GROUP:
            return _first(self._sequence(value, flags))
        if op is names.GROUPREF:
            return self._again(value)
        if op is names.AT:
            holds = _compiled(op, value, flags)
            return lambda at, groups: iter([(at, groups)] if holds(self.text, at) else [])
        raise TypeError(f"{op} is not counted yet")

    def _fits(self, op: Any, value: Any, flags: int) -> Callable[[int], bool]:
        """Whether the character at a place is this one, or of this class."""
        test, known = _compiled(op, value, flags), {}

        def fits(at: int) -> bool:
            char = self.text[at : at + 1]
            if char not in known:
                known[char] = bool(char) and test(char) is not None
            return known[char]

        return fits

    def _one(self, op: Any, value: Any, flags: int) -> Way:
        fits = self._fits(op, value, flags)

        def go(at: int, groups: Groups) -> Found:
            if fits(at):
                yield at + 1, groups

        return go

    def _characters(self, op: Any, low: int, high: int, inner: Any, flags: int) -> Way:
        fits = self._fits(*inner[0], flags)

        def go(at: int, groups: Groups) -> Found:
            end, most = at, min(at + high, len(self.text))
            least = low if op is names.MIN_REPEAT else most
            while end < min(at + least, most) and fits(end):
                end += 1
            self.steps += end - at + 1
            if end - at < low:
                return
            yield end, groups
            if op is names.MIN_REPEAT:
                while end < most and fits(end):
                    self.steps += 1
                    end += 1
                    yield end, groups
            elif op is names.MAX_REPEAT:
                while end - at > low:
                    self.steps += 1
                    end -= 1
                    yield end, groups

        return go

    def _repeat(self, op: Any, low: int, high: int, inner: Any, flags: int) -> Way:
        body, lazy = self._sequence(inner, flags), op is names.MIN_REPEAT

        def go(at: int, groups: Groups, count: int = 0) -> Found:
            self.steps += 1
            if lazy and count >= low:
                yield at, groups
            if count < high:
                for end, found in body(at, groups):
                    if end > at or count < low:
                        yield from go(end, found, count + 1)
            if not lazy and count >= low:
                yield at, groups

        return _first(go) if op is names.POSSESSIVE_REPEAT else go

    def _look(self, wanted: bool, direction: int, inner: Any, flags: int) -> Way:
        body, back = self._sequence(inner, flags), inner.getwidth()[0] if direction < 0 else 0

        def go(at: int, groups: Groups) -> Found:
            found = next(body(at - back, groups), None) if at >= back else None
            if (found is not None) == wanted:
                yield at, found[1] if found else groups

        return go

    def _capture(self, group: int | None, body: Way) -> Way:
        if group is None:
            return body
        return lambda at, groups: ((end, {**found, group: (at, end)}) for end, found in body(at, groups))

    def _branch(self, ways: list[Way]) -> Way:
        def go(at: int, groups: Groups) -> Found:
            for way in ways:
                self.steps += 1
                yield from way(at, groups)

        return go

    def _again(self, group: int) -> Way:
        def go(at: int, groups: Groups) -> Found:
            if group in groups:
                start, end = groups[group]
                self.steps += end - start
                if self.text[at : at + end - start] == self.text[start:end]:
                    yield at + end - start, groups

        return go


def _first(way: Way) -> Way:
    """What does not track back into it once it has matched."""

    def go(at: int, groups: Groups) -> Found:
        for found in way(at, groups):
            yield found
            return

    return go


def _compiled(op: Any, value: Any, flags: int) -> Callable[..., Any]:
    state = parser.State()
    state.flags = flags
    return compiler.compile(parser.SubPattern(state, [(op, value)]), flags).match
