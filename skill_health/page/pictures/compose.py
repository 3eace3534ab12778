"""Whether skills compose: the target with one more, with an unrelated one and among all, less the target alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skill_health.page.figures import text_cell
from skill_health.page.model import JsonNode, NumberTable, Page, Picture
from skill_health.page.pictures._effects import (
    AXIS,
    CELLS,
    Measured,
    caveats,
    cells,
    collections,
    known,
    row,
    skills,
    spoken,
    tag,
    titled,
    told,
    warning,
)  # fmt: skip
from skill_health.page.pictures._forest import Row, forest

QUESTION, ORDER = 4, 1
CONTRASTS = ("target_plus_one-target", "target_plus_unrelated-target", "full-target")
_MOST = 12
"""So many skills are drawn below each contrast: those that lose most."""
_HOW = (
    "Left of the line agents do worse than with the target skill alone: skills get in each other's way. An open point "
    "is not testable: fewer than six tasks differ."
)


def build(page: Page) -> tuple[Picture, ...]:
    """The interactions over the collection, and those of the skills."""
    found = (
        _picture(collections(page), "compose", "More skills beside the target", whole=True),
        _picture(skills(page), "compose-skills", "More skills beside the target, by skill", whole=False),
    )
    return tuple(picture for picture in found if picture is not None)


def _picture(measured: Sequence[Measured], name: str, title: str, whole: bool) -> Picture | None:
    every = [
        (each, contrast)
        for wanted in CONTRASTS
        for each in measured
        for contrast in each.own["contrasts"]
        if contrast.value["name"] == wanted and known(contrast)
    ]
    if not every:
        return None
    used = [each for each in measured if any(each is own for own, _ in every)]
    rows: list[Row] = []
    cut = 0
    for wanted in CONTRASTS:
        own = [pair for pair in every if pair[1].value["name"] == wanted]
        if not whole:
            own.sort(key=_rank)
            cut += len(own[_MOST:])
            own = own[:_MOST]
        if own:
            rows.append(Row(spoken(own[0][1].value)))
            rows += _rows(own, whole, several=len({each.model for each in used}) > 1)
    table = NumberTable(
        ("Contrast", *(() if whole else ("Skill",)), "Model", *CELLS, "Marks"),
        tuple(
            (
                text_cell(spoken(contrast.value)),
                *(() if whole else (text_cell(each.name),)),
                text_cell(each.model),
                *cells(each, contrast),
                text_cell(each.words),
            )
            for each, contrast in every
        ),
        "Success with further skills beside the target less with the target alone, paired by task",
    )
    note = _HOW + (
        f" Of each contrast {_MOST} are drawn, the testable ones and those that lose most, all are in the table."
        if cut
        else ""
    )
    alt = f"Forest plot of interactions: {_summary(every, whole)}.{warning(used)}"
    return Picture(name, f"{title}{tag(used)}", alt, forest(rows, AXIS), table, 4, caveats(used, note))


def _rank(pair: tuple[Measured, JsonNode]) -> tuple[bool, float, str, str]:
    """What can be tested first, then what loses most."""
    each, contrast = pair
    return not contrast.value["testable"], contrast.value["delta"]["value"], each.path, each.model


def _rows(own: Sequence[tuple[Measured, JsonNode]], whole: bool, several: bool) -> Iterator[Row]:
    """The models of a contrast; or its skills, where there are `several` models below the name of each."""
    if whole:
        yield from (row(each, contrast, titled(each)) for each, contrast in own)
        return
    for first in {each.model: each for each, _ in own}.values():
        if several:
            yield Row(titled(first))
        yield from (row(each, contrast, each.name) for each, contrast in own if each.model == first.model)


def _summary(every: Sequence[tuple[Measured, JsonNode]], whole: bool) -> str:
    """The figures of the collection, or the skill that loses most."""
    if whole:
        return "; ".join(f"{spoken(contrast.value)}, {each.model} {told(contrast)}" for each, contrast in every[:6])
    each, contrast = min(every, key=lambda pair: (pair[1]["delta"].value["value"], pair[0].path))
    tested = sum(bool(contrast.value["testable"]) for _, contrast in every)
    lowest = f"lowest {each.name}, {spoken(contrast.value)}, {each.model} {told(contrast)}"
    return f"{len(every)} of skills, {tested} of them testable; {lowest}"
