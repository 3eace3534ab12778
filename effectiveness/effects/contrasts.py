"""Two arms compared: per task the difference of means over replications, its mean over tasks, intervals and tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from skill_health.documents.effect_report import ArmContrast, ContrastDeltas, ContrastKind, Correction, IntervalEnds
from skill_health.effectiveness.effects.arms import full_figure
from skill_health.effectiveness.effects.efficiency import Efficiency, compare_amounts
from skill_health.effectiveness.effects.sheet import (
    Cells,
    CellTrials,
    ModelTrials,
    RunTrials,
    TaskFacts,
    TrialRunFacts,
    pair_arms,
)
from skill_health.effectiveness.records import (
    AGAIN,
    CONTROL,
    DELIVERIES,
    FORCED,
    FORCED_PLACEBO,
    FULL,
    LEAVE_OUT,
    NEGATIVE,
    ORDER,
    PLACEBO,
    PLUS_ONE,
    PLUS_UNRELATED,
    SELF_GENERATED,
    TARGET,
    WITHOUT,
    Arm,
)
from skill_health.stats.amounts import mean_change
from skill_health.stats.estimates import Estimate
from skill_health.stats.hypothesis_tests import sign_flip, signed_rank
from skill_health.stats.multiplicity import Endpoints, benjamini_hochberg, two_endpoints, weight_of_tests
from skill_health.stats.power import FEW_CLUSTERS
from skill_health.stats.resampling import RESAMPLES, paired_bootstrap, paired_t


@dataclass(frozen=True, slots=True)
class ArmPair:
    """Two arms by name: what is compared, and against what."""

    arm: str
    against: str
    kind: ContrastKind

    @property
    def name(self) -> str:
        """The contrast in records."""
        return f"{self.arm}-{self.against}"


_OTHERS: Mapping[str, tuple[tuple[str, ContrastKind], ...]] = {
    TARGET: ((PLACEBO, "secondary"), (NEGATIVE, "secondary"), (SELF_GENERATED, "secondary")),
    FULL: ((TARGET, "interaction"),),
    ORDER: ((FULL, "secondary"),),
    WITHOUT: ((TARGET, "secondary"),),
    PLUS_ONE: ((TARGET, "interaction"),),
    PLUS_UNRELATED: ((TARGET, "interaction"),),
    LEAVE_OUT: ((FULL, "secondary"),),
    FORCED: ((FORCED_PLACEBO, "loading"), (TARGET, "loading")),
}
"""What a condition is compared with beside the control."""


USELESS = (PLACEBO, NEGATIVE)
"""The conditions that stage a text which is of no use for the task: neutral prose, and a skill for something else."""


def primary(arms: Mapping[str, Arm]) -> ArmPair | None:
    """The contrast that decides verdicts: the target against the control, None where the run does not have both.

    A run that has the target with the hint only, or in another delivery only, is about that one.
    """
    found = next((name for name in _told(TARGET) if name in arms), None)
    return ArmPair(found, CONTROL, "primary") if found and CONTROL in arms else None


def _told(condition: str) -> Iterator[str]:
    """The names of a condition's arms in each delivery, and with the hint, plainest first."""
    for delivery in DELIVERIES:
        for hint in (False, True):
            yield Arm(condition, hint=hint, delivery=delivery).name


def pairs(arms: Mapping[str, Arm]) -> tuple[ArmPair, ...]:
    """Every contrast of the arms of a run but those of `calibration`, the primary one first.

    Each arm is compared with the control; the control has no hint, since without skills there is nothing to name. An
    arm with the hint is compared with the same without it, and with the others that its condition is compared with,
    hint against hint: what is lost without the hint is the penalty of discovery. An arm in a delivery is compared with
    the same in each plainer one: with the hint, where nothing has to be found, that is about knowledge. The target
    again is not among them: it is there for `calibration`; nor are the arms of two skills that are tried alone and
    together: these are there for `compositions`. Where the agent is ordered to open the skills, a contrast is about
    loading, and of a family of its own, so that such an arm changes no other p-value.
    """
    first = primary(arms)
    others = (pair for pair in _pairs(arms) if first is None or pair.name != first.name)
    return (first, *others) if first else tuple(others)


