"""A score over the daily runs: a line that is broken where runs are not comparable, with numbered marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil, floor
from typing import Any

from skill_health.page.model import Page
from skill_health.page.origin import Doc
from skill_health.page.pictures._forest import layer
from skill_health.page.pictures._text import below, beside, padding, text
from skill_health.page.theme import BAD, GOOD, MUTED, SERIES, WARN

MOST = 90
"""So many runs are drawn, the last ones."""
_COLORS = {"drop": BAD, "rise": GOOD}
_SAME = ("configuration", "rules", "profile")


@dataclass(frozen=True, slots=True)
class At:
    """A run: its line of the history, its score, and the number of the stretch of comparable runs that it is in."""

    line: Doc
    score: Doc
    part: int

    @property
    def time(self) -> str:
        """When it began, in UTC."""
        return str(self.line.value["time"])


def lines(page: Page) -> list[Doc]:
    """The last daily runs over the same paths as the last one, oldest first."""
    every = list(page.history)
    wanted = set(every[-1].value["paths"]) if every else set()
    return [line for line in every if set(line.value["paths"]) == wanted][-MOST:]


def marks(page: Page, since: str) -> list[Doc]:
    """The marks of the collection's history from a time on."""
    return [mark for mark in page.own.get("marks") if mark.value["time"] >= since]


def stretches(found: Sequence[tuple[Doc, Doc]], gaps: Sequence[Doc]) -> list[At]:
    """Lines and their scores, in stretches: another one begins with other rules or settings, and after a gap."""
    broken = {mark.value["time"] for mark in gaps if mark.value["kind"] == "gap"}
    runs: list[At] = []
    for line, score in found:
        last = runs[-1] if runs else None
        part = last.part if last else 0
        if last and (line.value["time"] in broken or _differs(last.line.value, line.value)):
            part += 1
        runs.append(At(line, score, part))
    return runs


def _differs(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    return tuple(before[key] for key in _SAME) != tuple(after[key] for key in _SAME)


def spec(runs: Sequence[At], drift: Sequence[Doc], band: bool, width: int, height: int) -> dict[str, Any]:
    """The specification: the band from lowest to highest score below the line where `band`, marks as numbered rules."""
    values = [{"t": _ms(at.time), "v": at.score.value, **(_band(at) if band else {})} for at in runs]
    low, high = _bounds([each[key] for each in values for key in each if key != "t"])
    first, last = values[0]["t"], values[-1]["t"]
    room = max((last - first) * 0.02, 1e5)
    days = (last - first) / 8.64e7
    form = "%H:%M" if days < 1 else "%d %b" if days < 300 else "%b %Y"
    axis = below(f"day of the run (UTC), {runs[0].time[:10]} to {runs[-1].time[:10]}", 4, format=form, grid=False)
    across = {"type": "utc", "domain": [first - room, last + room], "nice": False}
    x = {"field": "t", "type": "temporal", "axis": axis, "scale": across}
    beside_it = beside("score, 0 to 1", 4 if height > 100 else 2, format=".2f")
    up = {"domain": [low, high], "nice": False, "zero": False}
    y = {"field": "v", "type": "quantitative", "axis": beside_it, "scale": up}
    parts = [at.part for at in runs]
    dots = [
        each for each, own in zip(values, parts, strict=True) if parts.count(own) == 1 or (band and len(runs) <= 31)
    ]
    broken = _broken(values, parts)
    holes = {"invalid": "break-paths-filter-domains"}
    rules, texts = _ruled(drift, high, (high - low) / height)
    layers = [
        layer(
            {"type": "area", "color": SERIES[0], "opacity": 0.15, **holes}, broken if band else [],
            x=x, y={**y, "field": "a"}, y2={"field": "b"},
        ),
        layer({"type": "rule", "strokeDash": [3, 3]}, rules, x=x, color="c"),
        layer(text("center"), texts, x=x, y=y, text={"field": "n"}, color="c"),
        layer({"type": "line", "color": SERIES[0], "strokeWidth": 2, **holes}, broken, x=x, y=y),
        layer({"type": "point", "filled": True, "color": SERIES[0], "size": 20, "opacity": 1}, dots, x=x, y=y),
    ]  # fmt: skip
    drawn = [each for each in layers if each["data"]["values"]]
    return {"width": width, "height": height, "padding": padding(10, 24, 22), "layer": drawn}


def _ms(time: str) -> float:
    """A time in UTC as milliseconds since 1970, which the library need not parse."""
    return datetime.fromisoformat(time).timestamp() * 1000


def _broken(values: Sequence[dict[str, Any]], parts: Sequence[int]) -> list[dict[str, Any]]:
    """The values with a hole before each stretch but the first: a path for each stretch would cost the library more."""
    found: list[dict[str, Any]] = []
    for at, value in enumerate(values):
        if at and parts[at] != parts[at - 1]:
            found.append({key: value["t"] if key == "t" else None for key in value})
        found.append(value)
    return found


def _band(at: At) -> dict[str, float]:
    return {"a": at.line.value["summary"]["min"], "b": at.line.value["summary"]["max"]}


def _bounds(ends: Sequence[float | None]) -> tuple[float, float]:
    """The ends of the axis of scores: a tenth of the scale at least, whole hundredths, and all values between them."""
    known = [end for end in ends if end is not None]
    low, high = min(known), max(known)
    room = max(high - low, 0.1) * 0.06
    return max(0.0, floor((low - room) * 100) / 100), ceil((high + room) * 100) / 100


def _ruled(drift: Sequence[Doc], high: float, pixel: float) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A rule with a number for each time of marks; numbers stand in two rows, so that neighbours do not touch."""
    rules, texts = [], []
    for number, (time, kind) in enumerate(numbered(drift), 1):
        color = _COLORS.get(kind, WARN if kind == "gap" else MUTED)
        rules.append({"t": _ms(time), "c": color})
        texts.append({"t": _ms(time), "v": high + (8 + 10 * (number % 2)) * pixel, "n": str(number), "c": color})
    return rules, texts


def numbered(drift: Sequence[Doc]) -> list[tuple[str, str]]:
    """The times of the marks in order, each with the kind of its most telling mark: their places are their numbers."""
    rank = ("drop", "rise", "rules", "configuration", "gap")
    times: dict[str, str] = {}
    for mark in sorted(drift, key=lambda each: rank.index(each.value["kind"]) if each.value["kind"] in rank else 9):
        times.setdefault(mark.value["time"], mark.value["kind"])
    return sorted(times.items())


def told(drift: Sequence[Doc]) -> dict[str, str]:
    """What the marks of a time say, by the time, with their number."""
    found = {}
    for number, (time, _) in enumerate(numbered(drift), 1):
        texts = [mark.value["text"] for mark in drift if mark.value["time"] == time]
        found[time] = f"{number}: {'; '.join(dict.fromkeys(texts))}"
    return found
