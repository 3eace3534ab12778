"""The history of a collection: which earlier line today's can be compared with, and why not with the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from skill_health.core.history import History
from skill_health.history_line import SCHEMA, Line, from_record
from skill_health.plan_history import PlanLine, plan_line
from skill_health.profiles import COMPAT

# The plan's own checker always sees all of skills/.
_WHOLE = ((".",), ("skills",))


@dataclass(frozen=True, slots=True)
class Window:
    """The collection's mean over the last comparable runs, today's left out; how many lay above, at and below it.

    `since` is when the first of them ran, "" for one without a date.
    """

    n: int
    median: float
    above: int
    equal: int
    below: int
    since: str = ""


@dataclass(frozen=True, slots=True)
class Earlier:
    """What is known from before.

    `last` is the last comparable line. Where there is none, `plan` is the last line of the plan's own checker that
    can stand in for the collection as a whole, and `other` the last line of all (of the same paths where there is
    one), with the `differences` that keep it from being compared. `passed` counts the lines after the one compared
    with. `problems` are lines that are none.
    """

    last: Line | None = None
    plan: PlanLine | None = None
    other: Line | None = None
    differences: tuple[str, ...] = ()
    passed: int = 0
    window: Window | None = None
    problems: tuple[str, ...] = ()


def find_earlier(history: History, today: Line, span: int) -> Earlier:
    """Look through a history, oldest line first, for what today's line can be compared with.

    `span` is how many comparable lines the window has at most.
    """
    heads: list[tuple[Line, dict[str, Any]]] = []
    series: list[Line | PlanLine] = []
    unknown = undated = 0
    for record in history.records:
        try:
            line = from_record(record, skills=False)
        except ValueError:
            plan = plan_line(record)
            if plan and today.profile == COMPAT and today.paths in _WHOLE:
                series.append(plan)
            undated += plan is not None
            unknown += plan is None
            continue
        heads.append((line, record))
        if not any(differences(line, today)):
            series.append(line)
    plans = [line for line in series if isinstance(line, PlanLine)]
    damaged: set[int] = set()
    nth, last = _last_whole(heads, lambda line: not any(differences(line, today)), damaged)
    other = None if last else _last_whole(heads, lambda line: line.paths == today.paths, damaged)[1]
    other = None if last else other or _last_whole(heads, lambda line: True, damaged)[1]
    return Earlier(
        last=last,
        plan=plans[-1] if plans and not last else None,
        other=other,
        differences=tuple(differences(other, today)) if other else (),
        passed=len(heads) - 1 - nth if last else 0,
        window=_window(series[-span:], today),
        problems=(*history.problems, *_left_out(unknown + len(damaged), undated if not plans else 0)),
    )


def _last_whole(
    heads: list[tuple[Line, dict[str, Any]]], wanted: Callable[[Line], bool], damaged: set[int]
) -> tuple[int, Line | None]:
    """The last line that is wanted, with its skills, and its place. The places of those it cannot be are added."""
    for nth in range(len(heads) - 1, -1, -1):
        if wanted(heads[nth][0]):
            try:
                return nth, from_record(heads[nth][1])
            except ValueError:
                damaged.add(nth)
    return -1, None


def _left_out(unknown: int, undated: int) -> Iterator[str]:
    if unknown:
        yield f"{_lines(unknown)} no line of {SCHEMA} and left out"
    if undated:
        yield (
            f"{_lines(undated)} the plan's own and left out: only a run over everything with the profile {COMPAT} "
            "can be compared with them"
        )


def differences(before: Line, today: Line) -> Iterator[str]:
    """Why two lines cannot be compared; nothing where they can."""
    if before.profile != today.profile:
        yield f"the profile was {before.profile} and is {today.profile}"
    elif before.configuration != today.configuration:
        yield f"the configuration has changed since {before.time[:10]}"
    if before.version != today.version:
        yield f"skill-health was {before.version} and is {today.version}"
    elif before.rules != today.rules:
        yield f"other rules ran on {before.time[:10]}"
    if before.paths != today.paths:
        yield f"the paths were {', '.join(before.paths)} and are {', '.join(today.paths)}"


def _window(series: list[Line | PlanLine], today: Line) -> Window | None:
    means = [mean for line in series if (mean := _mean(line)) is not None]
    now = today.summary.mean
    if not means or now is None:
        return None
    above, equal = sum(mean > now for mean in means), sum(mean == now for mean in means)
    first = next(line for line in series if _mean(line) is not None)
    since = first.time if isinstance(first, Line) else ""
    return Window(len(means), round(median(means), 4), above, equal, len(means) - above - equal, since)


def _mean(line: Line | PlanLine) -> float | None:
    return line.summary.mean if isinstance(line, Line) else line.mean


def _lines(n: int) -> str:
    return f"{n} line{'s' * (n != 1)} of the history {'is' if n == 1 else 'are'}"
