"""Listing budget: what each host spends on listing the skills of a folder, against what it allows."""

from __future__ import annotations

from collections.abc import Sequence

from skill_health.page.drawing.theme import BAD, INK, SERIES, WARN
from skill_health.page.figures import count, text_cell
from skill_health.page.model import JsonNode, NumberTable, Page, Picture
from skill_health.page.pictures import _specs as vl

QUESTION, ORDER = 1, 3
MOST = 15
"""So many bars are drawn, the fullest first."""
_FATES = {"truncated": "cut short", "name_only": "by name only", "omitted": "left out"}
_COUNTS = ("wanted", "limit", "skills", "full", *_FATES)
_HEAD = ("Host", "Folder", "Unit", "Wanted", "Limit", "Skills", "In full", "Cut short", "By name only", "Left out")
_NOTE = (
    "The upright stroke is the host's limit. A host that is over it shortens or leaves out what it tells the model of "
    "skills, so that they are not found."
)


def build(page: Page) -> tuple[Picture, ...]:
    """A bar for each host and folder, in per cent of the host's limit, with what is cut in words."""
    hosts = sorted(page.own.get("listing").get("hosts"), key=_used, reverse=True)
    if not hosts:
        return ()
    folders = [host.value.get("group") or "." for host in hosts]
    titles = [str(host.value["title"]) for host in hosts]
    names = (
        [f"{title}, {folder}" for title, folder in zip(titles, folders, strict=True)] if len({*folders}) > 1 else titles
    )
    table = NumberTable(
        _HEAD,
        tuple(
            (text_cell(title), text_cell(folder), text_cell(host.value["unit"]), *(count(host[key]) for key in _COUNTS))
            for host, title, folder in zip(hosts, titles, folders, strict=True)
        ),
        "What hosts need to list all skills, and what they have for it",
    )
    words = [f"{_describe_size(host)}; {_describe_fate(host)}" for host in hosts]
    firsts = "; ".join(f"{name}: {each.replace(';', ',', 1)}" for name, each in zip(names[:3], words, strict=False))
    alt = f"Bars of the listing of the skills against each host's limit. {firsts}."
    note = (
        f"{_NOTE} The {MOST} fullest of {len(hosts)} are drawn, all are in the table." if len(hosts) > MOST else _NOTE
    )
    spec = _spec(hosts[:MOST], names, words)
    return (Picture("listing-budget", "Listing budget of each host", alt, spec, table, 1, note),)


def _used(host: JsonNode) -> float:
    limit = host.value["limit"]
    return host.value["wanted"] / limit * 100 if limit else 0.0


def _describe_size(host: JsonNode) -> str:
    own = host.value
    return f"{own['wanted']:,} " + (
        f"of {own['limit']:,} {own['unit']}" if own["limit"] else f"{own['unit']}, no limit known"
    )


def _describe_fate(host: JsonNode) -> str:
    parts = [f"{host.value[part]:,} {word}" for part, word in _FATES.items() if host.value[part]]
    return ", ".join(parts) if parts else f"all {host.value['skills']:,} in full"


def _spec(hosts: Sequence[JsonNode], names: Sequence[str], words: Sequence[str]) -> vl.Spec:
    fitted = vl.labels([*map(": ".join, zip(names, words, strict=True))][: len(hosts)], width=76)
    values = []
    for host, label in zip(hosts, fitted, strict=True):
        own = host.value
        color = BAD if own["omitted"] else WARN if own["truncated"] or own["name_only"] else SERIES[0]
        values.append(
            {"name": label, "used": round(_used(host), 4), "color": color, "limit": 100 if own["limit"] else None}
        )
    along: vl.Spec = {"title": "per cent of the host's limit", "axis": {"tickCount": 5}}
    used = {"x": vl.channel("used", **along), "color": vl.category("color", scale=None)}
    layers = [
        vl.layer("bar", used, height=12, yOffset=5),
        vl.layer("tick", {"x": vl.channel("limit", **along)}, color=INK, thickness=2, size=16, yOffset=5),
    ]
    return vl.plot(values, {"step": 36}, layers, y=vl.row_heads())
