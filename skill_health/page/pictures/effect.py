"""Effect of the collection: every contrast of every model with its 95 % interval, as a forest plot."""

from __future__ import annotations

from skill_health.page.figures import text_cell
from skill_health.page.model import NumberTable, Page, Picture
from skill_health.page.pictures._effects import (
    AXIS,
    CELLS,
    caveats,
    cells,
    collections,
    contrast_rows,
    known,
    spoken,
    tag,
    told,
    warning,
)  # fmt: skip
from skill_health.page.pictures._forest import forest

QUESTION, ORDER = 3, 1
HOW = (
    "A point is a difference of success, a thick rule its 95 % interval, a thin rule below it Student's interval, "
    "n the number of tasks. An open point is not testable: fewer than six tasks differ. What decides the verdict is "
    "target less control, drawn larger."
)


def build(page: Page) -> tuple[Picture, ...]:
    """One forest plot of the models that were measured over the whole collection."""
    measured = collections(page)
    rows = contrast_rows(measured)
    if not rows:
        return ()
    head = ("Contrast", "Model", *CELLS, "Marks")
    table = NumberTable(
        head,
        tuple(
            (text_cell(spoken(contrast.value)), text_cell(each.model), *cells(each, contrast), text_cell(each.words))
            for each in measured
            for contrast in each.own["contrasts"]
        ),
        "Differences of success between arms, paired by task",
    )
    firsts = [
        f"{each.model}: {told(each.primary)}" for each in measured if each.primary is not None and known(each.primary)
    ]
    alt = (
        f"Forest plot of the contrasts of {len(measured)} model{'s' * (len(measured) != 1)}. Success with the target "
        f"skill less without: {'; '.join(firsts[:4]) or 'not known'}.{warning(measured)}"
    )
    missing = sum(not known(contrast) for each in measured for contrast in each.own["contrasts"])
    note = caveats(measured, HOW + (f" {missing} without a figure are left out of the picture." if missing else ""))
    return (Picture("effect", f"Effect by contrast{tag(measured)}", alt, forest(rows, AXIS), table, 3, note),)
