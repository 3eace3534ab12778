"""Estimates as rows over one axis, where nothing is said of them but name, group and colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skill_health.page.drawing.theme import GROUND, MUTED, SERIES
from skill_health.page.figures import AnyFigure
from skill_health.page.pictures import _specs as vl

LOOKS: Mapping[str, tuple[str, str]] = {
    "goal": (SERIES[0], "circle"),
    "instruction": (SERIES[1], "square"),
    "weighted": (SERIES[2], "diamond"),
}
"""Colour and shape of a score."""


@dataclass(frozen=True, slots=True)
class ForestRow:
    """A row: its name below its group, the score that it is of, and an estimate that has a value."""

    name: str
    group: str
    kind: str
    estimate: AnyFigure


def draw_forest(rows: Sequence[ForestRow], title: str, room: int = 172, legend: bool = False) -> vl.Spec:
    """A row each, in their order, differences of shares in points; one without an interval has an open point.

    Names have `room` pixels at least, and a `legend` names the scores.
    """
    names, groups = [row.name for row in rows], [row.group for row in rows]
    values: list[vl.Spec] = [
        {
            **vl.estimate_values(row.estimate), "name": name, "group": row.group, "n": f"n {row.estimate.n:,}",
            "kind": row.kind, "open": row.estimate.low is None,
        }
        for row, name in zip(rows, vl.labels(names, groups, 30), strict=True)
    ]  # fmt: skip
    color, shape = vl.looks("kind", LOOKS, [row.kind for row in rows], legend=legend)
    axis = vl.signed_axis(title)
    fill = {**color, "condition": {"test": "datum.open", "value": GROUND}}
    layers = [
        # First the one that all rows have: their order is that of the first mark.
        vl.layer("text", {"x": {"value": 226}, "text": {"field": "n"}, "color": {"value": MUTED}}),
        vl.layer("rule", vl.interval("x", axis), strokeWidth=2),
        vl.layer("point", {"shape": shape, "fill": fill, "size": {"value": 50}, "x": vl.channel("value", **axis)}),
    ]
    inner = vl.layered({"step": 17}, layers, 215, y=vl.row_names(room=room), color=color)
    return vl.facets(values, inner, apart=True) if len({*groups}) > 1 else vl.with_data(values, inner)
