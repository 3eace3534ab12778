"""Effect of each skill: success with it less without, skill by skill, and all contrasts of one skill."""

from __future__ import annotations

from collections.abc import Sequence

from skill_health.page.figures import text_cell
from skill_health.page.model import NumberTable, Page, Picture, anchor
from skill_health.page.pictures._effects import (
    AXIS,
    CELLS,
    Measured,
    caveats,
    cells,
    contrast_rows,
    known,
    row,
    skills,
    spoken,
    tag,
    told,
    warning,
)  # fmt: skip
from skill_health.page.pictures._forest import Row, forest

QUESTION, ORDER = 3, 2
ENDS = 15
"""So many skills from either end are drawn where there are more."""
_MOST_ROWS = 24


def build(page: Page) -> tuple[Picture, ...]:
    """A forest plot for each model, the skill that helps most first."""
    every = skills(page)
    models = dict.fromkeys(each.model for each in every)
    found = (_model([each for each in every if each.model == model], at) for at, model in enumerate(models, 1))
    return tuple(picture for picture in found if picture is not None)


def _model(measured: Sequence[Measured], at: int) -> Picture | None:
    pairs = [(each, each.primary) for each in measured]
    shown = [(each, contrast) for each, contrast in pairs if contrast is not None and known(contrast)]
    shown.sort(key=lambda pair: (-pair[1]["delta"].value["value"], pair[0].path))
    if not shown:
        return None
    rows = [row(each, contrast, each.name) for each, contrast in shown]
    rows = [Row(own.name, own.estimate, own.student, own.kind, own.hollow) for own in rows]
    if len(rows) > 2 * ENDS:
        rows = [*rows[:ENDS], Row(f"{len(rows) - 2 * ENDS} more in the table"), *rows[-ENDS:]]
    table = NumberTable(
        ("Skill", *CELLS, "Marks"),
        tuple((text_cell(each.name), *cells(each, contrast), text_cell(each.words)) for each, contrast in shown),
        "Success with the skill less without, paired by task",
    )
    model, (best, first), (worst, last) = measured[0].model, shown[0], shown[-1]
    alt = (
        f"Forest plot of {len(shown)} skill{'s' * (len(shown) != 1)} as {model} does with and without each. "
        f"Highest: {best.name} {told(first)}; lowest: {worst.name} {told(last)}.{warning(measured)}"
    )
    rest = [each.name for each, contrast in pairs if contrast is None or not known(contrast)]
    how = "An open point is not testable: fewer than six tasks differ."
    how += f" Without a figure and left out: {len(rest)} ({', '.join(rest[:5])})." if rest else ""
    note = caveats(measured, how)
    title = f"Effect by skill, {model}{tag(measured)}"
    return Picture(f"skill-effects-{at}", title, alt, forest(rows, AXIS), table, 3, note)


def build_skill(page: Page, path: str) -> tuple[Picture, ...]:
    """A forest plot of the contrasts of a skill."""
    measured = skills(page, path)
    every = [(each, contrast) for each in measured for contrast in each.own["contrasts"]]
    shown = [contrast for _, contrast in every if known(contrast)]
    if not shown:
        return ()
    told_all = len(shown) <= _MOST_ROWS
    if not told_all:
        shown = [contrast for contrast in shown if contrast.value["kind"] not in ("calibration", "descriptive")]
    several = len(measured) > 1
    table = NumberTable(
        ("Contrast", *(("Model",) if several else ()), CELLS[0], CELLS[-1]),
        tuple(
            (
                text_cell(spoken(contrast.value)),
                *((text_cell(each.model),) if several else ()),
                *cells(each, contrast, False),
            )
            for each, contrast in every
        ),
        "Differences of success between arms over the tasks of this skill",
    )
    firsts = [
        f"{each.model}: {told(each.primary)}" for each in measured if each.primary is not None and known(each.primary)
    ]
    alt = f"Forest plot of the contrasts of {measured[0].name}. With it less without: "
    alt += f"{'; '.join(firsts[:4]) or 'not known'}.{warning(measured)}"
    how = "" if told_all else "Calibration and descriptive contrasts are in the table only."
    spec = forest(contrast_rows(measured, shown), AXIS)
    title = f"Effect by contrast{tag(measured)}"
    return (Picture(f"{anchor(path)}-effect", title, alt, spec, table, 3, caveats(measured, how)),)
