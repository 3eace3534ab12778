"""What else changes with a skill: tokens, cost and duration of a trial by contrast, each over an axis of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skill_health.page.figures import amount, text_cell
from skill_health.page.model import NumberTable, Page, Picture
from skill_health.page.pictures import _effects as effects
from skill_health.page.pictures._caveats import caveated_picture, mark_words

QUESTION, ORDER = 3, 4
UNITS: Mapping[effects.Measure, tuple[str, str, float, int]] = {
    "input_tokens": ("Input tokens", "tokens per trial", 1.0, 0),
    "output_tokens": ("Output tokens", "tokens per trial", 1.0, 0),
    "cost_usd": ("Cost", "US cents per trial", 0.01, 3),
    "duration_ms": ("Duration", "seconds per trial", 1000.0, 2),
}
"""By the name in the report: title, unit, how much of the report's unit that is, and digits of the table."""
_MOST_ROWS = 24


def build(page: Page) -> tuple[Picture, ...]:
    """A picture for each measure of which anything is known: a forest plot over all contrasts and models."""
    measured = effects.collection_effects(page)
    found = (_measure(page, measured, key) for key in UNITS)
    return tuple(picture for picture in found if picture is not None)


def _measure(page: Page, measured: Sequence[effects.EffectMeasurement], key: effects.Measure) -> Picture | None:
    title, unit, size, digits = UNITS[key]
    every = [pair for pair in effects.all_contrasts(measured) if effects.get_measure(pair[1], key).value is not None]
    if not every:
        return None
    drawn, left = every, ""
    if len(every) > _MOST_ROWS:
        drawn = [pair for pair in every if pair[1].kind in ("primary", "secondary")]
        left = "Primary and secondary contrasts are drawn, all are in the table."
    rows, firsts = [], []
    for each, contrast in every:
        figure = amount(page.origins, effects.get_measure(contrast, key), size, digits, signed=True)
        name = text_cell(effects.describe_contrast(contrast))
        rows.append((name, text_cell(each.model), figure, text_cell(mark_words(each))))
        if contrast.kind == "primary":
            firsts.append(f"{each.model} {figure.text}")
    head = ("Contrast", "Model", f"{title}, {unit} [95 % interval], n tasks", "Marks")
    table = NumberTable(head, tuple(rows), f"{title}: the arm less what it is against, paired by task")
    alt = (
        f"Forest plot of the difference in {title.lower()}, in {unit}, by contrast. With the target skill less "
        f"without: {'; '.join(firsts[:4]) or 'not known'}."
    )
    spec = effects.forest(drawn, measure=key, title=unit, factor=1 / size)
    slug, how = f"delta-{key.replace('_', '-')}", "Right of the line is more than without."
    return caveated_picture(slug, f"{title} by contrast", alt, spec, table, 3, measured, how, left)
