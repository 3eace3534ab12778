"""Leaderboard of the routers: top-1 of every model of the current reports, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skill_health.page.figures import count, plain, share
from skill_health.page.model import Page, Picture, Table
from skill_health.page.pictures._router_marks import intervals, kinds, per_cent
from skill_health.page.pictures._router_models import STATES, Entry, caveats, current, listed, percent, run_id, tag

QUESTION, ORDER = 2, 10
MOST = 40
WIDTH, STEP = 440, 36
_HEAD = (
    "Model",
    "Top-1, % of calls [95 % interval], n calls",
    "Independent prompts",
    "Scored",
    "Planned",
    "Run",
    "Marks",
)
_NOTE = "A point is the share of calls whose first answer is right, the rule its 95 % interval, n the number of calls."


def build(page: Page) -> tuple[Picture, ...]:
    """One picture of all models; none where no report has a figure."""
    entries = [entry for entry in current(page) if entry.top1 is not None]
    if not entries:
        return ()
    drawn = entries[:MOST]
    table = Table(_HEAD, tuple(map(_row, entries)), "Top-1 of each model in its latest report")
    firsts = [f"{entry.label} {_figure(entry)}" for entry in drawn]
    alt = (
        f"Top-1 of {len(entries)} model{'s' * (len(entries) != 1)} in per cent, with 95 % intervals, best first: "
        f"{listed(firsts)}."
    )
    return (
        Picture(
            "router-leaderboard", f"Routing: top-1 by model{tag(drawn)}", alt, _spec(drawn), table, 2, _note(entries)
        ),
    )


def _figure(entry: Entry) -> str:
    return share(entry.own["metrics"]["top1"]).text


def _row(entry: Entry) -> tuple[Any, ...]:
    top1, coverage = entry.own["metrics"]["top1"], entry.own["coverage"]
    return (
        plain(entry.name), share(top1), count(top1["clusters"]), count(coverage["scored"]), count(coverage["planned"]),
        plain(run_id(entry.report)), plain(entry.words),
    )  # fmt: skip


def _note(entries: Sequence[Entry]) -> str:
    parts = [_NOTE]
    runs = len({run_id(entry.report) for entry in entries})
    if runs > 1:
        parts.append(f"They come from {runs} runs (see the table); prompts and descriptions may differ between runs.")
    if len(entries) > MOST:
        parts.append(f"{len(entries) - MOST} more are in the table only.")
    return " ".join([*parts, caveats(entries)]).strip()


def _spec(entries: Sequence[Entry]) -> dict[str, Any]:
    values = []
    for at, entry in enumerate(entries):
        top1 = entry.own["metrics"]["top1"].value
        words = ", ".join(mark.word for mark in entry.marks if mark.word != "local")
        values.append({
            "r": at, "v": percent(top1["value"]), "l": percent(top1["low"]), "h": percent(top1["high"]), "k": entry.state,
            "m": entry.name, "f": _figure(entry) + (f" · {words}" if words else ""),
        })  # fmt: skip
    y = {
        "field": "r", "type": "quantitative", "axis": None,
        "scale": {"domain": [-0.8, len(entries) - 0.6], "reverse": True, "nice": False, "zero": False},
    }  # fmt: skip
    look = kinds(STATES, [entry.state for entry in entries])
    x = per_cent("v", "top-1, % of calls")
    return {
        "width": WIDTH,
        "height": STEP * len(entries),
        "data": {"values": values},
        "layer": [
            intervals(values, "x", {"y": y, "color": look["color"]}, x),
            {"mark": {"type": "point", "filled": True, "size": 80, "opacity": 1}, "encoding": {"x": x, "y": y, **look}},
            _line("m", "left", 0, 170, y),
            _line("f", "right", WIDTH, 262, y),
        ],
    }


def _line(field: str, align: str, x: int, limit: int, y: dict[str, Any]) -> dict[str, Any]:
    return {
        "mark": {"type": "text", "align": align, "baseline": "middle", "dy": -16, "limit": limit},
        "encoding": {"x": {"value": x}, "y": y, "text": {"field": field, "type": "nominal"}},
    }
