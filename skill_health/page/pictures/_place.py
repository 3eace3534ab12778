"""Names beside the points of a scatter plot, as far as there is room for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skill_health.page.pictures._text import SIZE, fitted, text_width

_GAP, _MOST = 8, 130


def placed(
    points: Sequence[tuple[str, float, float]],
    rules: Sequence[Mapping[str, Any]],
    across: Sequence[float],
    up: Sequence[float],
    width: int,
    height: int,
) -> list[dict[str, Any]]:
    """Texts at places in the units of the data: x, y and t, for the points of which the name finds room.

    `points` are a name ("" for none), x and y, and `rules` lines from x, y to x2, y2; `across` and `up` are the ends of
    the axes. The points farthest from zero come first; a name stands on the right or the left of its point, and covers
    no point, no rule and no other name.
    """
    per_x, per_y = (across[1] - across[0]) / width, (up[1] - up[0]) / height
    pixels = [((x - across[0]) / per_x, (up[1] - y) / per_y) for _, x, y in points]
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y in pixels]
    for rule in rules:
        left, right = sorted((rule[key] - across[0]) / per_x for key in ("x", "x2"))
        top, bottom = sorted((up[1] - rule[key]) / per_y for key in ("y", "y2"))
        taken.append((left - 1, top - 1, right + 1, bottom + 1))
    order = sorted(range(len(points)), key=lambda at: (-abs(points[at][2]), points[at][0], at))
    found = []
    for at in order:
        name = fitted(points[at][0], _MOST)
        wide = text_width(name)
        x, y = pixels[at]
        for left in (x + _GAP, x - _GAP - wide):
            box = (left, y - SIZE / 2 - 1, left + wide, y + SIZE / 2 + 1)
            others = (each for other, each in enumerate(taken) if other != at)
            if name and box[0] >= 0 and box[2] <= width + 20 and not any(_meet(box, each) for each in others):
                taken.append(box)
                found.append({"x": across[0] + left * per_x, "y": points[at][2], "t": name})
                break
    return found


def _meet(one: tuple[float, float, float, float], two: tuple[float, float, float, float]) -> bool:
    return one[0] < two[2] and two[0] < one[2] and one[1] < two[3] and two[1] < one[3]
