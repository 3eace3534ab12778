"""A run over a fleet: look at every repository, lint those that have changed, compare, and say what was found."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from skill_health import __version__
from skill_health.core.errors import ABORTED, CLEAN, FINDINGS, SkillHealthError, UsageError
from skill_health.core.files import here
from skill_health.core.strict_json import escape_surrogates
from skill_health.documents.fleet_file import FleetFile, FleetGate
from skill_health.documents.fleet_line import FleetEntry, FleetLine, FleetStatus
from skill_health.documents.fleet_run import (
    FleetRepository,
    FleetRun,
    FleetTotal,
    FleetTrend,
    GradeCount,
    RepositoryChange,
    RepositoryFindings,
    RuleTotal,
)
from skill_health.documents.fleet_state import FleetState
from skill_health.documents.skill_grades import SkillGrade, grade_all, grade_lint
from skill_health.fleet.check import FleetTask, check_repository
from skill_health.fleet.compare import (
    count_findings,
    find_change,
    find_copies,
    find_fleet_owners,
    find_namesakes,
    find_near_copies,
    sum_counts,
)
from skill_health.fleet.seen import FoundRepository, find_repositories, is_same
from skill_health.fleet.states import HISTORY, StateStore, read_runs
from skill_health.fleet.waivers import WaivedState, apply_waivers, judge_waivers
from skill_health.rules._api import Severity
from skill_health.text.numbers import count

RUNS = 90
"""So many earlier runs are looked at."""
_ERROR = 300


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


@dataclass(slots=True)
class CheckedRepository:
    """A repository in this run: what it is now (None: not known), and the key of the last state that is known of it."""

    found: FoundRepository
    status: FleetStatus
    error: str = ""
    state: FleetState | None = None
    key: str = ""
    waived: WaivedState | None = None
    earlier: tuple[FleetLine, ...] = ()
    lost: bool = False
    before: FleetState | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """What the fleet calls it."""
        return self.found.listed.name

    @property
    def last(self) -> FleetLine | None:
        """The last run that had figures of it."""
        return self.earlier[-1] if self.earlier else None


def run_fleet(task: FleetTask, reports: str, gate: FleetGate, now: int, tell: Callable[[str], None]) -> FleetOutcome:
    """Check a fleet; the caller holds the lock of the folder of its reports.

    Nothing is written but the state of each repository, as soon as it is known. `now` is the time in nanoseconds, and
    `tell` is called with the name of each repository that is linted. Raises UsageError if what is known of them is
    there and cannot be read, before anything is written, and if a state cannot be written.
    """
    lines, problems = read_runs(reports, RUNS)
    store, fleet = StateStore(reports), task.fleet
    store.check()
    found = find_repositories(fleet, task.file, os.path.realpath(reports), task.profile, now)
    checked = [_recall(each, store, lines) for each in found]
    if (problems and any(each.lost for each in checked)) or (not lines and store.outlived()):
        why = problems[0] if problems else f"{HISTORY} has no line of a run"
        raise UsageError(
            f"there is nothing left to compare with in {here(reports)}: {why}; restore it, or remove it to begin anew"
        )
    for each in checked:
        _check(task, each, store, tell)
    day = task.as_of.isoformat()
    for each in checked:
        if each.state:
            each.waived = apply_waivers(each.name, each.state, fleet.waiver, day)
    run = _build_record(task, checked, gate, problems)
    return FleetOutcome(run, _line(run, checked), lines)


def _recall(found: FoundRepository, store: StateStore, lines: Sequence[FleetLine]) -> CheckedRepository:
    """A repository with what is known of it from before."""
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
    return each


def _check(task: FleetTask, each: CheckedRepository, store: StateStore, tell: Callable[[str], None]) -> None:
    """Find out what a repository is now: what it was, if it has not changed, else from linting it."""
    found, name = each.found, each.name
    if found.error:
        return
    day = task.as_of.isoformat()
    if each.before and is_same(found, each.before, day):
        each.status, each.state = "unchanged", each.before
        if found.seen and each.before.seen.young and not found.seen.young:
            # By now the times of all files tell: next time none is read.
            each.state = replace(each.before, seen=replace(found.seen, day=each.before.seen.day))
            each.key = store.save(name, each.state)
        return
    each.state = next((state for state in store.finished(name, each.key) if is_same(found, state, day)), None)
    try:
        if each.state is None:
            tell(name)
            each.state = check_repository(task, found)
    except SkillHealthError as error:
        each.error = str(error)
    except OSError as error:
        each.error = f"cannot read {error.filename or name}: {error.strerror or error}"
    else:
        each.status, each.key = "checked", store.save(name, each.state)


def _build_record(
    task: FleetTask, checked: Sequence[CheckedRepository], gate: FleetGate, problems: Sequence[str]
) -> FleetRun:
    """The record of a run; `problems` are what could not be read of earlier ones."""
    fleet, day = task.fleet, task.as_of.isoformat()
    states = {each.name: each.waived.state for each in checked if each.waived}
    repositories = tuple(_repository(fleet, each) for each in checked)
    known = [each.findings for each in repositories if each.findings]
    changes = {each.name: each.findings.change for each in repositories if each.findings and each.findings.change}
    used: Counter[int] = Counter()
    for each in checked:
        used.update(each.waived.used if each.waived else {})
    waivers = judge_waivers(fleet.waiver, used, day, [each.name for each in checked if not each.state])
    statuses = Counter(each.status for each in checked)
    total = FleetTotal(
        repositories=len(checked), linted=statuses["checked"], unchanged=statuses["unchanged"], failed=statuses["failed"],
        skills=sum(each.skills for each in known), findings=sum_counts(each.counts for each in known),
        waived=sum(each.waived for each in known), compared=len(changes),
        new=count_findings((new.severity, new.n) for each in changes.values() for new in each.new),
        fixed=count_findings((old.severity, old.n) for each in changes.values() for old in each.fixed),
        expired=sum(each.status == "expired" for each in waivers), unused=sum(each.status == "unused" for each in waivers),
    )  # fmt: skip
    lost = [
        f"{each.name}: what was known of it cannot be read, and nothing is compared" for each in checked if each.lost
    ]
    return FleetRun(
        schema="skill-health/fleet/1", version=__version__, title=fleet.title or "Fleet", time=task.time, as_of=day,
        fail_on=gate, reasons=tuple(_reasons(repositories, gate)), total=total, repositories=repositories,
        owners=find_fleet_owners(states, changes), copies=find_copies(states), near=find_near_copies(states),
        namesakes=find_namesakes(states), waivers=waivers, notes=(*problems, *lost),
    )  # fmt: skip


def _repository(fleet: FleetFile, each: CheckedRepository) -> FleetRepository:
    listed = each.found.listed
    findings = _findings(fleet, each)
    state = each.state or each.before
    return FleetRepository(
        name=listed.name, source=escape_surrogates(listed.path or listed.address), branch=listed.branch,
        folder=listed.folder, owner=listed.owner, status=each.status, error=escape_surrogates(each.error[:_ERROR]),
        findings=findings, last=state.run.time if state else None,
        trend=_trend(each, findings) if findings else None,
    )  # fmt: skip


def _findings(fleet: FleetFile, each: CheckedRepository) -> RepositoryFindings | None:
    if each.waived is None:
        return None
    state = each.waived.state
    change, incomparable = _change(fleet, each, state)
    every = _grades(state)
    grades = Counter(every[path] for path in state.run.skills)
    kinds = Counter((found.severity, found.code, found.rule) for found in state.findings)
    ranked = sorted(kinds.items(), key=lambda item: (Severity(item[0][0]).rank, -item[1], item[0]))
    return RepositoryFindings(
        commit=state.run.commit, dirty=state.run.dirty, configured=state.configured,
        grade=grade_all(every.values()), skills=len(state.run.skills),
        grades=tuple(GradeCount(grade=grade, skills=grades[grade]) for grade in SkillGrade if grades[grade]),
        score=state.run.summary.mean, counts=count_findings((found.severity, 1) for found in state.findings),
        rules=tuple(RuleTotal(code=code, rule=rule, severity=severity, n=n) for (severity, code, rule), n in ranked),
        waived=each.waived.waived, ignored=state.ignored, baselined=state.baselined, change=change,
        incomparable=incomparable, notes=state.notes,
    )  # fmt: skip


def _change(fleet: FleetFile, each: CheckedRepository, state: FleetState) -> tuple[RepositoryChange | None, str]:
    """What is new since the last run that had figures; or why that cannot be said."""
    last = each.last
    if last is None:
        return None, "it was not checked before"
    if each.before is None:
        return None, "what was known of it cannot be read"
    if each.before.seen.rules != state.seen.rules:
        return None, f"skill-health or its settings are others than on {last.time[:10]}"
    return find_change(each.name, each.before, state, fleet.waiver, last), ""


def _grades(state: FleetState) -> dict[str, SkillGrade]:
    """The grade of each skill by its path, and under no path that of what was found outside them."""
    counts: dict[str, Counter[Severity]] = {}
    for found in state.findings:
        counts.setdefault(found.skill, Counter())[Severity(found.severity)] += 1
    flagged = {path: bool(own.flagged) for path, own in state.run.skills.items()} | {"": False}
    return {
        path: grade_lint(counts.get(path, Counter()), flag, state.fail_on, state.needs_work)
        for path, flag in flagged.items()
    }


def _trend(each: CheckedRepository, now: RepositoryFindings) -> FleetTrend | None:
    """From the first run with the same rules and settings on."""
    state = each.state
    same = [
        (line, entry)
        for line in each.earlier
        if (entry := line.repositories[each.name]).errors is not None and state and entry.rules == state.seen.rules
    ]
    if not same:
        return None
    line, first = same[0]
    return FleetTrend(
        runs=len(same), since=line.time, score_before=first.score, score=now.score, errors_before=first.errors or 0,
        errors=now.counts.error, warnings_before=first.warnings or 0, warnings=now.counts.warning,
    )  # fmt: skip


def _reasons(repositories: Sequence[FleetRepository], gate: FleetGate) -> Iterator[str]:
    """A line for each repository that fails the run."""
    for each in repositories:
        found = each.findings
        if found is None or (gate.only_new and found.change is None):
            continue
        counts = (
            count_findings((new.severity, new.n) for new in found.change.new)
            if gate.only_new and found.change
            else found.counts
        )
        what = "new " if gate.only_new else ""
        told = [count(n, f"{what}{severity}") for severity in gate.severities if (n := getattr(counts, severity))]
        if told:
            yield f"{each.name}: {' and '.join(told)} ({gate.value})"


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
