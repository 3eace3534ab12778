"""Texts of pictures that are laid out here and not by the charting library.

Measuring a text costs the library a millisecond with its fonts, which is most of what a small picture costs. So these
texts have the size 0 for it, take no room, and `draw` gives them their size. The picture makes the room: by `padding`,
and by `fitted`, which counts in the widths of a common sans-serif. The layout is the same whatever fonts there are.
"""

from __future__ import annotations

import unicodedata
from typing import Any

from skill_health.page.figures import escape_text

SIZE = 11
"""Pixels of all text."""
_NARROW = frozenset("ijl'|.,:;!ftI[]/\\ ()-r`")
_WIDE = frozenset("mMwW@%…")


def text_width(text: str) -> float:
    """About how many pixels a text is wide; rather more than less."""
    return SIZE * sum(map(_width, text))


def _width(character: str) -> float:
    if character in _NARROW:
        return 0.31
    if character in _WIDE:
        return 0.92
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    return 0.7 if character.isupper() or not character.isascii() else 0.56


def fitted(text: str, width: float) -> str:
    """The text as it is shown, on one line; where it is wider than so many pixels, an ellipsis stands for its middle.

    Names often begin alike and differ at the end.
    """
    line = " ".join(escape_text(text).split())
    if text_width(line) <= width:
        return line
    room = width - text_width("…")
    start, end, left = 0, len(line), True
    while start < end:
        room -= text_width(line[start] if left else line[end - 1])
        if room < 0:
            break
        start, end, left = (start + 1, end, False) if left else (start, end - 1, True)
    return f"{line[:start].rstrip()}…{line[end:].lstrip()}"


def text(align: str = "left", **more: Any) -> dict[str, Any]:
    """A text mark, in the middle of its line."""
    return {"type": "text", "align": align, "baseline": "alphabetic", "fontSize": 0, "dy": 4, **more}


def below(title: str, ticks: int = 5, **more: Any) -> dict[str, Any]:
    """An axis below, with its title."""
    return {
        "title": title, "tickCount": ticks, "domain": False, "tickSize": 4, "labelFontSize": 0, "labelPadding": 12,
        "labelOverlap": False, "labelBound": False, "labelFlush": False, "titleFontSize": 0, "titleY": 34,
        "titleBaseline": "alphabetic", **more,
    }  # fmt: skip


def beside(title: str, ticks: int = 4, **more: Any) -> dict[str, Any]:
    """An axis on the left with its title above it; `padding` has to leave it room above and on the left."""
    return {
        "title": title, "tickCount": ticks, "domain": False, "ticks": False, "labelFontSize": 0, "labelPadding": 6,
        "labelOffset": 4, "labelOverlap": False, "labelBound": False, "titleFontSize": 0, "titleAngle": 0,
        "titleAlign": "left", "titleAnchor": "start", "titleX": -28, "titleY": -10, "titleBaseline": "alphabetic", **more,
    }  # fmt: skip


def padding(left: float, right: float, top: float = 6, bottom: float = 8) -> dict[str, float]:
    """Room around a plot for its texts, in pixels."""
    return {"left": left, "right": right, "top": top, "bottom": bottom}
