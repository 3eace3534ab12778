"""Subjects against each other: a cheaper model with the skill for a dearer one, saved tokens, and two agents."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from skill_health.documents.effect_configurations import (
    HarnessContrast,
    PairedSides,
    SavingWord,
    ScoreName,
    SubstitutionRow,
    SubstitutionWord,
    TokenSaving,
    UnpairedReason,
    UnpairedTask,
)
from skill_health.documents.effect_manifest import skills_of
from skill_health.effectiveness.compare.comparable import agreeing
from skill_health.effectiveness.configurations.pooled import average, figures, tested
from skill_health.effectiveness.configurations.subjects import TriedSubject
from skill_health.effectiveness.effects.arms import full_figure
from skill_health.effectiveness.records import CONTROL
from skill_health.stats.amounts import FEWEST, LowerAmounts, Trials, lower_amounts, mean_change
from skill_health.stats.estimates import Estimate
from skill_health.stats.hypothesis_tests import OneSided, both, equivalence, no_worse
from skill_health.stats.multiplicity import holm

ALPHA = 0.05
_DIGITS = 9
_NO_MODEL = ("", "none")
Side = Literal["with", "without", "gain"]


@dataclass(frozen=True, slots=True)
class CommonTasks:
    """The tasks that two subjects have in common, and those that they have not, with the reason."""

    ids: tuple[str, ...]
    left_out: tuple[tuple[str, UnpairedReason], ...]


def common_tasks(one: TriedSubject, other: TriedSubject, arms: Sequence[tuple[str | None, str | None]]) -> CommonTasks:
    """The tasks with a target that both have as the same task, with the same skills staged.

    `arms` are those that are put side by side, of one and of the other; the skills of an arm that only one of them is
    in may differ.
    """
    mine, theirs = ({task.id for task in each.targets} for each in (one, other))
    same = mine & theirs
    if one.run.run_id != other.run.run_id:
        same &= set(agreeing(one.run.manifest, other.run.manifest))
    found, left_out = [], []
    for task in sorted(mine | theirs):
        if task not in mine or task not in theirs:
            left_out.append((task, _reason("in one run only")))
        elif task not in same:
            left_out.append((task, _reason("another task now")))
        elif any(_skills(one, task, first) != _skills(other, task, second) for first, second in arms):
            left_out.append((task, _reason("other skills staged")))
        else:
            found.append(task)
    return CommonTasks(tuple(found), tuple(left_out))


def _reason(reason: UnpairedReason) -> UnpairedReason:
    return reason


def _skills(subject: TriedSubject, task: str, arm: str | None) -> list[tuple[str, str]]:
    there = skills_of(subject.run.manifest, task)
    names = subject.staged(task, arm) if arm else ()
    return [(name, there[name].digest if name in there else "") for name in names]


def _known(tasks: Sequence[str], *sides: Callable[[str], float | None]) -> tuple[list[str], list[list[float]]]:
    """The tasks of which all sides are known, and the values of each side."""
    rows = [(task, [side(task) for side in sides]) for task in tasks]
    known = [(task, [value for value in row if value is not None]) for task, row in rows if None not in row]
    return [task for task, _ in known], [[row[at] for _, row in known] for at in range(len(sides))]


def _differences(one: Sequence[float], other: Sequence[float]) -> list[float]:
    return [round(a - b, _DIGITS) for a, b in zip(one, other, strict=True)]


def _mean_of(trials: Sequence[float]) -> float | None:
    return math.fsum(trials) / len(trials) if trials else None


def unpaired_arms(subjects: Sequence[TriedSubject], score: ScoreName) -> Iterator[UnpairedTask]:
    """The tasks of each subject that lack a score with the skill, or without it."""
    for subject in subjects:
        if subject.with_arm is None:
            continue
        for task in subject.targets:
            one, other = (subject.mean(task.id, arm, score) for arm in (subject.with_arm, CONTROL))
            if one is None or other is None:
                reason: UnpairedReason = (
                    "no score with the skill" if other is not None
                    else "no score without the skill" if one is not None
                    else "no score on either side"
                )  # fmt: skip
                yield UnpairedTask(of="arms", task_id=task.id, subject=subject.name, other=None, reason=reason)


@dataclass(frozen=True, slots=True)
class _BothShown:
    """Whether a score is no worse and an amount lower, both at once; `worse` and `more` that the opposite is shown.

    `amounts` are the means over tasks of what a trial takes on either side, `change` their difference.
    """

    scores: Sequence[float]
    amounts: tuple[float | None, float | None]
    change: Estimate
    margin: float
    quality: OneSided
    fewer: LowerAmounts
    worse: bool
    more: bool

    @property
    def p(self) -> float | None:
        return both(self.quality.p, self.fewer.p)


def _both_shown(scores: Sequence[float], one: Trials, other: Trials, margin: float, seed: int) -> _BothShown:
    """Both, of the differences of scores and of what the trials of each task take on either side."""
    upper, opposite = equivalence(scores, margin).high, lower_amounts(other, one, seed)
    means = [[math.fsum(each) / len(each) for each in side] for side in (one, other)]
    changes = _differences(*means)
    return _BothShown(
        scores=scores,
        amounts=(average(means[0]), average(means[1])),
        change=mean_change(changes) if changes else Estimate(None, note="not known on both sides of any task"),
        margin=margin,
        quality=no_worse(scores, margin),
        fewer=lower_amounts(one, other, seed),
        worse=upper is not None and upper < -margin,
        more=opposite.p is not None and opposite.p < ALPHA,
    )


def _decided(
    found: _BothShown, p: float | None, what: str
) -> tuple[Literal["yes", "no", "not shown", "not testable"], str]:
    """Whether both are shown after correction, and the sentence that says why; `what` is the amount in words."""
    points = f"{100 * found.margin:g} points"
    if p is None:
        if len(found.scores) >= FEWEST:
            return "not testable", full_figure(replace(found.fewer.ratio, note=found.fewer.note)).note
        few = f"{len(found.scores)} tasks have both sides with {what} known, {FEWEST} are needed"
        return "not testable", f"not testable: {few}"
    if p < ALPHA:
        return (
            "yes",
            f"fewer {what}, and no worse by {points}" if what == "tokens" else f"costs less, and no worse by {points}",
        )
    if found.worse or found.more:
        said = [f"worse by more than {points}"] if found.worse else []
        said += [f"more {what}"] if found.more else []
        return "no", " and ".join(said)
    open_ = []
    if found.quality.p is not None and found.quality.p >= ALPHA:
        open_.append(f"that it is no worse by {points}")
    if found.fewer.p is not None and found.fewer.p >= ALPHA:
        open_.append(f"that it takes fewer {what}")
    return "not shown", f"not shown: {' nor '.join(open_) or 'both, after correction for several tests'}"


def savings(
    subjects: Sequence[TriedSubject], score: ScoreName, margin: float, preliminary: Collection[str]
) -> Iterator[TokenSaving]:
    """Every subject with the skill and without it: whether tokens are saved, and the score is no worse."""
    found = []
    for subject in subjects:
        if arm := subject.with_arm:
            found.append((subject, _saved(subject, arm, score, margin)))
    for (subject, shown), p in zip(found, holm([shown.p for _, shown in found]), strict=True):
        word, reason = _decided(shown, p, "tokens")
        yield TokenSaving(
            subject=subject.name,
            tasks=len(shown.scores),
            tokens_with=shown.amounts[0],
            tokens_without=shown.amounts[1],
            tokens_delta=full_figure(shown.change),
            tokens_ratio=full_figure(shown.fewer.ratio),
            tokens_ratio_most=shown.fewer.most,
            tokens_p=shown.fewer.p,
            delta=full_figure(tested(shown.scores, subject.facts.seed)),
            least=shown.quality.end,
            worse_p=shown.quality.p,
            p=shown.p,
            p_adjusted=p,
            verdict=_SAVING[word],
            reason=reason,
            preliminary=subject.name in preliminary,
        )


_SAVING: Mapping[str, SavingWord] = {
    "yes": "saves", "no": "no saving", "not shown": "not shown", "not testable": "not testable",
}  # fmt: skip
_SUBSTITUTION: Mapping[str, SubstitutionWord] = {
    "yes": "substitutes", "no": "falls short", "not shown": "not shown", "not testable": "not testable",
}  # fmt: skip


def _saved(subject: TriedSubject, arm: str, score: ScoreName, margin: float) -> _BothShown:
    """What is shown of tokens with the skill and without it."""
    tasks, (one, other, *_) = _known(
        [task.id for task in subject.targets],
        lambda task: subject.mean(task, arm, score),
        lambda task: subject.mean(task, CONTROL, score),
        lambda task: _mean_of(subject.tokens(task, arm)),
        lambda task: _mean_of(subject.tokens(task, CONTROL)),
    )
    with_, without = ([subject.tokens(task, side) for task in tasks] for side in (arm, CONTROL))
    return _both_shown(_differences(one, other), with_, without, margin, subject.facts.seed)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A cheaper subject with the skill and a dearer one without it; means are of their scores over tasks."""

    small: TriedSubject
    large: TriedSubject
    means: tuple[float | None, float | None]
    shown: _BothShown


