"""Times as places on an axis, with ticks at whole hours, days and months in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import ceil

from skill_health.page.pictures._panel import Ticks

_HOURS, _DAYS, _MONTHS = (1, 2, 3, 6, 12), (1, 2, 5, 7, 10, 14, 28), (1, 2, 3, 6, 12, 24, 60, 120)
_HOUR, _DAY = 3.6e6, 8.64e7
_NAMES = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


def milliseconds(time: str) -> float:
    """A time as milliseconds since 1970."""
    return datetime.fromisoformat(time).timestamp() * 1000


def time_ticks(first: float, last: float, most: int) -> tuple[Ticks, str]:
    """At most so many ticks between two times, in milliseconds, and what their words are; one at least."""
    span = last - first
    for unit, steps, size in (("hour and minute", _HOURS, _HOUR), ("day", _DAYS, _DAY)):
        step = next((each * size for each in steps if span / (each * size) < most), 0.0)
        if step and (size == _DAY or span < 1.5 * _DAY):
            found = [at * step for at in range(ceil(first / step), ceil((last + 1) / step))]
            return [(at, _words(at, unit)) for at in found] or [(first, _words(first, unit))], f"{unit} (UTC)"
    return _months(first, last, most), "month (UTC)"


def _words(at: float, unit: str) -> str:
    """The day, or the time of day; midnight is told by the day that begins."""
    time = _time(at)
    midnight = not time.hour and not time.minute
    return f"{time.day} {_NAMES[time.month - 1]}" if unit == "day" or midnight else f"{time:%H:%M}"


def _time(at: float) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at)


def _months(first: float, last: float, most: int) -> Ticks:
    """The first days of months, every so many of them."""
    start, end = (time.year * 12 + time.month - 1 for time in (_time(first), _time(last)))
    step = next((each for each in _MONTHS if (end - start) / each < most), _MONTHS[-1])
    counted = range(-(-(start + 1) // step) * step, end + 1, step)
    found = [(milliseconds(f"{at // 12}-{at % 12 + 1:02}-01T00:00:00+00:00"), at) for at in counted]
    return [(time, f"{_NAMES[at % 12]} {at // 12}") for time, at in found or [(first, start)]]