def _pairs(arms: Mapping[str, Arm]) -> Iterator[ArmPair]:
    composed = {name for pair in pair_arms(arms) for name in pair.names}
    for name, arm in arms.items():
        if arm.condition in (CONTROL, AGAIN) or name in composed:
            continue
        if CONTROL in arms:
            yield ArmPair(name, CONTROL, "loading" if arm.forced else "secondary")
        for other, kind in _OTHERS.get(arm.condition, ()):
            if (against := replace(arm, condition=other, argument="").name) in arms:
                yield ArmPair(name, against, kind)
        if arm.hint and (plain := replace(arm, hint=False).name) in arms:
            yield ArmPair(name, plain, "discovery")
        for way in () if arm.forced else DELIVERIES[: DELIVERIES.index(arm.delivery)]:
            if (other_way := replace(arm, delivery=way).name) in arms:
                yield ArmPair(name, other_way, "knowledge" if arm.hint else "delivery")


def useless_arms(first: ArmPair | None) -> tuple[str, ...]:
    """What the arm of the primary contrast is held against beside the control: with the hint if it has the hint."""
    return tuple(first.arm.replace(TARGET, condition) for condition in USELESS) if first else ()


def calibration(arms: Mapping[str, Arm]) -> ArmPair | None:
    """The target again against the target, None where the run does not have both."""
    both = zip(_told(AGAIN), _told(TARGET), strict=True)
    return next((ArmPair(*names, "calibration") for names in both if set(names) <= set(arms)), None)


def negatives(arms: Iterable[Arm]) -> Iterator[tuple[ArmPair, bool]]:
    """The contrasts that should show nothing, each with whether it is over the negative-control tasks alone.

    There no arm should matter. A skill that is known to be irrelevant should matter in no task at all.
    """
    for arm in arms:
        if arm.condition in (NEGATIVE, FULL):
            yield ArmPair(arm.name, CONTROL, "calibration"), True
        if arm.condition == NEGATIVE:
            yield ArmPair(arm.name, CONTROL, "calibration"), False


