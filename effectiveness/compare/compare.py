"""Two runs of the same tasks -> what has changed in what skills do, with intervals, or why that cannot be said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from msgspec import structs

from skill_health.core.errors import UsageError
from skill_health.documents._targets import NO_SKILL
from skill_health.documents.effect_comparison import (
    ChangedTask,
    ComparedArm,
    ComparedContrast,
    ComparedEffectRun,
    ComparedModelEffect,
    ComparedSkillEffect,
    ComparedTasks,
    ContrastFigure,
    EffectComparisonReport,
    ResolvedModelChange,
    SimulatedChange,
    TaskFlip,
    TaskPasses,
    TrialCoverage,
    TrialCoverageChange,
    VerdictChange,
    VersionChange,
    WorseSkill,
)
from skill_health.documents.effect_manifest import EffectManifest
from skill_health.documents.effect_report import (
    ContrastKind,
    Correction,
    EffectReport,
    IntervalEnds,
    ModelEffectReport,
)
from skill_health.effectiveness.compare.comparable import (
    agreeing,
    changed_tasks,
    differences,
    obstacles,
    relisted,
    specs,
    tasks_of,
)
from skill_health.effectiveness.effects.build import build_report
from skill_health.effectiveness.effects.contrasts import FALSE_SHARE, HOLM, LEAST, ArmPair, pairs, within
from skill_health.effectiveness.effects.sheet import Cells, CellTrials, ModelTrials, read_facts, read_sheet
from skill_health.effectiveness.run.runs import EffectRun
from skill_health.stats.estimates import Estimate
from skill_health.stats.hypothesis_tests import sign_flip
from skill_health.stats.intervals import clustered_proportion
from skill_health.stats.multiplicity import benjamini_hochberg, holm
from skill_health.stats.power import FEW_CLUSTERS
from skill_health.stats.resampling import paired_bootstrap, paired_t

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class ContrastChange:
    """A change of a contrast, or of one arm where it is against nothing; `before` and `after` are the two sides.

    `student` is the interval that decides below 30 tasks.
    """

    arm: str
    against: str
    kind: ContrastKind
    differing: int
    before: Estimate
    after: Estimate
    delta: Estimate
    student: Estimate
    correction: Correction = "none"

    @property
    def primary(self) -> bool:
        """Whether it decides about a loss."""
        return self.kind == "primary"

    @property
    def lost(self) -> bool:
        """Whether it shows a loss: a corrected p below 0.05, and an interval that lies below zero.

        Where all tasks lost the same there is no interval, and the test alone decides.
        """
        interval = self.student if self.delta.clusters < FEW_CLUSTERS else self.delta
        p, end = self.delta.p_adjusted, self.delta.value if interval.high is None else interval.high
        return p is not None and p < ALPHA and end is not None and end < 0


def changes(
    tasks: Sequence[str], old: Cells, new: Cells, wanted: Iterable[ArmPair], seed: int
) -> Iterator[ContrastChange]:
    """The change of every contrast over these tasks that both runs have at all; the primary one first."""
    for pair in wanted:
        rows = [row for task in tasks if (row := _row(task, old, new, pair))]
        if rows:
            yield _change(pair, rows, seed)


def arm_changes(
    tasks: Sequence[str], old: Cells, new: Cells, arms: Iterable[str], seed: int
) -> Iterator[ContrastChange]:
    """The change of the success of every arm by itself."""
    for arm in arms:
        cells = [(old.get((task, arm)), new.get((task, arm))) for task in tasks]
        both = [(before, after) for before, after in cells if before and after]
        if both:
            found = _change(ArmPair(arm, "", "descriptive"), [(_share(a), _share(b)) for a, b in both], seed)
            before, after = ([pair[side] for pair in both] for side in (0, 1))
            yield replace(found, before=_rate(before), after=_rate(after))


def _row(task: str, old: Cells, new: Cells, pair: ArmPair) -> tuple[Fraction, Fraction] | None:
    cells = [side.get((task, arm)) for side in (old, new) for arm in (pair.arm, pair.against)]
    shares = [_share(cell) for cell in cells if cell]
    return (shares[0] - shares[1], shares[2] - shares[3]) if len(shares) == len(cells) else None


def _rate(cells: Sequence[CellTrials]) -> Estimate:
    """The share of trials that passed; its interval cannot lie beyond 0 and 1, as that of a mean could."""
    return clustered_proportion([cell.passes for cell in cells], [len(cell.trials) for cell in cells])


def _share(cell: CellTrials) -> Fraction:
    """Exact, so that equal sides differ by nothing."""
    return Fraction(cell.passes, len(cell.trials))


def _change(pair: ArmPair, rows: Sequence[tuple[Fraction, Fraction]], seed: int) -> ContrastChange:
    before, after, by = (
        [float(row[0]) for row in rows],
        [float(row[1]) for row in rows],
        [float(b - a) for a, b in rows],
    )
    differing = sum(each != 0 for each in by)
    p = sign_flip(by, seed=seed) if differing >= LEAST else None
    most = 2.0 if pair.against else 1.0
    delta, student = replace(within(paired_bootstrap(by, seed=seed), most), p=p), within(paired_t(by), most)
    was, now = (within(paired_t(side), 1.0) for side in (before, after))
    return ContrastChange(pair.arm, pair.against, pair.kind, differing, was, now, delta, student)


def correct(table: Mapping[Any, list[ContrastChange]], primary: bool) -> None:
    """Adjust one family in place: the primary contrasts by Holm, the rest by Benjamini and Hochberg."""
    places = [(key, at) for key, found in table.items() for at, each in enumerate(found) if each.primary == primary]
    ps = [table[key][at].delta.p for key, at in places]
    method, adjusted = (HOLM, holm(ps)) if primary else (FALSE_SHARE, benjamini_hochberg(ps))
    for (key, at), p in zip(places, adjusted, strict=True):
        each = table[key][at]
        table[key][at] = replace(each, delta=replace(each.delta, p_adjusted=p), correction=method)


def compared(change: ContrastChange) -> ComparedArm:
    """A change as a comparison holds it."""
    student, testable = change.student, change.differing >= LEAST
    too_few = f"not testable: {change.differing} of {change.delta.clusters} tasks changed, {LEAST} are needed"
    beside = change.delta.clusters < FEW_CLUSTERS and student.low is not None
    return ComparedArm(
        arm=change.arm,
        against=change.against or None,
        kind=change.kind,
        tasks=change.delta.clusters,
        differing=change.differing,
        before=contrast_figure(change.before),
        after=contrast_figure(change.after),
        delta=contrast_figure(change.delta),
        t=IntervalEnds(low=student.low, high=student.high) if beside else None,
        correction=change.correction,
        testable=testable,
        note="" if testable else too_few,
    )


def _contrasts(changes: Iterable[ContrastChange]) -> tuple[ComparedContrast, ...]:
    return tuple(
        ComparedContrast(**structs.asdict(compared(each)), lost=each.primary and each.lost) for each in changes
    )


def contrast_figure(number: Estimate) -> ContrastFigure:
    """An estimate as a comparison holds it."""
    return ContrastFigure(**{name: getattr(number, name) for name in ContrastFigure.__struct_fields__})


MISSING = 0.05
"""More missing trials than this share are said."""


def cautions(models: Sequence[ComparedModelEffect], reports: tuple[EffectReport, EffectReport]) -> Iterator[str]:
    """Simulated agents, other models behind a name, missing trials, bias; `reports`: the baseline's, the run's."""
    for model in models:
        spec = model.model
        if model.simulated.before or model.simulated.after:
            yield f"{spec} is simulated: a script stood in for the agent, and nothing here says anything about a model"
        if any(each.unproved for report in reports for each in report.models if each.model == spec):
            yield f"{spec} ran under a weaker proof: nobody saw what it was offered, and its tokens are its own count"
        old, new = model.resolved.before, model.resolved.after
        if old and new and old != new:
            yield f"{spec} is another model now: {', '.join(old)} -> {', '.join(new)}"
        for found, report in zip((model.coverage.before, model.coverage.after), reports, strict=True):
            absent = found.planned - found.scored
            if found.planned and absent / found.planned > MISSING:
                yield f"{spec} in {report.run_id}: {absent} of {found.planned} trials are missing"
    for report in reports:
        yield from (f"{report.run_id} is biased: {why}" for why in report.biased)
    if reports[0].run_id == reports[1].run_id:
        yield "a run is compared with itself"
    if all(any(model.composition for model in report.models) for report in reports):
        yield "pairs of skills are compared by their arms alone; what is shown of them is in the report of each run"


@dataclass(frozen=True, slots=True)
class _Sides:
    """Both runs, each model with its columns, and the tasks that can be compared, by the skill that they are for."""

    columns: Mapping[str, tuple[ModelTrials, ModelTrials]]
    reports: tuple[EffectReport, EffectReport]
    tasks: Mapping[str | None, Sequence[str]]
    arms: tuple[str, ...]


def compare(run: EffectRun, baseline: EffectRun) -> EffectComparisonReport:
    """The comparison.

    `worse` names the skills, and collections (null), whose target lost against the control: Holm's correction over all
    models, and over all pairs of model and skill, with an interval below zero.

    Raises UsageError where no task, no model or no two arms are the same in both.
    """
    if found := list(obstacles(run, baseline)):
        raise UsageError(f"{run.run_id} cannot be compared with {baseline.run_id}: {'; '.join(found)}")
    one, other = run.manifest, baseline.manifest
    sides = _sides(run, baseline)
    wholes, skills, arms = _tables(sides, one.seed, one)
    models = tuple(_model(spec, sides, wholes, skills, arms) for spec in sides.columns)
    new, old, edits = tasks_of(one), tasks_of(other), relisted(one, other)
    return EffectComparisonReport(
        schema="skill-health/effectiveness-comparison/1",
        run=_run(one),
        baseline=_run(other),
        skills=tuple(edits),
        same_skills=len(one.skills) - sum(each.kind != "removed" for each in edits),
        tasks=ComparedTasks(
            common=tuple(agreeing(one, other)),
            compared=len(sides.tasks[None]),
            changed=tuple(ChangedTask(task_id=name, what=what) for name, what in changed_tasks(one, other).items()),
            only_run=tuple(name for name in new if name not in old),
            only_baseline=tuple(name for name in old if name not in new),
        ),
        differences=tuple(differences(one, other)),
        cautions=tuple(cautions(models, sides.reports)),
        models=models,
        worse=tuple(_worse(models)),
    )


def _run(manifest: EffectManifest) -> ComparedEffectRun:
    return ComparedEffectRun(
        run_id=manifest.run_id,
        created=manifest.created,
        commit=manifest.commit,
        dirty=manifest.dirty,
        tool_version=manifest.tool_version,
    )


def _sides(run: EffectRun, baseline: EffectRun) -> _Sides:
    new, old = (
        {column.spec: column for column in read_sheet(read_facts(side.manifest), side.results).columns}
        for side in (run, baseline)
    )
    tasks: dict[str | None, list[str]] = {None: []}
    facts = tasks_of(run.manifest)
    for name in agreeing(run.manifest, baseline.manifest):
        skill = facts[name].target_name
        if skill == NO_SKILL:
            continue
        tasks[None].append(name)
        if skill is not None:
            tasks.setdefault(skill, []).append(name)
    return _Sides(
        {spec: (old[spec], new[spec]) for spec in specs(run.manifest) if spec in old},
        (build_report(baseline.manifest, baseline.results), build_report(run.manifest, run.results)),
        {None: tasks[None], **{skill: tasks[skill] for skill in sorted(filter(None, tasks))}},
        tuple(arm for arm in run.manifest.arms if arm in baseline.manifest.arms),
    )


_Table = dict[tuple[str, str | None], list[ContrastChange]]


def _tables(sides: _Sides, seed: int, manifest: EffectManifest) -> tuple[_Table, _Table, _Table]:
    """The changes of contrasts over all tasks and by skill, and those of single arms; each corrected by itself."""
    parsed = read_facts(manifest).arms
    wanted = pairs({name: parsed[name] for name in sides.arms})
    wholes: _Table = {}
    skills: _Table = {}
    arms: _Table = {}
    for spec, (old, new) in sides.columns.items():
        cells: tuple[Cells, Cells] = (old.cells, new.cells)
        for skill, tasks in sides.tasks.items():
            (wholes if skill is None else skills)[spec, skill] = list(changes(tasks, *cells, wanted, seed))
        arms[spec, None] = list(arm_changes(sides.tasks[None], *cells, sides.arms, seed))
    for table in (wholes, skills, arms):
        for primary in (True, False):
            correct(table, primary)
    return wholes, skills, arms


def _model(spec: str, sides: _Sides, wholes: _Table, skills: _Table, arms: _Table) -> ComparedModelEffect:
    before, after = (_by_spec(report)[spec] for report in sides.reports)
    old, new = ({skill.skill: skill.verdict.word for skill in side.skills} for side in (before, after))
    return ComparedModelEffect(
        model=spec,
        simulated=SimulatedChange(before=before.simulated, after=after.simulated),
        version=VersionChange(before=before.agent_version, after=after.agent_version),
        resolved=ResolvedModelChange(before=before.resolved, after=after.resolved),
        coverage=TrialCoverageChange(
            before=TrialCoverage(planned=before.planned, scored=before.scored),
            after=TrialCoverage(planned=after.planned, scored=after.scored),
        ),
        verdict=VerdictChange(before=before.verdict.word, after=after.verdict.word),
        contrasts=_contrasts(wholes[spec, None]),
        arms=tuple(map(compared, arms[spec, None])),
        skills=tuple(
            ComparedSkillEffect(
                skill=skill,
                tasks=tuple(tasks),
                verdict=VerdictChange(before=old.get(skill), after=new.get(skill)),
                contrasts=_contrasts(skills[spec, skill]),
            )
            for skill, tasks in sides.tasks.items()
            if skill is not None
        ),
        flips=tuple(_flips(sides, *sides.columns[spec])),
    )


def _by_spec(report: EffectReport) -> dict[str, ModelEffectReport]:
    return {model.model: model for model in report.models}


def _flips(sides: _Sides, old: ModelTrials, new: ModelTrials) -> Iterator[TaskFlip]:
    """The tasks and arms that pass more or less often than before; the losses first, by how much."""
    skill_of = {task: skill for skill, tasks in sides.tasks.items() if skill is not None for task in tasks}
    found = []
    for task in sides.tasks[None]:
        for arm in sides.arms:
            before, after = old.cells.get((task, arm)), new.cells.get((task, arm))
            if before and after and before.success != after.success:
                flip = TaskFlip(
                    task_id=task, skill=skill_of.get(task), arm=arm, before=_passes(before), after=_passes(after)
                )
                found.append((after.success - before.success, flip))
    for _, flip in sorted(found, key=lambda each: each[0]):
        yield flip


def _passes(cell: CellTrials) -> TaskPasses:
    return TaskPasses(n=len(cell.trials), passes=cell.passes)


def _worse(models: Sequence[ComparedModelEffect]) -> Iterator[WorseSkill]:
    for model in models:
        parts = [(None, model.contrasts), *((skill.skill, skill.contrasts) for skill in model.skills)]
        for skill, contrasts in parts:
            for each in contrasts:
                if each.lost:
                    yield WorseSkill(model=model.model, skill=skill, tasks=each.tasks, delta=each.delta)
