"""The second primary endpoint: whether the target takes fewer tokens or dollars, and succeeds no less often."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from skill_health.documents.effect_report import AmountContrast, EfficiencyMeasure, EfficiencyVerdict, EfficiencyWord
from skill_health.effectiveness.effects.arms import full_figure
from skill_health.effectiveness.effects.sheet import Cells, CellTrials, TaskFacts
from skill_health.stats.amounts import LowerAmounts, lower_amounts
from skill_health.stats.estimates import Estimate
from skill_health.stats.hypothesis_tests import OneSided, no_worse
from skill_health.stats.multiplicity import Endpoints, holm
from skill_health.text.numbers import NOTHING, signed, with_interval

ALPHA = 0.05
GAINS: tuple[EfficiencyWord, ...] = ("cheaper", "any text helps", "unexplained gain")
"""The verdicts that say that less is taken than without a skill."""


@dataclass(frozen=True, slots=True)
class AmountRatio:
    """What one arm takes as a share of what another takes, over the tasks of which both are known."""

    arm: str
    against: str
    found: LowerAmounts

    @property
    def ratio(self) -> Estimate:
        """The geometric mean over tasks, with the two-sided p of the sign-flip test."""
        return self.found.ratio

    @property
    def lower(self) -> float | None:
        """The p-value for "no lower", for a typical task and in the whole; None where not testable."""
        return self.found.p

    @property
    def shown(self) -> bool:
        """Whether the interval lies below 1; where all tasks have one ratio, whether that does."""
        high = self.ratio.value if self.ratio.high is None else self.ratio.high
        return high is not None and high < 1


@dataclass(frozen=True, slots=True)
class Efficiency:
    """The target against the control in what it takes, and in whether success is no worse by the margin.

    `gains` are the target against each arm that stages a text of no use, `useless` these against the control.
    `p_adjusted` is of lower and no worse, corrected together with success; `own_p_adjusted` likewise of lower than in
    each of `gains`, too.
    """

    measure: EfficiencyMeasure
    against_control: AmountRatio
    quality: OneSided
    margin: float
    gains: tuple[AmountRatio, ...]
    useless: tuple[AmountRatio, ...]
    p_adjusted: float | None = None
    own_p_adjusted: float | None = None

    def endpoints(self, success: float | None) -> Endpoints:
        """The p-values of both endpoints."""
        return Endpoints(success, self.against_control.lower, self.quality.p)

    def own_endpoints(self, success: float | None) -> Endpoints:
        """The same of a gain that is the skill's own: the largest p of all that it must be lower than."""
        ps = [each.lower for each in (self.against_control, *self.gains)]
        known = [p for p in ps if p is not None]
        return Endpoints(success, max(known) if self.gains and len(known) == len(ps) else None, self.quality.p)

    def corrected(self, p: float | None, own: float | None) -> Efficiency:
        """The same with its p-values adjusted."""
        return replace(self, p_adjusted=p, own_p_adjusted=own)


def compare_amounts(
    sides: tuple[str, str],
    texts: Sequence[str],
    tasks: Sequence[TaskFacts],
    cells: Cells,
    differences: Sequence[float],
    margin: float,
    seed: int,
) -> Efficiency:
    """The endpoint over some tasks; `sides` are the target and the control, `texts` the arms of no use.

    `differences` are those of success between the two sides. It is about dollars where every scored trial of all these
    arms has a price, else about tokens, read and written.
    """
    found = {
        (task.id, arm): cell
        for task in tasks
        for arm in (*sides, *texts)
        if arm in task.arms and (cell := cells.get((task.id, arm)))
    }
    priced = bool(found) and all(map(_is_priced, found.values()))
    measure: EfficiencyMeasure = "dollars" if priced else "tokens"
    amounts = {key: amount for key, cell in found.items() if (amount := cell.costs if priced else _tokens(cell))}
    target, control = sides

    def ratio(arm: str, against: str) -> AmountRatio:
        both = [
            (amounts[task.id, arm], amounts[task.id, against])
            for task in tasks
            if (task.id, arm) in amounts and (task.id, against) in amounts
        ]
        return AmountRatio(arm, against, lower_amounts([a for a, _ in both], [b for _, b in both], seed))

    there = [text for text in texts if any(text in task.arms for task in tasks)]
    return Efficiency(
        measure=measure,
        against_control=ratio(target, control),
        quality=no_worse(differences, margin),
        margin=margin,
        gains=tuple(ratio(target, text) for text in there),
        useless=tuple(ratio(text, control) for text in there),
    )