def substitutions(
    subjects: Sequence[TriedSubject], score: ScoreName, margin: float, preliminary: Collection[str]
) -> Iterator[SubstitutionRow]:
    """Every pair of different models of which one costs less without the skill, over the tasks of both.

    What costs nothing at all, or is not known to cost anything, is cheaper than nothing here.
    """
    found = [
        candidate
        for small in subjects
        for large in subjects
        if _is_other_model(small, large) and (candidate := _candidate(small, large, score, margin))
    ]
    for each, p in zip(found, holm([each.shown.p for each in found]), strict=True):
        word, reason = _decided(each.shown, p, "dollars")
        names = (each.small.name, each.large.name)
        yield SubstitutionRow(
            small=names[0],
            large=names[1],
            tasks=len(each.shown.scores),
            score_small=each.means[0],
            score_large=each.means[1],
            cost_small=each.shown.amounts[0],
            cost_large=each.shown.amounts[1],
            delta=full_figure(tested(each.shown.scores, each.small.facts.seed)),
            least=each.shown.quality.end,
            worse_p=each.shown.quality.p,
            cost_delta=full_figure(each.shown.change),
            cost_ratio=full_figure(each.shown.fewer.ratio),
            cost_ratio_most=each.shown.fewer.most,
            cost_p=each.shown.fewer.p,
            p=each.shown.p,
            p_adjusted=p,
            verdict=_SUBSTITUTION[word],
            reason=reason,
            preliminary=any(name in preliminary for name in names),
        )


