"""Cost against effect: what a skill adds to the cost of a trial, and to its success."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skill_health.page.drawing.theme import GROUND, INK, SERIES, SHAPES, ZERO
from skill_health.page.figures import amount, points, text_cell
from skill_health.page.model import JsonNode, NumberTable, Page, Picture
from skill_health.page.pictures._effects import (
    Measured,
    caveats,
    collections,
    known,
    skills,
    tag,
    titled,
    told,
    warning,
)  # fmt: skip
from skill_health.page.pictures._forest import domain
from skill_health.page.pictures._panel import layer
from skill_health.page.pictures._place import placed
from skill_health.page.pictures._text import below, beside, padding, text

QUESTION, ORDER = 3, 3
_WIDTH, _HEIGHT = 350, 240
_MOST_RULES = 40
_COST = ("cost_usd", "US cents", 0.01, 3)
_TOKENS = ("input_tokens", "input tokens", 1.0, 0)


def build(page: Page) -> tuple[Picture, ...]:
    """The models over the whole collection, larger, and every skill by every model."""
    every = [*collections(page), *skills(page)]
    unit = _COST if any(_both(each, _COST[0]) for each in every) else _TOKENS
    shown = [(each, contrast) for each in every if (contrast := _both(each, unit[0])) is not None]
    if not shown:
        return ()
    key, name, size, digits = unit
    used = [each for each, _ in shown]
    table = NumberTable(
        (
            "Skill",
            "Model",
            f"{name} per trial [95 % interval], n tasks",
            "Success, points [95 % interval], n tasks",
            "Marks",
        ),
        tuple(
            (
                text_cell(each.name or "whole collection"),
                text_cell(each.model),
                amount(contrast["deltas"][key], size, digits, signed=True),
                points(contrast["delta"]),
                text_cell(each.words),
            )
            for each, contrast in shown
        ),
        "The target skill less none, paired by task",
    )
    whole = [
        f"{each.model} {amount(contrast['deltas'][key], size, digits, signed=True).text} {name}, {told(contrast)}"
        for each, contrast in shown
        if not each.name
    ]
    alt = (
        f"Scatter plot of {len(shown)} measurements: what the target skill adds to the {name} of a trial against what "
        f"it adds to success. Whole collection: {'; '.join(whole[:4]) or 'not measured'}.{warning(used)}"
    )
    models = list(dict.fromkeys(each.model for each in used))
    note = "Upper left is better and cheaper. Filled: the whole collection; open: one skill. Bars are 95 % intervals."
    left = len(every) - len(shown)
    note += f" {left} without both figures are left out." if left else ""
    note += " Intervals of skills are in the table only." if len(shown) > _MOST_RULES else ""
    spec = _spec(shown, models, key, name, size)
    note = caveats(used, note)
    return (Picture("cost-effect", f"Cost against effect{tag(used)}", alt, spec, table, 3, note),)


def _both(each: Measured, key: str) -> JsonNode | None:
    contrast = each.primary
    if contrast is None or not known(contrast) or contrast["deltas"][key].value["value"] is None:
        return None
    return contrast


def _ends(estimate: dict[str, Any], factor: float) -> tuple[float, float | None, float | None]:
    low, high = (None if estimate[key] is None else round(estimate[key] * factor, 6) for key in ("low", "high"))
    return round(estimate["value"] * factor, 6), low, high


def _spec(
    shown: Sequence[tuple[Measured, JsonNode]], models: Sequence[str], key: str, name: str, size: float
) -> dict[str, Any]:
    dots: list[dict[str, Any]] = []
    rules: list[dict[str, Any]] = []
    ends_x, ends_y = [0.0], [0.0]
    ruled = len(shown) <= _MOST_RULES
    for each, contrast in shown:
        x, x_low, x_high = _ends(contrast.value["deltas"][key], 1 / size)
        y, y_low, y_high = _ends(contrast.value["delta"], 100.0)
        color, shape = _look(models.index(each.model))
        fill = GROUND if each.name else color
        dots.append({"x": x, "y": y, "c": color, "f": fill, "s": shape, "w": 36 if each.name else 90})
        ends_x.append(x)
        ends_y.append(y)
        thick = 1 if each.name else 2
        if (ruled or not each.name) and x_low is not None and x_high is not None:
            rules.append({"x": x_low, "x2": x_high, "y": y, "y2": y, "c": color, "w": thick})
            ends_x += [x_low, x_high]
        if (ruled or not each.name) and y_low is not None and y_high is not None:
            rules.append({"x": x, "x2": x, "y": y_low, "y2": y_high, "c": color, "w": thick})
            ends_y += [y_low, y_high]
    (left, right), (low, high) = across, up = domain(ends_x, 0.08), domain(ends_y, 0.08)
    rules.append({"x": 0, "x2": 0, "y": low, "y2": high, "c": ZERO, "w": 1})
    rules.append({"x": left, "x2": right, "y": 0, "y2": 0, "c": ZERO, "w": 1})
    pixel_x, pixel_y = (right - left) / _WIDTH, (high - low) / _HEIGHT
    named = [(each.name, dot["x"], dot["y"]) for (each, _), dot in zip(shown, dots, strict=True)]
    texts = [{**own, "c": INK} for own in placed(named, rules, across, up, _WIDTH, _HEIGHT)]
    first = {each.model: each for each, _ in reversed(shown)}
    for at, model in enumerate(models):
        color, shape = _look(at)
        y = high + (34 + 15 * (len(models) - 1 - at)) * pixel_y
        dots.append({"x": left + 6 * pixel_x, "y": y, "c": color, "f": color, "s": shape, "w": 50})
        texts.append({"x": left + 16 * pixel_x, "y": y, "t": titled(first[model], _WIDTH - 30), "c": INK})
    title = f"{name} per trial, with the skill less without"
    flat = {"nice": False, "zero": False}
    x_axis = below(title, 5, format="+.6~g", grid=False)
    y_axis = beside("percentage points of success, with the skill less without", 5, format="+.6~g", grid=False)
    x_field = {"field": "x", "type": "quantitative", "axis": x_axis, "scale": {**flat, "domain": across}}
    y_field = {"field": "y", "type": "quantitative", "axis": y_axis, "scale": {**flat, "domain": up}}
    layers = [
        layer(
            {"type": "rule"}, rules,
            x=x_field, y=y_field, x2={"field": "x2"}, y2={"field": "y2"}, color="c", strokeWidth="w",
        ),
        layer(
            {"type": "point", "opacity": 1, "strokeWidth": 1.5}, dots,
            x=x_field, y=y_field, stroke="c", fill="f", shape="s", size="w",
        ),
        layer(text(), texts, x=x_field, y=y_field, text={"field": "t"}, color="c"),
    ]  # fmt: skip
    return {"width": _WIDTH, "height": _HEIGHT, "padding": padding(12, 30, 10), "layer": layers}


def _look(at: int) -> tuple[str, str]:
    """Colour and shape of a model by its place."""
    return SERIES[at % len(SERIES)], SHAPES[at % (len(SHAPES) - 1)]
