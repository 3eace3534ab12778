"""The pictures of the page, drawn: those of the collection all, those of skills as far as they are few enough."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skill_health.page.cells import table_html
from skill_health.page.model import Page, Picture

BROAD, STEP = 580, 20
"""A picture wider than this takes the whole width of the page. Least widths go in steps of so many pixels."""
_LEGIBLE = 0.74
"""A picture may shrink to this part of its width: its smallest text has 8 pixels then; a narrower page scrolls it."""
_WIDTH = re.compile(r'<svg class="picture"(?=[^>]* width="([0-9.]+)")')
Pair = tuple[Picture, str]
MOST, BYTES = 300, 900_000
"""So many pictures of single skills are drawn, and so many bytes of HTML are spent on them and their numbers, that a
page stays light; the skills most in need come first, the rest have their other tables only."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """All pictures, each with its SVG: `whole` of the collection, `own` by the path of the skill.

    `left_out` counts the skills whose pictures were not drawn.
    """

    whole: tuple[Pair, ...]
    own: Mapping[str, tuple[Pair, ...]]
    left_out: int


def drawn(page: Page, paths: Sequence[str], most: int = MOST, room: int = BYTES) -> Drawn:
    """The pictures of the page; `paths` are those of the skills, the most in need first."""
    from skill_health.page.drawing.draw import draw_all
    from skill_health.page.pictures._load import collection_pictures

    whole, wanted = collection_pictures(page), _wanted(page, paths, most)
    svg = draw_all([*whole, *(each for found in wanted.values() for each in found)])
    pairs = {name: _WIDTH.sub(_sized, drawing, count=1) for name, drawing in svg.items()}
    own: dict[str, tuple[Pair, ...]] = {}
    for path, found in wanted.items():
        room -= sum(len(svg[each.name]) + len(table_html(each.table)) for each in found)
        if room < 0:
            break
        own[path] = tuple((each, pairs[each.name]) for each in found)
    return Drawn(tuple((each, pairs[each.name]) for each in whole), own, len(paths) - len(own))


def _wanted(page: Page, paths: Sequence[str], most: int) -> dict[str, tuple[Picture, ...]]:
    """The pictures of the first skills, as many as may be drawn."""
    from skill_health.page.pictures._load import skill_pictures

    wanted: dict[str, tuple[Picture, ...]] = {}
    for path in paths:
        found = skill_pictures(page, path)
        if len(found) > most:
            break
        wanted[path], most = found, most - len(found)
    return wanted


def least_widths() -> str:
    """The rules of the style sheet for the classes that `drawn` gives pictures by their width."""
    return "".join(f".least-{width}{{min-width:{width}px}}" for width in range(STEP, 1200, STEP)) + "\n"


def _sized(found: re.Match[str]) -> str:
    width = float(found[1])
    least = min(1200 - STEP, max(STEP, int(width * _LEGIBLE / STEP) * STEP))
    return f'<svg class="picture least-{least}{" broad" if width > BROAD else ""}"'