def _is_other_model(one: TriedSubject, other: TriedSubject) -> bool:
    return one is not other and one.agent.spec != other.agent.spec and not same_model(one, other)


def same_model(one: TriedSubject, other: TriedSubject) -> bool:
    """Whether two subjects ask one model: by the name that their agents are given, or by what providers call it."""
    if one.agent.model == other.agent.model and one.agent.model not in _NO_MODEL:
        return True
    if one.agent.simulated or other.agent.simulated:
        return False
    return bool(set(one.resolved) & set(other.resolved) - set(_NO_MODEL))


def _candidate(small: TriedSubject, large: TriedSubject, score: ScoreName, margin: float) -> _Candidate | None:
    """The pair, None where the one is not known to be cheaper or an arm is missing."""
    arm = small.with_arm
    if arm is None or large.with_arm is None:
        return None
    common = common_tasks(small, large, ()).ids
    _, (mine, theirs) = _known(
        common,
        lambda task: small.measured(task, CONTROL, "cost_usd"),
        lambda task: large.measured(task, CONTROL, "cost_usd"),
    )
    if not mine or not sum(mine) < sum(theirs):
        return None
    tasks, (one, other, *_) = _known(
        common,
        lambda task: small.mean(task, arm, score),
        lambda task: large.mean(task, CONTROL, score),
        lambda task: _mean_of(small.costs(task, arm)),
        lambda task: _mean_of(large.costs(task, CONTROL)),
    )
    costs = [small.costs(task, arm) for task in tasks], [large.costs(task, CONTROL) for task in tasks]
    shown = _both_shown(_differences(one, other), *costs, margin, small.facts.seed)
    return _Candidate(small, large, (average(one), average(other)), shown)


