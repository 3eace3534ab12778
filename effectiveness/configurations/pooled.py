"""Tasks pooled over subjects: what a group of tasks gains, each task weighing the same and each subject within it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from skill_health.documents._record import FullFigure
from skill_health.documents.effect_configurations import ScoreName
from skill_health.effectiveness.configurations.subjects import TaskKey, TriedSubject
from skill_health.effectiveness.effects.arms import full_figure
from skill_health.effectiveness.judge.scores.report import compare_scores
from skill_health.effectiveness.records import CONTROL
from skill_health.stats.estimates import Estimate
from skill_health.stats.multiplicity import benjamini_hochberg, holm
from skill_health.stats.power import preliminary_reasons

FEWEST_REPLICATIONS = 3
"""Fewer replications make figures preliminary: two trials that differ do not say which of them is the exception."""
_DIGITS = 9


@dataclass(frozen=True, slots=True)
class PairedMeans:
    """One task of one subject, with the skill and without it."""

    subject: str
    task: TaskKey
    arm: str
    one: float
    other: float

    @property
    def delta(self) -> float:
        """The difference; exactly 0 where they are equal."""
        return round(self.one - self.other, _DIGITS)


def paired_means(subject: TriedSubject, arm: str | None, score: ScoreName) -> list[PairedMeans]:
    """Every task of a subject with a score in an arm and in the control."""
    found = (
        (task, subject.mean(task.id, arm, score), subject.mean(task.id, CONTROL, score)) for task in subject.targets
    )
    return [
        PairedMeans(subject.name, subject.key(task.id), arm, one, other)
        for task, one, other in found
        if arm and one is not None and other is not None
    ]


@dataclass(frozen=True, slots=True)
class PooledTasks:
    """Tasks with the mean of their subjects."""

    tasks: tuple[TaskKey, ...]
    one: tuple[float, ...]
    other: tuple[float, ...]
    deltas: tuple[float, ...]
    subjects: frozenset[str]

    @property
    def score_with(self) -> float | None:
        """The mean over tasks with the skill; None without a task."""
        return average(self.one)

    @property
    def score_without(self) -> float | None:
        """The mean over tasks without it."""
        return average(self.other)


def pool(pairs: Iterable[PairedMeans]) -> PooledTasks:
    """The tasks of these pairs, in the order of their ids."""
    found: dict[TaskKey, list[PairedMeans]] = {}
    for pair in pairs:
        found.setdefault(pair.task, []).append(pair)
    keys = sorted(found)
    return PooledTasks(
        tasks=tuple(keys),
        one=tuple(_mean(pair.one for pair in found[key]) for key in keys),
        other=tuple(_mean(pair.other for pair in found[key]) for key in keys),
        deltas=tuple(_mean(pair.delta for pair in found[key]) for key in keys),
        subjects=frozenset(pair.subject for own in found.values() for pair in own),
    )


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return round(math.fsum(known) / len(known), _DIGITS)


def average(values: Sequence[float]) -> float | None:
    """Their mean; None where there is none."""
    return round(math.fsum(values) / len(values), 12) if values else None


def tested(differences: Sequence[float], seed: int) -> Estimate:
    """The mean of differences over tasks, with its interval and test."""
    return compare_scores(differences, seed)


def adjusted(estimates: Sequence[Estimate], primary: bool = False) -> list[Estimate]:
    """The same with their p-values corrected together: by Holm, or by Benjamini and Hochberg."""
    ps = (holm if primary else benjamini_hochberg)([each.p for each in estimates])
    return [replace(each, p_adjusted=p) for each, p in zip(estimates, ps, strict=True)]


def figures(estimates: Sequence[Estimate], primary: bool = False) -> list[FullFigure]:
    """Estimates as the document holds them, corrected together."""
    return [full_figure(each) for each in adjusted(estimates, primary)]


def why_preliminary(subject: TriedSubject) -> tuple[str, ...]:
    """Why the figures of a subject are preliminary; () where they are not."""
    facts, arm = subject.facts, subject.with_arm
    reasons = []
    if facts.replications < FEWEST_REPLICATIONS:
        reasons.append(f"fewer than {FEWEST_REPLICATIONS} replications ({facts.replications})")
    arms = [CONTROL, *([arm] if arm else [])]
    planned = facts.planned(facts.targets, arms)
    done = sum(len(cell.trials) for (task, own), cell in subject.cells.items() if own in arms and task in _ids(subject))
    delta = tested([pair.delta for pair in paired_means(subject, arm, "success")], facts.seed)
    missing = 1 - done / planned if planned else 1.0
    return tuple(reasons + preliminary_reasons(delta.clusters, delta.half_width, missing, None, "tasks", "trials"))


def _ids(subject: TriedSubject) -> frozenset[str]:
    return frozenset(task.id for task in subject.targets)
