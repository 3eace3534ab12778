"""Whether a stranger's regular expression can be run: what could take more than quadratic time is refused unread.

A configuration comes with a repository, so its expressions and the texts they search may be made for each other. The
shape of an expression tells whether that can take long, and the same one is refused everywhere; a clock would not be
so. Refused are repeats whose rounds can be divided in more than one way, repeats that compete for the same characters
over several lines, and more than two that do so within a line. What is left takes at most quadratic time in a line,
of which `cut_lines` leaves a bounded part.
"""

from __future__ import annotations

import re
from importlib import import_module
from itertools import combinations
from typing import Any, NamedTuple

LONGEST_PATTERN = 1000
LONGEST_LINE = 5000
_FEW, _MOST_WAYS = 32, 1000
_NEWLINE = ord("\n")
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_GROUPED = re.compile(r"[(|]")
# All of ASCII, and one of each kind of character beyond it; what an expression names itself is added.
_SAMPLE = (*range(128), 0x85, 0xA0, 0xC9, 0xE9, 0x131, 0x17F, 0x212A, 0x2028, 0x3042, 0x4E2D, 0x1F600)


_EMPTY_IN_TWO_WAYS = (
    "could take very long, as within a repeat it can match nothing in several ways: leave one of them out"
)


class _Danger(Exception):
    """Why an expression is refused."""


class _Part(NamedTuple):
    """What a part of an expression can begin and end with, by the numbers of its characters."""

    nullable: bool
    first: tuple[int, ...] = ()
    last: tuple[int, ...] = ()


_NOTHING = _Part(True)


class _Loop(NamedTuple):
    """A repeat that can take many characters: the characters it is made of (numbers from `start` on, up to `end`)."""

    start: int
    end: int
    chars: frozenset[int]


def find_danger(pattern: str, whole: bool = False) -> str:
    """Why an expression is not run, as one clause that ends the sentence "it ..."; "" where it is.

    `whole` says that it must match a whole text, so that nothing is searched for.
    """
    if len(pattern) > LONGEST_PATTERN:
        return f"is longer than {LONGEST_PATTERN:,} characters"
    try:
        compiled = re.compile(pattern, re.MULTILINE)
        tree: Any = import_module("re._parser").parse(pattern, re.MULTILINE)
        plain = not any(str(op) in _REPEATS for op, _ in tree) and not _GROUPED.search(pattern)
    except re.error as error:
        place = f" (at character {error.pos + 1})" if error.pos is not None else ""
        return f"is not a regular expression: {error.msg}{place}"
    except (RecursionError, OverflowError):
        return "is nested too deeply"
    if plain:
        return ""
    try:
        _Shape(compiled.flags, pattern).judge(tree, whole)
    except _Danger as danger:
        return str(danger)
    except RecursionError:
        return "is nested too deeply"
    return ""


def cut_lines(text: str) -> str:
    """A text without what exceeds LONGEST_LINE characters in each of its lines."""
    if len(text) <= LONGEST_LINE:
        return text
    lines = text.split("\n")
    return "\n".join(line[:LONGEST_LINE] for line in lines) if max(map(len, lines)) > LONGEST_LINE else text