LEAST = 6
"""Tasks that must differ: fewer cannot give p < 0.05."""
DELTAS = ("input_tokens", "output_tokens", "cost_usd", "duration_ms", "turns")
_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two arms over the tasks that have both, `differences` one for each of them.

    `delta` has the interval of the bootstrap and the p-value of the sign-flip test, `student` the other interval.
    `shares` are those of the trials of these tasks that passed, in either arm. `p_adjusted` is for the verdict, under
    the correction that `correction` names.
    """

    pair: ArmPair
    differences: tuple[float, ...]
    delta: Estimate
    student: Estimate
    shares: tuple[float | None, float | None]
    wilcoxon_p: float | None
    normalised_gain: float | None
    deltas: Mapping[str, Estimate]
    correction: Correction = "none"

    @property
    def tasks(self) -> int:
        """How many tasks have both sides."""
        return len(self.differences)

    @property
    def differing(self) -> int:
        """In how many of them the two sides are not equal."""
        return sum(each != 0 for each in self.differences)

    @property
    def testable(self) -> bool:
        """Whether the difference could be significant."""
        return self.differing >= LEAST

    @property
    def interval(self) -> Estimate:
        """The one that decides: Student's with few tasks, the bootstrap's with many."""
        return self.student if self.tasks < FEW_CLUSTERS else self.delta

    @property
    def half_width(self) -> float | None:
        """Half the width of that interval."""
        return self.interval.half_width

    def corrected(self, p: float | None, correction: Correction) -> Contrast:
        """The same with its p-value adjusted."""
        return replace(self, delta=replace(self.delta, p_adjusted=p), correction=correction)


def compare(pair: ArmPair, tasks: Sequence[TaskFacts], cells: Cells, seed: int) -> Contrast | None:
    """The contrast over these tasks; None where none of them has both arms at all.

    A missing replication is left out of its mean, and a task without a scored trial on either side is not compared.
    """
    if not any(pair.arm in task.arms and pair.against in task.arms for task in tasks):
        return None
    both = paired_cells(pair.arm, pair.against, tasks, cells)
    differences = tuple(difference_of(one, other) for one, other in both)
    testable = sum(each != 0 for each in differences) >= LEAST
    return Contrast(
        pair=pair,
        differences=differences,
        delta=replace(
            within(paired_bootstrap(differences, None, RESAMPLES, seed), 1.0),
            p=sign_flip(differences, seed=seed) if testable else None,
        ),
        student=within(paired_t(differences), 1.0),
        shares=(_share([one for one, _ in both]), _share([other for _, other in both])),
        wilcoxon_p=signed_rank(differences) if testable else None,
        normalised_gain=_normalised(both),
        deltas={name: _change(both, name) for name in DELTAS},
    )


def paired_cells(
    arm: str, against: str, tasks: Iterable[TaskFacts], cells: Cells
) -> list[tuple[CellTrials, CellTrials]]:
    """The cells of two arms, for each task that has scored trials in both."""
    return [
        (one, other)
        for task in tasks
        if (one := cells.get((task.id, arm))) and (other := cells.get((task.id, against)))
    ]


def within(estimate: Estimate, most: float) -> Estimate:
    """The same without what cannot be: no difference of shares is beyond 1, and no difference of such ones beyond 2."""
    low, high = estimate.low, estimate.high
    return estimate if low is None or high is None else replace(estimate, low=max(low, -most), high=min(high, most))


def mean_difference(exact: Sequence[Fraction], most: float, seed: int, student: bool = False) -> Estimate:
    """The mean with the interval that decides, Student's with few tasks and the bootstrap's with many, and its p.

    `most` is the furthest from zero that such a difference can be: 2 for a difference of differences. With `student`
    the interval is Student's with many tasks, too.
    """
    values = [float(each) for each in exact]
    student = student or len(values) < FEW_CLUSTERS
    found = paired_t(values) if student else paired_bootstrap(values, None, RESAMPLES, seed)
    testable = sum(each != 0 for each in exact) >= LEAST
    return replace(within(found, most), p=sign_flip(values, seed=seed) if testable else None)


def _share(cells: Sequence[CellTrials]) -> float | None:
    return sum(cell.passes for cell in cells) / sum(len(cell.trials) for cell in cells) if cells else None


def difference_of(one: CellTrials, other: CellTrials) -> float:
    """The difference of the shares that passed: exactly 0 where they are equal, whatever the numbers of trials."""
    return (one.passes * len(other.trials) - other.passes * len(one.trials)) / (len(one.trials) * len(other.trials))


def _normalised(both: Sequence[tuple[CellTrials, CellTrials]]) -> float | None:
    """(with - without) / (1 - without) of the means over tasks; None where nothing is left to gain."""
    if not both:
        return None
    gained = sum(one.success for one, _ in both) / len(both)
    without = sum(other.success for _, other in both) / len(both)
    return (gained - without) / (1 - without) if without < 1 - 1e-9 else None


def _change(both: Sequence[tuple[CellTrials, CellTrials]], measure: str) -> Estimate:
    """The mean change over the tasks of which the measure is known on both sides, with its interval."""
    known = [
        round(one - other, _DIGITS)
        for one, other in ((a.mean(measure), b.mean(measure)) for a, b in both)
        if one is not None and other is not None
    ]
    if not known:
        return Estimate(None, note="not known on both sides of any task")
    return mean_change(known)


def arm_contrast(contrast: Contrast) -> ArmContrast:
    """A contrast as a report holds it."""
    pair, student = contrast.pair, contrast.student
    beside = contrast.tasks < FEW_CLUSTERS and student.low is not None
    return ArmContrast(
        name=pair.name,
        arm=pair.arm,
        against=pair.against,
        kind=pair.kind,
        tasks=contrast.tasks,
        differing=contrast.differing,
        delta=full_figure(contrast.delta),
        t=IntervalEnds(low=student.low, high=student.high) if beside else None,
        wilcoxon_p=contrast.wilcoxon_p,
        sign_flip_p=contrast.delta.p,
        p_adjusted=contrast.delta.p_adjusted,
        correction=contrast.correction,
        testable=contrast.testable,
        note=explain_untestable(contrast),
        normalised_gain=contrast.normalised_gain,
        deltas=ContrastDeltas(**{name: full_figure(estimate) for name, estimate in contrast.deltas.items()}),
    )


def explain_untestable(contrast: Contrast) -> str:
    """Why a contrast is not testable; "" where it is."""
    if contrast.testable:
        return ""
    if not contrast.tasks:
        return "not testable: no task has a scored trial in both arms"
    return f"not testable: {contrast.differing} of {contrast.tasks} tasks differ, {LEAST} are needed"


HOLM: Correction = "holm"
FALSE_SHARE: Correction = "benjamini-hochberg"


@dataclass(frozen=True, slots=True)
class Scope:
    """What a contrast is over: all tasks with a target ("", ""), those of a skill or those of a category."""

    kind: str = ""
    name: str = ""


ALL = Scope()
Table = dict[tuple[str, Scope], tuple[Contrast, ...]]
"""The contrasts of each model in each scope."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """Whether a gain is of the skill itself: the target against each arm that stages a text of no use for the task.

    `gains` are the target against these, `useless` these against the control. The null hypothesis is that the target
    is no better than one of them, so `p`, of the intersection-union test (Berger 1982), is the largest of theirs and
    of the primary contrast's; it is None where one of them is not testable. `p_adjusted` is after Holm's correction.
    """

    gains: tuple[Contrast, ...]
    useless: tuple[Contrast, ...]
    p: float | None
    p_adjusted: float | None = None


@dataclass(frozen=True, slots=True)
class Families:
    """All contrasts, and how many primary ones were tested together: of models, and of models with skills.

    A test of efficiency counts as a fraction of one, by its weight.
    """

    table: Table
    attributions: Mapping[tuple[str, Scope], Attribution]
    efficiencies: Mapping[tuple[str, Scope], Efficiency]
    models: float
    skills: float

    def primary(self, spec: str, scope: Scope) -> Contrast | None:
        """The contrast that decides the verdict; None where the run has no such arms."""
        return _primary(self.table[spec, scope])


def scopes(facts: TrialRunFacts) -> dict[Scope, tuple[TaskFacts, ...]]:
    """The tasks of every scope, in the order of its name; a task that names no skill is in none of a skill."""
    found: dict[Scope, tuple[TaskFacts, ...]] = {ALL: facts.targets}
    for skill in sorted({task.skill for task in facts.targets if task.skill is not None}):
        found[Scope("skill", skill)] = tuple(task for task in facts.targets if task.skill == skill)
    for category in sorted({task.category for task in facts.targets}):
        found[Scope("category", category)] = tuple(task for task in facts.targets if task.category == category)
    return found


def families(sheet: RunTrials, efficiency: bool = True) -> Families:
    """Every contrast of every model over all tasks with a target, each skill's, and each category's.

    `efficiency` says whether that endpoint is tested, too, and so corrected for.
    """
    facts = sheet.facts
    wanted = pairs(facts.arms)
    table: Table = {}
    efficiencies: dict[tuple[str, Scope], Efficiency] = {}
    for scope, tasks in scopes(facts).items():
        asked = [pair for pair in wanted if pair.kind == "primary"] if scope.kind == "category" else wanted
        for column in sheet.columns:
            found = table[column.spec, scope] = tuple(_all(asked, tasks, column, facts.seed))
            first = _primary(found)
            if efficiency and first and scope.kind != "category":
                texts = [arm for arm in useless_arms(first.pair) if arm in facts.arms]
                sides = (first.pair.arm, first.pair.against)
                efficiencies[column.spec, scope] = compare_amounts(
                    sides, texts, tasks, column.cells, first.differences, facts.margin, facts.seed
                )
    for kinds in (("",), ("skill", "category")):
        for loading in (False, True):
            _correct_secondary(table, kinds, loading)
    attributions = {key: _attribution(found) for key, found in table.items() if key[1].kind != "category"}
    sizes = [_correct_primary(table, attributions, efficiencies, kind) for kind in ("", "skill")]
    return Families(table, attributions, efficiencies, *sizes)


def _primary(found: Sequence[Contrast]) -> Contrast | None:
    return next((each for each in found if each.pair.kind == "primary"), None)


def _correct_primary(
    table: Table,
    attributions: dict[tuple[str, Scope], Attribution],
    efficiencies: dict[tuple[str, Scope], Efficiency],
    kind: str,
) -> float:
    """Adjust both endpoints of one family in place, and those of the skill's own gain; how many are tested."""
    keys = [key for key in attributions if key[1].kind == kind]
    both, own = [], []
    for key in keys:
        first, found = _primary(table[key]), efficiencies.get(key)
        p, whole = first.delta.p if first else None, attributions[key].p
        both.append(found.endpoints(p) if found else Endpoints(p, None, None))
        own.append(found.own_endpoints(whole) if found else Endpoints(whole, None, None))
    for key, (success, less), (gain, saving) in zip(keys, two_endpoints(both), two_endpoints(own), strict=True):
        table[key] = tuple(
            each.corrected(success, HOLM) if each.pair.kind == "primary" else each for each in table[key]
        )
        attributions[key] = replace(attributions[key], p_adjusted=gain)
        if key in efficiencies:
            efficiencies[key] = efficiencies[key].corrected(less, saving)
    return weight_of_tests(both)


