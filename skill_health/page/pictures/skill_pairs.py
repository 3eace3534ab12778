"""Heat map of pairs of skills: whether both together do more or less than their effects add up to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from skill_health.documents.caveats import Caveat, FoundCaveat
from skill_health.documents.effect_composition import PairComposition, PairWord
from skill_health.documents.effect_report import ModelEffectReport
from skill_health.page.drawing.theme import BAD, GRID, GROUND, INK, SERIES
from skill_health.page.figures import MISSING, count, points, share, text_cell
from skill_health.page.model import NumberTable, Origins, Page, PageCell, Picture
from skill_health.page.pictures import _specs as vl
from skill_health.page.pictures._caveats import caveated_picture
from skill_health.text.near import list_some

QUESTION, ORDER = 4, 0
NAME = "skill-pairs"
_MOST_SKILLS, _MOST_MODELS = 20, 4
_LETTERS: Mapping[PairWord, str] = {
    "synergistic": "S", "additive": "A", "redundant": "R", "conflicting": "C", "inconclusive": "?", "not testable": "",
}  # fmt: skip
_SHOWN = ("synergistic", "redundant", "conflicting")
_HEAD = (
    "First", "Second", "Verdict", "With none, %", "With the first, %", "With the second, %", "With both, %",
    "Interaction, points", "Independence, points", "Order, points", "Tasks", "Declared", "Declared is",
)  # fmt: skip
_NOTE = (
    "The number is the interaction in points of success: both less the first less the second plus none. Blue: more than "
    "the effects add up to, red: less; strongest where a verdict is shown. S: synergistic, A: additive, R: redundant, C: "
    "conflicting, ?: inconclusive, a number alone: not testable. A border marks pairs that the collection says work together."
)


@dataclass(frozen=True, slots=True)
class PairsMeasurement:
    """The pairs that a model last tried."""

    run_id: str
    own: ModelEffectReport

    @property
    def subject(self) -> str:
        """The model."""
        return self.own.model

    @property
    def marks(self) -> tuple[FoundCaveat, ...]:
        """What keeps its figures from being taken at their word."""
        found = [FoundCaveat(Caveat.SIMULATED)] if self.own.simulated else []
        if self.own.biased:
            found.append(FoundCaveat(Caveat.BIASED, self.own.biased[0]))
        if any(pair.verdict.preliminary for pair in self.own.composition):
            found.append(FoundCaveat(Caveat.PRELIMINARY))
        return tuple(found)


def measured_pairs(page: Page) -> Iterator[PairsMeasurement]:
    """The last report of each model that has pairs, the latest first."""
    seen = set()
    for report in page.effects:
        for model in report.models:
            if model.composition and model.model not in seen:
                seen.add(model.model)
                yield PairsMeasurement(report.run_id, model)


def build(page: Page) -> tuple[Picture, ...]:
    """A heat map for each of the first models that tried pairs."""
    found = sorted(measured_pairs(page), key=lambda each: each.own.simulated)[:_MOST_MODELS]
    return tuple(_picture(page.origins, each, f"-{at}" if at > 1 else "") for at, each in enumerate(found, 1))


def _picture(origins: Origins, measured: PairsMeasurement, suffix: str) -> Picture:
    pairs = measured.own.composition
    ranked = sorted(pairs, key=_rank)
    chosen: list[str] = []
    for pair in ranked:
        new = [name for name in (pair.first, pair.second) if name not in chosen]
        if len(chosen) + len(new) <= _MOST_SKILLS:
            chosen += new
    # One cell holds one number: of a pair that was tried with and without the hint, that without.
    drawn: dict[tuple[str, str], PairComposition] = {}
    for pair in sorted(pairs, key=lambda each: (each.first, each.second, each.variant)):
        if {pair.first, pair.second} <= {*chosen}:
            drawn.setdefault((pair.first, pair.second), pair)
    table = NumberTable(_HEAD, tuple(_row(origins, pair) for pair in ranked), "Every pair, the clearest first")
    said = [f"{pair.first} with {pair.second} {pair.verdict.word}, {_told(pair)}" for pair in ranked]
    alt = f"Heat map of {len(pairs)} pairs of skills by {measured.subject}: {list_some(said, 3)}."
    left = len(pairs) - len(drawn)
    cut = f"{left} pairs are in the table only." if left else ""
    title = f"Skills together, {measured.subject}, run {measured.run_id}"
    return caveated_picture(
        f"{NAME}{suffix}", title, alt, _spec(list(drawn.values())), table, QUESTION, (measured,), _NOTE, cut
    )


def _rank(pair: PairComposition) -> tuple[bool, bool, float, str, str, str]:
    """Verdicts that are shown first, then what is testable, each by the size of the interaction."""
    size = -abs(pair.interaction.value or 0.0)
    word = pair.verdict.word
    return word not in _SHOWN, word == "not testable", size, pair.first, pair.second, pair.variant


def _told(pair: PairComposition) -> str:
    value = pair.interaction.value
    return "interaction not known" if value is None else f"interaction {100 * value:+.1f} points, n {pair.tasks} tasks"


def _row(origins: Origins, pair: PairComposition) -> tuple[PageCell, ...]:
    rates = (share(origins, getattr(pair.rates, name)) for name in ("control", "first", "second", "together"))
    order = points(origins, pair.order) if pair.order is not None else text_cell(MISSING)
    said = "; ".join(f"{each.path}:{each.line}" for each in pair.declared)
    return (
        text_cell(f"{pair.first}{pair.variant}"), text_cell(pair.second), text_cell(pair.verdict.word), *rates,
        points(origins, pair.interaction), points(origins, pair.independence), order, count(origins, pair, "tasks"),
        text_cell(said or MISSING), text_cell(pair.truth or MISSING),
    )  # fmt: skip


def _spec(drawn: Sequence[PairComposition]) -> vl.Spec:
    names = sorted({name for pair in drawn for name in (pair.first, pair.second)})
    labels = dict(zip(names, vl.labels(names, width=24), strict=True))
    # The last name has no row of its own, the first no column: each pair stands once, below the diagonal.
    rows, columns = [labels[name] for name in names[1:]], [labels[name] for name in names[:-1]]
    places = [{"row": row, "column": column} for row, column in zip(rows, columns, strict=True)]
    values: list[vl.Spec] = []
    for pair in drawn:
        value = None if pair.interaction.value is None else round(100 * pair.interaction.value)
        side = "none" if value is None else "up" if value > 0 else "down" if value < 0 else "same"
        told = MISSING if value is None else f"{value:+d}" if value else "0"
        shown = pair.verdict.word in _SHOWN
        values.append({
            "row": labels[pair.second], "column": labels[pair.first], "side": side,
            "told": f"{told} {_LETTERS[pair.verdict.word]}".rstrip(), "strong": shown, "declared": bool(pair.declared),
            "weight": 1 if shown else min(0.1 + abs(value or 0) / 100, 0.5),
        })  # fmt: skip
    colors = {"domain": ["up", "down", "same", "none"], "range": [SERIES[0], BAD, GRID, GROUND]}
    fill = vl.category("side", scale=colors, legend=None)
    ink = {"value": INK, "condition": {"test": "datum.strong && datum.side !== 'same'", "value": GROUND}}
    border = {"stroke": vl.either("declared", INK, GROUND), "strokeWidth": vl.either("declared", 1.5, 1)}
    layers = [
        vl.layer("rect", {}, places, fill=None),
        vl.layer("rect", {"fill": fill, "fillOpacity": vl.channel("weight", scale=None, legend=None), **border}),
        vl.layer("text", {"text": {"field": "told"}, "color": ink}, align="center"),
    ]
    x = vl.category("column", title=None, axis={"orient": "top", "labelAngle": -90})
    width = max(210, 44 * len(columns))
    return vl.plot(values, {"step": 26}, layers, width, x=x, y=vl.row_names("row"))
