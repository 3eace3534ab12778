"""The changes that an agent made, as lines that are marked by their sign."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from skill_health.page.skill.trial_text import price

Sign = Literal["added", "removed", "place", "same"]
MOST_LINES = 120
_LONGEST = 300
_AROUND = 25
"""Bytes of HTML around a line."""


@dataclass(frozen=True, slots=True)
class DiffExcerpt:
    """The first lines of a diff. `left` lines of what was read are left out, and `unread` bytes of the file."""

    lines: tuple[tuple[Sign, str], ...] = ()
    left: int = 0
    unread: int = 0
    price: int = 0


def diff(data: bytes, size: int, room: int) -> DiffExcerpt:
    """The beginning of a diff of `size` bytes, of which `data` were read, in at most `room` bytes of HTML."""
    text = data.decode("utf-8", "surrogateescape")
    every = text.removesuffix("\n").split("\n") if text else []
    lines: list[tuple[Sign, str]] = []
    spent = 0
    for line in every[:MOST_LINES]:
        told = line if len(line) <= _LONGEST else f"{line[:_LONGEST]}… ({len(line) - _LONGEST:,} more characters)"
        spent += price(told) + _AROUND
        if spent > room:
            break
        lines.append((_sign(line, lines), told))
    paid = sum(price(told) + _AROUND for _, told in lines)
    return DiffExcerpt(tuple(lines), len(every) - len(lines), size - len(data), paid)


def _sign(line: str, before: list[tuple[Sign, str]]) -> Sign:
    """The heads of a file begin with signs, too; they stand before its first place."""
    if line.startswith(("@@", "diff ", "index ", "new file", "deleted file", "old mode", "new mode", "similarity ")):
        return "place"
    if line.startswith(("--- ", "+++ ")) and before and before[-1][0] == "place" and not before[-1][1].startswith("@@"):
        return "place"
    return {"+": "added", "-": "removed"}.get(line[:1], "same")  # type: ignore[return-value]
