"""Cost against effect: what a skill adds to the cost of a trial, and to its success."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from skill_health.page.drawing.theme import GROUND, INK, SHAPES
from skill_health.page.figures import amount, points, text_cell
from skill_health.page.model import NumberTable, Page, Picture
from skill_health.page.pictures import _effects as effects
from skill_health.page.pictures import _specs as vl
from skill_health.page.pictures._caveats import caveated_picture, mark_words
from skill_health.text.numbers import Interval
from skill_health.text.terminal import columns, squeezed

QUESTION, ORDER = 3, 3
_HEIGHT = 260
_MOST_RULES = 40
_Unit = tuple[effects.Measure, str, float, int]
_COST: _Unit = ("cost_usd", "US cents", 0.01, 3)
_TOKENS: _Unit = ("input_tokens", "input tokens", 1.0, 0)
_INTERVAL = "[95 % interval], n tasks"
_NOTE = "Upper left is better and cheaper. Filled: the whole collection; open: one skill. Bars are 95 % intervals."


def build(page: Page) -> tuple[Picture, ...]:
    """The models over the whole collection, larger, and every skill by every model."""
    every = [*effects.collection_effects(page), *effects.effects_by_skill(page)]
    unit = _COST if _pairs(every, _COST[0]) else _TOKENS
    pairs = _pairs(every, unit[0])
    if not pairs:
        return ()
    key, name, size, digits = unit
    rows, whole = [], []
    for each, contrast in pairs:
        cost = amount(page.origins, effects.get_measure(contrast, key), size, digits, signed=True)
        gain = points(page.origins, contrast.delta)
        lead = (text_cell(each.name or "whole collection"), text_cell(each.model))
        rows.append((*lead, cost, gain, text_cell(mark_words(each))))
        whole += [] if each.name else [f"{each.model} {cost.text} {name}, {effects.describe_difference(contrast)}"]
    head = ("Skill", "Model", f"{name} per trial {_INTERVAL}", f"Success, points {_INTERVAL}", "Marks")
    table = NumberTable(head, tuple(rows), "The target skill less none, paired by task")
    alt = (
        f"Scatter plot of {len(pairs)} measurements: what the target skill adds to the {name} of a trial against what "
        f"it adds to success. Whole collection: {'; '.join(whole[:4]) or 'not measured'}."
    )
    rest = len(every) - len(pairs)
    left = f"{rest} without both figures are left out." if rest else ""
    plain = "Intervals of skills are in the table only." if len(pairs) > _MOST_RULES else ""
    used, spec = [each for each, _ in pairs], _spec(pairs, key, name, size)
    return (caveated_picture("cost-effect", "Cost against effect", alt, spec, table, 3, used, _NOTE, left, plain),)


def _pairs(measured: Iterable[effects.EffectMeasurement], key: effects.Measure) -> list[effects.Pair]:
    """Those of which both figures are known, with the contrast of the skills with none."""
    pairs = ((each, each.primary) for each in measured)
    return [(each, found) for each, found in pairs if found and effects.get_measure(found, key).value is not None]


@dataclass(frozen=True, slots=True)
class _Point:
    """A measurement in the plot: both figures in the units of the axes, each with its ends where they are drawn."""

    skill: str
    x: float
    y: float
    across: tuple[float, float] | None
    along: tuple[float, float] | None

    @property
    def values(self) -> vl.Spec:
        """Its data."""
        ends = ((("left", "right"), self.across), (("low", "high"), self.along))
        drawn = {name: end for names, found in ends if found for name, end in zip(names, found, strict=True)}
        return {"x": self.x, "y": self.y, "skill": self.skill, **drawn}


def _point(pair: effects.Pair, key: effects.Measure, size: float, ends: bool) -> _Point:
    each, contrast = pair
    x, across = _scaled(effects.get_measure(contrast, key), 1 / size)
    y, along = _scaled(contrast.delta, 100.0)
    whole = ends or not each.name
    return _Point(each.name, x, y, across if whole else None, along if whole else None)


def _scaled(number: Interval, factor: float) -> tuple[float, tuple[float, float] | None]:
    value = round((number.value or 0.0) * factor, 6)
    if number.low is None or number.high is None:
        return value, None
    return value, (round(number.low * factor, 6), round(number.high * factor, 6))


def _spec(pairs: Sequence[effects.Pair], key: effects.Measure, name: str, size: float) -> vl.Spec:
    models = list(dict.fromkeys(each.model_label for each, _ in pairs))
    fitted = dict(zip(models, vl.labels(models, width=60), strict=True))
    drawn = [_point(pair, key, size, len(pairs) <= _MOST_RULES) for pair in pairs]
    across = _domain(end for each in drawn for end in (each.x, *(each.across or ())))
    along = _domain(end for each in drawn for end in (each.y, *(each.along or ())))
    values = [
        {**each.values, "model": fitted[own.model_label], **named}
        for each, (own, _), named in zip(drawn, pairs, _name_points(drawn, across, along), strict=True)
    ]
    scales: list[vl.Spec] = [{"scale": {"domain": [*domain], "nice": False}} for domain in (across, along)]
    x_axis = vl.signed_axis(f"{name} per trial, with the skill less without") | scales[0]
    y_axis = vl.signed_axis("points of success, with the skill less without") | scales[1]
    x, y = vl.channel("x", **x_axis), vl.channel("y", **y_axis)
    color = vl.category("model", legend=None)
    shape = vl.category("model", legend={"title": None, "direction": "vertical"}, scale={"range": SHAPES[:6]})
    fill = {**color, "condition": {"test": "datum.skill", "value": GROUND}}
    name_at = {"x": x, "y": y, "text": {"field": "label"}, "color": {"value": INK}}
    aside = {"align": {"expr": "datum.side"}, "dx": {"expr": "datum.side === 'left' ? 8 : -8"}}
    layers = [
        vl.layer("rule", {**vl.interval("x", x_axis, "left", "right"), "y": y}, strokeWidth=1),
        vl.layer("rule", {**vl.interval("y", y_axis), "x": x}, strokeWidth=1),
        vl.layer("point", {"x": x, "y": y, "shape": shape, "fill": fill, "size": vl.either("skill", 36, 90)}),
        vl.layer("text", name_at, None, "label", **aside),
    ]
    return vl.plot(values, _HEIGHT, layers, color=color)


_Ends = tuple[float, float]


def _domain(values: Iterable[float]) -> _Ends:
    """The ends of an axis on which all values lie well inside, zero among them."""
    known = [0.0, *values]
    room = (max(known) - min(known)) * 0.08 or 1.0
    return round(min(known) - room, 6), round(max(known) + room, 6)


def _name_points(drawn: Sequence[_Point], across: _Ends, along: _Ends) -> list[vl.Spec]:
    """A `label` and its `side` for points, those farthest from zero first, where it covers nothing else."""
    (left, right), (low, high) = across, along

    def box(x: Sequence[float], y: Sequence[float], room: float) -> tuple[float, ...]:
        places = [(each - left) / (right - left) * vl.WIDTH for each in x]
        down = [(high - each) / (high - low) * _HEIGHT for each in y]
        return min(places) - room, min(down) - room, max(places) + room, max(down) + room

    points = [box((each.x,), (each.y,), 6) for each in drawn]
    taken = [*points, box(across, (0,), 1), box((0,), along, 1)]
    for each in drawn:
        taken.append(box((each.x, *(each.across or ())), (each.y,), 1))
        taken.append(box((each.x,), (each.y, *(each.along or ())), 1))
    found: list[vl.Spec] = [{} for _ in drawn]
    for at in sorted(range(len(drawn)), key=lambda at: (-abs(drawn[at].y), at)):
        x1, y1, x2, y2 = points[at]
        label = squeezed(drawn[at].skill, 24)
        # About as wide as the font: 6 pixels for a column.
        wide = 6 * columns(label)
        for side, start in (("left", x2 + 2), ("right", x1 - 2 - wide)):
            end = start + wide
            free = all(end < a or c < start or y2 < b or d < y1 for a, b, c, d in taken)
            if label and free and start >= 0 and end <= vl.WIDTH:
                found[at] = {"label": label, "side": side}
                taken.append((start, y1, end, y2))
                break
    return found
