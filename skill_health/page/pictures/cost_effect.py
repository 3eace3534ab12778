"""Cost against effect: what a skill adds to the cost of a trial, and to its success."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from skill_health.page.drawing.theme import GROUND, INK, SHAPES
from skill_health.page.figures import amount, points, text_cell
from skill_health.page.model import NumberTable, Page, Picture
from skill_health.page.pictures import _effects as effects
from skill_health.page.pictures import _specs as vl
from skill_health.page.pictures._caveats import caveated_picture, mark_words
from skill_health.text.terminal import columns, squeezed

QUESTION, ORDER = 3, 3
_HEIGHT = 260
_MOST_RULES = 40
_COST = ("cost_usd", "US cents", 0.01, 3)
_TOKENS = ("input_tokens", "input tokens", 1.0, 0)
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
        cost, gain = amount(contrast["deltas"][key], size, digits, signed=True), points(contrast["delta"])
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


def _pairs(measured: Iterable[effects.EffectMeasurement], key: str) -> list[effects.Pair]:
    """Those of which both figures are known, with the contrast of the skills with none."""
    return [
        (each, each.primary)
        for each in measured
        if each.primary is not None and each.primary["deltas"][key].value["value"] is not None
    ]


def _spec(pairs: Sequence[effects.Pair], key: str, name: str, size: float) -> vl.Spec:
    models = list(dict.fromkeys(each.model_label for each, _ in pairs))
    fitted = dict(zip(models, vl.labels(models, width=60), strict=True))
    values: list[vl.Spec] = []
    for each, contrast in pairs:
        cost = vl.estimate_values(contrast.value["deltas"][key], 1 / size)
        gain = vl.estimate_values(contrast.value["delta"])
        own = {"x": cost["value"], "y": gain["value"], "model": fitted[each.model_label], "skill": each.name}
        if not each.name or len(pairs) <= _MOST_RULES:
            own |= {"left": cost["low"], "right": cost["high"], "low": gain["low"], "high": gain["high"]}
        values.append(own)
    domains = {"x": _domain(values, ("x", "left", "right")), "y": _domain(values, ("y", "low", "high"))}
    _name_points(values, domains)
    titles = {
        "x": f"{name} per trial, with the skill less without",
        "y": "points of success, with the skill less without",
    }
    axes = {
        at: vl.signed_axis(title) | {"scale": {"domain": domains[at], "nice": False}} for at, title in titles.items()
    }
    x, y = (vl.channel(at, **axis) for at, axis in axes.items())
    color = vl.category("model", legend=None)
    shape = vl.category("model", legend={"title": None, "direction": "vertical"}, scale={"range": SHAPES[:6]})
    fill = {**color, "condition": {"test": "datum.skill", "value": GROUND}}
    name_at = {"x": x, "y": y, "text": {"field": "label"}, "color": {"value": INK}}
    aside = {"align": {"expr": "datum.side"}, "dx": {"expr": "datum.side === 'left' ? 8 : -8"}}
    layers = [
        vl.layer("rule", {**vl.interval("x", axes["x"], "left", "right"), "y": y}, strokeWidth=1),
        vl.layer("rule", {**vl.interval("y", axes["y"]), "x": x}, strokeWidth=1),
        vl.layer("point", {"x": x, "y": y, "shape": shape, "fill": fill, "size": vl.either("skill", 36, 90)}),
        vl.layer("text", name_at, None, "label", **aside),
    ]
    return vl.plot(values, _HEIGHT, layers, color=color)


def _domain(values: Sequence[vl.Spec], keys: Sequence[str]) -> list[float]:
    """The ends of an axis on which all values lie well inside, zero among them."""
    known = [0.0, *(each[key] for each in values for key in keys if each.get(key) is not None)]
    room = (max(known) - min(known)) * 0.08 or 1.0
    return [round(min(known) - room, 6), round(max(known) + room, 6)]


def _name_points(values: Sequence[vl.Spec], domains: Mapping[str, Sequence[float]]) -> None:
    """Give points a `label` and its `side`, those farthest from zero first, where it covers nothing else."""
    (left, right), (low, high) = domains["x"], domains["y"]

    def box(x: Sequence[float | None], y: Sequence[float | None], room: float) -> tuple[float, ...]:
        across = [(each - left) / (right - left) * vl.WIDTH for each in x if each is not None]
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
            if label and free and start >= 0 and end <= vl.WIDTH:
                own |= {"label": label, "side": side}
                taken.append((start, y1, end, y2))
                break