@dataclass(frozen=True, slots=True)
class _Side:
    """Two agents with one model on one side: with the skill, without it, or what it adds."""

    one: TriedSubject
    other: TriedSubject
    side: Side
    scores: Sequence[Sequence[float]]
    delta: Estimate


def harnesses(
    subjects: Sequence[TriedSubject], score: ScoreName, preliminary: Collection[str]
) -> Iterator[HarnessContrast]:
    """Every pair of different agents with one model, over the tasks of both, with the same skills staged."""
    found = [side for one, other in _harness_pairs(subjects) for side in _sides(one, other, score) if side.scores[0]]
    for each, delta in zip(found, figures([each.delta for each in found]), strict=True):
        names = (each.one.name, each.other.name)
        yield HarnessContrast(
            model=each.one.agent.model or next(iter(each.one.resolved), ""),
            one=names[0],
            other=names[1],
            side=each.side,
            tasks=len(each.scores[0]),
            score_one=average(each.scores[0]),
            score_other=average(each.scores[1]),
            delta=delta,
            preliminary=any(name in preliminary for name in names),
        )


def _harness_pairs(subjects: Sequence[TriedSubject]) -> Iterator[tuple[TriedSubject, TriedSubject]]:
    for at, one in enumerate(subjects):
        for other in subjects[at + 1 :]:
            if one.agent.agent != other.agent.agent and same_model(one, other):
                yield one, other


def _sides(one: TriedSubject, other: TriedSubject, score: ScoreName) -> Iterator[_Side]:
    tasks = common_tasks(one, other, [(one.with_arm, other.with_arm)]).ids
    arms: Mapping[Side, tuple[str | None, str | None]] = {
        "with": (one.with_arm, other.with_arm), "without": (CONTROL, CONTROL),
    }  # fmt: skip
    seed = one.facts.seed
    for side, (mine, theirs) in arms.items():
        _, scores = _known(
            tasks,
            lambda task, arm=mine: one.mean(task, arm, score),  # type: ignore[misc]
            lambda task, arm=theirs: other.mean(task, arm, score),  # type: ignore[misc]
        )
        yield _Side(one, other, side, scores, tested(_differences(*scores), seed))
    _, scores = _known(tasks, lambda task: _gained(one, task, score), lambda task: _gained(other, task, score))
    gained = _differences(*scores)
    # These are differences of differences: twice as far apart at most, which the interval may show.
    yield _Side(one, other, "gain", scores, _doubly(gained, seed))


def _gained(subject: TriedSubject, task: str, score: ScoreName) -> float | None:
    one, other = (subject.mean(task, arm, score) for arm in (subject.with_arm, CONTROL))
    return None if one is None or other is None else round(one - other, _DIGITS)


def _doubly(differences: Sequence[float], seed: int) -> Estimate:
    """The estimate of differences of differences: halved, estimated as differences, and doubled again."""
    found = tested([each / 2 for each in differences], seed)
    value, low, high = (None if each is None else 2 * each for each in (found.value, found.low, found.high))
    return replace(found, value=value, low=low, high=high)


def unpaired_tasks(subjects: Sequence[TriedSubject], score: ScoreName) -> Iterator[UnpairedTask]:
    """Every task that a comparison is without: of arms, then of subjects in several runs."""
    yield from unpaired_arms(subjects, score)
    for at, one in enumerate(subjects):
        for other in subjects[at + 1 :]:
            if one.agent.agent != other.agent.agent and same_model(one, other):
                arms: tuple[tuple[str | None, str | None], ...] = ((one.with_arm, other.with_arm),)
                yield from _unpaired("harnesses", one, other, arms)
            elif _is_other_model(one, other):
                yield from _unpaired("substitution", one, other, ())


def _unpaired(
    of: PairedSides, one: TriedSubject, other: TriedSubject, arms: Sequence[tuple[str | None, str | None]]
) -> Iterator[UnpairedTask]:
    for task, reason in common_tasks(one, other, arms).left_out:
        yield UnpairedTask(of=of, task_id=task, subject=one.name, other=other.name, reason=reason)
