"""What should make no difference: negative controls, and whether they say that a run is biased."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec import structs

from skill_health.documents.effect_report import EquivalenceContrast, IntervalEnds, NegativeControls
from skill_health.effectiveness.effects.arms import ALPHA, arms
from skill_health.effectiveness.effects.contrasts import (
    ArmPair,
    Contrast,
    arm_contrast,
    compare,
    negatives,
    paired_cells,
)
from skill_health.effectiveness.effects.sheet import Cells, ModelTrials, RunTrials, TaskFacts, TrialRunFacts
from skill_health.stats.hypothesis_tests import Equivalence, equivalence, exact_mantel_haenszel, t_test_over_strata
from skill_health.stats.multiplicity import holm
from skill_health.text.numbers import signed


@dataclass(frozen=True, slots=True)
class Control:
    """A contrast that should show nothing, with the test of equivalence and the one of bias.

    `narrow` says that it is over the negative-control tasks alone. `bias_p` is the larger of two p-values: that of
    exchanging trials within tasks, and Student's over tasks; None where one of them cannot be had.
    """

    contrast: Contrast
    narrow: bool
    margin: float
    equivalence: Equivalence
    bias_p: float | None
    bias_p_adjusted: float | None = None

    @property
    def failed(self) -> bool:
        """Whether it marks the run as biased: the arm does make a difference, and one beyond the margin."""
        value = self.contrast.delta.value
        found = self.bias_p_adjusted is not None and self.bias_p_adjusted < ALPHA
        return found and value is not None and abs(value) > self.margin

    def why(self) -> str:
        """What was found, for a run that is biased by it."""
        over = f"{self.contrast.tasks} {'negative-control tasks' if self.narrow else 'tasks'}"
        return (
            f"{self.contrast.pair.name} is {signed(self.contrast.delta.value or 0)} pp over {over}, where there "
            f"should be no difference (p = {self.bias_p_adjusted:.2g} after correction, margin {100 * self.margin:g} pp)"
        )


Controls = Mapping[str, tuple[Control, ...]]
"""The negative controls of each model."""


def controls(sheet: RunTrials) -> Controls:
    """All contrasts that should show nothing; the tests of bias are corrected together over the whole run (Holm)."""
    facts = sheet.facts
    found = {column.spec: list(_of(column, facts)) for column in sheet.columns}
    adjusted = iter(holm([each.bias_p for every in found.values() for each in every]))
    return {
        spec: tuple(
            Control(each.contrast, each.narrow, each.margin, each.equivalence, each.bias_p, next(adjusted))
            for each in every
        )
        for spec, every in found.items()
    }


def _of(column: ModelTrials, facts: TrialRunFacts) -> Iterator[Control]:
    for pair, narrow in negatives(facts.arms.values()):
        tasks = facts.controls if narrow else tuple(facts.tasks.values())
        if not narrow and tasks == facts.controls:
            continue
        contrast = compare(pair, tasks, column.cells, facts.seed)
        if contrast is not None:
            yield Control(
                contrast=contrast,
                narrow=narrow,
                margin=facts.margin,
                equivalence=equivalence(contrast.differences, facts.margin),
                bias_p=_bias(contrast, tasks, column.cells),
            )


def _bias(contrast: Contrast, tasks: Sequence[TaskFacts], cells: Cells) -> float | None:
    """Whether the arm matters in these tasks: both tests must find it, since each alone can be wrong.

    Exchanging trials takes replications for independent, which those of an agent that nearly repeats itself are not.
    Student's test does not, but is approximate where tasks are few.
    """
    both = paired_cells(contrast.pair.arm, contrast.pair.against, tasks, cells)
    counts = [((one.passes, len(one.trials)), (other.passes, len(other.trials))) for one, other in both]
    within, over = exact_mantel_haenszel(counts), t_test_over_strata(contrast.differences)
    return None if within is None or over is None else max(within, over)


def passed(found: Sequence[Control]) -> bool | None:
    """False where one failed, True where all are shown to be as good as none, None where neither is shown."""
    if any(each.failed for each in found):
        return False
    return True if found and all(each.equivalence.equivalent for each in found) else None


def as_table(column: ModelTrials, found: Sequence[Control], facts: TrialRunFacts) -> NegativeControls:
    """The negative controls of a model as a report holds them."""
    return NegativeControls(
        tasks=tuple(task.id for task in facts.controls),
        arms=arms(facts, facts.controls, column.cells),
        contrasts=tuple(map(equivalence_record, found)),
        passed=passed(found),
        note=explain_controls(found),
    )


def equivalence_record(control: Control) -> EquivalenceContrast:
    """One of these contrasts as a report holds it."""
    shown = control.equivalence
    values = structs.asdict(arm_contrast(control.contrast)) | {"note": shown.note}
    return EquivalenceContrast(
        **values,
        over="controls" if control.narrow else "all",
        margin=control.margin,
        tost_p=shown.p,
        ninety=_ninety(shown),
        equivalent=shown.equivalent,
        bias_p=control.bias_p,
        bias_p_adjusted=control.bias_p_adjusted,
        failed=control.failed,
    )


def _ninety(found: Equivalence) -> IntervalEnds | None:
    """The 90 % interval, without differences that cannot be."""
    low, high = found.low, found.high
    return None if low is None or high is None else IntervalEnds(low=max(low, -1.0), high=min(high, 1.0))


def explain_controls(found: Sequence[Control]) -> str:
    """What could be shown of them, in a sentence."""
    if not found:
        return "not testable: the run has neither negative-control tasks nor the arm negative"
    state = passed(found)
    if state is None:
        shown = sum(each.equivalence.equivalent is True for each in found)
        return f"no bias was found, but {shown} of {len(found)} differences are shown to be within the margin"
    if state:
        return f"all {len(found)} differences are shown to be within the margin"
    return "; ".join(each.why() for each in found if each.failed)


@dataclass(frozen=True, slots=True)
class Absence:
    """The missing trials of two arms over the tasks that have both.

    `missing` is of the pair's arm and of what it is against, `planned` of either. `p` is the exact test of whether one
    misses more, None where no trial is missing. `least` and `most` are the mean difference if every missing trial had
    gone against the arm, or for it; None without a task.
    """

    pair: ArmPair
    missing: tuple[int, int]
    planned: int
    p: float | None
    least: float | None
    most: float | None

    @property
    def uneven(self) -> str:
        """Why what is missing may not be so by chance; "" where nothing says so."""
        if self.p is None or self.p >= ALPHA:
            return ""
        (one, other), planned = self.missing, self.planned
        return (
            f"not missing by chance, it seems: {one} of {planned} trials of {self.pair.arm}, {other} of {planned} of "
            f"{self.pair.against} (p = {self.p:.2g})"
        )

    def unsure(self, sign: int) -> str:
        """What a gain (1) or loss (-1) would be if all that is missing had gone against it; "" where it would stand."""
        worst = self.least if sign > 0 else self.most
        if worst is None or worst * sign > 0 or not sum(self.missing):
            return ""
        return (
            f"rests on {sum(self.missing)} missing trials being missing by chance: had all gone against it, the "
            f"difference would be {signed(worst)} pp"
        )


def absence(pair: ArmPair, tasks: Sequence[TaskFacts], cells: Cells, replications: int) -> Absence:
    """What of two arms is missing: planned trials without a scored result, also of tasks that none is left of."""
    passes, absent = [], []
    for task in tasks:
        if pair.arm in task.arms and pair.against in task.arms:
            sides = [cells.get((task.id, arm)) for arm in (pair.arm, pair.against)]
            passes.append([cell.passes if cell else 0 for cell in sides])
            absent.append([replications - (len(cell.trials) if cell else 0) for cell in sides])
    trials = len(passes) * replications
    least = sum(one - other - gone for (one, other), (_, gone) in zip(passes, absent, strict=True))
    most = sum(one + gone - other for (one, other), (gone, _) in zip(passes, absent, strict=True))
    return Absence(
        pair,
        (sum(one for one, _ in absent), sum(other for _, other in absent)),
        trials,
        exact_mantel_haenszel([((one, replications), (other, replications)) for one, other in absent]),
        least / trials if trials else None,
        most / trials if trials else None,
    )
