"""What else changes with a skill: tokens, cost and duration of a trial by contrast, each over an axis of its own."""

from __future__ import annotations

from typing import Any

from skill_health.page.figures import amount, text_cell
from skill_health.page.model import NumberTable, Page, Picture
from skill_health.page.pictures._effects import (
    Measured,
    caveats,
    collections,
    row,
    spoken,
    tag,
    titled,
    warning,
)  # fmt: skip
from skill_health.page.pictures._forest import Row, forest

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
    measured = collections(page)
    found = (_one(measured, key) for key in UNITS)
    return tuple(picture for picture in found if picture is not None)


def _one(measured: tuple[Measured, ...], key: str) -> Picture | None:
    title, unit, size, digits = UNITS[key]
    every = [
        (each, contrast)
        for each in measured
        for contrast in each.own["contrasts"]
        if contrast["deltas"][key].value["value"] is not None
    ]
    if not every:
        return None
    shown, left = every, ""
    if len(shown) > _MOST_ROWS:
        shown = [pair for pair in every if pair[1].value["kind"] in ("primary", "secondary")]
        left = " Primary and secondary contrasts are drawn, all are in the table."
    rows = []
    for each in measured:
        own = [_row(each, contrast, key) for at, contrast in shown if at is each]
        if own and len(measured) > 1:
            rows.append(Row(titled(each)))
        rows += own
    table = NumberTable(
        ("Contrast", "Model", f"{title}, {unit} [95 % interval], n tasks", "Marks"),
        tuple(
            (
                text_cell(spoken(contrast.value)),
                text_cell(each.model),
                amount(contrast["deltas"][key], size, digits, signed=True),
                text_cell(each.words),
            )
            for each, contrast in every
        ),
        f"{title}: the arm less what it is against, paired by task",
    )
    told = [
        f"{each.model} {amount(contrast['deltas'][key], size, digits, signed=True).text}"
        for each, contrast in every
        if contrast.value["kind"] == "primary"
    ]
    alt = (
        f"Forest plot of the difference in {title.lower()}, in {unit}, by contrast. With the target skill less "
        f"without: {'; '.join(told[:4]) or 'not known'}.{warning(measured)}"
    )
    spec = forest(rows, unit, factor=1 / size)
    note = caveats(measured, f"Right of the line is more than without.{left}")
    return Picture(f"delta-{key.replace('_', '-')}", f"{title} by contrast{tag(measured)}", alt, spec, table, 3, note)


def _row(each: Measured, contrast: Any, key: str) -> Row:
    own = row(each, contrast)
    delta = contrast["deltas"][key]
    return Row(own.name, delta, None, own.kind, delta.value["low"] is None, own.strong)
