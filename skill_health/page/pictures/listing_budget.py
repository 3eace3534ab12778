"""Listing budget: what each host spends on listing the skills of a folder, against what it allows."""

from __future__ import annotations

from typing import Any

from skill_health.page.drawing.theme import BAD, INK, SERIES, WARN
from skill_health.page.figures import count, text_cell
from skill_health.page.model import JsonNode, NumberTable, Page, Picture
from skill_health.page.pictures._text import below, fitted, padding, text, text_width

QUESTION, ORDER = 1, 3
MOST = 15
"""So many bars are drawn, the fullest first."""
_WIDTH, _STEP = 380, 36
_PARTS = ("full", "truncated", "name_only", "omitted")
_WORDS = {"truncated": "cut short", "name_only": "by name only", "omitted": "left out"}


def build(page: Page) -> tuple[Picture, ...]:
    """A bar for each host and folder, in per cent of the host's limit, with what is cut in words."""
    entries = sorted(page.own.get("listing").get("hosts"), key=_used, reverse=True)
    if not entries:
        return ()
    several = len({entry.value.get("group") for entry in entries}) > 1
    table = NumberTable(
        ("Host", "Folder", "Unit", "Wanted", "Limit", "Skills", "In full", "Cut short", "By name only", "Left out"),
        tuple(
            (
                text_cell(entry.value["title"]),
                text_cell(entry.value.get("group") or "."),
                text_cell(entry.value["unit"]),
                count(entry["wanted"]),
                count(entry["limit"]),
                count(entry["skills"]),
                *(count(entry[part]) for part in _PARTS),
            )
            for entry in entries
        ),
        "What hosts need to list all skills, and what they have for it",
    )
    told = "; ".join(f"{_name(entry, several)}: {_size(entry)}, {_fate(entry)}" for entry in entries[:3])
    alt = f"Bars of the listing of the skills against each host's limit. {told}."
    note = (
        "The upright stroke is the host's limit. A host that is over it shortens or leaves out what it tells the model "
        "of skills, so that they are not found."
    )
    if len(entries) > MOST:
        note += f" The {MOST} fullest of {len(entries)} are drawn, all are in the table."
    spec = _spec(entries[:MOST], several)
    return (Picture("listing-budget", "Listing budget of each host", alt, spec, table, 1, note),)


def _used(entry: JsonNode) -> float:
    limit = entry.value["limit"]
    return entry.value["wanted"] / limit * 100 if limit else 0.0


def _name(entry: JsonNode, several: bool) -> str:
    group = entry.value.get("group") or "."
    return f"{entry.value['title']}, {group}" if several else str(entry.value["title"])


def _size(entry: JsonNode) -> str:
    own = entry.value
    limit = f"of {own['limit']:,} {own['unit']}" if own["limit"] else f"{own['unit']}, no limit known"
    return f"{own['wanted']:,} {limit}"


def _fate(entry: JsonNode) -> str:
    own = entry.value
    parts = [f"{own[part]:,} {word}" for part, word in _WORDS.items() if own[part]]
    return ", ".join(parts) if parts else f"all {own['skills']:,} in full"


def _spec(entries: list[JsonNode], several: bool) -> dict[str, Any]:
    most = max(100.0, *(_used(entry) for entry in entries)) * 1.04
    bars: list[dict[str, Any]] = []
    texts: list[dict[str, Any]] = []
    for at, entry in enumerate(entries):
        own = entry.value
        color = BAD if own["omitted"] else WARN if own["truncated"] or own["name_only"] else SERIES[0]
        bars.append({"y": at + 0.22, "b": round(_used(entry), 4), "c": color})
        words = f": {_size(entry)}; {_fate(entry)}"
        name = fitted(_name(entry, several), max(60.0, _WIDTH - text_width(words)))
        texts.append({"x": 0, "y": at - 0.22, "t": f"{name}{words}", "c": INK})
    plain_scale = {"nice": False, "zero": False}
    axis = below("per cent of the host's limit", 5, grid=False)
    x = {"field": "x", "type": "quantitative", "scale": {**plain_scale, "domain": [0, most]}, "axis": axis}
    y = {
        "field": "y",
        "type": "quantitative",
        "axis": None,
        "scale": {**plain_scale, "domain": [-0.6, len(entries) - 0.4], "reverse": True},
    }
    by_color = {"field": "c", "type": "nominal", "scale": None}
    limits = [{"x": 100, "y": at, "y2": at + 0.44} for at, entry in enumerate(entries) if entry.value["limit"]]
    limit = {"type": "rule", "color": INK, "strokeWidth": 2}
    return {
        "width": _WIDTH,
        "height": _STEP * len(entries),
        "padding": padding(8, 14),
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 12},
                "data": {"values": [{"x": 0, **bar} for bar in bars]},
                "encoding": {"x": x, "x2": {"field": "b"}, "y": y, "color": by_color},
            },
            {
                "mark": limit,
                "data": {"values": limits},
                "encoding": {"x": x, "y": y, "y2": {"field": "y2"}},
            },
            {
                "mark": text(),
                "data": {"values": texts},
                "encoding": {"x": x, "y": y, "text": {"field": "t"}, "color": by_color},
            },
        ],
    }
