"""One record per skill: health, routing and effect joined, and what to do next.

The questions come in this order, each cheaper than the next, and a skill that fails one needs no later one. Health is
of now; routing and effect are what the last runs left in their histories, marked where the skill has changed since.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from skill_health.config.settings import RouterSettings
from skill_health.core.files import read_if_there
from skill_health.documents._record import Count, NotedFigure, OpenRecord, Share, decode_record
from skill_health.documents._targets import read_targets
from skill_health.documents.effect_history import Effects, ModelEffect
from skill_health.documents.router_history import ModelRouting, read_routing
from skill_health.documents.skill_grades import SkillGrade, grade_all, grade_share, grade_skills, grade_word
from skill_health.documents.skill_record import (
    MeasuredPair,
    SkillEffects,
    SkillHealth,
    SkillRecord,
    SkillRouted,
    SkillRouting,
    SkillState,
)
from skill_health.lint.pipeline import LintResult
from skill_health.lint.report import LintReport
from skill_health.registries.records import Registries
from skill_health.rules._api import Severity
from skill_health.status.composed import ComposedSkills
from skill_health.status.faults import DocumentFault
from skill_health.status.judged import JudgedSkills
from skill_health.status.loads import LoadedSkills, activation_grade

REPORT = "report.json"
_MOST_REPORT = 64 << 20


@dataclass(frozen=True, slots=True)
class RoutedSkills:
    """The last run of each model, the best first, and by name of a skill what they say of it, in the same order.

    `lost` is the damage that something of it is left out for.
    """

    models: tuple[ModelRouting, ...] = ()
    skills: Mapping[str, tuple[SkillRouted, ...]] | None = None
    problems: tuple[str, ...] = ()
    lost: str = ""

    def of(self, skill: str) -> tuple[SkillRouted, ...]:
        """What the models say of a skill, the best model first."""
        return (self.skills or {}).get(skill, ())

    def of_any(self, names: Sequence[str]) -> tuple[SkillRouted, ...]:
        """What the models say of a skill that has several names; of each model by the first name that it knows."""
        found = {each.model: each for name in reversed(names) for each in self.of(name)}
        return tuple(found[run.model] for run in self.models if run.model in found)


def read_skill_routing(folder: str, descriptions: Mapping[str, str]) -> RoutedSkills | None:
    """What the router's history in a folder of reports says of each skill; None where there is no history.

    `descriptions` are the skills' as they are now, by name. Raises UsageError for a file that cannot be read, and for
    nothing that one holds.
    """
    routing = read_routing(folder, descriptions, tuple(descriptions))
    if routing is None:
        return None
    models = tuple(sorted(routing.models, key=_rank))
    found: dict[str, list[SkillRouted]] = {}
    problems, lost = list(routing.problems), routing.lost
    reports: dict[str, _RoutedRun | DocumentFault] = {}
    for run in models:
        if run.run_id not in reports:
            reports[run.run_id] = _report(os.path.join(folder, "router", run.run_id, REPORT))
        report = reports[run.run_id]
        rows = None if isinstance(report, DocumentFault) else _rows(report, run)
        if rows is None:
            why = report if isinstance(report, DocumentFault) else DocumentFault.DAMAGED
            problems.append(f"the report of {run.run_id} {why}: {run.model} by skill is not known")
            lost = lost or (f"the report of {run.run_id} {why}" if why is DocumentFault.DAMAGED else "")
            continue
        for name, row in rows.items():
            found.setdefault(name, []).append(row)
    return RoutedSkills(models, {name: tuple(rows) for name, rows in found.items()}, tuple(problems), lost)


def _rank(run: ModelRouting) -> tuple[bool, bool, bool, float, str]:
    """Whoever answered for real, in a run to be trusted and to all prompts comes first, and of those the best."""
    return (
        run.simulated,
        run.trusted is False,
        run.selection == "sweep",
        -(-1.0 if run.top1 is None else run.top1),
        run.model,
    )


class _ReportedFigure(OpenRecord, frozen=True, kw_only=True):
    value: Share | None = None
    low: Share | None = None
    high: Share | None = None
    n: Count = 0
    clusters: Count = 0
    note: str = ""

    def noted(self) -> NotedFigure:
        return NotedFigure(**msgspec.structs.asdict(self))


class _ReportedModel(OpenRecord, frozen=True, kw_only=True):
    model: str
    kind: str


class _ReportedRow(OpenRecord, frozen=True, kw_only=True):
    model: str
    recall: _ReportedFigure
    precision: _ReportedFigure


class _ReportedSkill(OpenRecord, frozen=True, kw_only=True):
    name: str
    models: tuple[_ReportedRow, ...]


class _RoutedRun(OpenRecord, frozen=True, kw_only=True):
    """As much of a router's report as is told of a skill: those of earlier versions say that much too."""

    schema: Literal["skill-health/router-report/1"]
    models: tuple[_ReportedModel, ...]
    skills: tuple[_ReportedSkill, ...]


