"""The first lines of a drift report: which run it is, what it is compared with, and the collection as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from skill_health.drift import Drift, NumberChange
from skill_health.drift_sections import arrow, number
from skill_health.earlier import EarlierRuns
from skill_health.history_line import HistoryLine
from skill_health.profiles import COMPAT


def run_of(line: HistoryLine) -> str:
    """`2026-11-21T04:00:00Z, commit 1a2b3c4d5e6f with uncommitted changes`."""
    commit = f", commit {line.commit[:12]}" if line.commit else ""
    return line.time + commit + (" with uncommitted changes" if line.dirty else "")


def today_is(line: HistoryLine) -> str:
    """The run itself, in one line."""
    return f"Run of {run_of(line)}; profile {line.profile}; claims judged on {line.as_of}."


def comparison(drift: Drift, earlier: EarlierRuns) -> Iterator[str]:
    """What today is compared with, and why with nothing better."""
    if earlier.last:
        later = f", the last comparable one; {_runs(earlier.passed)} after it" if earlier.passed else ""
        yield f"Compared with the run of {run_of(earlier.last)}{later}."
    elif earlier.other:
        yield f"Not comparable with the run of {run_of(earlier.other)}: {'; '.join(earlier.differences)}."
        yield "Only the skills and their descriptions are compared." if drift.before else "Nothing is compared."
    if earlier.plan and not earlier.last:
        yield f"The collection is compared with an undated run of the plan's own checker ({COMPAT})."
    if not (earlier.last or earlier.other or earlier.plan):
        yield "This is the first run: there is nothing to compare with yet."


def collection(drift: Drift, earlier: EarlierRuns) -> Iterator[str]:
    """The collection's numbers with those of the earlier run, and the trailing window."""
    after = drift.after.summary
    before = asdict(earlier.last.summary) if earlier.last else asdict(earlier.plan) if earlier.plan else {}
    for name, new in asdict(after).items():
        old = before.get(name)
        if old is None or old == new:
            yield f"{name} {number(new)}"
        else:
            yield f"{name} {arrow(NumberChange(name, old, new))}"
    moved = drift.added or drift.removed
    if drift.same and drift.same_n and moved and drift.same.before is not None:
        yield f"mean of the {drift.same_n} skills scored in both runs {arrow(drift.same)}"
    if window := earlier.window:
        since = f", since {window.since[:10]}" if window.since else ""
        yield (
            f"median of the earlier means {window.median:.4f} (n = {window.n}{since}): "
            f"{window.above} higher than today, {window.equal} equal, {window.below} lower"
        )


def _runs(n: int) -> str:
    return f"{n} other run{'s' * (n != 1)} came"
