"""A forest plot in text: one row for each effect, its 95 % interval as a bar beside the line at zero.

Direction shows by place, what was tested by the shape of the mark, and nothing by colour alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from skill_health.bench.report_formats import RenderOptions
from skill_health.documents._record import FullFigure
from skill_health.text.numbers import points
from skill_health.text.terminal import columns, cut, padded, paint, squeezed, table_line

LEGEND = "● tested, ○ not testable or descriptive; the bar is the 95 % interval, the line is no effect"
_LABEL, _LEAST, _MOST = 34, 17, 61
_STEP = 0.1
_EPSILON = 1e-9


@dataclass(frozen=True, slots=True)
class EffectRow:
    """An effect: what of, the difference (a share, -1 to 1), on how many tasks, whether it was tested, and a word."""

    label: str
    delta: FullFigure
    tasks: int
    tested: bool
    word: str = ""


def forest(rows: Sequence[EffectRow], look: RenderOptions, width: int, indent: str = "  ") -> Iterator[str]:
    """The axis and one line for each effect, in at most `width` columns; two lines each where one is too narrow.

    All rows share one axis, symmetric about zero and as wide as the widest interval needs.
    """
    if not rows:
        return
    room = width - len(indent)
    numbers = [_numbers(row) for row in rows]
    right = max(map(columns, numbers))
    label = min(_LABEL, max(columns(row.label) for row in rows), max(room // 3, 12))
    plot = _odd(min(room - label - right - 4, _MOST))
    reach = _reach(rows)
    if plot < _LEAST:
        yield from _narrow(rows, numbers, reach, look, room, indent)
        return
    yield f"{indent}{' ' * label}  {_axis(reach, plot)}"
    for row, number in zip(rows, numbers, strict=True):
        left = padded(squeezed(row.label, label), label)
        yield f"{indent}{left}  {_painted(row, reach, plot, look)}  {number}".rstrip()


def _narrow(
    rows: Sequence[EffectRow], numbers: Sequence[str], reach: float, look: RenderOptions, room: int, indent: str
) -> Iterator[str]:
    plot = _odd(min(room - 2, _MOST))
    for row, number in zip(rows, numbers, strict=True):
        yield f"{indent}{cut(row.label, room)}"
        yield f"{indent}  {cut(number, room - 2)}"
        yield f"{indent}  {_painted(row, reach, plot, look)}".rstrip()
    yield f"{indent}  {_axis(reach, plot)}"


def _numbers(row: EffectRow) -> str:
    found = f"{points(row.delta)} n {row.tasks:,}"
    return f"{found} {table_line(row.word)}" if row.word else found


def _odd(width: int) -> int:
    return width - (width % 2 == 0)


def _reach(rows: Sequence[EffectRow]) -> float:
    """Where the axis ends: the next tenth beyond every value and interval, at most 1."""
    ends = [abs(end) for row in rows for end in (row.delta.value, row.delta.low, row.delta.high) if end is not None]
    return min(ceil(max(ends, default=0.0) / _STEP - _EPSILON) * _STEP or _STEP, 1.0)


def _axis(reach: float, plot: int) -> str:
    """The numbers at both ends and the zero above its line."""
    low, high = f"-{100 * reach:.0f}", f"+{100 * reach:.0f}"
    half = plot // 2
    return f"{low}{' ' * (half - len(low))}0{' ' * (half - len(high))}{high}"


def _at(value: float, reach: float, plot: int) -> int:
    """The column of a value. What is not zero never stands on the line of zero: its side is what it says."""
    half = plot // 2
    place = round(max(-1.0, min(value / reach, 1.0)) * half)
    if place == 0 and abs(value) > _EPSILON:
        place = 1 if value > 0 else -1
    return half + place


def _painted(row: EffectRow, reach: float, plot: int, look: RenderOptions) -> str:
    """The bar of a row; an effect whose interval leaves out zero is coloured, too, where colour is asked for."""
    value, low, high = row.delta.value, row.delta.low, row.delta.high
    cells = [" "] * plot
    if value is not None and low is not None and high is not None:
        start, end = _at(low, reach, plot), _at(high, reach, plot)
        cells[start : end + 1] = ["─"] * (end + 1 - start)
        cells[start], cells[end] = "├", "┤"
    cells[plot // 2] = {" ": "│", "─": "┼"}.get(cells[plot // 2], cells[plot // 2])
    if value is not None:
        cells[_at(value, reach, plot)] = "●" if row.tested else "○"
    bar = "".join(cells)
    if value is None or low is None or high is None or low <= 0 <= high:
        return bar
    return paint(bar, "blue" if low > 0 else "yellow", look.color)
