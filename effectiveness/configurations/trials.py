"""What single trials tell: which criteria are met with and without the skill, and why trials did not pass."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

from skill_health.documents.effect_configurations import CriterionDelta, FailureKind, FailureRow
from skill_health.documents.effect_criteria import STAGED_ONLY
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.configurations.pooled import figures
from skill_health.effectiveness.configurations.subjects import TaskKey, TriedSubject, criteria_of
from skill_health.effectiveness.effects.arms import full_figure
from skill_health.effectiveness.records import CONTROL
from skill_health.stats.hypothesis_tests import stratified_difference
from skill_health.stats.intervals import clustered_proportion

_DIGITS = 6
_JUDGE = "judge"


class _Identity(NamedTuple):
    """What makes a criterion the same in several runs."""

    task: TaskKey
    criterion: str
    group: Literal["goal", "instruction"]
    points: float


class _Met(NamedTuple):
    """A criterion that is decided in a trial."""

    identity: _Identity
    by: str
    text: str
    met: bool


@dataclass(slots=True)
class _Tally:
    """How often a criterion is met, by subject: trials that meet it and all, with the skill and without."""

    by: str
    text: str = ""
    skill: str | None = None
    counts: dict[str, list[list[int]]] = field(default_factory=dict)

    def add(self, subject: str, side: int, met: bool) -> None:
        own = self.counts.setdefault(subject, [[0, 0], [0, 0]])
        own[side][0] += met
        own[side][1] += 1

    def paired(self) -> dict[str, list[list[int]]]:
        """Those of the subjects that have both sides."""
        return {name: own for name, own in self.counts.items() if own[0][1] and own[1][1]}


def criterion_deltas(subjects: Sequence[TriedSubject], preliminary: Collection[str]) -> tuple[CriterionDelta, ...]:
    """Every criterion that is decided on both sides for a subject.

    One about the use of the skill is left out: nothing without the skill can meet it.
    """
    tallies: dict[_Identity, _Tally] = {}
    for subject in subjects:
        if subject.with_arm is None:
            continue
        for task in subject.targets:
            for side, arm in enumerate((subject.with_arm, CONTROL)):
                cell = subject.cells.get((task.id, arm))
                for each in (met for result in (cell.trials if cell else ()) for met in _decided(subject, result)):
                    tally = tallies.setdefault(each.identity, _Tally(each.by, skill=task.skill))
                    tally.text = tally.text or each.text
                    tally.add(subject.name, side, each.met)
    known = {identity: own for identity, tally in tallies.items() if (own := tally.paired())}
    strata = ([(_pair(own[0]), _pair(own[1])) for own in counts.values()] for counts in known.values())
    deltas = figures([stratified_difference(each) for each in strata])
    found = []
    for (identity, counts), delta in zip(known.items(), deltas, strict=True):
        tally = tallies[identity]
        sums = [[sum(own[side][at] for own in counts.values()) for at in (0, 1)] for side in (0, 1)]
        found.append(
            CriterionDelta(
                task_id=identity.task[0],
                skill=tally.skill,
                criterion=identity.criterion,
                text=tally.text,
                group=identity.group,
                by=tally.by,
                points=identity.points,
                subjects=len(counts),
                met_with=sums[0][0],
                of_with=sums[0][1],
                met_without=sums[1][0],
                of_without=sums[1][1],
                delta=delta,
                preliminary=any(name in preliminary for name in counts),
            )
        )
    return tuple(sorted(found, key=lambda each: (-abs(each.delta.value or 0.0), each.task_id, each.criterion)))


def _pair(counts: list[int]) -> tuple[int, int]:
    return counts[0], counts[1]


def _decided(subject: TriedSubject, result: TrialResult) -> Iterator[_Met]:
    """The criteria that are decided in a trial: by its judging, where it has one, and by checks."""
    task = subject.key(result.task_id)
    verdicts = {each.id: each for each in criteria_of(result)}
    judged, judging = subject.judged.get(result.key), subject.source.judging
    if judged is None or judging is None:
        for each in verdicts.values():
            if each.answer in ("met", "not_met") and each.by != STAGED_ONLY:
                identity = _Identity(task, each.id, each.group, round(each.points, _DIGITS))
                yield _Met(identity, each.by, "", each.answer == "met")
        return
    settled = {each.criterion: each.verdict for each in judged.criteria}
    checked = {each.criterion: each.met for each in judged.checked}
    rubric = next(each for each in judging.manifest.tasks if each.id == result.task_id)
    for one in rubric.criteria:
        met = settled.get(one.id) == "met" if settled.get(one.id) in ("met", "not_met") else checked.get(one.id)
        if met is not None:
            by = _JUDGE if one.judged else verdicts[one.id].by if one.id in verdicts else "check"
            yield _Met(_Identity(task, one.id, one.group, round(one.points, _DIGITS)), by, one.text, met)


_TOOLS = ("tool_called", "tool_order")
NEAR = 0.8
"""From this share of the reward on a failure is a near miss."""
_MISSING: tuple[FailureKind, ...] = ("infrastructure", "quota", "auth", "cancelled", "unjudged", "no result")


def failure_kind(result: TrialResult, targets: Sequence[str], staged: Sequence[str]) -> FailureKind | None:
    """Why a trial did not pass, the first reason that holds; None where it passed.

    `targets` are the skills that its task is for, `staged` those that it could open. A fall back to "not known" is no
    reason: the result then holds nothing that would be one.
    """
    if result.outcome == "pass":
        return None
    if result.outcome != "fail":
        return result.outcome
    if staged and result.invoked == "no":
        return "no skill opened"
    opened = {*result.invocations}
    if opened and result.invoked == "yes" and {*targets} & {*staged} and not {*targets} & opened:
        return "wrong skill opened"
    if any(each.by in _TOOLS and each.answer == "not_met" for each in criteria_of(result)):
        return "wrong tool"
    if result.reward is not None and 0 < result.reward < 1:
        return "verifier near miss" if result.reward >= NEAR else "partly done"
    return "nothing changed" if result.changed == 0 else "not known"


def failure_rows(subjects: Sequence[TriedSubject]) -> Iterator[FailureRow]:
    """Every kind that occurs, by subject and arm, over the tasks with a target."""
    for subject in subjects:
        for arm in subject.facts.arms:
            yield from _rows(subject, arm)


def _rows(subject: TriedSubject, arm: str) -> Iterator[FailureRow]:
    tasks = [task for task in subject.targets if arm in task.arms]
    planned = subject.facts.replications
    by_task: dict[str, list[TrialResult]] = defaultdict(list)
    for result in subject.column.results:
        if result.arm == arm:
            by_task[result.task_id].append(result)
    counts: dict[FailureKind, Counter[str]] = defaultdict(Counter)
    for task in tasks:
        for result in by_task[task.id]:
            if kind := failure_kind(result, task.skills, subject.staged(task.id, arm)):
                counts[kind][task.id] += 1
        if absent := planned - len(by_task[task.id]):
            counts["no result"][task.id] += absent
    scored = {task.id: sum(result.scored for result in by_task[task.id]) for task in tasks}
    for kind in get_args(FailureKind):
        if found := counts.get(kind):
            missing = kind in _MISSING
            totals = [planned if missing else scored[task.id] for task in tasks]
            yield FailureRow(
                subject=subject.name,
                arm=arm,
                kind=kind,
                missing=missing,
                count=found.total(),
                planned=planned * len(tasks),
                share=full_figure(clustered_proportion([found[task.id] for task in tasks], totals)),
                tasks=tuple(task.id for task in tasks if found[task.id]),
            )
