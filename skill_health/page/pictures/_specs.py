"""Parts of Vega-Lite specifications that several pictures have. Text of others is data in them, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from skill_health.page.drawing.theme import GRID, INK, ZERO
from skill_health.text.numbers import Interval
from skill_health.text.terminal import squeezed

Spec = dict[str, Any]
WIDTH = 400
"""Pixels of a plot with an axis on its left; with it, and the room of the axis, a picture fills its column."""
DASHED = [3, 3]


def channel(field: str, kind: str = "quantitative", **more: Any) -> Spec:
    """A channel that shows a field of the data."""
    return {"field": field, "type": kind, **more}


def category(field: str, **more: Any) -> Spec:
    """A channel that shows a field as categories, in the order of the data."""
    return channel(field, "nominal", sort=None, **more)


def interval(direction: str, axis: Spec, low: str = "low", high: str = "high") -> Spec:
    """The channels of a rule or an area from one field to another, along "x" or "y"."""
    return {direction: channel(low, **axis), f"{direction}2": {"field": high}}


def either(field: str, then: Any, otherwise: Any) -> Spec:
    """A channel with one of two values, by whether a field holds."""
    return {"condition": {"test": f"datum.{field}", "value": then}, "value": otherwise}


def looks(
    field: str, looks_of: Mapping[str, tuple[str, str]], present: Iterable[str], legend: bool = True
) -> tuple[Spec, Spec]:
    """Colour and shape by a field, for the values that are present; a legend where there are several."""
    names = [name for name in looks_of if name in {*present}]
    own = None if not legend or len(names) < 2 else {"title": None}
    color, shape = ({"domain": names, "range": [looks_of[name][at] for name in names]} for at in (0, 1))
    return category(field, scale=color, legend=own), category(field, scale=shape, legend=own)


def layer(mark: str, encoding: Spec, data: Sequence[Spec] | None = None, only: str = "", **more: Any) -> Spec:
    """A mark with what it shows, of its own `data` or of the plot's; `only` where this field has a value."""
    own: Spec = {"mark": {"type": mark, **more}, "encoding": encoding}
    own |= {} if data is None else {"data": {"values": [*data]}}
    return own | ({"transform": [{"filter": f"isValid(datum.{only})"}]} if only else {})


def text(field: str, x: int | None = None, y: int | None = None, only: str = "", **more: Any) -> Spec:
    """The texts of a field, at a place in pixels where it is given."""
    place = {name: {"value": value} for name, value in (("x", x), ("y", y)) if value is not None}
    return layer("text", {**place, "text": {"field": field}}, only=only, **more)


def layered(height: int | Spec, layers: Sequence[Spec], width: int = WIDTH, **encoding: Spec) -> Spec:
    """Layers over the same encoding, without their data."""
    return {"width": width, "height": height, "encoding": encoding, "layer": [*layers]}


def with_data(values: Sequence[Spec], inner: Spec) -> Spec:
    """Layers over the same data."""
    return {**inner, "data": {"values": [*values]}}


def plot(
    values: Sequence[Spec], height: int | Spec, layers: Sequence[Spec], width: int = WIDTH, **encoding: Spec
) -> Spec:
    """Layers over the same data and encoding."""
    return with_data(values, layered(height, layers, width, **encoding))


def estimate_values(estimate: Interval, factor: float = 100.0) -> Spec:
    """An estimate as data: value, low and high, the ends only together."""
    low, high = (None, None) if None in (estimate.low, estimate.high) else (estimate.low, estimate.high)
    numbers = {"value": estimate.value, "low": low, "high": high}
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


def row_names(field: str = "name", room: int = 172) -> Spec:
    """The names of rows as an axis on the left, for which there are at least so many pixels."""
    return category(field, title=None, axis={"minExtent": room})


def row_heads(field: str = "name") -> Spec:
    """The names of rows as an axis whose labels stand above the rows."""
    axis = {"labelAlign": "left", "labelPadding": 0, "labelOffset": -11, "labelColor": INK, "zindex": 1}
    return category(field, title=None, axis=axis)


def signed_axis(title: str) -> Spec:
    """An axis of differences, with a darker line at zero."""
    zero = {"condition": {"test": "datum.value === 0", "value": ZERO}, "value": GRID}
    label = {"format": "+,.6~g", "labelExpr": "datum.value ? datum.label : '0'"}
    return {"title": title, "axis": {**label, "grid": True, "gridColor": zero}}


def percent_axis(title: str, values: Sequence[int] = (0, 20, 40, 60, 80, 100), grid: bool = True) -> Spec:
    """An axis of shares in per cent."""
    scale = {"domain": [0, 100], "nice": False}
    return {"title": title, "scale": scale, "axis": {"values": [*values], "grid": grid}}


def time_channel(field: str, times: Sequence[str]) -> Spec:
    """Times in UTC along a plot."""
    first, last = min(times)[:10], max(times)[:10]
    days = (date.fromisoformat(last) - date.fromisoformat(first)).days
    form = "%b %Y" if days > 300 else "%-d %b" if days else "%H:%M"
    # Left alone, a few days would have ticks within a day, of the same name.
    axis = {"format": form, "tickCount": "day" if 0 < days < 5 else 5}
    title = f"run (UTC), {first}" + (f" to {last}" if days else "")
    return channel(field, "temporal", title=title, scale={"type": "utc", "padding": 8}, axis=axis)


def facets(values: Sequence[Spec], inner: Spec, columns: int = 1, apart: bool = False) -> Spec:
    """Layers once for each of several groups, below their names; the data say theirs as `group`.

    `apart` are plots with names of rows of their own.
    """
    groups = [each["group"] for each in values]
    order = {group: at for at, group in enumerate(dict.fromkeys(groups))}
    data = {"values": [{**each, "order": order[group]} for each, group in zip(values, groups, strict=True)]}
    header, sort = {"labelOrient": "top", "labelAnchor": "start"}, {"field": "order", "op": "min"}
    by = channel("group", "nominal", title=None, header=header, sort=sort)
    own = {"facet": {"row": by}} if columns == 1 else {"facet": by, "columns": columns}
    resolve = {"resolve": {"scale": {"y": "independent"}}} if apart else {}
    return {"data": data, "spec": inner, "spacing": 14, **own, **resolve}
