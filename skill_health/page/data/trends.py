"""From the daily history: how each score has moved, and what there is to mark on the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Any

from skill_health.daily.earlier import differences
from skill_health.daily.history import HistoryLine, from_record
from skill_health.page.origin import JsonNode

_DAY = 86400.0


def trends(history: JsonNode, now: HistoryLine) -> dict[str, Any]:
    """The part `trends` of the page's document.

    The newest comparable line is passed over: it is today's, or as good as today's, and a score that has moved since
    the run before it is what a trend is about. Scores are compared by path.
    """
    before = _before(history, now)
    found = {}
    for path, skill in now.skills.items():
        old = before.skills.get(path) if before else None
        was = old.score if old is not None else None
        moved = None if was is None or skill.score is None else round(skill.score - was, 4)
        since = before.time if before and was is not None else None
        found[path] = {"since": since, "before": was, "now": skill.score, "change": moved}
    return found


def _before(history: JsonNode, now: HistoryLine) -> HistoryLine | None:
    passed = False
    for record in reversed(history.value):
        if not any(differences(from_record(record, skills=False), now)):
            if passed:
                return from_record(record)
            passed = True
    return None


def marks(history: JsonNode, paths: Sequence[str], most: float) -> list[dict[str, Any]]:
    """The part `marks` of the page's document: what to mark in the history of the runs over `paths`.

    That is where the mean moves by more than `most`, where lines stop being comparable, and where days are missing.
    `line` is the place of the later line in the history.
    """
    numbered = [(at, from_record(each, skills=False)) for at, each in enumerate(history.value)]
    own = [(at, line) for at, line in numbered if set(line.paths) == set(paths)]
    usual = _usual([line for _, line in own])
    found = []
    for (_, before), (at, after) in pairwise(own):
        found += [{"time": after.time, "line": at, **mark} for mark in _between(before, after, usual, most)]
    return found


def _between(before: HistoryLine, after: HistoryLine, usual: float, most: float) -> Iterator[Mapping[str, str]]:
    why = list(differences(before, after))
    if before.version != after.version or before.rules != after.rules:
        yield {"kind": "rules", "text": "; ".join(why)}
    elif why:
        yield {"kind": "configuration", "text": "; ".join(why)}
    elif before.summary.mean is not None and after.summary.mean is not None:
        change = round(after.summary.mean - before.summary.mean, 4)
        if abs(change) > most:
            how = "falls" if change < 0 else "rises"
            text = f"the mean {how} by {abs(change):.4f}, from {before.summary.mean:.4f} to {after.summary.mean:.4f}"
            yield {"kind": "drop" if change < 0 else "rise", "text": text}
    days = _days(before, after)
    if days > usual:
        yield {"kind": "gap", "text": f"no run for {days:.0f} days"}


def _usual(lines: Sequence[HistoryLine]) -> float:
    """The distance in days from which a pause is a gap: three times the usual one, and two days at least."""
    apart = [_days(before, after) for before, after in pairwise(lines)]
    return max(2.0, 3 * median(apart)) if apart else 2.0


def _days(before: HistoryLine, after: HistoryLine) -> float:
    return (datetime.fromisoformat(after.time) - datetime.fromisoformat(before.time)).total_seconds() / _DAY
