"""The lines of the three histories that fit their schema, oldest first; what does not fit costs a note.

Each reader raises UsageError for a file that is there and cannot be read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Literal, TypeVar

from skill_health.core.files import is_there
from skill_health.core.history import LineTooLongError, read_backwards
from skill_health.daily.earlier import HISTORY as DAILY
from skill_health.daily.earlier import differences
from skill_health.daily.states import NOTHING, STATES, read_states, unpack_run
from skill_health.documents._foreign import read_record
from skill_health.documents._record import RecordType
from skill_health.documents.daily_line import DailyLine
from skill_health.documents.daily_run import DailyRun
from skill_health.documents.effect_history import HISTORY as EFFECTS
from skill_health.documents.effect_history import EffectHistoryLine
from skill_health.documents.page_data import HistoryMark, ScoreTrend
from skill_health.documents.router_history import HISTORY as ROUTER
from skill_health.documents.router_history import RouterHistoryLine

MOST_LINES = 400
"""So many lines of daily runs are kept, the last ones; of the others, which are small, ten times as many."""
_MOST_BYTES = 48 << 20
_EACH = 48
"""Bytes that a skill takes in memory once more where a run differs from the next one in some of them."""
_MOST_WRONG = 2_000


def daily_history(folder: str) -> tuple[tuple[DailyRun, ...], tuple[str, ...]]:
    """The daily runs in a folder of reports, and what could not be read. A run has no skills if these could not be."""
    lines, notes = _read(folder, DAILY, MOST_LINES, _decode_daily, lambda line: (line.time, line.as_of), _weigh())
    named = [line.state for line in lines if isinstance(line, DailyLine)]
    states = read_states(os.path.join(folder, STATES), named) if named else {}
    if lost := sum(key not in states for key in named):
        notes = (*notes, f"the skills of {lost} run{'s' * (lost != 1)} cannot be read from {STATES}")
    runs = (
        unpack_run(line, states.get(line.state, NOTHING)) if isinstance(line, DailyLine) else line for line in lines
    )
    return tuple(runs), notes


def _decode_daily(raw: bytes) -> DailyRun | DailyLine:
    return read_record(raw, DailyLine) if DailyLine.ID.encode() in raw else read_record(raw, DailyRun)


def _weigh() -> Callable[[bytes, DailyRun | DailyLine], int]:
    """A scale for the lines of a history, the last one first: a line counts as its bytes and what its skills take."""
    last = ""

    def weigh(raw: bytes, line: DailyRun | DailyLine) -> int:
        nonlocal last
        if isinstance(line, DailyRun) or line.state == last:
            return len(raw)
        last = line.state
        return len(raw) + line.summary.skills * _EACH

    return weigh


def router_history(folder: str) -> tuple[tuple[RouterHistoryLine, ...], tuple[str, ...]]:
    """The lines of the router's runs, likewise."""
    return _read(folder, ROUTER, 10 * MOST_LINES, _decode(RouterHistoryLine), lambda line: (line.time,))


def effect_history(folder: str) -> tuple[tuple[EffectHistoryLine, ...], tuple[str, ...]]:
    """The lines of the runs of the effectiveness benchmark, likewise."""
    return _read(folder, EFFECTS, 10 * MOST_LINES, _decode(EffectHistoryLine), lambda line: (line.created,))


def _decode(kind: type[RecordType]) -> Callable[[bytes], RecordType]:
    return lambda raw: read_record(raw, kind)


Line = TypeVar("Line")


