"""A score over the daily runs: a line that is broken where runs are not comparable, with numbered marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

from skill_health.page.drawing.theme import BAD, GOOD, MUTED, SERIES, WARN
from skill_health.page.model import JsonNode, Page
from skill_health.page.pictures._panel import Panel, Spec, numbers, round_ticks
from skill_health.page.pictures._text import padding
from skill_health.page.pictures._times import milliseconds, time_ticks

MOST = 90
"""So many runs are drawn, the last ones."""
_COLORS = {"drop": BAD, "rise": GOOD}
_SAME = ("configuration", "rules", "profile")


@dataclass(frozen=True, slots=True)
class At:
    """A run: its line of the history, its score, and the number of the stretch of comparable runs that it is in."""

    line: JsonNode
    score: JsonNode
    part: int

    @property
    def time(self) -> str:
        """When it began, in UTC."""
        return str(self.line.value["time"])


def lines(page: Page) -> list[JsonNode]:
    """The last daily runs over the same paths as the last one, oldest first."""
    every = list(page.history)
    wanted = set(every[-1].value["paths"]) if every else set()
    return [line for line in every if set(line.value["paths"]) == wanted][-MOST:]


def marks(page: Page, since: str) -> list[JsonNode]:
    """The marks of the collection's history from a time on."""
    return [mark for mark in page.own.get("marks") if mark.value["time"] >= since]


def stretches(found: Sequence[tuple[JsonNode, JsonNode]], gaps: Sequence[JsonNode]) -> list[At]:
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


def spec(runs: Sequence[At], drift: Sequence[JsonNode], band: bool, width: int, height: int) -> Spec:
    """The specification: the band from lowest to highest score below the line where `band`, marks as numbered rules."""
    times = [milliseconds(at.time) for at in runs]
    scores = [at.score.value for at in runs]
    ends = [(at.line.value["summary"]["min"], at.line.value["summary"]["max"]) for at in runs] if band else []
    room = max((times[-1] - times[0]) * 0.02, 1e5)
    low, high = _bounds([*scores, *(end for pair in ends for end in pair)])
    panel = Panel(width, height, (times[0] - room, times[-1] + room), (low, high))
    ticks, unit = time_ticks(times[0], times[-1], 5)
    dates = f"{runs[0].time[:10]} to {runs[-1].time[:10]}"
    panel.beside(numbers(_ticks(low, high, height), ".2f"), "score, 0 to 1", 28 if drift else 12)
    panel.below(ticks, f"run, {unit}, {dates}")
    parts = [at.part for at in runs]
    if band:
        panel.band(_broken([(at, *pair) for at, pair in zip(times, ends, strict=True)], parts), SERIES[0])
    panel.line(_broken(list(zip(times, scores, strict=True)), parts), SERIES[0], strokeWidth=2)
    for at, value, own in zip(times, scores, parts, strict=True):
        if parts.count(own) == 1 or (band and len(runs) <= 31):
            panel.dot(at, value, SERIES[0], size=20)
    for number, (time, kind) in enumerate(numbered(drift), 1):
        color, at = _COLORS.get(kind, WARN if kind == "gap" else MUTED), milliseconds(time)
        panel.rule((at, at), (low, high), color, dashed=True)
        # In two rows, so that the numbers of neighbours do not touch.
        panel.say(at, panel.y(-8 - 10 * (number % 2)), str(number), color, "center")
    return {**panel.spec(), "padding": padding(12, 14, 10, 8)}


def _broken(values: Sequence[tuple[float, *tuple[float, ...]]], parts: Sequence[int]) -> list[tuple[Any, ...]]:
    """The values with a hole before each stretch but the first: a path for each stretch would cost the library more."""
    found: list[tuple[Any, ...]] = []
    for at, value in enumerate(values):
        if at and parts[at] != parts[at - 1]:
            found.append((value[0], *(None for _ in value[1:])))
        found.append(value)
    return found


def _ticks(low: float, high: float, height: int) -> list[float]:
    """Scores at the axis, none above 1 unless a score is; two at least, where there are two with two digits."""
    top = high if high > 1.1 else min(high, 1.0)
    few = round_ticks(low, top, 5 if height > 100 else 3)
    return few if len(few) > 1 else round_ticks(low, top, 5)


def _bounds(ends: Sequence[float | None]) -> tuple[float, float]:
    """The ends of the axis of scores: a tenth of the scale at least, whole hundredths, and all values between them."""
    known = [end for end in ends if end is not None]
    low, high = min(known), max(known)
    room = max(high - low, 0.1) * 0.06
    return max(0.0, floor((low - room) * 100) / 100), ceil((high + room) * 100) / 100


def numbered(drift: Sequence[JsonNode]) -> list[tuple[str, str]]:
    """The times of the marks in order, each with the kind of its most telling mark: their places are their numbers."""
    rank = ("drop", "rise", "rules", "configuration", "gap")
    times: dict[str, str] = {}
    for mark in sorted(drift, key=lambda each: rank.index(each.value["kind"]) if each.value["kind"] in rank else 9):
        times.setdefault(mark.value["time"], mark.value["kind"])
    return sorted(times.items())


def told(drift: Sequence[JsonNode]) -> dict[str, str]:
    """What the marks of a time say, by the time, with their number."""
    found = {}
    for number, (time, _) in enumerate(numbered(drift), 1):
        texts = [mark.value["text"] for mark in drift if mark.value["time"] == time]
        found[time] = f"{number}: {'; '.join(dict.fromkeys(texts))}"
    return found
