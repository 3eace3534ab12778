"""Runs with their judgings -> the document that everything about them is shown from, with its main table."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from skill_health import __version__
from skill_health.documents._record import FullFigure
from skill_health.documents.effect_configurations import (
    ConfigurationDelta,
    ConfigurationMean,
    ConfigurationRow,
    ConfiguredRun,
    ConfiguredSubject,
    EffectConfigurations,
    ScoreName,
)
from skill_health.effectiveness.configurations.groups import domain_rows, heat_map, length_rows, number_rows
from skill_health.effectiveness.configurations.pairs import harnesses, savings, substitutions, unpaired_tasks
from skill_health.effectiveness.configurations.pooled import (
    PairedMeans,
    adjusted,
    paired_means,
    pool,
    tested,
    why_preliminary,
)
from skill_health.effectiveness.configurations.subjects import (
    SCORES,
    JudgedRun,
    TaskKey,
    TriedSubject,
    criteria_of,
    read_subjects,
)
from skill_health.effectiveness.configurations.trials import criterion_deltas, failure_rows
from skill_health.effectiveness.effects.arms import CEILING, full_figure
from skill_health.effectiveness.effects.contrasts import FALSE_SHARE, HOLM
from skill_health.effectiveness.records import CONTROL
from skill_health.stats.estimates import Estimate
from skill_health.stats.hypothesis_tests import least_half_width
from skill_health.stats.intervals import clustered_mean, clustered_proportion, unbounded_mean
from skill_health.stats.resampling import normalised_gain
from skill_health.text.near import list_some
from skill_health.text.numbers import count

MARGIN = 0.1
"""The non-inferiority margin where nobody gives one: as large as that of negative controls."""


def build_configurations(
    runs: Sequence[JudgedRun], score: ScoreName = "success", margin: float = MARGIN
) -> EffectConfigurations:
    """The document of these runs, by one score. Raises UsageError where they cannot be put side by side."""
    subjects = read_subjects(runs)
    reasons = {subject.name: why_preliminary(subject) for subject in subjects}
    preliminary = frozenset(name for name, why in reasons.items() if why)
    domains = tuple(domain_rows(subjects, score, preliminary))
    lengths = tuple(length_rows(subjects, score, preliminary))
    return EffectConfigurations(
        schema="skill-health/effectiveness-configurations/1",
        tool_version=__version__,
        seed=runs[0].run.manifest.seed,
        score=score,
        margin=margin,
        runs=tuple(_run(each, subjects) for each in runs),
        subjects=tuple(_subject(each, reasons[each.name]) for each in subjects),
        configurations=configuration_rows(subjects, score, preliminary),
        means=tuple(configuration_means(subjects, score, preliminary)),
        criteria=criterion_deltas(subjects, preliminary),
        domains=domains,
        cells=tuple(heat_map(subjects, score)),
        substitutions=tuple(substitutions(subjects, score, margin, preliminary)),
        savings=tuple(savings(subjects, score, margin, preliminary)),
        harnesses=tuple(harnesses(subjects, score, preliminary)),
        by_number=tuple(number_rows(subjects, score, preliminary)),
        by_length=lengths,
        failures=tuple(failure_rows(subjects)),
        unpaired=tuple(unpaired_tasks(subjects, score)),
        notes=tuple(_notes(runs, subjects, score, margin)),
    )


def _run(source: JudgedRun, subjects: Sequence[TriedSubject]) -> ConfiguredRun:
    run, judging = source.run, source.judging
    own = [subject for subject in subjects if subject.run.run_id == run.run_id]
    return ConfiguredRun(
        run_id=run.run_id,
        created=run.manifest.created,
        replications=run.manifest.replications,
        planned=sum(subject.facts.planned(subject.facts.tasks.values()) for subject in own),
        scored=sum(subject.column.scored for subject in own),
        judging=judging.manifest.run_id if judging else None,
        calibrated=None if judging is None else judging.calibration is not None,
    )


def _subject(subject: TriedSubject, preliminary: tuple[str, ...]) -> ConfiguredSubject:
    return ConfiguredSubject(
        subject=subject.name,
        run_id=subject.run.run_id,
        spec=subject.agent.spec,
        agent=subject.agent.agent,
        model=subject.agent.model,
        resolved=subject.resolved,
        simulated=subject.agent.simulated,
        with_arm=subject.with_arm,
        preliminary=preliminary,
    )


def _notes(
    runs: Sequence[JudgedRun], subjects: Sequence[TriedSubject], score: ScoreName, margin: float
) -> Iterator[str]:
    if simulated := [each.name for each in subjects if each.agent.simulated]:
        yield f"Simulated: the figures of {list_some(simulated)} say nothing about any model."
    if weaker := [each.name for each in subjects if each.agent.unproved]:
        yield f"Weaker proof: nobody saw what {list_some(weaker)} were offered, and their tokens are their own count."
    for source in runs:
        yield from _of_run(source, [each for each in subjects if each.run is source.run])
    if bare := [each.name for each in subjects if each.with_arm is None]:
        yield f"No pair of target and control: {list_some(bare)}."
    pairs = {each.name: len(paired_means(each, each.with_arm, score)) for each in subjects if each.with_arm}
    if nothing := [name for name, tasks in pairs.items() if not tasks]:
        yield f"No task with the score {score} on both sides: {list_some(nothing)}."
    known = [tasks for tasks in pairs.values() if tasks > 1]
    if known and (least := least_half_width(max(known))) > margin:
        yield (
            f"With {max(known)} tasks the one-sided interval is {100 * least:.1f} points long at least: that a loss does not "
            f"exceed {100 * margin:g} points can be shown by a gain of {100 * (least - margin):.1f} points or more only."
        )
    if not any(skill.domain for source in runs for skill in source.run.manifest.skills):
        yield "No skill names a domain in its frontmatter (metadata.domain), so there is no table by it."
    if not any(skill.length is not None for source in runs for skill in source.run.manifest.skills):
        yield "The length of skills was not written down when these runs were made, so there is no table by it."


def _of_run(source: JudgedRun, subjects: Sequence[TriedSubject]) -> Iterator[str]:
    run, judging = source.run, source.judging
    left = sum(each.facts.planned(each.facts.tasks.values()) - len(each.column.results) for each in subjects)
    if left:
        yield f"{run.run_id} is not finished: {count(left, 'planned trial')} without a result are missing."
    if source.passed_over:
        what = "are others, older or unfinished" if judging else "are not over, and are left out"
        yield f"{run.run_id}: of its judgings {source.passed_over} {what}."
    if judging is not None and judging.calibration is None:
        yield f"{run.run_id}: the verdicts of its judging are not calibrated against those of people."
    waiting = {
        (task, arm)
        for each in subjects
        for (task, arm), cell in each.cells.items()
        if arm in (CONTROL, each.with_arm)
        for result in cell.trials
        if result.key not in each.judged and any(one.answer == "not_judged" for one in criteria_of(result))
    }
    if waiting:
        yield (
            f"{run.run_id}: criteria of {count(len({task for task, _ in waiting}), 'task')} wait for a judge "
            "(`skill-health effectiveness judge`); their rubric scores are missing."
        )


MEASURED = ("duration_ms", "cost_usd", "input_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class _Place:
    """A row before its p-values are corrected."""

    subject: TriedSubject
    arm: str
    deltas: Mapping[ScoreName, Estimate]

    @property
    def primary(self) -> bool:
        return self.arm == self.subject.with_arm


def configuration_rows(
    subjects: Sequence[TriedSubject], score: ScoreName, preliminary: Collection[str]
) -> tuple[ConfigurationRow, ...]:
    """The rows, by subject, the arms in the order of their run."""
    places = [_place(subject, arm) for subject in subjects for arm in _arms(subject)]
    corrected: dict[tuple[int, ScoreName], Estimate] = {}
    for name in SCORES:
        for primary in (True, False):
            at = [n for n, each in enumerate(places) if each.deltas and each.primary == primary]
            found = adjusted([places[n].deltas[name] for n in at], primary)
            corrected |= {(n, name): each for n, each in zip(at, found, strict=True)}
    return tuple(
        _row(each, {name: corrected[n, name] for name in SCORES} if each.deltas else {}, score, preliminary)
        for n, each in enumerate(places)
    )


def _arms(subject: TriedSubject) -> Iterator[str]:
    there = {arm for task in subject.targets for arm in task.arms}
    return (name for name in subject.facts.arms if name in there)


def _place(subject: TriedSubject, arm: str) -> _Place:
    if arm == CONTROL or CONTROL not in subject.facts.arms:
        return _Place(subject, arm, {})
    seed = subject.facts.seed
    deltas = {name: tested([pair.delta for pair in paired_means(subject, arm, name)], seed) for name in SCORES}
    return _Place(subject, arm, deltas)


def _row(
    place: _Place, deltas: Mapping[ScoreName, Estimate], score: ScoreName, preliminary: Collection[str]
) -> ConfigurationRow:
    subject, arm = place.subject, place.arm
    cells = [cell for task in subject.targets if (cell := subject.cells.get((task.id, arm)))]
    return ConfigurationRow(
        subject=subject.name,
        arm=arm,
        tasks=len(cells),
        trials=sum(len(cell.trials) for cell in cells),
        **{name: full_figure(_score(subject, arm, name)) for name in SCORES},
        **{name: full_figure(_measured(subject, arm, name)) for name in MEASURED},
        delta=_delta(place, deltas, score) if deltas else None,
        preliminary=subject.name in preliminary,
    )


def _score(subject: TriedSubject, arm: str, score: ScoreName) -> Estimate:
    """The mean score of the trials, over tasks."""
    found = [values for task in subject.targets if (values := subject.values(task.id, arm, score))]
    sums, totals = [math.fsum(values) for values in found], [len(values) for values in found]
    return (clustered_proportion if score == "success" else clustered_mean)(sums, totals)


def _measured(subject: TriedSubject, arm: str, measure: str) -> Estimate:
    means = [mean for task in subject.targets if (mean := subject.measured(task.id, arm, measure)) is not None]
    cells = [cell for task in subject.targets if (cell := subject.cells.get((task.id, arm)))]
    return unbounded_mean(means, sum(len(cell.measures[measure]) for cell in cells), 0.0)


def _delta(place: _Place, deltas: Mapping[ScoreName, Estimate], score: ScoreName) -> ConfigurationDelta:
    found: dict[ScoreName, FullFigure] = {name: full_figure(each) for name, each in deltas.items()}
    return ConfigurationDelta(
        goal=found["goal"],
        instruction=found["instruction"],
        weighted=found["weighted"],
        success=found["success"],
        correction=HOLM if place.primary else FALSE_SHARE,
        gain=full_figure(gain([paired_means(place.subject, place.arm, score)])),
    )


def gain(groups: Sequence[Sequence[PairedMeans]]) -> Estimate:
    """The mean over subjects of their normalised gains; of several, those at the ceiling are left out."""
    if len(groups) > 1:
        groups = [own for own in groups if own and math.fsum(pair.other for pair in own) / len(own) < CEILING]
    keys: list[TaskKey] = sorted({pair.task for own in groups for pair in own})
    tables = [{pair.task: pair for pair in own} for own in groups]
    return normalised_gain(
        [
            (
                [table[key].one if key in table else None for key in keys],
                [table[key].other if key in table else None for key in keys],
            )
            for table in tables
        ],
        CEILING,
    )


def configuration_means(
    subjects: Sequence[TriedSubject], score: ScoreName, preliminary: Collection[str]
) -> Iterator[ConfigurationMean]:
    """Each arm but the control over the subjects that have both; nothing where fewer than two have."""
    names = dict.fromkeys(arm for subject in subjects for arm in _arms(subject) if arm != CONTROL)
    for arm in names:
        pairs = {subject.name: found for subject in subjects if (found := paired_means(subject, arm, score))}
        if len(pairs) < 2:
            continue
        pooled = pool(pair for own in pairs.values() for pair in own)
        open_ = [own for own in pairs.values() if math.fsum(pair.other for pair in own) / len(own) < CEILING]
        ones = [1] * len(pooled.tasks)
        yield ConfigurationMean(
            arm=arm,
            subjects=len(pairs),
            score=full_figure(clustered_mean(pooled.one, ones)),
            control=full_figure(clustered_mean(pooled.other, ones)),
            delta=full_figure(tested(pooled.deltas, subjects[0].facts.seed)),
            gain=full_figure(gain(list(pairs.values()))),
            gains=len(open_),
            preliminary=any(name in preliminary for name in pairs),
        )
