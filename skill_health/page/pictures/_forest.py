"""A forest plot: estimates below each other, each with its interval, over one axis.

Rows stand by number and names are drawn as text, so that names may repeat, hold anything and be of any length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from skill_health.page.origin import Doc
from skill_health.page.pictures._text import below, fitted, padding, text
from skill_health.page.theme import GROUND, INK, MUTED, SERIES, ZERO

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
    estimate: Doc | None = None
    student: Doc | None = None
    kind: str = "primary"
    hollow: bool = False
    strong: bool = False


def forest(rows: Sequence[Row], title: str, width: int = 190, labels: int = LABELS) -> dict[str, Any]:
    """The specification of a forest plot of differences of shares, in percentage points."""
    return {**panel(rows, title, width, 100.0, labels), "padding": padding(6, 36)}


def panel(
    rows: Sequence[Row], title: str, width: int, factor: float, labels: int = 0, ticks: int = 5, numbers: bool = True
) -> dict[str, Any]:
    """One plot; `labels` is the width of the names (0: none), `factor` what estimates are multiplied by.

    It has three layers and no more, as each costs time: rules, points and texts.
    """
    drawn = [(at, row, row.estimate.value) for at, row in enumerate(rows) if row.estimate is not None]
    ends = [_scaled(each[key], factor) for _, _, each in drawn for key in ("value", "low", "high")]
    ends += [_scaled(each, factor) for row in rows if row.student for each in row.student.value.values()]
    low, high = domain(ends)
    axis = below(title, ticks, format="+.6~g" if factor == 100.0 else "+.3~s")
    down = {"domain": [-0.6, len(rows) - 0.4], "reverse": True, "nice": False, "zero": False}
    across = {"domain": [low, high], "nice": False, "zero": False}
    x = {"field": "x", "type": "quantitative", "axis": axis, "scale": across}
    y = {"field": "y", "type": "quantitative", "axis": None, "scale": down}
    pixel = (high - low) / width
    rules = [{"x": 0, "x2": 0, "y": -0.6, "y2": len(rows) - 0.4, "c": ZERO, "w": 1}, *_intervals(drawn, factor)]
    texts = _names(rows, labels, low - (labels + 6) * pixel) if labels else []
    texts += [{"x": high + 8 * pixel, "y": at, "t": f"n {each['n']:,}", "c": MUTED} for at, _, each in drawn if numbers]
    layers = [
        layer({"type": "rule"}, rules, x=x, y=y, x2={"field": "x2"}, y2={"field": "y2"}, color="c", strokeWidth="w"),
        layer(
            {"type": "point", "opacity": 1, "strokeWidth": 1.5}, _points(drawn, factor),
            x=x, y=y, stroke="c", fill="f", shape="s", size="w",
        ),
        layer(text(), texts, x=x, y=y, text={"field": "t"}, color="c"),
    ]  # fmt: skip
    return {"width": width, "height": STEP * len(rows), "layer": [each for each in layers if each["data"]["values"]]}


def layer(mark: dict[str, Any], values: list[dict[str, Any]], **encoding: Any) -> dict[str, Any]:
    """A layer; a channel that is only named takes its values as they are."""
    channels = {
        channel: {"field": how, "type": "quantitative" if how == "w" else "nominal", "scale": None}
        if isinstance(how, str)
        else how
        for channel, how in encoding.items()
    }
    return {"mark": mark, "data": {"values": values}, "encoding": channels}


def domain(values: Iterable[float | None], pad: float = 0.05, zero: bool = True) -> list[float]:
    """The ends of an axis on which all values lie well inside, zero among them."""
    known = [value for value in values if value is not None] + ([0.0] if zero else [])
    low, high = min(known, default=0.0), max(known, default=1.0)
    room = (high - low) * pad or 1.0
    return [round(low - room, 6), round(high + room, 6)]


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else round(value * factor, 6)


def _intervals(drawn: Sequence[tuple[int, Row, dict[str, Any]]], factor: float) -> Iterator[dict[str, Any]]:
    for at, row, each in drawn:
        student = row.student.value if row.student else {}
        for ends, y, thick in ((each, at, 2), (student, at + 0.3, 1)):
            low, high = _scaled(ends.get("low"), factor), _scaled(ends.get("high"), factor)
            if low is not None and high is not None:
                yield {"x": low, "x2": high, "y": y, "y2": y, "c": KINDS[row.kind][0], "w": thick}


def _points(drawn: Sequence[tuple[int, Row, dict[str, Any]]], factor: float) -> list[dict[str, Any]]:
    values = []
    for at, row, each in drawn:
        if each["value"] is not None:
            color, shape = KINDS[row.kind]
            look = {"c": color, "f": GROUND if row.hollow else color, "s": shape, "w": 70 if row.strong else 36}
            values.append({"x": _scaled(each["value"], factor), "y": at, **look})
    return values


def _names(rows: Sequence[Row], labels: int, x: float) -> list[dict[str, Any]]:
    """The names of the rows and the headings."""
    return [
        {
            "x": x,
            "y": at,
            "t": fitted(row.name, labels),
            "c": INK if row.strong or row.estimate is None else MUTED,
        }
        for at, row in enumerate(rows)
    ]
