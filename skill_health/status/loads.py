"""What the last activation run of each live agent says of each skill."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from skill_health.core.files import read_if_there
from skill_health.documents._record import Figure, NotedFigure, decode_record
from skill_health.documents.activation_history import read_activation_history
from skill_health.documents.activation_report import ActivationReport, ModelActivation, description_digest
from skill_health.documents.caveats import FoundCaveat, LoadFacts, find_load_caveats
from skill_health.documents.skill_grades import SkillGrade, grade_measured_share
from skill_health.documents.skill_record import SkillLoads, SkillRecord
from skill_health.status.faults import DocumentFault
from skill_health.text.numbers import with_interval

REPORT = "report.json"
_MOST_REPORT = 48 << 20


@dataclass(frozen=True, slots=True)
class LiveAgent:
    """The last run of one agent over the whole collection: how often it opens the right skill first."""

    model: str
    run_id: str
    time: str
    recall: NotedFigure
    facts: LoadFacts


@dataclass(frozen=True, slots=True)
class LoadedSkills:
    """By name of a skill what the agents say of it, and the agents, real ones first; and what could not be read.

    `lost` is the damage that something of it is left out for.
    """

    skills: Mapping[str, tuple[SkillLoads, ...]]
    agents: tuple[LiveAgent, ...] = ()
    problems: tuple[str, ...] = ()
    lost: str = ""

    def of_any(self, names: Sequence[str]) -> tuple[SkillLoads, ...]:
        """What the agents say of a skill that has several names; of each agent by the first name that it knows."""
        found = {each.model: each for name in reversed(names) for each in self.skills.get(name, ())}
        return tuple(sorted(sorted(found.values(), key=_age, reverse=True), key=lambda each: each.simulated))


def _age(each: SkillLoads) -> tuple[str, str]:
    return each.time, each.model


def read_loads(folder: str, descriptions: Mapping[str, str]) -> LoadedSkills:
    """What the activation runs in a folder of reports say of each skill.

    `descriptions` are the skills' as they are now, by each of their names. Raises UsageError for a file that cannot be
    read, and for nothing that one holds.
    """
    history = read_activation_history(folder)
    runs = {line.model: line.run_id for line in history.lines if line.skill is None}
    now = {name: description_digest(text) for name, text in descriptions.items()}
    found: dict[str, list[SkillLoads]] = {}
    agents: list[LiveAgent] = []
    problems, lost = [*history.problems], history.lost
    for run in sorted({*runs.values()}, reverse=True):
        report = _report(os.path.join(folder, "activation", run, REPORT), run)
        if isinstance(report, DocumentFault):
            problems.append(f"the report of activation run {run} {report}: its figures are not known")
            lost = lost or (f"the report of activation run {run} {report}" if report is DocumentFault.DAMAGED else "")
            continue
        for model in report.models:
            if runs.get(model.model) == run:
                agents.append(_agent(report, model, now))
                for each in _loads(report, model, now):
                    found.setdefault(each[0], []).append(each[1])
    agents.sort(key=lambda each: each.facts.simulated)
    return LoadedSkills({name: tuple(rows) for name, rows in found.items()}, tuple(agents), tuple(problems), lost)


def _report(path: str, run: str) -> ActivationReport | DocumentFault:
    """The report, or why there is none. Raises UsageError if it cannot be read."""
    raw = read_if_there(path, _MOST_REPORT)
    if raw is None:
        return DocumentFault.ABSENT_OR_LARGE
    try:
        report = decode_record(raw, ActivationReport)
    except ValueError:
        return DocumentFault.DAMAGED
    return report if report.run_id == run else DocumentFault.OTHER_RUN


def _agent(report: ActivationReport, model: ModelActivation, now: Mapping[str, str]) -> LiveAgent:
    changed = any(now.get(name, mark) != mark for name, mark in report.listing.items())
    facts = LoadFacts(model.simulated, changed, model.unproved, model.preliminary)
    return LiveAgent(model.model, report.run_id, report.created, _noted(model.metrics.recall), facts)


def _loads(
    report: ActivationReport, model: ModelActivation, now: Mapping[str, str]
) -> Iterable[tuple[str, SkillLoads]]:
    for skill in model.skills:
        then = report.listing.get(skill.skill)
        yield (
            skill.skill,
            SkillLoads(
                model=model.model, run_id=report.run_id, time=report.created, simulated=model.simulated,
                unproved=model.unproved, changed=None if then is None else now.get(skill.skill) != then,
                preliminary=model.preliminary, recall=_noted(skill.recall), precision=_noted(skill.precision),
                false_fire_near=_noted(skill.false_fire_near),
            ),
        )  # fmt: skip


def _noted(figure: Figure) -> NotedFigure:
    names = NotedFigure.__struct_fields__
    return NotedFigure(**{name: value for name, value in msgspec.structs.asdict(figure).items() if name in names})


def counts_live(each: SkillLoads) -> bool:
    """Whether a figure is one of an agent that was really asked, of a skill that is described as it is now."""
    return not each.simulated and not each.changed and each.recall.value is not None


def activation_grade(found: Iterable[SkillLoads], least: float) -> SkillGrade:
    """The grade of a skill by the live agents that tell of it, the latest first: one that passes it over fails it."""
    grades = [
        grade_measured_share(each.recall.value, each.recall.low, each.recall.high, least, bool(each.preliminary))
        for each in found
        if counts_live(each)
    ]
    return SkillGrade.FAIL if SkillGrade.FAIL in grades else next(iter(grades), SkillGrade.NOT_MEASURED)


def load_caveats(each: SkillLoads) -> tuple[FoundCaveat, ...]:
    """What to mind about a figure."""
    return find_load_caveats(LoadFacts(each.simulated, bool(each.changed), each.unproved, each.preliminary))


def loads_cell(record: SkillRecord) -> str:
    """How often the first agent loads it where it should, in a few characters."""
    if not record.loads or record.loads[0].recall.value is None:
        return "not measured"
    first = record.loads[0]
    signs = "".join(each.caveat.value.sign for each in load_caveats(first))
    return f"{with_interval(first.recall, '.0f')} n {first.recall.n}{signs}"


def load_lines(found: LoadedSkills) -> Iterable[str]:
    """A line for each live agent: how often it loads the right skill first, and what to mind."""
    for each in found.agents:
        recall = f"{with_interval(each.recall, '.0f')} % of {each.recall.n} request{'s' * (each.recall.n != 1)}"
        said = "".join(f", {mark.caveat.phrase}" for mark in find_load_caveats(each.facts))
        yield f"{each.model}: the right skill first in {recall}, {each.time[:10]}, run {each.run_id}{said}"
