"""A run over a fleet: look at every repository, lint those that have changed, compare, and write it all down."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

from msgspec.structs import replace

from skill_health.core.errors import ABORTED, CLEAN, FINDINGS, SkillHealthError
from skill_health.documents._history import HistoryTail
from skill_health.documents.fleet_file import FleetGate
from skill_health.documents.fleet_line import FleetEntry, FleetLine
from skill_health.documents.fleet_run import (
    FleetRepository,
    FleetRun,
)
from skill_health.fleet.check import FleetTask, check_repository
from skill_health.fleet.record import CheckedRepository, build_record
from skill_health.fleet.seen import FoundRepository, find_repositories, is_same
from skill_health.fleet.states import HISTORY, StateStore
from skill_health.fleet.waivers import apply_waivers

RUNS = 90
"""So many earlier runs are looked at."""


@dataclass(frozen=True, slots=True)
class FleetOutcome:
    """A run: its record, its line of the history, and the lines before, oldest first. `exit_code` is the command's."""

    run: FleetRun
    line: FleetLine
    earlier: tuple[FleetLine, ...]

    @property
    def exit_code(self) -> int:
        """3 where a repository could not be checked, else 1 where the gate fails, else 0."""
        if self.run.total.failed:
            return ABORTED
        return FINDINGS if self.run.reasons else CLEAN


def run_fleet(task: FleetTask, reports: str, gate: FleetGate, now: int, tell: Callable[[str], None]) -> FleetOutcome:
    """Check a fleet; the caller holds the lock of the folder of its reports.

    Nothing is written but the state of each repository, as soon as it is known. `now` is the time in nanoseconds, and
    `tell` is called with the name of each repository that is linted. Raises UsageError where a state cannot be written.
    """
    marks = {"schema": FleetLine.ID}
    tail = HistoryTail(reports, HISTORY, FleetLine, marks, lambda _: True)
    lines = tuple(reversed(list(islice(tail, RUNS))))
    store, fleet = StateStore(reports), task.fleet
    found = find_repositories(fleet, task.file, os.path.realpath(reports), task.profile, now)
    checked = [_check(task, each, store, lines, tell) for each in found]
    day = task.as_of.isoformat()
    for each in checked:
        if each.state:
            each.waived = apply_waivers(each.name, each.state, fleet.waiver, day)
    run = build_record(task, checked, gate, tail.problems)
    return FleetOutcome(run, _line(run, checked), lines)


def _check(
    task: FleetTask, found: FoundRepository, store: StateStore, lines: Sequence[FleetLine], tell: Callable[[str], None]
) -> CheckedRepository:
    """What is known of a repository now: from before where it is what it was, else from linting it."""
    name = found.listed.name
    each = CheckedRepository(found, "failed", error=found.error)
    each.earlier = tuple(
        line
        for line in lines
        if name in line.repositories and line.repositories[name].state and line.repositories[name].status != "failed"
    )
    each.key = each.last.repositories[name].state or "" if each.last else ""
    each.before = store.read(name, each.key) if each.key else None
    each.lost = bool(each.key) and each.before is None
    if found.error:
        return each
    day = task.as_of.isoformat()
    if each.before and is_same(found, each.before, day):
        each.status, each.state = "unchanged", each.before
        if found.seen and each.before.seen.young and not found.seen.young:
            # By now the times of all files tell: next time none is read.
            each.state = replace(each.before, seen=replace(found.seen, day=each.before.seen.day))
            each.key = store.save(name, each.state)
        return each
    finished = (state for key in store.keys(name) if key != each.key and (state := store.read(name, key)))
    each.state = next((state for state in finished if is_same(found, state, day)), None)
    try:
        if each.state is None:
            tell(name)
            each.state = check_repository(task, found)
        each.status = "checked"
        each.key = store.save(name, each.state)
    except SkillHealthError as error:
        each.error = str(error)
    except OSError as error:
        each.error = f"cannot read {error.filename or name}: {error.strerror or error}"
    return each


def _line(run: FleetRun, checked: Sequence[CheckedRepository]) -> FleetLine:
    entries = {each.name: _entry(own, each) for own, each in zip(run.repositories, checked, strict=True)}
    return FleetLine(
        schema="skill-health/fleet-line/1", time=run.time, as_of=run.as_of, version=run.version, repositories=entries,
        copies=len(run.copies), near=len(run.near), namesakes=len(run.namesakes), expired=run.total.expired,
    )  # fmt: skip


def _entry(own: FleetRepository, each: CheckedRepository) -> FleetEntry:
    found = own.findings
    if found is None or each.state is None:
        return FleetEntry(status="failed", error=own.error, state=each.key or None)
    change = found.change
    return FleetEntry(
        status=own.status, commit=found.commit, skills=found.skills, score=found.score, errors=found.counts.error,
        warnings=found.counts.warning, infos=found.counts.info, waived=found.waived,
        new=sum(new.n for new in change.new) if change else None,
        fixed=sum(old.n for old in change.fixed) if change else None, rules=each.state.seen.rules, state=each.key,
    )  # fmt: skip
