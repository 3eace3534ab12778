"""Effect of each skill: success with it less without, skill by skill, and all contrasts of one skill."""

from __future__ import annotations

from collections.abc import Sequence

from skill_health.page.model import Page, Picture, anchor
from skill_health.page.pictures import _effects as effects
from skill_health.page.pictures._caveats import caveated_picture
from skill_health.text.near import list_some

QUESTION, ORDER = 3, 2
ENDS = 15
"""So many skills from either end are drawn where there are more."""
_MOST_ROWS = 24


def build(page: Page) -> tuple[Picture, ...]:
    """A forest plot for each model, the skill that helps most first."""
    every = effects.effects_by_skill(page)
    models = dict.fromkeys(each.model for each in every)
    found = (_model(page, [each for each in every if each.model == model], at) for at, model in enumerate(models, 1))
    return tuple(picture for picture in found if picture is not None)


def _model(page: Page, measured: Sequence[effects.EffectMeasurement], at: int) -> Picture | None:
    pairs = [(each, each.primary) for each in measured if each.primary is not None]
    pairs.sort(key=lambda pair: (-(pair[1].delta.value or 0.0), pair[0].path))
    if not pairs:
        return None
    drawn, groups = pairs, [""] * len(pairs)
    if len(pairs) > 2 * ENDS:
        drawn = [*pairs[:ENDS], *pairs[-ENDS:]]
        lowest = f"the {ENDS} lowest, {len(pairs) - len(drawn)} more in the table"
        groups = [f"the {ENDS} highest"] * ENDS + [lowest] * ENDS
    table = effects.contrast_table(
        page.origins, pairs, ("Skill",), "Success with the skill less without, paired by task"
    )
    model, (best, first), (worst, last) = measured[0].model, pairs[0], pairs[-1]
    alt = (
        f"Forest plot of {len(pairs)} skill{'s' * (len(pairs) != 1)} as {model} does with and without each. "
        f"Highest: {best.name} {effects.describe_difference(first)}; lowest: {worst.name} {effects.describe_difference(last)}."
    )
    rest = [each.name for each in measured if each.primary is None]
    left = f"Without a figure and left out: {len(rest)} ({list_some(rest, 4)})." if rest else ""
    how = "An open point is not testable: fewer than six tasks differ."
    spec = effects.forest(drawn, [each.name for each, _ in drawn], groups)
    name, title = f"skill-effects-{at}", f"Effect by skill, {model}"
    return caveated_picture(name, title, alt, spec, table, 3, measured, how, left)


def build_skill(page: Page, path: str) -> tuple[Picture, ...]:
    """A forest plot of the contrasts of a skill."""
    measured = effects.effects_by_skill(page, path)
    every = effects.all_contrasts(measured)
    drawn, how = [pair for pair in every if effects.has_value(pair[1])], ""
    if not drawn:
        return ()
    if len(drawn) > _MOST_ROWS:
        drawn = [pair for pair in drawn if pair[1].kind not in ("calibration", "descriptive")]
        how = "Calibration and descriptive contrasts are in the table only."
    leads: tuple[effects.Column, ...] = ("Contrast", "Model") if len(measured) > 1 else ("Contrast",)
    caption = "Differences of success between arms over the tasks of this skill"
    table = effects.contrast_table(page.origins, every, leads, caption, brief=True)
    first = effects.describe_primary(measured)
    alt = f"Forest plot of the contrasts of {measured[0].name}. With it less without: {first}."
    name, spec = f"{anchor(path)}-effect", effects.forest(drawn)
    return (caveated_picture(name, "Effect by contrast", alt, spec, table, 3, measured, how),)
