"""Parts of specifications that several pictures of the router share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from skill_health.page.theme import INK

Spec = dict[str, Any]


def per_cent(field: str, title: str | None, top: float = 100.0, **axis: Any) -> Spec:
    """A position from 0 to `top` per cent."""
    own = {"title": title, "tickCount": 5, "domain": False} | axis
    return {
        "field": field, "type": "quantitative", "axis": own, "scale": {"domain": [0, top], "nice": False},
    }  # fmt: skip


def kinds(looks: Mapping[str, tuple[str, str]], present: Iterable[str], **more: Any) -> Spec:
    """Colour and shape by the field `k`, one of the keys of `looks`; a legend, with `more` in it, for several."""
    there = set(present)
    names = [name for name in looks if name in there]
    legend = {"title": None, "orient": "bottom", "symbolOpacity": 1} | more if len(names) > 1 else None
    found = {}
    for at, channel in enumerate(("color", "shape")):
        scale = {"domain": names, "range": [looks[name][at] for name in names]}
        found[channel] = {"field": "k", "type": "nominal", "scale": scale, "legend": legend}
    return found


def caption(text: str, limit: int, x: int = 0, align: str = "left", y: int = -10, color: str = INK) -> Spec:
    """A line of text above a panel, as data."""
    return {
        "data": {"values": [{"t": text}]},
        "mark": {"type": "text", "align": align, "baseline": "middle", "limit": limit, "color": color},
        "encoding": {"x": {"value": x}, "y": {"value": y}, "text": {"field": "t", "type": "nominal"}},
    }


def intervals(values: Sequence[Mapping[str, Any]], along: str, fixed: Spec, position: Spec) -> Spec:
    """Rules from the field `l` to `h`; `along` is the channel of the figures, `fixed` what else is encoded."""
    ends = [each for each in values if each["l"] is not None and each["h"] is not None]
    return {
        "data": {"values": ends},
        "mark": {"type": "rule", "strokeWidth": 1.5},
        "encoding": {along: {**position, "field": "l"}, f"{along}2": {"field": "h"}, **fixed},
    }
