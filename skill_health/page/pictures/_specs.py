"""Parts of Vega-Lite specifications that several pictures have. Text of others is data in them, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from skill_health.columns import squeezed
from skill_health.page.drawing.theme import GRID, INK, ZERO

Spec = dict[str, Any]
WIDTH = 400
"""Pixels of a plot with an axis on its left; with it, and the room of the axis, a picture fills its column."""


def channel(field: str, kind: str = "quantitative", **more: Any) -> Spec:
    """A channel that shows a field of the data."""
    return {"field": field, "type": kind, **more}


def category(field: str, **more: Any) -> Spec:
    """A channel that shows a field as categories, in the order of the data."""
    return channel(field, "nominal", sort=None, **more)


def looks(field: str, looks_of: Mapping[str, tuple[str, str]], present: Iterable[str], legend: bool = True) -> Spec:
    """Colour and shape by a field, for the values that are present; a legend where there are several."""
    names = [name for name in looks_of if name in {*present}]
    own = None if not legend or len(names) < 2 else {"title": None}
    color, shape = ({"domain": names, "range": [looks_of[name][at] for name in names]} for at in (0, 1))
    return {
        "color": category(field, scale=color, legend=own),
        "shape": category(field, scale=shape, legend=own),
    }


def layer(mark: str, encoding: Spec, data: Sequence[Spec] | None = None, only: str = "", **more: Any) -> Spec:
    """A mark with what it shows, of its own `data` or of the plot's; `only` says of which of it, as an expression."""
    own: Spec = {"mark": {"type": mark, **more}, "encoding": encoding}
    own |= {} if data is None else {"data": {"values": [*data]}}
    return own | ({"transform": [{"filter": only}]} if only else {})


def estimate_values(estimate: Mapping[str, Any], factor: float = 100.0) -> Spec:
    """An estimate as data: value, low and high, the ends only together."""
    ends = (estimate.get("low"), estimate.get("high"))
    low, high = ends if None not in ends else (None, None)
    numbers = {"value": estimate["value"], "low": low, "high": high}
    return {key: None if each is None else round(each * factor, 6) for key, each in numbers.items()}


def labels(names: Sequence[str], groups: Sequence[str] = (), width: int = 34) -> list[str]:
    """Names that fit beside their rows: one that is too long loses its middle, the second of a group has a number."""
    found: list[str] = []
    seen: set[tuple[str, str]] = set()
    for name, group in zip(names, groups or [""] * len(names), strict=True):
        label, number = squeezed(name, width), 1
        while (group, label) in seen:
            number += 1
            label = f"{squeezed(name, width)} ({number})"
        seen.add((group, label))
        found.append(label)
    return found


def row_axis(room: float = 172) -> Spec:
    """The names of rows as an axis on the left, for which there are at least so many pixels."""
    return {"title": None, "axis": {"minExtent": room, "labelPadding": 6}}


def heading_axis() -> Spec:
    """The names of rows as an axis whose labels stand above the rows."""
    own = {"labelAlign": "left", "labelPadding": 0, "labelOffset": -11, "labelColor": INK, "zindex": 1}
    return {"title": None, "axis": own}


def signed_axis(title: str) -> Spec:
    """An axis of differences, with a darker line at zero."""
    zero = {"condition": {"test": "datum.value === 0", "value": ZERO}, "value": GRID}
    own = {"format": "+,.6~g", "labelExpr": "datum.value ? datum.label : '0'", "grid": True, "gridColor": zero}
    return {"title": title, "axis": own}


def time_channel(field: str, times: Sequence[str]) -> Spec:
    """Times in UTC along a plot."""
    first, last = min(times)[:10], max(times)[:10]
    days = (date.fromisoformat(last) - date.fromisoformat(first)).days
    # Left alone, a few days would have ticks within a day, of the same name.
    form = "%b %Y" if days > 300 else "%-d %b" if days else "%H:%M"
    axis = {"format": form, "tickCount": "day" if 0 < days < 5 else 5}
    title = f"run (UTC), {first}" + (f" to {last}" if days else "")
    return channel(field, "temporal", title=title, scale={"type": "utc", "padding": 8}, axis=axis)


def facet_channel(field: str) -> Spec:
    """Plots by a field, each below its name, in the order of the field `order`."""
    header = {"labelOrient": "top", "labelAnchor": "start"}
    return channel(field, "nominal", title=None, header=header, sort={"field": "order", "op": "min"})


def grouped(plot: Spec, values: Sequence[Mapping[str, Any]]) -> Spec:
    """The plot once for each `group` of the data, below each other and below their names; bare, where there is one."""
    order = {group: at for at, group in enumerate(dict.fromkeys(each["group"] for each in values))}
    data = {"values": [{**each, "order": order[each["group"]]} for each in values]}
    if len(order) < 2:
        return {"data": data, **plot}
    rows = {"facet": {"row": facet_channel("group")}, "spec": plot, "spacing": 12}
    return {"data": data, **rows, "resolve": {"scale": {"y": "independent"}}}
