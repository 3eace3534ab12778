"""Listing budget: what each host spends on listing the skills of a folder, against what it allows."""

from __future__ import annotations

from collections.abc import Sequence

from skill_health.documents.page_data import HostListing
from skill_health.page.drawing.theme import BAD, INK, SERIES, WARN
from skill_health.page.figures import count, text_cell
from skill_health.page.model import NumberTable, Page, Picture
from skill_health.page.pictures import _specs as vl
from skill_health.text.terminal import squeezed

QUESTION, ORDER = 1, 3
MOST = 15
"""So many bars are drawn, the fullest first."""
_LABEL, _LEAST = 76, 12
"""Characters of a label, and of a folder in it."""
_FATES = {"truncated": "cut short", "name_only": "by name only", "omitted": "left out"}
_COUNTS = ("wanted", "limit", "skills", "full", *_FATES)
_HEAD = ("Host", "Folder", "Unit", "Wanted", "Limit", "Skills", "In full", "Cut short", "By name only", "Left out")
_NOTE = (
    "The upright stroke is the host's limit. A host that is over it shortens or leaves out what it tells the model of "
    "skills, so that they are not found."
)


def build(page: Page) -> tuple[Picture, ...]:
    """A bar for each host and folder, in per cent of the host's limit, with what is cut in words."""
    hosts = sorted(page.own.listing.hosts, key=_used, reverse=True)
    if not hosts:
        return ()
    several = len({host.group for host in hosts}) > 1
    words = [f"{_describe_size(host)}; {_describe_fate(host)}" for host in hosts]
    # A folder that is too long loses its middle; the figures stay.
    room = [_LABEL - len(f"{host.title}, : {said}") for host, said in zip(hosts, words, strict=True)]
    names = [
        f"{host.title}, {squeezed(host.group, max(left, _LEAST))}" if several else host.title
        for host, left in zip(hosts, room, strict=True)
    ]
    table = NumberTable(
        _HEAD,
        tuple(
            (*map(text_cell, (host.title, host.group, host.unit)), *(count(page.origins, host, key) for key in _COUNTS))
            for host in hosts
        ),
        "What hosts need to list all skills, and what they have for it",
    )
    firsts = "; ".join(f"{name}: {each.replace(';', ',', 1)}" for name, each in zip(names[:3], words, strict=False))
    alt = f"Bars of the listing of the skills against each host's limit. {firsts}."
    note = (
        f"{_NOTE} The {MOST} fullest of {len(hosts):,} are drawn, all are in the table." if len(hosts) > MOST else _NOTE
    )
    spec = _spec(hosts[:MOST], names, words)
    return (Picture("listing-budget", "Listing budget of each host", alt, spec, table, 1, note),)


def _used(host: HostListing) -> float:
    return host.wanted / host.limit * 100 if host.limit else 0.0


def _describe_size(host: HostListing) -> str:
    return f"{host.wanted:,} " + (f"of {host.limit:,} {host.unit}" if host.limit else f"{host.unit}, no limit known")


def _describe_fate(host: HostListing) -> str:
    counts = ((getattr(host, part), word) for part, word in _FATES.items())
    return ", ".join(f"{n:,} {word}" for n, word in counts if n) or f"all {host.skills:,} in full"


def _spec(hosts: Sequence[HostListing], names: Sequence[str], words: Sequence[str]) -> vl.Spec:
    fitted = vl.labels([*map(": ".join, zip(names, words, strict=True))][: len(hosts)], width=_LABEL)
    values = []
    for host, label in zip(hosts, fitted, strict=True):
        color = BAD if host.omitted else WARN if host.truncated or host.name_only else SERIES[0]
        limit = 100 if host.limit else None
        values.append({"name": label, "used": round(_used(host), 4), "color": color, "limit": limit})
    along: vl.Spec = {"title": "per cent of the host's limit", "axis": {"tickCount": 5}}
    used = {"x": vl.channel("used", **along), "color": vl.category("color", scale=None)}
    layers = [
        vl.layer("bar", used, height=12, yOffset=5),
        vl.layer("tick", {"x": vl.channel("limit", **along)}, color=INK, thickness=2, size=16, yOffset=5),
    ]
    return vl.plot(values, {"step": 36}, layers, y=vl.row_heads())
