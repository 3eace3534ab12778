"""The look of all pictures: fonts, sizes, and colours that the page exchanges in the dark.

Colours are tokens: a picture is drawn in those of the light theme, and the page's style sheet gives each its dark
counterpart by attribute selectors (`[fill="#1b1b1f"]`), so that one drawing serves both. The categorical colours are
those of Okabe and Ito (2008), darkened where they had less than 3:1 against the ground; a picture tells its categories
apart by shape, dash or place as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
INK, MUTED, GRID, GROUND, ZERO = "#1b1b1f", "#5c5c66", "#e1e1e6", "#fdfdfe", "#8a8a94"
GOOD, WARN, BAD, UNKNOWN = "#00735a", "#a86400", "#b3400f", "#6a6a75"
SERIES = ("#0067a3", "#b3530a", "#007a5e", "#a6467f", "#7a6a00", "#2f83b8", "#5c5c67")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke")
RAMP = ("#eef4f9", "#c9dff0", "#97c2e2", "#5f9fcd", "#2f79b0", "#0d5288")
DARK: Mapping[str, str] = {
    INK: "#ececf1", MUTED: "#a9a9b4", GRID: "#34343c", GROUND: "#17171b", ZERO: "#80808b",
    GOOD: "#3fc79d", WARN: "#f0a73c", BAD: "#ff8a5c", UNKNOWN: "#9d9da8",
    "#0067a3": "#5db8f0", "#b3530a": "#f39a5a", "#007a5e": "#3ac9a2", "#a6467f": "#e58fc2", "#7a6a00": "#d9c64a",
    "#2f83b8": "#8ecdf2", "#5c5c67": "#b9b9c4",
    "#eef4f9": "#1d2733", "#c9dff0": "#21405a", "#97c2e2": "#2a5c84", "#5f9fcd": "#3b7fb0", "#2f79b0": "#62a6d8", "#0d5288": "#a8d4f5",
}  # fmt: skip


def config() -> dict[str, Any]:
    """The Vega-Lite configuration of every picture. No text is cut by the library: the pictures give it what fits."""
    text = {"labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal", "labelLimit": 0, "titleLimit": 0}
    # The picture as a whole has a name for screen readers, and its numbers stand in a table.
    return {
        "aria": False,
        "background": None,
        "font": FONT,
        "padding": 6,
        "view": {"stroke": None},
        "axis": text
        | {
            "labelColor": MUTED,
            "titleColor": INK,
            "gridColor": GRID,
            "tickColor": GRID,
            "domain": False,
            "grid": False,
        },
        "axisBand": {"ticks": False, "labelPadding": 10},
        "legend": text | {"orient": "bottom", "labelColor": INK, "titleColor": MUTED},
        "header": text | {"labelColor": INK, "labelAnchor": "start", "labelAngle": 0, "labelPadding": 4},
        "text": {"color": INK, "fontSize": 11, "align": "left"},
        "mark": {"color": SERIES[0]},
        "rule": {"color": SERIES[0], "strokeWidth": 1.5},
        "line": {"strokeWidth": 1.5},
        "point": {"opacity": 1},
        "tick": {"opacity": 1},
        "range": {"category": list(SERIES), "symbol": list(SHAPES), "ramp": list(RAMP), "heatmap": list(RAMP)},
    }
