"""Groups of tasks over all subjects: domains, the number and the length of skills, and single tasks."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from skill_health.documents.effect_configurations import DomainRow, ScoreName, StratumRow, TaskSubjectCell
from skill_health.documents.effect_manifest import skills_of
from skill_health.effectiveness.configurations.pooled import (
    PairedMeans,
    PooledTasks,
    average,
    figures,
    paired_means,
    pool,
    tested,
)
from skill_health.effectiveness.configurations.subjects import TaskKey, TriedSubject
from skill_health.effectiveness.effects.arms import full_figure
from skill_health.effectiveness.effects.sheet import TaskFacts
from skill_health.effectiveness.records import CONTROL, FULL, ORDER, PLUS_ONE, PLUS_UNRELATED
from skill_health.stats.estimates import Estimate
from skill_health.stats.hypothesis_tests import stratified_difference
from skill_health.stats.resampling import mean_of_groups

_NUMBERS = (("1 skill", 1, 1), ("2 to 3 skills", 2, 3), ("4 skills and more", 4, None))
_LENGTHS = (("compact", 0.25), ("standard", 0.5), ("detailed", 0.95), ("comprehensive", 1.0))
"""Names and shares of tasks at which one ends and the next begins, as SkillsBench has them (2026, table 9)."""


def domain_rows(
    subjects: Sequence[TriedSubject], score: ScoreName, preliminary: Collection[str]
) -> Iterator[DomainRow]:
    """By domain of the task, then by that of the skill where any skill names one."""
    yield from _domains("task", lambda _, task: task.category, subjects, score, preliminary)
    if any(skill.domain for subject in subjects for skill in subject.run.manifest.skills):
        yield from _domains("skill", _domain_of, subjects, score, preliminary)


def _domain_of(subject: TriedSubject, task: TaskFacts) -> str:
    there = skills_of(subject.run.manifest, task.id)
    return _shared({there[name].domain if name in there else "" for name in task.skills})


def _shared(names: Collection[str]) -> str:
    """The one name, "" where there are several: a bundle of several domains is in none."""
    return next(iter(names)) if len(names) == 1 else ""


def _domains(
    of: Literal["task", "skill"],
    name: Callable[[TriedSubject, TaskFacts], str],
    subjects: Sequence[TriedSubject],
    score: ScoreName,
    preliminary: Collection[str],
) -> Iterator[DomainRow]:
    pairs: dict[str, list[PairedMeans]] = {}
    for subject in subjects:
        named = {subject.key(task.id): name(subject, task) for task in subject.targets}
        for pair in paired_means(subject, subject.with_arm, score):
            pairs.setdefault(named[pair.task], []).append(pair)
    pooled = {domain: pool(own) for domain, own in pairs.items()}
    if not pooled:
        return
    seed = subjects[0].facts.seed
    deltas = dict(zip(pooled, figures([tested(each.deltas, seed) for each in pooled.values()]), strict=True))
    for domain in sorted(pooled, key=lambda each: (-(deltas[each].value or 0.0), each)):
        own = pooled[domain]
        yield DomainRow(
            of=of,
            domain=domain,
            tasks=len(own.tasks),
            subjects=len(own.subjects),
            score_with=own.score_with,
            score_without=own.score_without,
            delta=deltas[domain],
            preliminary=_flagged(own, preliminary),
        )
    if len(pooled) > 1:
        parts = list(pooled.values())
        yield DomainRow(
            of=of,
            domain=None,
            tasks=sum(len(each.tasks) for each in parts),
            subjects=len(frozenset().union(*(each.subjects for each in parts))),
            score_with=average([each.score_with for each in parts if each.score_with is not None]),
            score_without=average([each.score_without for each in parts if each.score_without is not None]),
            delta=full_figure(mean_of_groups([each.deltas for each in parts])),
            preliminary=any(_flagged(each, preliminary) for each in parts),
        )


def _flagged(pooled: PooledTasks, preliminary: Collection[str]) -> bool:
    return any(name in preliminary for name in pooled.subjects)


@dataclass(frozen=True, slots=True)
class _Sized:
    """A pair with the size of what was staged."""

    pair: PairedMeans
    size: int


def number_rows(
    subjects: Sequence[TriedSubject], score: ScoreName, preliminary: Collection[str]
) -> Iterator[StratumRow]:
    """By the number of skills staged, over the arms that stage the target among others."""
    sized = [
        _Sized(pair, len(subject.staged(pair.task[0], arm)))
        for subject in subjects
        for arm in _holding(subject)
        for pair in paired_means(subject, arm, score)
    ]
    yield from _strata(sized, _NUMBERS, subjects, preliminary)


def _holding(subject: TriedSubject) -> Iterator[str]:
    """The arms that stage the target, told as the one that is compared with the control is."""
    if subject.with_arm is None:
        return
    own = subject.facts.arms[subject.with_arm]
    yield subject.with_arm
    for name, arm in subject.facts.arms.items():
        if arm.condition in (PLUS_ONE, PLUS_UNRELATED, FULL, ORDER) and (arm.hint, arm.delivery) == (
            own.hint,
            own.delivery,
        ):
            yield name


def length_rows(
    subjects: Sequence[TriedSubject], score: ScoreName, preliminary: Collection[str]
) -> Iterator[StratumRow]:
    """By the bytes of the SKILL.md files staged; nothing where they are not known."""
    sized = []
    for subject in subjects:
        for pair in paired_means(subject, subject.with_arm, score):
            there = skills_of(subject.run.manifest, pair.task[0])
            names = subject.staged(pair.task[0], pair.arm)
            sizes = [there[name].length if name in there else None for name in names]
            if sizes and None not in sizes:
                sized.append(_Sized(pair, sum(size for size in sizes if size is not None)))
    if sized:
        yield from _strata(sized, list(_bounds(sized)), subjects, preliminary)


def _bounds(sized: Iterable[_Sized]) -> Iterator[tuple[str, int, int | None]]:
    """The strata by the shares of tasks: from the bytes after the last one's end to the length at this share."""
    of_task: dict[TaskKey, int] = {}
    for each in sized:
        of_task[each.pair.task] = max(each.size, of_task.get(each.pair.task, 0))
    ordered, begin = sorted(of_task.values()), 0
    for name, share in _LENGTHS:
        # A product such as 0.95 x 20 may come out just above a whole number.
        end = ordered[max(math.ceil(share * len(ordered) - 1e-9) - 1, 0)]
        if end >= begin:
            yield name, begin, end if share < 1 else None
            begin = end + 1


