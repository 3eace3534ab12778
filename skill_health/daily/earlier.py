"""The history of a collection: which earlier line today's can be compared with, and why not with the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from statistics import median

from skill_health.core.history import LineTooLongError
from skill_health.daily.states import STATES, RunState, decode_line, unpack_run
from skill_health.documents._record import OpenRecord, RecordType, decode_record
from skill_health.documents.daily_line import DailyLine
from skill_health.documents.daily_run import DailyHead, DailyRun, PlanCheckerRun, PlanCheckerSummary
from skill_health.profiles import COMPAT

HISTORY = "skill-health-history.jsonl"
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

    `last` is the last comparable run. Where there is none, `plan` is the last line of the plan's own checker that
    can stand in for the collection as a whole, and `other` the last run of all (of the same paths where there is
    one), with the `differences` that keep it from being compared. `damaged` says that there is neither because what is
    there cannot be read. `state` is that of the run that is given, where it has one. `passed` counts the lines after
    the one compared with, `lost` those whose skills cannot be read. `problems` are lines that are none.
    """

    last: DailyRun | None = None
    plan: PlanCheckerSummary | None = None
    other: DailyRun | None = None
    damaged: bool = False
    state: RunState | None = None
    differences: tuple[str, ...] = ()
    passed: int = 0
    lost: int = 0
    window: ScoreWindow | None = None
    problems: tuple[str, ...] = ()


FindState = Callable[[str], RunState | None]


def find_earlier(lines: Iterable[tuple[int, bytes]], find_state: FindState, today: DailyRun, span: int) -> EarlierRuns:
    """Look through a history for what today's line can be compared with.

    `lines` are numbered and come last line first (`read_backwards`); no more of them are read than needed.
    `find_state` gives the state with a key. `span` is how many comparable lines the window has at most.
    """
    found = _Search(today, find_state)
    try:
        for number, raw in lines:
            if len(found.series) >= span and (found.last or found.plan):
                break
            found.look_at(number, raw)
    except LineTooLongError:
        found.problems.append("a line of the history is too long: it and what stands before it are left out")
    last = found.last
    other = None if last else found.restore(found.other or found.elsewhere)
    return EarlierRuns(
        last=last,
        plan=None if last else found.plan,
        other=other,
        damaged=not (last or found.plan) and bool(found.series or found.torn),
        state=found.state,
        differences=tuple(differences(other, today)) if other else (),
        passed=found.passed if last else 0,
        lost=found.lost,
        window=_window(found.series[:span], today),
        problems=(*reversed(found.problems), *_left_out(found.unknown, found.undated)),
    )


_MOST_LOST = 3
"""After so many runs whose skills cannot be read nobody tries the others: the file is read anew for each."""


@dataclass(slots=True)
class _Search:
    """What has been found on the way back. `elsewhere` is the last line of other paths."""

    today: DailyRun
    find_state: FindState
    last: DailyRun | None = None
    plan: PlanCheckerSummary | None = None
    other: DailyRun | DailyLine | None = None
    elsewhere: DailyRun | DailyLine | None = None
    state: RunState | None = None
    passed: int = 0
    lost: int = 0
    series: list[_PastMean] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    torn: int = 0
    unknown: int = 0
    undated: int = 0

    def look_at(self, number: int, raw: bytes) -> None:
        """Take what one line gives."""
        if self.other and not self.last and _cannot_match(raw, self.today):
            self.passed += 1
            return
        try:
            self._take(decode_line(raw))
        except ValueError:
            if plan := _decode(raw, PlanCheckerRun):
                self._take_plan(plan.summary)
            elif _decode(raw, OpenRecord):
                self.unknown += 1
            else:
                self.problems.append(f"line {number} of the history is torn, or no JSON object, and left out")
                self.torn += 1

    def _take(self, line: DailyRun | DailyLine) -> None:
        same = not any(differences(line, self.today))
        if same:
            self.series.append(_PastMean(line.summary.mean, line.time))
            self.last = self.last or self.restore(line)
        if self.last is None:
            self.passed += 1
            if same:
                pass
            elif line.paths == self.today.paths:
                self.other = self.other or line
            else:
                self.elsewhere = self.elsewhere or line

    def restore(self, line: DailyRun | DailyLine | None) -> DailyRun | None:
        """The whole run; None where its skills cannot be read, which is a problem."""
        if not isinstance(line, DailyLine):
            return line
        state = self.find_state(line.state) if self.lost < _MOST_LOST else None
        if state is None:
            self.lost += 1
            self.problems.append(f"the skills of the run of {line.time} cannot be read from {STATES}: it is left out")
            return None
        self.state = state
        return unpack_run(line, state)

    def _take_plan(self, plan: PlanCheckerSummary) -> None:
        if self.today.profile == COMPAT and self.today.paths in _WHOLE:
            self.plan = self.plan or plan
            self.series.append(_PastMean(plan.mean))
        else:
            self.undated += 1


@dataclass(frozen=True, slots=True)
class _PastMean:
    """The mean of a run, and when it was; "" for one without a date."""

    value: float | None
    time: str = ""


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
        yield f"{_lines(unknown)} of another form and left out"
    if undated:
        yield (
            f"{_lines(undated)} the plan's own and left out: only a run over everything with the profile {COMPAT} "
            "can be compared with them"
        )


def differences(before: DailyHead, today: DailyHead) -> Iterator[str]:
    """Why two lines cannot be compared; nothing where they can."""
    if before.profile != today.profile:
        yield f"the profile was {before.profile} and is {today.profile}"
    elif before.configuration != today.configuration:
        yield f"the configuration or its profile has changed since {before.time[:10]}"
    if before.version != today.version:
        yield f"skill-health was {before.version} and is {today.version}"
    elif before.rules != today.rules:
        yield f"other rules ran on {before.time[:10]}"
    if before.paths != today.paths:
        yield f"the paths were {', '.join(before.paths)} and are {', '.join(today.paths)}"


def _window(series: list[_PastMean], today: DailyRun) -> ScoreWindow | None:
    means = [mean.value for mean in series if mean.value is not None]
    now = today.summary.mean
    if not means or now is None:
        return None
    above, equal = sum(mean > now for mean in means), sum(mean == now for mean in means)
    since = next(mean.time for mean in reversed(series) if mean.value is not None)
    return ScoreWindow(len(means), round(median(means), 4), above, equal, len(means) - above - equal, since)


def _lines(n: int) -> str:
    return f"{n} line{'s' * (n != 1)} of the history {'is' if n == 1 else 'are'}"
