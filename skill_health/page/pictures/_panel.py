"""A plot whose axes, grid, legend and titles are marks among the others: rules, lines, points and texts.

An axis of the charting library costs it more than all marks of a small plot together, and chooses ticks by the size of
fonts. Here ticks are round numbers, or what the picture wants, and a picture costs a few milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, floor, log10
from typing import Any

from skill_health.page.drawing.theme import GRID, INK, MUTED, ZERO
from skill_health.page.pictures._text import text

Spec = dict[str, Any]
TURNED = "turned"
Ticks = Sequence[tuple[float, str]]


@dataclass(frozen=True, slots=True)
class Panel:
    """A plot of so many pixels over the ranges `across` and `up`, to which marks are added in the units of the data.

    Marks are drawn in the order of the fields. `lines` are marks with their values, each a path; texts that are
    `turned` run upwards.
    """

    width: float
    height: float
    across: tuple[float, float]
    up: tuple[float, float]
    cells: list[Spec] = field(default_factory=list)
    rules: list[Spec] = field(default_factory=list)
    dashes: list[Spec] = field(default_factory=list)
    lines: list[tuple[Spec, list[Spec]]] = field(default_factory=list)
    dots: list[Spec] = field(default_factory=list)
    turned: list[Spec] = field(default_factory=list)
    texts: list[Spec] = field(default_factory=list)

    def x(self, pixel: float) -> float:
        """The value so many pixels to the right of the left side."""
        return self.across[0] + (self.across[1] - self.across[0]) * pixel / self.width

    def y(self, pixel: float) -> float:
        """The value so many pixels below the upper side."""
        return self.up[1] - (self.up[1] - self.up[0]) * pixel / self.height

    def rule(self, x: Sequence[float], y: Sequence[float], color: str, thick: float = 1, dashed: bool = False) -> None:
        """A rule between two places; `x` and `y` have two values each."""
        own = {"x": x[0], "x2": x[1], "y": y[0], "y2": y[1], "c": color, "w": thick}
        (self.dashes if dashed else self.rules).append(own)

    def line(self, values: Iterable[tuple[float, float | None]], color: str, **mark: Any) -> None:
        """A line through places, broken where the second value is missing."""
        own = {"type": "line", "color": color, "strokeWidth": 1.5, "invalid": "break-paths-filter-domains", **mark}
        self.lines.append((own, [{"x": x, "y": y} for x, y in values]))

    def band(self, values: Iterable[tuple[float, float | None, float | None]], color: str) -> None:
        """A band between the second and the third of some values, broken where they are missing."""
        own = {"type": "area", "color": color, "opacity": 0.15, "invalid": "break-paths-filter-domains"}
        self.lines.append((own, [{"x": x, "y": low, "y2": high} for x, low, high in values]))

    def dot(self, x: float, y: float, color: str, shape: str = "circle", size: float = 40, fill: str = "") -> None:
        """A point; `size` is its area in square pixels, `fill` another colour for its inside."""
        self.dots.append({"x": x, "y": y, "c": color, "f": fill or color, "s": shape, "w": size})

    def say(self, x: float, y: float, words: str, color: str = INK, align: str = "left") -> None:
        """A text in the middle of its line at a place in the units of the data."""
        own = {"x": x, "y": y, "t": words, "c": color}
        if words and align == TURNED:
            self.turned.append(own)
        elif words:
            self.texts.append({**own, "a": align})

    def head(self, words: str, above: float = 10, color: str = INK, align: str = "left") -> None:
        """A text so many pixels above the plot, at its left side or its right one."""
        self.say(self.across[align == "right"], self.y(-above), words, color, align)

    def below(self, ticks: Ticks, title: str = "", grid: bool = False, labels: bool = True) -> None:
        """The axis below, from 36 pixels on with its title."""
        for at, words in ticks:
            end = self.up[1] if grid else self.y(self.height + 4)
            self.rule((at, at), (self.up[0], end), GRID)
            if labels:
                self.say(at, self.y(self.height + 13), words, MUTED, "center")
        self.say(self.x(self.width / 2), self.y(self.height + 30), title, INK, "center")

    def beside(self, ticks: Ticks, title: str = "", above: float = 12, grid: bool = True) -> None:
        """The axis on the left, which takes 30 pixels, with its title so many pixels above the plot."""
        for at, words in ticks:
            if grid:
                self.rule(self.across, (at, at), GRID)
            self.say(self.x(-6), at, words, MUTED, "right")
        self.say(self.x(-28), self.y(-above), title)

    def legend(self, entries: Sequence[tuple[str, str, str, float]], x: float, y: float, step: float) -> None:
        """Words, colour, shape and size of points, beside each other every so many pixels, at a place in pixels."""
        for at, (words, color, shape, size) in enumerate(entries):
            self.dot(self.x(x + at * step + 8), self.y(y), color, shape, size)
            self.say(self.x(x + at * step + 22), self.y(y), words)

    def spec(self) -> Spec:
        """The specification, of layers that have something to show."""
        axis = {"axis": None, "type": "quantitative"}
        x = {"field": "x", **axis, "scale": {"domain": [*self.across], "nice": False, "zero": False}}
        y = {"field": "y", **axis, "scale": {"domain": [*self.up], "nice": False, "zero": False}}
        ends = {"x2": {"field": "x2"}, "y2": {"field": "y2"}}
        layers = [
            layer({"type": "rect"}, self.cells, x=x, y=y, **ends, fill="f", stroke="c", strokeWidth="w"),
            layer({"type": "rule"}, self.rules, x=x, y=y, **ends, color="c", strokeWidth="w"),
            layer({"type": "rule", "strokeDash": [3, 3]}, self.dashes, x=x, y=y, **ends, color="c", strokeWidth="w"),
            *(layer(mark, values, x=x, y=y, **_second(mark)) for mark, values in self.lines),
            layer(
                {"type": "point", "opacity": 1, "strokeWidth": 1.5}, self.dots,
                x=x, y=y, stroke="c", fill="f", shape="s", size="w",
            ),
            layer(text("left", angle=270), self.turned, x=x, y=y, text={"field": "t"}, color="c"),
            # One layer for all texts, each aligned as its datum says: a layer costs the library a millisecond.
            layer({**text(), "align": {"expr": "datum.a"}}, self.texts, x=x, y=y, text={"field": "t"}, color="c"),
        ]  # fmt: skip
        drawn = [each for each in layers if each["data"]["values"]]
        return {"width": self.width, "height": self.height, "layer": drawn}


def _second(mark: Spec) -> Spec:
    return {"y2": {"field": "y2"}} if mark["type"] == "area" else {}


def layer(mark: Mapping[str, Any], values: list[Spec], **encoding: Any) -> Spec:
    """A layer; a channel that is only named takes its values as they are."""
    channels = {
        channel: {"field": how, "type": "quantitative" if how == "w" else "nominal", "scale": None}
        if isinstance(how, str)
        else how
        for channel, how in encoding.items()
    }
    return {"mark": {**mark}, "data": {"values": values}, "encoding": channels}


def together(panels: Sequence[Panel], room: Mapping[str, float], columns: int, down: float, apart: float = 0) -> Spec:
    """Panels of one size in so many columns, with pixels below and beside each, and `room` around them, for texts."""
    spacing = {"row": down, "column": apart}
    own = [each.spec() for each in panels]
    inner = {"concat": own, "columns": columns, "spacing": spacing, "bounds": "flush"} if len(own) > 1 else own[0]
    return {**inner, "padding": {**room}}


def round_ticks(low: float, high: float, most: int = 6, steps: Sequence[float] = (1, 2, 5)) -> list[float]:
    """Multiples of `steps` times a power of ten from `low` to `high`, at most as many as `most` and one."""
    if not high > low:
        return [low]
    ten = 10.0 ** floor(log10((high - low) / most))
    step = next(ten * each for each in (*steps, 10, 20) if (high - low) / (ten * each) <= most)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [round(at * step, 12) for at in range(first, last + 1)]


def numbers(ticks: Iterable[float], form: str = "g") -> Ticks:
    """Ticks with their numbers as words."""
    return [(at, f"{at:{form}}") for at in ticks]


def interval(panel: Panel, values: Mapping[str, Any], at: float, color: str, upright: bool, factor: float = 1) -> None:
    """The rule from the `low` to the `high` of an estimate where it has both; upright, or along."""
    low, high = values.get("low"), values.get("high")
    if low is not None and high is not None:
        ends, still = (round(low * factor, 6), round(high * factor, 6)), (at, at)
        panel.rule(still if upright else ends, ends if upright else still, color, 1.5)


def dashed_diagonal(panel: Panel) -> None:
    """The line on which both axes have the same value."""
    low, high = max(panel.across[0], panel.up[0]), min(panel.across[1], panel.up[1])
    panel.rule((low, high), (low, high), ZERO, dashed=True)
