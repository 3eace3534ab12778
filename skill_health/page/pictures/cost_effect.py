"""Cost against effect: what a skill adds to the cost of a trial, and to its success."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from skill_health.columns import columns, squeezed
from skill_health.page.drawing.theme import GROUND, INK, SHAPES
from skill_health.page.figures import amount, points, text_cell
from skill_health.page.model import NumberTable, Page, Picture
from skill_health.page.pictures._caveats import caveat_note, caveat_sentences, mark_words, title_suffix
from skill_health.page.pictures._effects import (
    EffectMeasurement,
    Pair,
    collection_effects,
    describe_difference,
    effects_by_skill,
)
from skill_health.page.pictures._specs import (
    WIDTH,
    Spec,
    category,
    channel,
    estimate_values,
    labels,
    layer,
    signed_axis,
)

QUESTION, ORDER = 3, 3
_HEIGHT = 260
_MOST_RULES = 40
_COST = ("cost_usd", "US cents", 0.01, 3)
_TOKENS = ("input_tokens", "input tokens", 1.0, 0)
_NOTE = "Upper left is better and cheaper. Filled: the whole collection; open: one skill. Bars are 95 % intervals."


def build(page: Page) -> tuple[Picture, ...]:
    """The models over the whole collection, larger, and every skill by every model."""
    every = [*collection_effects(page), *effects_by_skill(page)]
    unit = _COST if _pairs(every, _COST[0]) else _TOKENS
    pairs = _pairs(every, unit[0])
    if not pairs:
        return ()
    key, name, size, digits = unit
    used = [each for each, _ in pairs]
    costs = [amount(contrast["deltas"][key], size, digits, signed=True) for _, contrast in pairs]
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
                cost,
                points(contrast["delta"]),
                text_cell(mark_words(each)),
            )
            for (each, contrast), cost in zip(pairs, costs, strict=True)
        ),
        "The target skill less none, paired by task",
    )
    whole = [
        f"{each.model} {cost.text} {name}, {describe_difference(contrast)}"
        for (each, contrast), cost in zip(pairs, costs, strict=True)
        if not each.name
    ]
    alt = (
        f"Scatter plot of {len(pairs)} measurements: what the target skill adds to the {name} of a trial against what "
        f"it adds to success. Whole collection: {'; '.join(whole[:4]) or 'not measured'}.{caveat_sentences(used)}"
    )
    left = len(every) - len(pairs)
    note = [_NOTE, f"{left} without both figures are left out." if left else ""]
    note += ["Intervals of skills are in the table only." if len(pairs) > _MOST_RULES else "", caveat_note(used)]
    title, spec = f"Cost against effect{title_suffix(used)}", _spec(pairs, key, name, size)
    return (Picture("cost-effect", title, alt, spec, table, 3, " ".join(filter(None, note))),)


def _pairs(measured: Iterable[EffectMeasurement], key: str) -> list[Pair]:
    """Those of which both figures are known, with the contrast of the skills with none."""
    return [
        (each, each.primary)
        for each in measured
        if each.primary is not None and each.primary["deltas"][key].value["value"] is not None
    ]


def _spec(pairs: Sequence[Pair], key: str, name: str, size: float) -> Spec:
    models = list(dict.fromkeys(each.model_label for each, _ in pairs))
    fitted = dict(zip(models, labels(models, width=60), strict=True))
    values: list[Spec] = []
    for each, contrast in pairs:
        cost, gain = estimate_values(contrast.value["deltas"][key], 1 / size), estimate_values(contrast.value["delta"])
        own = {"x": cost["value"], "y": gain["value"], "model": fitted[each.model_label], "skill": each.name}
        if not each.name or len(pairs) <= _MOST_RULES:
            own |= {"left": cost["low"], "right": cost["high"], "low": gain["low"], "high": gain["high"]}
        values.append(own)
    domains = {x: _domain(values, keys) for x, keys in (("x", ("x", "left", "right")), ("y", ("y", "low", "high")))}
    _name_points(values, domains)
    along = signed_axis(f"{name} per trial, with the skill less without")
    up = signed_axis("points of success, with the skill less without")
    x, y = (channel(at, **axis, scale={"domain": domains[at], "nice": False}) for at, axis in (("x", along), ("y", up)))
    color = category("model", legend=None)
    shape = category("model", legend={"title": None, "direction": "vertical"})
    fill = {"condition": {"test": "datum.skill", "value": GROUND}, **color}
    large = {"condition": {"test": "datum.skill", "value": 36}, "value": 90}
    return {
        "width": WIDTH,
        "height": _HEIGHT,
        "data": {"values": values},
        "encoding": {"color": color},
        "layer": [
            layer("rule", {"x": {**x, "field": "left"}, "x2": {"field": "right"}, "y": y}),
            layer("rule", {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}}),
            layer("point", {"x": x, "y": y, "shape": shape, "fill": fill, "size": large}, opacity=1),
            layer(
                "text",
                {"x": x, "y": y, "text": {"field": "label"}, "color": {"value": INK}},
                only="datum.label",
                align={"expr": "datum.side"},
                dx={"expr": "datum.side === 'left' ? 8 : -8"},
            ),
        ],
        "config": {"range": {"symbol": [*SHAPES[:6]]}},
    }


def _domain(values: Sequence[Spec], keys: Sequence[str]) -> list[float]:
    """The ends of an axis on which all values lie well inside, zero among them."""
    known = [0.0, *(each[key] for each in values for key in keys if each.get(key) is not None)]
    room = (max(known) - min(known)) * 0.08 or 1.0
    return [round(min(known) - room, 6), round(max(known) + room, 6)]


def _name_points(values: Sequence[Spec], domains: Mapping[str, Sequence[float]]) -> None:
    """Give points a `label` and its `side`, those farthest from zero first, where it covers nothing else."""
    (left, right), (low, high) = domains["x"], domains["y"]

    def box(x: Sequence[float | None], y: Sequence[float | None], room: float) -> tuple[float, ...]:
        across = [(each - left) / (right - left) * WIDTH for each in x if each is not None]
        down = [(high - each) / (high - low) * _HEIGHT for each in y if each is not None]
        return min(across) - room, min(down) - room, max(across) + room, max(down) + room

    points = [box((each["x"],), (each["y"],), 6) for each in values]
    taken = [*points, box((left, right), (0,), 1), box((0,), (low, high), 1)]
    for each in values:
        taken.append(box((each["x"], each.get("left"), each.get("right")), (each["y"],), 1))
        taken.append(box((each["x"],), (each["y"], each.get("low"), each.get("high")), 1))
    for at in sorted(range(len(values)), key=lambda at: (-abs(values[at]["y"]), at)):
        own, (x1, y1, x2, y2) = values[at], points[at]
        label = squeezed(own["skill"], 24)
        # About as wide as the font: 6 pixels for a column.
        wide = 6 * columns(label)
        for side, start in (("left", x2 + 2), ("right", x1 - 2 - wide)):
            end = start + wide
            free = all(end < a or c < start or y2 < b or d < y1 for a, b, c, d in taken)
            if label and free and start >= 0 and end <= WIDTH:
                own |= {"label": label, "side": side}
                taken.append((start, y1, end, y2))
                break