def _report(path: str) -> _RoutedRun | DocumentFault:
    """The report, or why there is none. Raises UsageError if it cannot be read."""
    raw = read_if_there(path, _MOST_REPORT)
    if raw is None:
        return DocumentFault.ABSENT_OR_LARGE
    try:
        return decode_record(raw, _RoutedRun)
    except ValueError:
        return DocumentFault.DAMAGED


def _rows(report: _RoutedRun, run: ModelRouting) -> dict[str, SkillRouted] | None:
    """What a report says of each skill by one model; None where it does not know the model."""
    kinds = {each.model: each.kind for each in report.models}
    if run.model not in kinds:
        return None
    found = {}
    for skill in report.skills:
        for row in skill.models:
            if row.model == run.model:
                changed = None if run.changed is None else skill.name in run.changed
                found[skill.name] = SkillRouted(
                    model=run.model, run_id=run.run_id, time=run.time, local=kinds[run.model] == "local",
                    simulated=run.simulated, trusted=run.trusted, selection=run.selection, recall=row.recall.noted(),
                    precision=row.precision.noted(), changed=changed, listed=skill.name,
                    retrieved=run.retrieved,
                )  # fmt: skip
    return found


class KnownSkill(NamedTuple):
    """What a lint run tells of a skill."""

    name: str
    description: str
    hidden: bool


def summaries(facts: Mapping[str, Mapping[str, Any]]) -> dict[str, KnownSkill]:
    """What the facts of a lint run tell of each skill, by the path of its SKILL.md."""
    every = {path: own["summary"] for path, own in facts.items()}
    return {path: KnownSkill(own["name"], own["description"], own["hidden"]) for path, own in every.items()}


def build_records(
    report: LintReport,
    result: LintResult,
    routed: RoutedSkills | None,
    effects: Effects | None,
    found_share: float,
    names: Mapping[str, Sequence[str]],
    digests: Mapping[str, str | None],
    judged: JudgedSkills | None = None,
    composed: ComposedSkills | None = None,
    loaded: LoadedSkills | None = None,
) -> tuple[SkillRecord, ...]:
    """The records of the skills that were asked for, in the order of their paths. Pure.

    `found_share` is the share of its requests that must find a skill. `names` are those that a run of the router may
    list a skill by (see `router_history.names_now`):
    measurements go by name, and a name that several skills share is given none. `digests` are those of now, by name,
    `judged` what judgings say of the same runs, `composed` what is known of pairs of skills, `loaded` how often live
    agents load each.
    """
    registries = result.registries or Registries()
    prompts = Counter(each.data.get("expected_primary_skill") for each in registries.prompts or ())
    skills = summaries(result.facts)
    times = Counter(skills[entry.path].name for entry in result.entries if entry.path in skills)
    counts = Counter((each.skill, each.severity) for each in report.findings)
    grades = grade_skills(report)
    records = []
    for entry in report.skills:
        name = skills[entry.path].name
        alone = times[name] == 1
        health = _health(report, entry.path, counts, grades.get(entry.path, SkillGrade.NOT_MEASURED))
        known = {name, *names[entry.path]}
        found_by = routed.of_any(names[entry.path]) if routed else ()
        routing = _route(skills[entry.path].hidden, sum(prompts[each] for each in known), found_by, health, found_share)
        tasks = tuple(
            _folder(each.path)
            for each in registries.tasks or ()
            if known & {*(read_targets(each.data.get("target_skill")) or ())}
        )
        found = effects.of(name) if effects and alone else ()
        benefit = _benefit(tasks, found, health, routing)
        if effects and alone:
            benefit = replace(benefit, bundles=effects.bundles(name))
        if judged:
            benefit = replace(benefit, judged=judged.of(name, (each.model for each in found)))
        pairs = composed.of(name) if composed and alone else ()
        beside = composition_grade(pairs)
        loads = loaded.of_any(names[entry.path]) if loaded else ()
        live = SkillGrade.NOT_MEASURED if skills[entry.path].hidden else activation_grade(loads, found_share)
        records.append(
            SkillRecord(
                name=name,
                path=entry.path,
                digest=digests.get(name),
                grade=grade_all((health.grade, routing.grade, live, benefit.grade, beside)),
                health=health,
                routing=routing,
                effect=benefit,
                composition=beside,
                next=(),
                pairs=pairs,
                activation=live,
                loads=loads,
            )
        )
    return tuple(records)


