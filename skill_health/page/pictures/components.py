"""Component breakdown: what the scores of the collection are made of; a skill's own stand in its part as a table."""

from __future__ import annotations

from math import fsum
from typing import Any

from skill_health.page.drawing.theme import GRID, INK, MUTED, SERIES
from skill_health.page.figures import MISSING, score, text_cell
from skill_health.page.model import JsonNode, NumberTable, Page, PageCell, Picture
from skill_health.page.pictures._text import below, fitted, padding, text

QUESTION, ORDER = 1, 2
_LABELS, _WIDTH, _STEP = 84, 220, 18


def build(page: Page) -> tuple[Picture, ...]:
    """Mean and range of each component, over the skills to which it applies."""
    every: dict[str, list[JsonNode]] = {}
    for skill in page.lint.get("skills"):
        for component in skill["components"]:
            every.setdefault(component.value["name"], []).append(component["value"])
    if not any(each.value is not None for found in every.values() for each in found):
        return ()
    rows, rules, points, names = [], [], [], []
    told = []
    for at, (name, found) in enumerate(every.items()):
        known = sorted((each for each in found if each.value is not None), key=lambda each: each.value)
        names.append({"y": at, "t": fitted(name, _LABELS), "n": f"n {len(known):,}"})
        apart = len(found) - len(known)
        if not known:
            rows.append((text_cell(name), *(text_cell(MISSING),) * 3, PageCell("0", 0), PageCell(f"{apart:,}", apart)))
            continue
        mean = fsum(each.value for each in known) / len(known)
        told.append((mean, name))
        rules.append({"y": at, "a": known[0].value, "b": known[-1].value})
        points.append({"y": at, "v": round(mean, 6)})
        shown = f"{mean:.2f}" if not 0.995 <= mean < 1 else "0.99"
        numbers = (PageCell(f"{len(known):,}", len(known)), PageCell(f"{apart:,}", apart))
        rows.append((text_cell(name), PageCell(shown, mean), score(known[0]), score(known[-1]), *numbers))
    lowest = sorted(told)[:3]
    alt = (
        f"Mean and range of {len(every)} components of the score over {len(page.lint['skills'].value)} skills. "
        f"Lowest means: {', '.join(f'{name} {mean:.2f}' for mean, name in lowest)}."
    )
    note = "A point is the mean, a bar goes from the lowest to the highest, n is the number of skills to which the "
    note += "component applies. What does not apply is not zero: it is left out."
    head = ("Component", "Mean", "Lowest", "Highest", "Skills", "Does not apply")
    spec = _spec(rules, points, names, max([1.0, *(each["b"] for each in rules)]))
    return (Picture("components", "Components of the score", alt, spec, NumberTable(head, tuple(rows)), 1, note),)


def _spec(
    bars: list[dict[str, Any]], points: list[dict[str, Any]], names: list[dict[str, Any]], most: float
) -> dict[str, Any]:
    """Bars from a to b with names on the left and words on the right; points on them where there are any."""
    pixel = most / _WIDTH
    texts = [{"x": -(_LABELS + 6) * pixel, "y": each["y"], "t": each["t"], "c": INK} for each in names]
    texts += [{"x": most + 10 * pixel, "y": each["y"], "t": each["n"], "c": MUTED} for each in names]
    plain_scale = {"nice": False, "zero": False}
    x = {"type": "quantitative", "scale": {**plain_scale, "domain": [0, most]}, "axis": below("value, 0 to 1", 5)}
    y = {
        "field": "y",
        "type": "quantitative",
        "axis": None,
        "scale": {**plain_scale, "domain": [-0.6, len(names) - 0.4], "reverse": True},
    }
    ground = [{"y": each["y"], "a": 0, "b": most} for each in names]
    color = {"field": "c", "type": "nominal", "scale": None}
    layers = [
        _bars(ground, GRID, 1, x, y),
        _bars(bars, SERIES[0], 5, x, y),
        {
            "mark": {"type": "point", "filled": True, "color": INK, "size": 50, "opacity": 1},
            "data": {"values": points},
            "encoding": {"x": {**x, "field": "v"}, "y": y},
        },
        {
            "mark": text(),
            "data": {"values": texts},
            "encoding": {"x": {**x, "field": "x"}, "y": y, "text": {"field": "t"}, "color": color},
        },
    ]
    return {
        "width": _WIDTH,
        "height": _STEP * len(names),
        "padding": padding(6, 34 if points else 84),
        "layer": [each for each in layers if each["data"]["values"]],
    }


def _bars(
    values: list[dict[str, Any]], color: str, thick: float, x: dict[str, Any], y: dict[str, Any]
) -> dict[str, Any]:
    mark = {"type": "rule", "color": color, "strokeWidth": thick}
    return {
        "mark": mark,
        "data": {"values": values},
        "encoding": {"x": {**x, "field": "a"}, "x2": {"field": "b"}, "y": y},
    }
