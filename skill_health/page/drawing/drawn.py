"""The pictures of the page, drawn: those of the collection all, those of skills as far as they are few enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skill_health.page.cells import table_html
from skill_health.page.model import Page, Picture

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


def draw_page(page: Page, most: int = MOST, room: int = BYTES) -> Drawn:
    """The pictures of the page."""
    from skill_health.page.drawing.draw import draw_all
    from skill_health.page.pictures._load import collection_pictures

    paths = page.by_need()
    whole, wanted = collection_pictures(page), _wanted(page, paths, most)
    svg = draw_all([*whole, *(each for found in wanted.values() for each in found)])
    own: dict[str, tuple[Pair, ...]] = {}
    for path, found in wanted.items():
        room -= sum(len(svg[each.name]) + len(table_html(each.table)) for each in found)
        if room < 0:
            break
        own[path] = tuple((each, svg[each.name]) for each in found)
    return Drawn(tuple((each, svg[each.name]) for each in whole), own, len(paths) - len(own))


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
