"""The risks of skills on a day: rated where anything has changed, kept with the run, held against an earlier one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from msgspec.structs import replace

from skill_health.config.settings import Daily
from skill_health.core.errors import UsageError
from skill_health.core.files import is_there
from skill_health.core.history import LineTooLongError, read_backwards
from skill_health.core.strict_json import escape_surrogates
from skill_health.daily.earlier import HISTORY
from skill_health.daily.states import STATES, decode_line, read_states, unpack_run
from skill_health.documents._record import OpenRecord, decode_record
from skill_health.documents.daily_line import DailyLine
from skill_health.documents.daily_run import DailyAlike, DailyRisk, DailyRun, DailySkill, RiskBasis
from skill_health.documents.drift_report import RenamedSkill, RiskChange, RiskMove
from skill_health.documents.router_risk import RatedRisk, RiskReport
from skill_health.status.risks import validation_of
from skill_health.text.numbers import count

_NAME_CHARS = 200
_MOST_LINES = 1_000
_EPSILON = 1e-9


@dataclass(frozen=True, slots=True)
class RiskRater:
    """Who rates the skills: `model` is a hash of what it knows. `rate` takes seconds, and raises UsageError."""

    model: str
    rate: Callable[[], RiskReport]


def rate_today(
    line: DailyRun, rater: RiskRater, listing: str, key: str, earlier: Sequence[DailyRun | None]
) -> tuple[DailyRun, str]:
    """Today's line with the risks of its skills, and a note; where they cannot be had, the line as it is and why.

    Nothing is rated again where one of the `earlier` runs rated the same, which is what `key` says.
    """
    for run in earlier:
        if run and run.risk and (run.risk.key, run.risk.model) == (key, rater.model) and run.paths == line.paths:
            known = {path: skill.risk for path, skill in run.skills.items()}
            return _with(line, run.risk, known), ""
    try:
        report = rater.rate()
    except UsageError as error:
        return line, f"how likely skills lose their requests is not known: {error}"
    told = report.validation
    basis = RiskBasis(
        model=rater.model, listing=listing, key=key, notes=report.notes, collections=told.collections,
        skills=told.skills, lost=told.lost, auc=told.auc, low=told.low, high=told.high,
    )  # fmt: skip
    return _with(line, basis, {escape_surrogates(each.path): _kept(each) for each in report.skills}), ""


def _with(line: DailyRun, basis: RiskBasis, risks: Mapping[str, DailyRisk | None]) -> DailyRun:
    skills = {path: replace(skill, risk=risks.get(path)) for path, skill in line.skills.items()}
    return replace(line, risk=basis, skills=skills)


def _kept(each: RatedRisk) -> DailyRisk | None:
    if each.probability is None or each.alike is None:
        return None
    alike = each.alike
    return DailyRisk(
        listed=escape_surrogates(each.skill)[:_NAME_CHARS],
        probability=each.probability,
        alike=DailyAlike(skills=alike.skills, lost=alike.lost, low=alike.low, high=alike.high),
        passages=each.passages,
        lost=each.lost,
        thief=escape_surrogates(each.thief)[:_NAME_CHARS],
        words=tuple(map(escape_surrogates, each.words)),
    )


def find_risk_changes(
    before: DailyRun | None,
    after: DailyRun,
    added: Sequence[str],
    renamed: Sequence[RenamedSkill],
    allowed: Daily,
) -> RiskChange | None:
    """What has changed of the risks, as far as `allowed` says that it is to be named; None where today has none.

    `before` is the run that today's is compared with.
    """
    if after.risk is None:
        return None
    compared = before is not None and _is_comparable(before, after)
    moved: list[RiskMove] = []
    new: list[RiskMove] = []
    was, come = {each.to: each.from_ for each in renamed}, frozenset(added)
    for path, skill in after.skills.items() if before else ():
        if skill.risk is None:
            continue
        old = _risk_of(before.skills.get(was.get(path, path))) if before and compared else None
        if path in come and skill.risk.probability >= allowed.high_risk:
            new.append(_move(path, None, skill.risk))
        elif old and abs(skill.risk.probability - old.probability) > allowed.risk_change + _EPSILON:
            moved.append(_move(path, old, skill.risk))
    return RiskChange(
        compared=compared,
        validation=validation_of(after.risk),
        moved=tuple(sorted(moved, key=lambda each: ((each.before or 0.0) - each.after, each.path))),
        added=tuple(sorted(new, key=lambda each: (-each.after, each.path))),
        notes=after.risk.notes,
    )


def _is_comparable(before: DailyRun, after: DailyRun) -> bool:
    """Whether both runs rated with the same model and the same code, and the same listing."""
    if before.risk is None or after.risk is None or before.version != after.version:
        return False
    return (before.risk.model, before.risk.listing) == (after.risk.model, after.risk.listing)


def _risk_of(skill: DailySkill | None) -> DailyRisk | None:
    return skill.risk if skill else None


def _move(path: str, old: DailyRisk | None, now: DailyRisk) -> RiskMove:
    words = tuple(word for word in now.words if not old or word not in old.words)
    return RiskMove(
        path=path, before=old.probability if old else None, after=now.probability, thief=now.thief, words=words
    )


def read_last_rated(folder: str) -> tuple[DailyRun | None, tuple[str, ...]]:
    """The last daily run in a folder of reports that rated the skills, and what is damaged where there is none.

    Raises UsageError for a file that cannot be read.
    """
    path, lines, torn = os.path.join(folder, HISTORY), 0, 0
    try:
        for _, raw in islice(read_backwards(path), _MOST_LINES):
            lines += 1
            line = _decode(raw, decode_line) if b'"risk"' in raw else None
            if line is None:
                torn += _decode(raw, lambda raw: decode_record(raw, OpenRecord)) is None
            elif line.risk is not None:
                return _whole(folder, line)
    except LineTooLongError as error:
        return None, (str(error).replace(path, HISTORY),)
    if not lines and is_there(path):
        return None, (f"{HISTORY} is empty",)
    return None, (f"{count(torn, 'line')} of {HISTORY} cannot be read: risks may be lost with that",) if torn else ()


def _whole(folder: str, line: DailyRun | DailyLine) -> tuple[DailyRun | None, tuple[str, ...]]:
    """The run of a line with its skills, or why it is not to be had."""
    if isinstance(line, DailyRun):
        return line, ()
    state = read_states(os.path.join(folder, STATES), [line.state]).get(line.state)
    if state is None:
        return None, (f"the skills of the run of {line.time} cannot be read from {STATES}: their risks are not shown",)
    return unpack_run(line, state), ()


_Kind = TypeVar("_Kind")


def _decode(raw: bytes, decode: Callable[[bytes], _Kind]) -> _Kind | None:
    try:
        return decode(raw)
    except ValueError:
        return None
