"""What else changes with a skill: tokens, cost and duration of a trial by contrast, each over an axis of its own."""

from __future__ import annotations

from collections.abc import Sequence

from skill_health.page.figures import amount, text_cell
from skill_health.page.model import NumberTable, Page, Picture
from skill_health.page.pictures._caveats import caveat_note, caveat_sentences, mark_words, title_suffix
from skill_health.page.pictures._effects import (
    EffectMeasurement,
    all_contrasts,
    collection_effects,
    describe_contrast,
    forest,
)

QUESTION, ORDER = 3, 4
UNITS = {
    "input_tokens": ("Input tokens", "tokens per trial", 1.0, 0),
    "output_tokens": ("Output tokens", "tokens per trial", 1.0, 0),
    "cost_usd": ("Cost", "US cents per trial", 0.01, 3),
    "duration_ms": ("Duration", "seconds per trial", 1000.0, 2),
}
"""By the name in the report: title, unit, how much of the report's unit that is, and digits of the table."""
_MOST_ROWS = 24


def build(page: Page) -> tuple[Picture, ...]:
    """A picture for each measure of which anything is known: a forest plot over all contrasts and models."""
    measured = collection_effects(page)
    found = (_measure(measured, key) for key in UNITS)
    return tuple(picture for picture in found if picture is not None)


def _measure(measured: Sequence[EffectMeasurement], key: str) -> Picture | None:
    title, unit, size, digits = UNITS[key]
    every = [pair for pair in all_contrasts(measured) if pair[1]["deltas"][key].value["value"] is not None]
    if not every:
        return None
    drawn, left = every, ""
    if len(every) > _MOST_ROWS:
        drawn = [pair for pair in every if pair[1].value["kind"] in ("primary", "secondary")]
        left = "Primary and secondary contrasts are drawn, all are in the table."
    figures = [amount(contrast["deltas"][key], size, digits, signed=True) for _, contrast in every]
    table = NumberTable(
        ("Contrast", "Model", f"{title}, {unit} [95 % interval], n tasks", "Marks"),
        tuple(
            (text_cell(describe_contrast(contrast)), text_cell(each.model), figure, text_cell(mark_words(each)))
            for (each, contrast), figure in zip(every, figures, strict=True)
        ),
        f"{title}: the arm less what it is against, paired by task",
    )
    firsts = [
        f"{each.model} {figure.text}"
        for (each, contrast), figure in zip(every, figures, strict=True)
        if contrast.value["kind"] == "primary"
    ]
    alt = (
        f"Forest plot of the difference in {title.lower()}, in {unit}, by contrast. With the target skill less "
        f"without: {'; '.join(firsts[:4]) or 'not known'}.{caveat_sentences(measured)}"
    )
    names = [describe_contrast(contrast) for _, contrast in drawn]
    spec = forest(drawn, names, [each.model_label for each, _ in drawn], key, unit, 1 / size)
    note = " ".join(filter(None, ("Right of the line is more than without.", left, caveat_note(measured))))
    name = f"delta-{key.replace('_', '-')}"
    return Picture(name, f"{title} by contrast{title_suffix(measured)}", alt, spec, table, 3, note)
