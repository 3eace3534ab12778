"""Days between dates: all, then working days, then working days without a list of holidays and in two notations."""

from __future__ import annotations

from datetime import date, timedelta

from skill_health.effectiveness.controls._api import WORDS, ControlDraft, Draw

_SOLVE = """import datetime as dt

LEVEL = {level}


def read(text):
    if "." in text:
        day, month, year = text.split(".")
        return dt.date(int(year), int(month), int(day))
    return dt.date.fromisoformat(text)


free = {{read(line.strip()) for line in open("holidays.txt")}} if LEVEL == 2 else set()
out = []
for line in open("loans.txt", encoding="utf-8"):
    name, first, last = line.split()
    first, last = read(first), read(last)
    days = [first + dt.timedelta(n) for n in range(1, (last - first).days + 1)]
    if LEVEL:
        days = [day for day in days if day.isoweekday() < 6 and day not in free]
    out.append(f"{{name}} {{len(days)}}")
open("days.txt", "w", encoding="utf-8").write("\\n".join(out) + "\\n")
"""
_RULES = (
    "the number of days from the first date to the second (from one day to the next it is 1)",
    "the number of working days after the first date up to and including the second: Mondays to Fridays",
    "the number of working days after the first date up to and including the second: Mondays to Fridays that are not in "
    "`holidays.txt`. Dates are written as 2024-03-31 or as 31.03.2024",
)


def make(draw: Draw, level: int) -> ControlDraft:
    """Loans with two dates each, to be counted."""
    begin = date(draw.whole(2019, 2027), 1, 1)
    loans = []
    for word in draw.some(WORDS, (5, 9, 16)[level]):
        first = begin + timedelta(draw.whole(0, 330))
        loans.append((word, first, first + timedelta(draw.whole(1, 30 + 60 * level))))
    holidays = sorted({begin + timedelta(draw.whole(0, 420)) for _ in range(24)})

    def write(day: date) -> str:
        return f"{day.day:02}.{day.month:02}.{day.year}" if level == 2 and draw.chance(0.4) else day.isoformat()

    starting = {"loans.txt": "".join(f"{word} {write(first)} {write(last)}\n" for word, first, last in loans)}
    if level == 2:
        starting["holidays.txt"] = "".join(f"{day.isoformat()}\n" for day in holidays)
    return ControlDraft(
        title="How long things were lent",
        prompt=(
            "Each line of `loans.txt` has a thing, the day on which it was lent and the day on which it came back. Please write "
            f"`days.txt`: one line for each, in the order of the file, with its name, one space, and {_RULES[level]}."
        ),
        starting=starting,
        answer="days.txt",
        expected=[f"{word} {_count(first, last, level, holidays)}" for word, first, last in loans],
        solve=_SOLVE.format(level=level),
    )


def _count(first: date, last: date, level: int, holidays: list[date]) -> int:
    """The days by whole weeks and what is left of one, where the oracle counts them one by one."""
    days = (last - first).days
    if not level:
        return days
    rest = sum((first.weekday() + n) % 7 < 5 for n in range(1, days % 7 + 1))
    free = sum(first < day <= last and day.weekday() < 5 for day in holidays) if level == 2 else 0
    return days // 7 * 5 + rest - free