def _strata(
    sized: Sequence[_Sized],
    bounds: Sequence[tuple[str, int, int | None]],
    subjects: Sequence[TriedSubject],
    preliminary: Collection[str],
) -> Iterator[StratumRow]:
    found = []
    for name, least, most in bounds:
        own = [each.pair for each in sized if least <= each.size and (most is None or each.size <= most)]
        if own:
            found.append((name, least, most, tuple(dict.fromkeys(pair.arm for pair in own)), pool(own)))
    deltas = figures([tested(each[4].deltas, subjects[0].facts.seed) for each in found])
    for (name, least, most, arms, pooled), delta in zip(found, deltas, strict=True):
        yield StratumRow(
            stratum=name,
            least=least,
            most=most,
            arms=arms,
            tasks=len(pooled.tasks),
            subjects=len(pooled.subjects),
            score_with=pooled.score_with,
            score_without=pooled.score_without,
            delta=delta,
            preliminary=_flagged(pooled, preliminary),
        )


def heat_map(subjects: Sequence[TriedSubject], score: ScoreName) -> Iterator[TaskSubjectCell]:
    """Every task with a target and every subject that has it, with and without the skill."""
    ids: Mapping[str, None] = dict.fromkeys(sorted({task.id for subject in subjects for task in subject.targets}))
    for task_id in ids:
        for subject in subjects:
            task = subject.facts.tasks.get(task_id)
            if task is not None and not task.is_control:
                yield _cell(subject, task, score)


def _cell(subject: TriedSubject, task: TaskFacts, score: ScoreName) -> TaskSubjectCell:
    arms = (subject.with_arm, CONTROL)
    one, other = (subject.values(task.id, arm, score) for arm in arms)
    with_, without = (subject.mean(task.id, arm, score) for arm in arms)
    ends = Estimate(None)
    if score == "success" and one and other:
        ends = stratified_difference([((round(sum(one)), len(one)), (round(sum(other)), len(other)))])
    return TaskSubjectCell(
        task_id=task.id,
        slug=task.slug,
        skill=task.skill,
        subject=subject.name,
        n_with=len(one),
        score_with=with_,
        n_without=len(other),
        score_without=without,
        delta=None if with_ is None or without is None else round(with_ - without, 9),
        low=ends.low,
        high=ends.high,
    )
