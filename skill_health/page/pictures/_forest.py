"""A forest plot: estimates below each other, each with its interval, over one axis.

Rows stand by number and names are drawn as text, so that names may repeat, hold anything and be of any length.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from skill_health.page.drawing.theme import GROUND, INK, MUTED, SERIES, ZERO
from skill_health.page.model import JsonNode
from skill_health.page.pictures._panel import Panel, Spec, Ticks, round_ticks
from skill_health.page.pictures._text import fitted, padding, text_width

LABELS = 172
"""Pixels for the names of rows."""
STEP = 16
"""Pixels from row to row."""
KINDS = {
    "primary": (SERIES[0], "circle"),
    "secondary": (SERIES[1], "square"),
    "interaction": (SERIES[2], "diamond"),
    "calibration": (SERIES[6], "triangle-up"),
    "descriptive": (SERIES[6], "triangle-down"),
}
"""Colour and shape of a contrast by its kind."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its name and an estimate (None makes it a heading). `student` is a second interval, in the same unit.

    `kind` gives colour and shape, `hollow` an open point, `strong` a larger one.
    """

    name: str
    estimate: JsonNode | None = None
    student: JsonNode | None = None
    kind: str = "primary"
    hollow: bool = False
    strong: bool = False


def forest(rows: Sequence[Row], title: str, width: int = 190, labels: int = LABELS, factor: float = 100.0) -> Spec:
    """The specification of a forest plot: of differences of shares in percentage points, or of anything else.

    `labels` is the width of the names, `factor` what estimates are multiplied by.
    """
    drawn = [(at, row, row.estimate.value) for at, row in enumerate(rows) if row.estimate is not None]
    ends = [_scaled(each[key], factor) for _, _, each in drawn for key in ("value", "low", "high")]
    ends += [_scaled(each, factor) for row in rows if row.student for each in row.student.value.values()]
    low, high = domain(ends)
    panel = Panel(width, STEP * len(rows), (low, high), (len(rows) - 0.4, -0.6))
    panel.below(signed_ticks(low, high, width), title, grid=True)
    panel.rule((0, 0), panel.up, ZERO)
    for at, row, each in drawn:
        color, shape = KINDS[row.kind]
        student = row.student.value if row.student else {}
        for ends_of, y, thick in ((each, at, 2), (student, at + 0.3, 1)):
            left, right = _scaled(ends_of.get("low"), factor), _scaled(ends_of.get("high"), factor)
            if left is not None and right is not None:
                panel.rule((left, right), (y, y), color, thick)
        value = _scaled(each["value"], factor)
        if value is not None:
            panel.dot(value, at, color, shape, 70 if row.strong else 36, GROUND if row.hollow else color)
        panel.say(panel.x(width + 8), at, f"n {each['n']:,}", MUTED)
    for at, row in enumerate(rows):
        color = INK if row.strong or row.estimate is None else MUTED
        panel.say(panel.x(-labels - 6), at, fitted(row.name, labels), color)
    return {**panel.spec(), "padding": padding(6, 36)}


def signed_ticks(low: float, high: float, pixels: float) -> Ticks:
    """Ticks of differences, with their sign and thousands as k, as many as stand apart on so many pixels."""
    found: Ticks = []
    for most in (7, 5, 4, 3, 2):
        at = round_ticks(low, high, most, (1, 2, 2.5, 5))
        factor, unit = (1000, "k") if max(map(abs, at), default=0) >= 10_000 else (1, "")
        found = [(each, f"{each / factor:+g}{unit}".replace("-", "−") if each else "0") for each in at]
        wide = max((text_width(words) for _, words in found), default=0.0)
        if len(at) < 2 or wide + 8 <= (at[1] - at[0]) / (high - low) * pixels:
            break
    return found


def domain(values: Iterable[float | None], pad: float = 0.05, zero: bool = True) -> list[float]:
    """The ends of an axis on which all values lie well inside, zero among them."""
    known = [value for value in values if value is not None] + ([0.0] if zero else [])
    low, high = min(known, default=0.0), max(known, default=1.0)
    room = (high - low) * pad or 1.0
    return [round(low - room, 6), round(high + room, 6)]


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else round(value * factor, 6)
