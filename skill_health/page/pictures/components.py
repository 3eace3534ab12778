"""Component breakdown: what the scores of the collection are made of; a skill's own stand in its part as a table."""

from __future__ import annotations

from math import fsum

from skill_health.documents.lint_report import ScoreComponent
from skill_health.page.drawing.theme import INK, MUTED
from skill_health.page.figures import MISSING, score, score_text, text_cell
from skill_health.page.model import NumberTable, Page, PageCell, Picture
from skill_health.page.pictures import _specs as vl

QUESTION, ORDER = 1, 2
_HEAD = ("Component", "Mean", "Lowest", "Highest", "Skills", "Does not apply")
_NOTE = (
    "A point is the mean, a bar goes from the lowest to the highest, n is the number of skills to which the component "
    "applies. What does not apply is not zero: it is left out."
)


def build(page: Page) -> tuple[Picture, ...]:
    """Mean and range of each component, over the skills to which it applies."""
    every: dict[str, list[ScoreComponent]] = {}
    for skill in page.lint.skills:
        for component in skill.components:
            every.setdefault(component.name, []).append(component)
    rows, means = [], []
    values: list[vl.Spec] = []
    for label, (name, found) in zip(vl.labels([*every], width=18), every.items(), strict=True):
        known = sorted((each.value, at) for at, each in enumerate(found) if each.value is not None)
        counts = tuple(PageCell(f"{n:,}", n) for n in (len(known), len(found) - len(known)))
        value: vl.Spec = {"name": label, "n": f"n {len(known):,}"}
        values.append(value)
        if not known:
            rows.append((text_cell(name), *(text_cell(MISSING),) * 3, *counts))
            continue
        mean = fsum(each for each, _ in known) / len(known)
        (low, _), (high, _) = ends = known[0], known[-1]
        means.append((mean, name))
        value |= {"mean": round(mean, 6), "low": low, "high": high}
        cells = (score(page.origins, found[at], "value") for _, at in ends)
        rows.append((text_cell(name), PageCell(score_text(mean), mean), *cells, *counts))
    if not means:
        return ()
    alt = (
        f"Mean and range of {len(every)} components of the score over {len(page.lint.skills)} skills. "
        f"Lowest means: {', '.join(f'{name} {mean:.2f}' for mean, name in sorted(means)[:3])}."
    )
    axis: vl.Spec = {"title": "value, 0 to 1", "scale": {"domainMin": 0}, "axis": {"grid": True, "tickCount": 5}}
    layers = [
        vl.text("n", 297, color=MUTED),
        vl.layer("rule", vl.interval("x", axis), strokeWidth=5),
        vl.layer("point", {"x": vl.channel("mean", **axis)}, filled=True, color=INK, size=50),
    ]
    spec = vl.plot(values, {"step": 18}, layers, 290, y=vl.row_names(room=100))
    return (Picture("components", "Components of the score", alt, spec, NumberTable(_HEAD, tuple(rows)), 1, _NOTE),)
