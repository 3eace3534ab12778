"""What the reports say of two skills together, as rows and sentences; nothing in here escapes anything."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.documents._record import FullFigure
from skill_health.documents.effect_composition import DeclaredTogether, PairComposition
from skill_health.text.numbers import NOTHING, count, p_value, percent, points, share

HEAD = ("skills", "verdict", "none", "first", "second", "both", "interaction", "tasks")
HOW = (
    "Shares of trials that passed, in per cent, with no skill, either one and both; the interaction is both less the "
    "first less the second plus none, in points, with its 95 % interval: zero where the effects add up."
)


def name(pair: PairComposition) -> str:
    """The two skills of a pair: "csv-cleaning + log-triage"."""
    return f"{pair.first} + {pair.second}{pair.variant}"


def row(pair: PairComposition, intervals: bool) -> list[str]:
    """A pair as a row below HEAD, the rates with their intervals or without."""
    rates = [getattr(pair.rates, each) for each in ("control", "first", "second", "together")]
    shown = [share(each) if intervals else percent(each.value) for each in rates]
    return [name(pair), pair.verdict.word, *shown, points(pair.interaction), f"{pair.tasks:,}"]


def sentences(pair: PairComposition) -> Iterator[str]:
    """What decided, what each adds, what else to mind."""
    tested = "" if pair.p_adjusted is None else f", p {p_value(pair.p_adjusted)} (holm)"
    yield f"{pair.verdict.word}: {pair.verdict.reason}{tested}"
    effects = pair.effects
    yield (
        f"{pair.first} alone {_points(effects.first_alone)}, {pair.second} alone {_points(effects.second_alone)}; "
        f"{pair.second} beside {pair.first} {_points(effects.over_first)}, {pair.first} beside {pair.second} "
        f"{_points(effects.over_second)} points"
    )
    yield (
        f"on the scale of failures saved independently (Bliss) {_points(pair.independence)} points; main effects "
        f"{_points(effects.main_first)} and {_points(effects.main_second)}; {count(pair.of_both, 'task')} for both skills, "
        f"{pair.of_first:,} for {pair.first}, {pair.of_second:,} for {pair.second}"
    )
    if pair.order is not None:
        p = "not testable" if pair.order.p_adjusted is None else f"p {p_value(pair.order.p_adjusted)} (holm)"
        yield f"{pair.first} listed first less {pair.second} listed first: {points(pair.order)} points, {p}"
    yield from pair.verdict.notes
    yield from (f"preliminary: {why}" for why in pair.verdict.preliminary)


def _points(figure: FullFigure) -> str:
    return points(figure) if figure.value is not None else NOTHING


def declaration(pair: PairComposition, said: DeclaredTogether) -> str:
    """One line for a place that says that the two work together, and whether that is true."""
    return f'{pair.truth or NOTHING}: {said.skill} says ({said.source}, {said.path}:{said.line}): "{said.quote}"'
