"""The history of a collection: which earlier line today's can be compared with, and why not with the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from statistics import median

from skill_health.documents._record import OpenRecord, RecordType, decode_record
from skill_health.documents.daily_run import DailyRun, PlanCheckerRun, PlanCheckerSummary
from skill_health.profiles import COMPAT

# The plan's own checker always sees all of skills/.
_WHOLE = ((".",), ("skills",))


@dataclass(frozen=True, slots=True)
class ScoreWindow:
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
class EarlierRuns:
    """What is known from before.

    `last` is the last comparable line. Where there is none, `plan` is the last line of the plan's own checker that
    can stand in for the collection as a whole, and `other` the last line of all (of the same paths where there is
    one), with the `differences` that keep it from being compared. `passed` counts the lines after the one compared
    with. `problems` are lines that are none.
    """

    last: DailyRun | None = None
    plan: PlanCheckerSummary | None = None
    other: DailyRun | None = None
    differences: tuple[str, ...] = ()
    passed: int = 0
    window: ScoreWindow | None = None
    problems: tuple[str, ...] = ()


def find_earlier(lines: Iterable[tuple[int, bytes]], today: DailyRun, span: int) -> EarlierRuns:
    """Look through a history for what today's line can be compared with.

    `lines` are numbered and come last line first (`read_backwards`); no more of them are read than needed. `span` is
    how many comparable lines the window has at most.
    """
    found = _Search(today)
    for number, raw in lines:
        if len(found.series) >= span and (found.last or found.plan):
            break
        found.look_at(number, raw)
    other = None if found.last else found.other or found.elsewhere
    return EarlierRuns(
        last=found.last,
        plan=None if found.last else found.plan,
        other=other,
        differences=tuple(differences(other, today)) if other else (),
        passed=found.passed if found.last else 0,
        window=_window(found.series[:span], today),
        problems=(*reversed(found.problems), *_left_out(found.unknown, found.undated)),
    )


@dataclass(slots=True)
class _Search:
    """What has been found on the way back. `elsewhere` is the last line of other paths."""

    today: DailyRun
    last: DailyRun | None = None
    plan: PlanCheckerSummary | None = None
    other: DailyRun | None = None
    elsewhere: DailyRun | None = None
    passed: int = 0
    series: list[DailyRun | PlanCheckerSummary] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    unknown: int = 0
    undated: int = 0

    def look_at(self, number: int, raw: bytes) -> None:
        """Take what one line gives."""
        if self.other and not self.last and _cannot_match(raw, self.today):
            self.passed += 1
            return
        if line := _decode(raw, DailyRun):
            self._take(line)
        elif plan := _decode(raw, PlanCheckerRun):
            self._take_plan(plan.summary)
        elif _decode(raw, OpenRecord):
            self.unknown += 1
        else:
            self.problems.append(f"line {number} of the history is torn, or no JSON object, and left out")

    def _take(self, line: DailyRun) -> None:
        same = not any(differences(line, self.today))
        if same:
            self.last = self.last or line
            self.series.append(line)
        elif self.last is None:
            self.passed += 1
            if line.paths == self.today.paths:
                self.other = self.other or line
            else:
                self.elsewhere = self.elsewhere or line

    def _take_plan(self, plan: PlanCheckerSummary) -> None:
        if self.today.profile == COMPAT and self.today.paths in _WHOLE:
            self.plan = self.plan or plan
            self.series.append(plan)
        else:
            self.undated += 1


def _decode(raw: bytes, kind: type[RecordType]) -> RecordType | None:
    try:
        return decode_record(raw, kind)
    except ValueError:
        return None


def _cannot_match(raw: bytes, today: DailyRun) -> bool:
    """Whether a line is certainly neither comparable nor the plan's: cheaper to see than to parse."""
    return b'"corpus_score"' not in raw and not (today.configuration.encode() in raw and today.rules.encode() in raw)


def _left_out(unknown: int, undated: int) -> Iterator[str]:
    if unknown:
        yield f"{_lines(unknown)} no line of {DailyRun.ID} and left out"
    if undated:
        yield (
            f"{_lines(undated)} the plan's own and left out: only a run over everything with the profile {COMPAT} "
            "can be compared with them"
        )


def differences(before: DailyRun, today: DailyRun) -> Iterator[str]:
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


def _window(series: list[DailyRun | PlanCheckerSummary], today: DailyRun) -> ScoreWindow | None:
    means = [mean for line in series if (mean := _mean(line)) is not None]
    now = today.summary.mean
    if not means or now is None:
        return None
    above, equal = sum(mean > now for mean in means), sum(mean == now for mean in means)
    first = next(line for line in reversed(series) if _mean(line) is not None)
    since = first.time if isinstance(first, DailyRun) else ""
    return ScoreWindow(len(means), round(median(means), 4), above, equal, len(means) - above - equal, since)


def _mean(line: DailyRun | PlanCheckerSummary) -> float | None:
    return line.summary.mean if isinstance(line, DailyRun) else line.mean


def _lines(n: int) -> str:
    return f"{n} line{'s' * (n != 1)} of the history {'is' if n == 1 else 'are'}"