def _is_priced(cell: CellTrials) -> bool:
    """Whether the dollars of all trials are known, and none is free."""
    return len(cell.costs) == len(cell.trials) and min(cell.costs) > 0


def _tokens(cell: CellTrials) -> tuple[float, ...]:
    """The tokens of each trial, read and written; none unless both are known of all, and something was taken."""
    return cell.tokens if len(cell.tokens) == len(cell.trials) and any(cell.tokens) else ()


def judge_efficiency(found: Efficiency, biased: str) -> EfficiencyVerdict:
    """The verdict on this endpoint; `biased` is why no difference of the run can be trusted, "" for nothing."""
    word: EfficiencyWord
    word, reason = ("biased", biased) if biased else _judge(found)
    return EfficiencyVerdict(
        word=word,
        reason=reason,
        measure=found.measure,
        ratio=full_figure(replace(found.against_control.ratio, p_adjusted=found.p_adjusted)),
        most=found.against_control.found.most,
        whole_p=found.against_control.found.whole_p,
        margin=found.margin,
        least=found.quality.end,
        no_worse_p=found.quality.p,
        own_p_adjusted=found.own_p_adjusted,
        against=tuple(map(_record, (*found.gains, *found.useless))),
    )


def _record(each: AmountRatio) -> AmountContrast:
    return AmountContrast(arm=each.arm, against=each.against, ratio=full_figure(each.ratio))


def _judge(found: Efficiency) -> tuple[EfficiencyWord, str]:
    own = found.against_control
    if own.ratio.p is None:
        note = full_figure(own.ratio).note
        return "not testable", note if note.startswith("not testable") else f"not testable: {found.measure} {note}"
    said = say_ratio(own.ratio, found.measure)
    if own.ratio.value is not None and own.ratio.value > 1:
        low = own.ratio.value if own.ratio.low is None else own.ratio.low
        return ("dearer" if own.ratio.p < ALPHA and low > 1 else "no evidence"), said
    if own.lower is None:
        return "not testable", f"{said}; {full_figure(replace(own.ratio, note=own.found.note)).note}"
    if not (_below(found.p_adjusted) and own.shown):
        return "no evidence", f"{said}, {'; '.join(_lacking(found))}"
    end = found.quality.end
    said = f"as good (success at least {NOTHING if end is None else signed(end)} pp), at {said}"
    if _below(found.own_p_adjusted) and all(each.shown for each in found.gains):
        return "cheaper", said
    texts = zip(found.useless, holm([each.lower for each in found.useless]), strict=True)
    if any(_below(p) and each.shown for each, p in texts):
        return "any text helps", said
    return "unexplained gain", said


def _lacking(found: Efficiency) -> Iterator[str]:
    """What is not shown of a ratio below 1."""
    own = found.against_control
    if not own.shown or not _below(own.ratio.p):
        yield "not shown to be less"
    elif not _below(own.lower):
        most = "" if own.found.most is None else f" (up to {own.found.most:.2f} times)"
        yield f"not shown to be less in the whole, as some trials take far more than others{most}"
    elif not _below(found.quality.p):
        points = f"{100 * found.margin:g} pp"
        end = "" if found.quality.end is None else f" (at least {signed(found.quality.end)} pp)"
        yield f"but success not shown to be no worse by {points}{end}"
    else:
        yield "not significant after correction"


def say_ratio(ratio: Estimate, measure: EfficiencyMeasure) -> str:
    """A ratio in words: "0.50 [0.45, 0.55] times the tokens over 30 tasks"."""
    return f"{with_interval(ratio, '.2f', 1.0)} times the {measure} over {ratio.clusters} tasks"


def _below(p: float | None) -> bool:
    return p is not None and p < ALPHA
