"""Component breakdown: what the scores of the collection are made of; a skill's own stand in its part as a table."""

from __future__ import annotations

from math import fsum

from skill_health.page.drawing.theme import INK, MUTED, SERIES
from skill_health.page.figures import MISSING, score, text_cell
from skill_health.page.model import NumberTable, Page, PageCell, Picture
from skill_health.page.origin import JsonNode
from skill_health.page.pictures._specs import Spec, category, channel, labels, layer, row_axis

QUESTION, ORDER = 1, 2
_HEAD = ("Component", "Mean", "Lowest", "Highest", "Skills", "Does not apply")
_NOTE = (
    "A point is the mean, a bar goes from the lowest to the highest, n is the number of skills to which the component "
    "applies. What does not apply is not zero: it is left out."
)


def build(page: Page) -> tuple[Picture, ...]:
    """Mean and range of each component, over the skills to which it applies."""
    every: dict[str, list[JsonNode]] = {}
    for skill in page.lint.get("skills"):
        for component in skill["components"]:
            every.setdefault(component.value["name"], []).append(component["value"])
    rows, means = [], []
    values: list[Spec] = []
    for label, (name, found) in zip(labels([*every], width=18), every.items(), strict=True):
        known = sorted((each for each in found if each.value is not None), key=lambda each: each.value)
        counts = tuple(PageCell(f"{n:,}", n) for n in (len(known), len(found) - len(known)))
        values.append({"name": label, "n": f"n {len(known):,}"})
        if not known:
            rows.append((text_cell(name), *(text_cell(MISSING),) * 3, *counts))
            continue
        mean = fsum(each.value for each in known) / len(known)
        means.append((mean, name))
        values[-1] |= {"mean": round(mean, 6), "low": known[0].value, "high": known[-1].value}
        text = f"{mean:.2f}" if not 0.995 <= mean < 1 else "0.99"
        rows.append((text_cell(name), PageCell(text, mean), score(known[0]), score(known[-1]), *counts))
    if not means:
        return ()
    alt = (
        f"Mean and range of {len(every)} components of the score over {len(page.lint['skills'].value)} skills. "
        f"Lowest means: {', '.join(f'{name} {mean:.2f}' for mean, name in sorted(means)[:3])}."
    )
    spec = _spec(values)
    return (Picture("components", "Components of the score", alt, spec, NumberTable(_HEAD, tuple(rows)), 1, _NOTE),)


def _spec(values: list[Spec]) -> Spec:
    axis: Spec = {
        "title": "value, 0 to 1",
        "scale": {"domainMin": 0, "nice": True},
        "axis": {"grid": True, "tickCount": 5},
    }
    return {
        "width": 290,
        "height": {"step": 18},
        "data": {"values": values},
        "encoding": {"y": category("name", **row_axis(100))},
        "layer": [
            layer("text", {"x": {"value": 297}, "text": {"field": "n"}}, align="left", color=MUTED),
            layer("rule", {"x": channel("low", **axis), "x2": {"field": "high"}}, strokeWidth=5, color=SERIES[0]),
            layer("point", {"x": channel("mean", **axis)}, filled=True, color=INK, size=50, opacity=1),
        ],
    }
