"""Judged scores of skills, from the reports of judgings: read for the record of each skill, and told in one line."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from skill_health.core.files import cannot_read, is_absence, is_there, read_whole
from skill_health.documents._history import MOST
from skill_health.documents._record import Figure, OpenRecord, RunIdText, TimeText, decode_record, record_values
from skill_health.documents.effect_history import Effects
from skill_health.documents.judge_report import NOT_CALIBRATED, CalibrationSummary, ScoreSides, SkillScores
from skill_health.documents.skill_record import JudgedEffect
from skill_health.text.numbers import with_interval

JUDGINGS, REPORT = "judging", "report.json"
_MOST_REPORT = 64 << 20
_MOST_JUDGINGS = 200
_MOST_JUDGES = 25


class _JudgeName(OpenRecord, frozen=True, kw_only=True):
    judge: str


class _JudgedRun(OpenRecord, frozen=True, kw_only=True):
    """As much of the report of a judging as is told of a skill."""

    kind: Literal["judging-report"]
    run_id: RunIdText
    of_run: RunIdText
    created: TimeText
    calibration: CalibrationSummary | None
    judges: tuple[_JudgeName, ...]
    repeats: Figure
    skills: tuple[SkillScores, ...] = ()


@dataclass(frozen=True, slots=True)
class JudgedSkills:
    """What the last judging of each run says, by skill and model; and what could not be read."""

    found: Mapping[tuple[str, str], JudgedEffect]
    problems: tuple[str, ...] = ()

    def of(self, skill: str, models: Iterator[str]) -> tuple[JudgedEffect, ...]:
        """What is judged of a skill, in the order of the models."""
        return tuple(self.found[skill, model] for model in models if (skill, model) in self.found)


def read_judged(folder: str, effects: Effects | None) -> JudgedSkills:
    """The judged scores of the runs that the effects of skills are of, as the latest finished judging of each has them.

    Raises UsageError for a folder of judgings that cannot be read, and for nothing that files hold.
    """
    reports: dict[str, _JudgedRun | None] = {}
    problems: list[str] = []
    found: dict[tuple[str, str], JudgedEffect] = {}
    for line in effects.lines if effects else ():
        if line.run_id not in reports:
            reports[line.run_id], wrong = _last(folder, line.run_id)
            problems += [wrong] * bool(wrong)
        report = reports[line.run_id]
        for own in report.skills if report else ():
            if report and line.skill is not None and (own.skill, own.model) == (line.skill, line.model):
                found[line.skill, line.model] = JudgedEffect(
                    run_id=line.run_id, judging=report.run_id, time=report.created,
                    judges=tuple(each.judge for each in report.judges[:_MOST_JUDGES]), calibration=report.calibration,
                    repeats=report.repeats, simulated=line.simulated, changed=line.changed, scores=own,
                )  # fmt: skip
    return JudgedSkills(found, tuple(problems))


def _last(folder: str, run: str) -> tuple[_JudgedRun | None, str]:
    """The report of the latest judging of a run that has one, and what is wrong with it."""
    place = os.path.join(folder, "effectiveness", run, JUDGINGS)
    try:
        # Their names begin with their time.
        names = sorted(os.listdir(place), reverse=True)[:_MOST_JUDGINGS]
    except OSError as error:
        if not is_absence(error):
            raise cannot_read(place, error) from None
        return None, ""
    for name in names:
        path = os.path.join(place, name, REPORT)
        if is_there(path, links=False):
            report, wrong = _report(path, name, run)
            told = f"effectiveness/{run}/{JUDGINGS}/{name}/{REPORT} {wrong}: its scores are not shown"
            return report, told if wrong else ""
    return None, ""


def _report(path: str, name: str, run: str) -> tuple[_JudgedRun | None, str]:
    try:
        report = decode_record(read_whole(path, _MOST_REPORT), _JudgedRun)
    except OSError:
        return None, "cannot be read"
    except ValueError as error:
        return None, f"is damaged or of another version ({str(error)[:200]})"
    if (report.run_id, report.of_run) != (name, run):
        return None, "is that of another judging"
    if not all(abs(number) <= MOST for number in _numbers(record_values(report))):
        return None, "holds a number beyond all measure"
    return report, ""


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, Mapping | list | tuple):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _numbers(each)
    elif isinstance(value, int | float):
        yield value


def judged_line(each: JudgedEffect) -> str:
    """A skill's judged scores in one sentence: with and without, the difference, and how far to trust it."""
    own = each.scores
    sides = (("goal", own.goal), ("instruction", own.instruction), ("weighted", own.weighted))
    told = [f"{name} {said}" for name, side in sides if (said := _told(side))]
    return "; ".join(
        [
            f"{own.skill}, {own.model}: {told[-1] if told else 'no score'}, {own.verdict.replace('_', ' ')}",
            *told[:-1],
            f"{100 * own.missing:.1f} % of the judged points missing",
            trust_text(each),
        ]
    )


def _told(side: ScoreSides) -> str:
    one, other = side.with_skill.value, side.without.value
    if one is None and other is None:
        return ""
    shares = ", ".join(
        f"{'–' if value is None else f'{100 * value:.1f} %'} {word}"
        for value, word in ((one, "with"), (other, "without"))
    )
    if side.delta.value is None:
        return shares
    return f"{shares}, {with_interval(side.delta, '+.1f', unit=' points')} n {side.delta.n}"


def elsewhere(each: JudgedEffect) -> str:
    """Where the verdicts of people are on other work: in which judging; "" where they are on this."""
    found = each.calibration
    return f" in {found.judging}, by the same judges over other work" if found and found.judging else ""


def trust_text(each: JudgedEffect) -> str:
    """Who judged, how the verdicts compare with those of people, and how often another one is given to the same."""
    found = each.calibration
    known = NOT_CALIBRATED
    if found is not None:
        kappa = found.kappa
        known = f"kappa {with_interval(kappa, '.2f', 1.0)} against {found.labels} verdicts of people{elsewhere(each)}"
    again = with_interval(each.repeats, ".1f", unit=" %")
    told = f"{again} n {each.repeats.n}" if each.repeats.value is not None else "not known"
    return f"judged by {', '.join(each.judges)}, {known}; other verdict when asked again {told}"