def _health(report: LintReport, path: str, counts: Counter[tuple[str, Severity]], grade: SkillGrade) -> SkillHealth:
    score = report.scores.skills.get(path) if report.scores else None
    return SkillHealth(
        state="failed" if grade is SkillGrade.FAIL else "ok",
        grade=grade,
        score=score.value if score else None,
        flags=tuple(flag.message for flag in score.flags) if score and path not in report.accepted else (),
        errors=counts[path, Severity.ERROR], warnings=counts[path, Severity.WARNING], infos=counts[path, Severity.INFO],
    )  # fmt: skip


def _route(
    hidden: bool, prompts: int, found: Sequence[SkillRouted], health: SkillHealth, least: float = RouterSettings().found
) -> SkillRouting:
    grade = SkillGrade.NOT_MEASURED if hidden else routing_grade(found, least)
    state = _routing_state(hidden, found, health, grade)
    return SkillRouting(state=state, grade=grade, prompts=prompts, models=tuple(found))


def routing_grade(found: Sequence[SkillRouted], least: float) -> SkillGrade:
    """The grade of a skill by the models that tell of it, the best first: one that loses it fails it.

    A router that merely counts words, a script, a run that failed its check and an old description decide nothing.
    """
    grades = [grade_share(*share_of(each), least) for each in found if decides(each)]
    return SkillGrade.FAIL if SkillGrade.FAIL in grades else next(iter(grades), SkillGrade.NOT_MEASURED)


def share_of(each: SkillRouted) -> tuple[float | None, float | None, float | None]:
    """The recall of a skill with its interval."""
    return each.recall.value, each.recall.low, each.recall.high


def decides(each: SkillRouted) -> bool:
    """Whether a figure of routing is one of a model that was really asked, in a trusted run, of a skill as it is."""
    real = not each.simulated and not each.local
    return real and each.trusted is not False and not each.changed and each.recall.value is not None


def _routing_state(hidden: bool, found: Sequence[SkillRouted], health: SkillHealth, grade: SkillGrade) -> SkillState:
    if health.state == "failed":
        return "fix first"
    if hidden:
        return "not listed"
    real = [each for each in found if not each.simulated]
    known = [each for each in real if each.recall.value is not None]
    if not known:
        return "not testable" if real else "not measured"
    return "failed" if grade is SkillGrade.FAIL else _fresh(each.changed for each in known)


def _benefit(
    tasks: tuple[str, ...], found: Sequence[ModelEffect], health: SkillHealth, routing: SkillRouting
) -> SkillEffects:
    grade = effect_grade(found)
    return SkillEffects(state=_effect_state(found, health, routing), grade=grade, tasks=tasks, models=tuple(found))


def effect_grade(found: Sequence[ModelEffect]) -> SkillGrade:
    """The grade of a skill by the agents that were really run, of the skill as it is now.

    Harm that one of them shows fails it; else what one of them shows to help passes.
    """
    current = [each for each in found if not each.simulated and not each.changed]
    grades = {grade_word(each.verdict, bool(each.preliminary)) for each in current}
    # Harm that may be is not made up for by another agent's gain.
    harm = any(each.verdict == "harmful" for each in current)
    order = (SkillGrade.FAIL, *((SkillGrade.NEEDS_WORK,) if harm else ()), SkillGrade.PASSING, SkillGrade.NEEDS_WORK)
    return next((each for each in order if each in grades), SkillGrade.NOT_MEASURED)


def composition_grade(pairs: Sequence[MeasuredPair]) -> SkillGrade:
    """The grade of a skill beside others: the worst of its pairs as agents that were really run showed them."""
    current = [each for each in pairs if not (each.simulated or each.changed or each.biased)]
    return grade_all(grade_word(each.verdict, bool(each.preliminary)) for each in current)


def _effect_state(found: Sequence[ModelEffect], health: SkillHealth, routing: SkillRouting) -> SkillState:
    if "failed" in (health.state, routing.state):
        return "fix first"
    real = [each for each in found if not each.simulated]
    if not real:
        return "not measured"
    current = [each.verdict for each in real if not each.changed]
    if "harmful" in current:
        return "failed"
    if current and set(current) <= {"not testable", "biased"}:
        return "not testable"
    return _fresh(each.changed for each in real)


def _fresh(stale: Iterable[bool | None]) -> SkillState:
    """Stale where every measurement is of another content."""
    return "stale" if all(list(stale)) else "ok"


def _folder(metadata: str) -> str:
    return metadata.rpartition("/")[0] or "."