def _read(
    folder: str,
    file: str,
    most: int,
    decode: Callable[[bytes], Line],
    times: Callable[[Line], Sequence[str | None]],
    weigh: Callable[[bytes, Line], int] = lambda raw, _: len(raw),
) -> tuple[tuple[Line, ...], tuple[str, ...]]:
    """The last lines of a history that are of their kind, at `times` that there are, the oldest first; and notes."""
    path = os.path.join(folder, file)
    kept: list[Line] = []
    wrong = size = 0
    notes = []
    try:
        for _, raw in read_backwards(path):
            if len(kept) == most or size + len(raw) > _MOST_BYTES or wrong == _MOST_WRONG:
                notes.append(f"{file} is long: its last {len(kept)} lines are shown")
                break
            try:
                line = decode(raw)
                for time in filter(None, times(line)):
                    datetime.fromisoformat(time)
                kept.append(line)
                size += weigh(raw, line)
            except ValueError:
                wrong += 1
                size += len(raw)
    except LineTooLongError as error:
        notes.append(str(error).replace(path, file))
    if not (kept or wrong or notes) and is_there(path):
        notes.append(f"{file} is empty")
    if wrong:
        lines = f"{wrong} line{'s' * (wrong != 1)} of {file}"
        notes.append(f"{lines} {'is' if wrong == 1 else 'are'} damaged or of another form, and left out")
    return tuple(kept[::-1]), tuple(notes)


_DAY = 86400.0


def trends(history: Sequence[DailyRun], now: DailyRun) -> dict[str, ScoreTrend]:
    """The score of each skill now, by path, against that of an earlier run.

    The newest comparable line is passed over: it is today's, or as good as today's, and a score that has moved since
    the run before it is what a trend is about. Scores are compared by path.
    """
    comparable = (line for line in reversed(history) if not _differing(line, now))
    next(comparable, None)
    before = next(comparable, None)
    found = {}
    for path, skill in now.skills.items():
        old = before.skills.get(path) if before else None
        was = old.score if old is not None else None
        moved = None if was is None or skill.score is None else round(skill.score - was, 4)
        since = before.time if before and was is not None else None
        found[path] = ScoreTrend(since=since, before=was, now=skill.score, change=moved)
    return found


def marks(history: Sequence[DailyRun], paths: Sequence[str], most: float) -> tuple[HistoryMark, ...]:
    """What to mark in the history of the runs over `paths`.

    That is where the mean moves by more than `most`, where lines stop being comparable, and where days are missing.
    """
    own = [(at, line) for at, line in enumerate(history) if set(line.paths) == set(paths)]
    usual = _usual([line for _, line in own])
    return tuple(
        HistoryMark(time=after.time, line=at, kind=kind, text=text)
        for (_, before), (at, after) in pairwise(own)
        for kind, text in _between(before, after, usual, most)
    )


def _differing(before: DailyRun, after: DailyRun) -> list[str]:
    """Why two lines cannot be compared; nothing where they can."""
    return list(differences(before, after))


_Kind = Literal["drop", "rise", "rules", "configuration", "gap"]


def _between(before: DailyRun, after: DailyRun, usual: float, most: float) -> Iterator[tuple[_Kind, str]]:
    why = _differing(before, after)
    if before.version != after.version or before.rules != after.rules:
        yield "rules", "; ".join(why)
    elif why:
        yield "configuration", "; ".join(why)
    elif before.summary.mean is not None and after.summary.mean is not None:
        change = round(after.summary.mean - before.summary.mean, 4)
        if abs(change) > most:
            how = "falls" if change < 0 else "rises"
            text = f"the mean {how} by {abs(change):.4f}, from {before.summary.mean:.4f} to {after.summary.mean:.4f}"
            yield "drop" if change < 0 else "rise", text
    days = _days(before, after)
    if days > usual:
        yield "gap", f"no run for {days:.0f} days"


def _usual(lines: Sequence[DailyRun]) -> float:
    """The distance in days from which a pause is a gap: three times the usual one, and two days at least."""
    apart = [_days(before, after) for before, after in pairwise(lines)]
    return max(2.0, 3 * median(apart)) if apart else 2.0


def _days(before: DailyRun, after: DailyRun) -> float:
    return (datetime.fromisoformat(after.time) - datetime.fromisoformat(before.time)).total_seconds() / _DAY
