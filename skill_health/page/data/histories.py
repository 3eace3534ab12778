"""The lines of the three histories that fit their schema, oldest first; what does not fit costs a note."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Any

from skill_health.core.errors import SkillHealthError
from skill_health.core.history import read_backwards
from skill_health.daily.earlier import differences
from skill_health.daily.history import HistoryLine, from_record
from skill_health.daily.run import HISTORY as DAILY
from skill_health.documents._record import OpenRecord, Record, convert_record
from skill_health.documents.effect_history import HISTORY as EFFECTS
from skill_health.documents.effect_history import EffectHistoryLine
from skill_health.documents.router_history import HISTORY as ROUTER
from skill_health.documents.router_history import RouterHistoryLine
from skill_health.page.data.loading import loads
from skill_health.page.model import JsonNode, document

MOST_LINES = 400
"""So many lines of daily runs are kept, the last ones; of the others, which are small, ten times as many."""
_MOST_BYTES = 48 << 20
_MOST_WRONG = 2_000


def daily_history(folder: str) -> tuple[JsonNode, tuple[str, ...]]:
    """The lines of the daily runs in a folder of reports, and what could not be read."""
    return _read(folder, DAILY, "history", MOST_LINES, _is_daily)


def router_history(folder: str) -> tuple[JsonNode, tuple[str, ...]]:
    """The lines of the router's runs, likewise."""
    return _read(folder, ROUTER, "router-history", 10 * MOST_LINES, _fits(RouterHistoryLine, "time"))


def effect_history(folder: str) -> tuple[JsonNode, tuple[str, ...]]:
    """The lines of the runs of the effectiveness benchmark, likewise."""
    fits = _fits(EffectHistoryLine, "created")
    return _read(folder, EFFECTS, "effectiveness-history", 10 * MOST_LINES, fits)


def _read(
    folder: str, file: str, name: str, most: int, fits: Callable[[dict[str, Any]], bool]
) -> tuple[JsonNode, tuple[str, ...]]:
    path = os.path.join(folder, file)
    kept: list[dict[str, Any]] = []
    wrong = size = 0
    notes = []
    try:
        for _, raw in read_backwards(path):
            size += len(raw)
            if len(kept) == most or size > _MOST_BYTES or wrong == _MOST_WRONG:
                notes.append(f"{file} is long: its last {len(kept)} lines are shown")
                break
            record = _record(raw)
            if record is not None and fits(record):
                kept.append(record)
            else:
                wrong += 1
    except SkillHealthError as error:
        notes.append(str(error).replace(path, file))
    if wrong:
        lines = f"{wrong} line{'s' * (wrong != 1)} of {file}"
        notes.append(f"{lines} {'is' if wrong == 1 else 'are'} damaged or of another form, and left out")
    return document(name, kept[::-1]), tuple(notes)


def _record(raw: bytes) -> dict[str, Any] | None:
    try:
        found = loads(raw)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _is_daily(record: dict[str, Any]) -> bool:
    try:
        from_record(record)
    except ValueError:
        return False
    return _is_time(record["time"]) and _is_time(record["as_of"])


def _fits(kind: type[Record] | type[OpenRecord], when: str) -> Callable[[Mapping[str, Any]], bool]:
    """Whether a line is one of its kind, dated by the key `when`."""

    def fits(record: Mapping[str, Any]) -> bool:
        try:
            convert_record(record, kind)
        except ValueError:
            return False
        return _is_time(record[when])

    return fits


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


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