class _Shape:
    """The characters of an expression in their order, and which may follow which (Glushkov's automaton)."""

    def __init__(self, flags: int, pattern: str) -> None:
        self.flags = flags
        self.sample = frozenset(_SAMPLE).union(map(ord, pattern))
        self.chars: list[frozenset[int]] = []
        self.follow: list[list[int]] = []
        self.loops: list[_Loop] = []
        self.ways = 1

    def judge(self, tree: Any, whole: bool) -> None:
        """Raise _Danger where the expression could take too long."""
        entry = self._sequence(tree, 0)
        ends = len(self.chars) if whole else self._settled_from(tree)
        loops = [loop for loop in self.loops if loop.end <= ends]
        lead = None if whole else self._lead(tree)
        if lead is not None:
            loops.insert(0, _Loop(0, 0, lead))
        longest: list[int] = []
        for at, loop in enumerate(loops):
            before = [n for n in range(at) if self._compete(loops[n], loop, entry)]
            longest.append(1 + max((longest[n] for n in before), default=0))
            if any(_NEWLINE in loops[n].chars & loop.chars for n in before):
                raise _Danger(
                    "could take long, as two of its repeats (or one and the search for its beginning) compete for the "
                    r"same characters over many lines: leave line ends out of them, as in [^x\n] or [ \t]"
                )
        if max(longest, default=0) > 2:
            raise _Danger(
                "could take long, as three of its repeats (the search for its beginning included) compete for the same "
                "characters: begin it with ^, or make several rules of it"
            )

    def _lead(self, tree: Any) -> frozenset[int] | None:
        """What the search for the beginning runs over: everything, line ends after ^, and nothing after a plain \\A."""
        kind = str(tree[0][1]) if len(tree) and str(tree[0][0]) == "AT" else ""
        if kind == "AT_BEGINNING_STRING":
            return None
        return frozenset((_NEWLINE,)) if kind == "AT_BEGINNING" else self.sample

    def _settled_from(self, tree: Any) -> int:
        """The number of characters after which nothing can fail any more: what ends the expression never backtracks."""
        last: Any = tree[-1] if len(tree) else None
        while last is not None and str(last[0]) == "SUBPATTERN" and len(last[1][3]):
            last = last[1][3][-1]
        settled = last is not None and str(last[0]) in _REPEATS and last[1][0] <= 1
        single = settled and len(last[1][2]) == 1 and _is_char(last[1][2][0])
        return len(self.chars) - 1 if single else len(self.chars)

    def _compete(self, one: _Loop, other: _Loop, entry: _Part) -> bool:
        """Whether the characters between two repeats could be those of both, so that each could take from the other."""
        shared = one.chars & other.chars
        if not shared or one.end > other.start:
            return False
        reached = set(entry.first) if one.end == 0 else {n for at in range(one.start, one.end) for n in self.follow[at]}
        waiting, seen = [n for n in reached if n >= one.end], set()
        while waiting:
            at = waiting.pop()
            if other.start <= at < other.end:
                return True
            if at not in seen and self.chars[at] & shared:
                seen.add(at)
                waiting += [n for n in self.follow[at] if n > at]
        return False

    # -- the parts of an expression ------------------------------------------------------------------------------------

    def _sequence(self, tree: Any, depth: int) -> _Part:
        part = _NOTHING
        for op, value in tree:
            part = self._join(part, self._item(str(op), value, depth))
        return part

    def _join(self, one: _Part, other: _Part) -> _Part:
        for at in one.last:
            self.follow[at] += other.first
        return _Part(
            one.nullable and other.nullable,
            one.first + other.first if one.nullable else one.first,
            one.last + other.last if other.nullable else other.last,
        )

    def _item(self, op: str, value: Any, depth: int) -> _Part:
        match op:
            case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN":
                self.chars.append(self._set(op, value))
                self.follow.append([])
                at = (len(self.chars) - 1,)
                return _Part(False, at, at)
            case "SUBPATTERN":
                flags, self.flags = self.flags, (self.flags | value[1]) & ~value[2]
                part = self._sequence(value[3], depth)
                self.flags = flags
                return part
            case "ATOMIC_GROUP":
                return self._sequence(value, depth)
            case "BRANCH":
                return self._branch(value[1], depth)
            case _ if op in _REPEATS:
                return self._repeat(int(value[0]), int(value[1]), value[2], depth)
            case "ASSERT" | "ASSERT_NOT":
                return self._look(value, depth)
            case "AT":
                return _NOTHING
        raise _Danger("refers back to one of its groups, which can take very long")

    def _branch(self, branches: Any, depth: int) -> _Part:
        parts = [self._sequence(branch, depth) for branch in branches]
        empty = sum(part.nullable for part in parts)
        if depth and empty > 1:
            raise _Danger(_EMPTY_IN_TWO_WAYS)
        if not depth:
            firsts = [frozenset().union(*(self.chars[at] for at in part.first)) for part in parts]
            same = sum(bool(one & other) for one, other in combinations(firsts, 2))
            self._add_ways(1 + same + empty)
        return _Part(
            empty > 0,
            tuple(at for part in parts for at in part.first),
            tuple(at for part in parts for at in part.last),
        )

    def _repeat(self, least: int, most: int, body: Any, depth: int) -> _Part:
        single = len(body) == 1 and _is_char(body[0])
        start = len(self.chars)
        part = self._sequence(body, depth if single or most <= 1 else depth + 1)
        end = len(self.chars)
        long = most > _FEW or (most > 1 and any(start <= n <= at for at in range(start, end) for n in self.follow[at]))
        if most > 1:
            for at in part.last:
                self.follow[at] += part.first
            if not single:
                self._check_rounds(part, start, end)
        # What is left out may as well be taken and empty.
        doubtful = part.nullable and least == 0
        if depth and doubtful:
            raise _Danger(_EMPTY_IN_TWO_WAYS)
        if not depth:
            if doubtful:
                self._add_ways(2)
            if long:
                self.loops = [loop for loop in self.loops if loop.start < start]
                self.loops.append(_Loop(start, end, frozenset().union(*self.chars[start:end])))
            else:
                self._add_ways(most - least + 1 if single else max(1, most))
        return part._replace(nullable=part.nullable or least == 0)

    def _check_rounds(self, part: _Part, start: int, end: int) -> None:
        """One character must tell how it goes on, or each round could be divided in many ways, and all be tried."""
        if part.nullable:
            raise _Danger("could take very long, as it repeats something that may be empty")
        for at in range(start, end):
            following = [n for n in self.follow[at] if start <= n < end]
            if any(self.chars[one] & self.chars[other] for one, other in combinations(following, 2)):
                raise _Danger(
                    "could take very long, as it repeats something that has repeats or choices of its own which one text "
                    "can match in several ways: let each round begin with a character that cannot end one"
                )

    def _look(self, value: Any, depth: int) -> _Part:
        """What looks ahead is judged as if it were taken; what looks back has a fixed width."""
        direction, body = value
        known, loops = len(self.chars), len(self.loops)
        part = self._sequence(body, depth)
        fixed = direction < 0 or len(self.loops) == loops
        if depth and any(len(self.follow[at]) and at in self.follow[at] for at in range(known, len(self.chars))):
            raise _Danger("could take very long, as it looks ahead over a repeat within a repeat")
        if fixed:
            return _NOTHING
        return part._replace(nullable=True)

    def _add_ways(self, number: int) -> None:
        self.ways *= number
        if self.ways > _MOST_WAYS:
            raise _Danger("has too many optional parts and choices to be tried in every combination")

    def _set(self, op: str, value: Any) -> frozenset[int]:
        """The characters of the sample that one character of an expression stands for."""
        if op == "ANY":
            return self.sample if self.flags & re.DOTALL else self.sample - {_NEWLINE}
        if op == "LITERAL":
            found = {value}
        elif op == "NOT_LITERAL":
            found = set(self.sample) - {value}
        else:
            found = set()
            for kind, inner in value:
                found |= self._member(str(kind), inner)
            if str(value[0][0]) == "NEGATE":
                found = set(self.sample) - found
        if self.flags & re.IGNORECASE:
            found |= {ord(other) for at in found for other in chr(at).swapcase() if len(chr(at).swapcase()) == 1}
        return frozenset(found)

    def _member(self, kind: str, inner: Any) -> set[int]:
        match kind:
            case "LITERAL":
                return {inner}
            case "RANGE":
                low, high = inner
                return {at for at in self.sample if low <= at <= high} | {low, high, (low + high) // 2}
            case "CATEGORY":
                matches = re.compile(_CATEGORIES[str(inner)]).match
                return {at for at in self.sample if matches(chr(at))}
        return set()


def _is_char(item: Any) -> bool:
    return str(item[0]) in ("LITERAL", "NOT_LITERAL", "ANY", "IN")


_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d", "CATEGORY_NOT_DIGIT": r"\D", "CATEGORY_SPACE": r"\s", "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w", "CATEGORY_NOT_WORD": r"\W",
}  # fmt: skip
