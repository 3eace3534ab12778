"""Do two skills compose? None, either one and both, paired by task -> interaction, order, verdict.

The rules and their error rates are in docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import fsum

from skill_health.documents._record import FullFigure
from skill_health.documents.effect_composition import (
    PairComposition,
    PairEffects,
    PairEquivalence,
    PairRates,
    PairTruth,
    PairVerdict,
    PairWord,
    TriedPair,
)
from skill_health.effectiveness.effects.arms import ALPHA, CEILING, FLOOR, full_figure, say_interval
from skill_health.effectiveness.effects.contrasts import LEAST, mean_difference
from skill_health.effectiveness.effects.sheet import (
    CellTrials,
    ModelTrials,
    PairArms,
    RunTrials,
    TaskFacts,
    TrialRunFacts,
    extended,
    pair_arms,
)
from skill_health.stats.estimates import Estimate
from skill_health.stats.hypothesis_tests import Equivalence, both, equivalence, no_worse
from skill_health.stats.intervals import clustered_proportion
from skill_health.stats.multiplicity import holm
from skill_health.stats.power import fewest_differing, preliminary_reasons
from skill_health.text.numbers import signed


@dataclass(frozen=True, slots=True)
class PairTask:
    """The cells of one task. `rates` are the success rates of control, first, second and both, exactly.

    The rate of both is the mean of the orders: each counts the same however many of its trials are missing.
    """

    task: TaskFacts
    control: CellTrials
    singles: tuple[CellTrials, CellTrials]
    together: tuple[CellTrials, ...]
    rates: tuple[Fraction, Fraction, Fraction, Fraction]


def _pair_tasks(pair: PairArms, facts: TrialRunFacts, column: ModelTrials) -> Iterator[PairTask]:
    for task in facts.targets:
        cells = [column.cells.get((task.id, name)) for name in pair.names]
        known = [cell for cell in cells if cell is not None]
        if len(known) < len(cells):
            continue
        control, first, second, *together = known
        shares = [cell.exact for cell in known]
        mean = sum(shares[3:], Fraction()) / len(together)
        yield PairTask(task, control, (first, second), tuple(together), (shares[0], shares[1], shares[2], mean))


@dataclass(frozen=True, slots=True)
class PairFigures:
    """All that is computed of one pair by one model, before any correction. Estimates have their own p."""

    pair: PairArms
    tasks: tuple[PairTask, ...]
    first_alone: Estimate
    second_alone: Estimate
    over_first: Estimate
    over_second: Estimate
    main_first: Estimate
    main_second: Estimate
    interaction: Estimate
    independence: Estimate
    order: Estimate | None
    differing: int
    equivalence: Equivalence | None
    adds_nothing: float | None
    """The p of both being better than the better single one by less than `SPARE` margins."""

    @property
    def shares(self) -> tuple[float, float, float, float]:
        """The mean success rates over tasks of control, first, second and both."""
        sums = [fsum(float(each.rates[at]) for each in self.tasks) for at in range(4)]
        count = max(len(self.tasks), 1)
        return sums[0] / count, sums[1] / count, sums[2] / count, sums[3] / count


def measure_pair(pair: PairArms, facts: TrialRunFacts, column: ModelTrials) -> PairFigures:
    """The figures of one pair by one model, over the tasks that have all of its arms."""
    tasks = tuple(_pair_tasks(pair, facts, column))
    rates = [each.rates for each in tasks]
    interaction = [joint - one - other + none for none, one, other, joint in rates]
    over_first, over_second = [r[3] - r[1] for r in rates], [r[3] - r[2] for r in rates]

    # Near the ceiling percentiles of the mean of a product hold the truth in 92 %, Student's interval in 94 %.
    saved = [(1 - one) * (1 - other) - (1 - none) * (1 - joint) for none, one, other, joint in rates]

    def mean(values: Sequence[Fraction], most: float = 1.0) -> Estimate:
        return mean_difference(values, most, facts.seed)

    return PairFigures(
        pair=pair,
        tasks=tasks,
        first_alone=mean([one - none for none, one, _, _ in rates]),
        second_alone=mean([other - none for none, _, other, _ in rates]),
        over_first=mean(over_first),
        over_second=mean(over_second),
        main_first=mean([(one - none + joint - other) / 2 for none, one, other, joint in rates]),
        main_second=mean([(other - none + joint - one) / 2 for none, one, other, joint in rates]),
        interaction=mean(interaction, 2.0),
        independence=mean_difference(saved, 1.0, facts.seed, student=True),
        order=mean([_order(each) for each in tasks]) if len(pair.together) > 1 else None,
        differing=sum(each != 0 for each in interaction),
        equivalence=_within_margin(interaction, facts.margin),
        adds_nothing=_adds_nothing(over_first, over_second, SPARE * facts.margin),
    )


def _order(task: PairTask) -> Fraction:
    one, other = task.together
    return one.exact - other.exact


def _within_margin(interaction: Sequence[Fraction], margin: float) -> Equivalence | None:
    """Whether the interaction lies within the margin, by half of both: the test is of differences from -1 to 1."""
    if not 0 < margin < 1:
        return None
    found = equivalence([float(each) / 2 for each in interaction], margin / 2)
    ends = [None if end is None else 2 * end for end in (found.low, found.high)]
    return found._replace(low=ends[0], high=ends[1])


def _adds_nothing(over_first: Sequence[Fraction], over_second: Sequence[Fraction], margin: float) -> float | None:
    """The p of both together being better than the better single skill by less than a margin.

    It is so where one of the two differences lies below the margin, so the smaller p of two tests counts, doubled.
    """
    if not 0 < margin < 1:
        return None
    ps = [no_worse([-float(each) for each in values], margin).p for values in (over_first, over_second)]
    known = [p for p in ps if p is not None]
    return min(1.0, 2 * min(known)) if len(known) == 2 else None


def _signed_p(found: Estimate, sign: int) -> float | None:
    """The two-sided p of a difference on this side of zero: 1 on the other side, None where it is not testable.

    The interval must leave zero out as well; where all tasks differ by the same there is none.
    """
    if found.p is None:
        return None
    low, high = (found.value, found.value) if found.low is None or found.high is None else (found.low, found.high)
    end = low if sign > 0 else high
    return found.p if end is not None and end * sign > 0 else 1.0


def _less_p(found: Estimate) -> float | None:
    """The one-sided p of a difference below zero; None where it is not testable."""
    if found.p is None:
        return None
    return found.p / 2 if (found.value or 0.0) < 0 else 1 - found.p / 2


def _all(*ps: float | None) -> float | None:
    """The p of an intersection-union test: the largest, None where a part is not testable."""
    found: float | None = 0.0
    for p in ps:
        found = both(found, p)
    return found


def _either(one: float | None, other: float | None) -> float | None:
    """The p of at least one of two tests finding something: the smaller one, doubled; what is not testable is 1."""
    if one is None and other is None:
        return None
    return min(1.0, 2 * min(1.0 if one is None else one, 1.0 if other is None else other))


Word = PairWord | PairTruth
SPARE = 1.5
"""The margins that two redundant skills may still gain together: 15 points at the default margin of 10. With 40 tasks a
single margin would find redundancy in 60 to 70 % of runs only."""
_TESTED: tuple[Word, ...] = ("synergistic", "conflicting", "redundant", "additive", "true")


def _word_ps(found: PairFigures) -> dict[Word, float | None]:
    """The p of each verdict that is the result of a test, each an intersection-union test (Berger, 1982)."""
    up, down = _signed_p(found.interaction, 1), _signed_p(found.interaction, -1)
    better = _all(_signed_p(found.over_first, 1), _signed_p(found.over_second, 1))
    worse = _either(_signed_p(found.over_first, -1), _signed_p(found.over_second, -1))
    helps = _all(_signed_p(found.first_alone, 1), _signed_p(found.second_alone, 1))
    return {
        "synergistic": _all(up, better),
        "conflicting": _all(down, worse),
        "redundant": _all(helps, down, _less_p(found.independence), found.adds_nothing),
        "additive": found.equivalence.p if found.equivalence else None,
        "true": better,
    }


Compositions = Mapping[str, tuple[PairComposition, ...]]
"""The pairs of each model."""


def compositions(sheet: RunTrials, declared: Sequence[TriedPair], biased: Mapping[str, Sequence[str]]) -> Compositions:
    """Every pair that a run tries, by every model; each word's tests are corrected over all of them (Holm).

    `biased` says of each model why nothing of it can be trusted.
    """
    facts = sheet.facts
    pairs = pair_arms(facts.arms)
    if not pairs:
        return {column.spec: () for column in sheet.columns}
    found = [(column, measure_pair(pair, facts, column)) for column in sheet.columns for pair in pairs]
    raw = [_word_ps(figures) for _, figures in found]
    adjusted: list[dict[Word, float | None]] = [{} for _ in found]
    for word in _TESTED:
        for own, p in zip(adjusted, holm([each[word] for each in raw]), strict=True):
            own[word] = p
    orders = holm([figures.order.p if figures.order else None for _, figures in found])
    family = max(1, sum(figures.differing >= LEAST for _, figures in found))
    said = {pair.skills: pair for pair in declared}
    table: dict[str, list[PairComposition]] = {column.spec: [] for column in sheet.columns}
    for (column, figures), own, order in zip(found, adjusted, orders, strict=True):
        whole = PairEvidence(figures, own, order, family, facts, tuple(biased.get(column.spec, ())))
        names = figures.pair.first, figures.pair.second
        table[column.spec].append(_record(whole, said.get(names), column))
    return {spec: tuple(each) for spec, each in table.items()}


@dataclass(frozen=True, slots=True)
class PairEvidence:
    """What the verdict on a pair rests on: its figures, the corrected p of each word and of the order, the family."""

    figures: PairFigures
    ps: Mapping[Word, float | None]
    order_p: float | None
    family: int
    facts: TrialRunFacts
    biased: tuple[str, ...] = ()

    def shown(self, word: Word) -> bool:
        """Whether the tests of a word find it."""
        p = self.ps[word]
        return p is not None and p < ALPHA


def _judged(evidence: PairEvidence) -> tuple[PairWord, str]:
    """The verdict and what decided."""
    found = evidence.figures
    pair, tasks = found.pair, len(found.tasks)
    if evidence.biased:
        return "not testable", f"the run is biased: {evidence.biased[0]}"
    if not tasks:
        return "not testable", "no task has a scored trial with none, with either skill and with both"
    figures = _said(found)
    if evidence.shown("synergistic"):
        return "synergistic", f"better together than either alone and than the sum: {figures}"
    if evidence.shown("conflicting"):
        worse = pair.first if (found.over_first.value or 0) < (found.over_second.value or 0) else pair.second
        return "conflicting", f"worse together than {worse} alone: {figures}"
    if extreme := _extreme(found):
        return "not testable", extreme
    if evidence.shown("redundant"):
        most = 100 * SPARE * evidence.facts.margin
        return "redundant", f"either one helps, and both add less than {most:.1f} pp to the better one: {figures}"
    if evidence.shown("additive"):
        return "additive", f"the effects add up within {100 * evidence.facts.margin:.1f} pp: {figures}"
    if found.differing < (needed := max(LEAST, fewest_differing(evidence.family, ALPHA))):
        return "not testable", f"{found.differing} of {tasks} tasks have an interaction, {needed} are needed"
    return "inconclusive", f"neither an interaction nor its absence is shown: {figures}"


def _said(found: PairFigures) -> str:
    interaction = found.interaction
    return f"interaction {signed(interaction.value)} pp over {len(found.tasks)} tasks ({say_interval(interaction)})"


def _extreme(found: PairFigures) -> str:
    """Why the scale leaves no room to tell; "" where it does."""
    control, first, second, together = found.shares
    if max(control, first, second) >= CEILING:
        most = max(control, first, second)
        return f"ceiling: {100 * most:.1f} % pass without both, so there is no room for more together"
    if max(control, first, second, together) <= FLOOR:
        return f"floor: at most {100 * max(control, first, second, together):.1f} % pass in any arm"
    return ""


def _notes(evidence: PairEvidence, word: PairWord) -> Iterator[str]:
    found = evidence.figures
    if not found.tasks:
        return
    control, first, second, _ = found.shares
    pair = found.pair
    down = _signed_p(found.interaction, -1)
    less = _less_p(found.independence)
    if down is not None and down < ALPHA and (less is None or less >= ALPHA) and word != "conflicting":
        yield (
            "negative on the scale of success rates, but not shown to be less than two skills give that save failures "
            "independently (Bliss): near the ceiling effects cannot add up"
        )
    if first + second - control > 1:
        yield f"the sum of the effects would be {100 * (first + second - control):.0f} % success, which cannot be"
    if word == "additive" and not all(
        (p := _signed_p(each, 1)) is not None and p < ALPHA for each in (found.first_alone, found.second_alone)
    ):
        yield "not both skills are shown to help alone: that their effects add up says little"
    if word == "inconclusive":
        yield "no interaction found is not none: the interval says what is still possible"
    if evidence.order_p is not None and evidence.order_p < ALPHA and found.order is not None:
        better = found.pair.first if (found.order.value or 0) > 0 else found.pair.second
        yield (
            f"the order of listing matters: {signed(abs(found.order.value or 0))} pp where {better} is listed first "
            f"(p = {evidence.order_p:.2g} after correction); the verdict is on the mean of both orders"
        )
    if len(pair.together) > 1 and (evidence.order_p is None or evidence.order_p >= ALPHA):
        yield "the order of listing is not shown to matter; both orders are pooled"


def _truth(evidence: PairEvidence, word: PairWord) -> PairTruth:
    """Whether it is true that the two work together."""
    if evidence.biased:
        return "not testable"
    if word in ("conflicting", "redundant"):
        return "contradicted"
    if evidence.shown("true"):
        return "true"
    return "not testable" if word == "not testable" else "not shown"


def _record(evidence: PairEvidence, frozen: TriedPair | None, column: ModelTrials) -> PairComposition:
    found, facts = evidence.figures, evidence.facts
    pair, tasks = found.pair, found.tasks
    word, reason = _judged(evidence)
    names = {pair.first, pair.second}
    needs = [names.intersection(each.task.skills) for each in tasks]
    wanted = [task for task in facts.targets if set(pair.names) & set(task.arms)]
    planned = facts.planned(wanted, pair.names)
    scored = sum(
        len(cell.trials) for task in wanted for arm in pair.names if (cell := column.cells.get((task.id, arm)))
    )
    missing = (planned - scored) / planned if planned else 1.0
    declared = frozen.declared if frozen else ()
    shown = found.equivalence
    return PairComposition(
        first=pair.first,
        second=pair.second,
        variant=pair.variant,
        arms=pair.names,
        tasks=len(tasks),
        differing=found.differing,
        of_first=sum(each == {pair.first} for each in needs),
        of_second=sum(each == {pair.second} for each in needs),
        of_both=sum(each == names for each in needs),
        missing=planned - scored,
        rates=PairRates(
            control=_rate([(each.control,) for each in tasks]),
            first=_rate([each.singles[:1] for each in tasks]),
            second=_rate([each.singles[1:] for each in tasks]),
            together=_rate([each.together for each in tasks]),
        ),
        effects=PairEffects(
            first_alone=full_figure(found.first_alone),
            second_alone=full_figure(found.second_alone),
            over_first=full_figure(found.over_first),
            over_second=full_figure(found.over_second),
            main_first=full_figure(found.main_first),
            main_second=full_figure(found.main_second),
        ),
        interaction=full_figure(found.interaction),
        independence=full_figure(found.independence),
        order=full_figure(replace(found.order, p_adjusted=evidence.order_p)) if found.order else None,
        equivalence=PairEquivalence(
            margin=facts.margin,
            p=shown.p if shown else None,
            low=shown.low if shown else None,
            high=shown.high if shown else None,
        ),
        p_adjusted=evidence.ps.get(word),
        verdict=PairVerdict(
            word=word,
            reason=reason,
            notes=tuple(_notes(evidence, word)),
            preliminary=(
                *preliminary_reasons(
                    len(tasks),
                    found.interaction.half_width,
                    missing,
                    facts.margin,
                    "tasks",
                    "trials",
                    facts.replications,
                ),
                *filter(None, (extended(len(facts.extends)),)),
            ),
        ),
        declared=declared,
        truth=_truth(evidence, word) if declared else None,
        truth_p_adjusted=evidence.ps["true"] if declared else None,
    )


def _rate(cells: Sequence[Sequence[CellTrials]]) -> FullFigure:
    """The share of trials that passed, by task."""
    passes = [sum(cell.passes for cell in each) for each in cells]
    return full_figure(clustered_proportion(passes, [sum(len(cell.trials) for cell in each) for each in cells]))