def _attribution(found: Sequence[Contrast]) -> Attribution:
    """What `found`, the contrasts of one scope, say of whose gain it is; without a correction."""
    first = next((each.pair for each in found if each.pair.kind == "primary"), None)
    arms = useless_arms(first)
    gains = tuple(each for each in found if first and each.pair.arm == first.arm and each.pair.against in arms)
    useless = tuple(each for each in found if each.pair.arm in arms and each.pair.against == CONTROL)
    ps = [each.delta.p for each in found if each.pair == first or each in gains]
    known = [p for p in ps if p is not None]
    return Attribution(gains, useless, max(known) if gains and len(known) == len(ps) else None)


def _all(wanted: Iterable[ArmPair], tasks: Sequence[TaskFacts], column: ModelTrials, seed: int) -> Iterable[Contrast]:
    return (found for pair in wanted if (found := compare(pair, tasks, column.cells, seed)))


def _correct_secondary(table: Table, kinds: Sequence[str], loading: bool) -> None:
    """Adjust one family of all other contrasts in place, those about forced loading or those that are not.

    The primary one of a category is one of the latter.
    """
    places = [
        (key, at)
        for key, found in table.items()
        for at, each in enumerate(found)
        if key[1].kind in kinds
        and (each.pair.kind != "primary" or key[1].kind == "category")
        and (each.pair.kind == "loading") == loading
    ]
    ps = [table[key][at].delta.p for key, at in places]
    for (key, at), adjusted in zip(places, benjamini_hochberg(ps), strict=True):
        found = list(table[key])
        found[at] = found[at].corrected(adjusted, FALSE_SHARE)
        table[key] = tuple(found)
