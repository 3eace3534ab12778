"""Effect of the collection: every contrast of every model with its 95 % interval, as a forest plot."""

from __future__ import annotations

from skill_health.page.model import Page, Picture
from skill_health.page.pictures import _effects as effects
from skill_health.page.pictures._caveats import caveated_picture

QUESTION, ORDER = 3, 1
_HOW = (
    "A point is a difference of success, a thick rule its 95 % interval, a thin rule below it Student's interval, "
    "n the number of tasks. An open point is not testable: fewer than six tasks differ. What decides the verdict is "
    "target less control, drawn larger."
)


def build(page: Page) -> tuple[Picture, ...]:
    """One forest plot of the models that were measured over the whole collection."""
    measured = effects.collection_effects(page)
    every = effects.all_contrasts(measured)
    drawn = [pair for pair in every if effects.has_value(pair[1])]
    if not drawn:
        return ()
    caption = "Differences of success between arms, paired by task"
    table = effects.contrast_table(page.origins, every, ("Contrast", "Model"), caption)
    alt = (
        f"Forest plot of the contrasts of {len(measured)} model{'s' * (len(measured) != 1)}. Success with the target "
        f"skill less without: {effects.describe_primary(measured)}."
    )
    missing = len(every) - len(drawn)
    left = f"{missing} without a figure are left out of the picture." if missing else ""
    spec = effects.forest(drawn)
    return (caveated_picture("effect", "Effect by contrast", alt, spec, table, 3, measured, _HOW, left),)
