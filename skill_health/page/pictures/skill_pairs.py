"""Heat map of pairs of skills: whether both together do more or less than their effects add up to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skill_health.documents.caveats import FoundCaveat, find_effect_caveats
from skill_health.documents.effect_composition import PairComposition, PairWord
from skill_health.documents.skill_record import MeasuredPair
from skill_health.page.drawing.theme import BAD, GRID, GROUND, INK, SERIES
from skill_health.page.figures import MISSING, count, points, share, text_cell
from skill_health.page.model import NumberTable, Origins, Page, PageCell, Picture
from skill_health.page.pictures import _specs as vl
from skill_health.page.pictures._caveats import caveated_picture, mark_words
from skill_health.status.composed import all_pairs, interaction_text
from skill_health.text.near import list_some
from skill_health.text.numbers import count as count_text

QUESTION, ORDER = 4, 0
NAME = "skill-pairs"
_MOST_SKILLS, _MOST_MODELS = 12, 4
_LETTERS: Mapping[PairWord, str] = {
    "synergistic": "S", "additive": "A", "redundant": "R", "conflicting": "C", "inconclusive": "?", "not testable": "",
}  # fmt: skip
_SHOWN = ("synergistic", "redundant", "conflicting")
_HEAD = (
    "First", "Second", "Verdict", "With none, %", "With the first, %", "With the second, %", "With both, %",
    "Interaction, points", "Independence, points", "Order, points", "Tasks", "Declared", "Declared is", "To mind", "Run",
)  # fmt: skip
_NOTE = (
    "Point at a cell, or tap it, for its interval and n. "
    "The number is the interaction in points of success: both less the first less the second plus none. Blue: more than "
    "the effects add up to, red: less; strongest where a verdict is shown. S: synergistic, A: additive, R: redundant, C: "
    "conflicting, ?: inconclusive, a number alone: not testable. A border marks pairs that the collection says work together."
)


@dataclass(frozen=True, slots=True)
class PairCells:
    """A pair: what the record of its skills says of it, and the report that this is taken from."""

    said: MeasuredPair
    own: PairComposition

    @property
    def subject(self) -> str:
        """The model."""
        return self.said.model

    @property
    def marks(self) -> tuple[FoundCaveat, ...]:
        """What keeps its figures from being taken at their word."""
        return find_effect_caveats(self.said)


def measured_pairs(page: Page) -> Mapping[str, Sequence[PairCells]]:
    """The pairs of each model that the records of skills have and whose reports are there, real models first."""
    known = {
        (report.run_id, model.model, pair.first, pair.second, pair.variant): pair
        for report in page.effects
        for model in report.models
        for pair in model.composition
    }
    found: dict[str, list[PairCells]] = {}
    for said in all_pairs(page.status.skills):
        if own := known.get((said.run_id, said.model, *said.key)):
            found.setdefault(said.model, []).append(PairCells(said, own))
    return found


def build(page: Page) -> tuple[Picture, ...]:
    """A heat map for each of the first models that tried pairs."""
    found = list(measured_pairs(page).items())[:_MOST_MODELS]
    return tuple(_picture(page.origins, *each, f"-{at}" if at > 1 else "") for at, each in enumerate(found, 1))


def _picture(origins: Origins, model: str, pairs: Sequence[PairCells], suffix: str) -> Picture:
    ranked = sorted(pairs, key=_rank)
    chosen: list[str] = []
    for pair in ranked:
        new = [name for name in (pair.own.first, pair.own.second) if name not in chosen]
        if len(chosen) + len(new) <= _MOST_SKILLS:
            chosen += new
    # One cell holds one number: of a pair that was tried with and without the hint, that without.
    drawn: dict[tuple[str, str], PairCells] = {}
    for pair in sorted(pairs, key=lambda each: each.said.key):
        if {pair.own.first, pair.own.second} <= {*chosen}:
            drawn.setdefault((pair.own.first, pair.own.second), pair)
    table = NumberTable(_HEAD, tuple(_row(origins, pair) for pair in ranked), "Every pair, the clearest first")
    said = [f"{each.own.first} with {each.own.second} {each.said.verdict}, {_told(each.said)}" for each in ranked]
    alt = f"Heat map of {count_text(len(pairs), 'pair')} of skills by {model}: {list_some(said, 3)}."
    left = len(pairs) - len(drawn)
    cut = f"{count_text(left, 'pair')} {'is' if left == 1 else 'are'} in the table only." if left else ""
    runs = list(dict.fromkeys(each.said.run_id for each in pairs))
    title = f"Skills together, {model}, {f'run {runs[0]}' if len(runs) == 1 else f'{len(runs)} runs'}"
    return caveated_picture(
        f"{NAME}{suffix}", title, alt, _spec(list(drawn.values())), table, QUESTION, pairs, _NOTE, cut
    )


def _rank(pair: PairCells) -> tuple[bool, bool, float, tuple[str, str, str]]:
    """Verdicts that are shown first, then what is testable, each by the size of the interaction."""
    word, size = pair.said.verdict, -abs(pair.said.interaction.value or 0.0)
    return word not in _SHOWN, word == "not testable", size, pair.said.key


def _told(pair: MeasuredPair) -> str:
    return "interaction not known" if pair.interaction.value is None else f"interaction {interaction_text(pair)}"


def _row(origins: Origins, pair: PairCells) -> tuple[PageCell, ...]:
    own = pair.own
    rates = (share(origins, getattr(own.rates, name)) for name in ("control", "first", "second", "together"))
    order = points(origins, own.order) if own.order is not None else text_cell(MISSING)
    declared = "; ".join(f"{each.path}:{each.line}" for each in own.declared)
    return (
        text_cell(f"{own.first}{own.variant}"), text_cell(own.second), text_cell(own.verdict.word), *rates,
        points(origins, own.interaction), points(origins, own.independence), order, count(origins, own, "tasks"),
        text_cell(declared or MISSING), text_cell(own.truth or MISSING), text_cell(mark_words(pair) or MISSING),
        text_cell(pair.said.run_id),
    )  # fmt: skip


def _spec(drawn: Sequence[PairCells]) -> vl.Spec:
    names = sorted({name for pair in drawn for name in (pair.own.first, pair.own.second)})
    labels = dict(zip(names, vl.labels(names, width=24), strict=True))
    # The last name has no row of its own, the first no column: each pair stands once, below the diagonal.
    rows, columns = [labels[name] for name in names[1:]], [labels[name] for name in names[:-1]]
    places = [{"row": row, "column": column} for row, column in zip(rows, columns, strict=True)]
    values: list[vl.Spec] = []
    for each in drawn:
        pair, minds = each.own, mark_words(each)
        value = None if pair.interaction.value is None else round(100 * pair.interaction.value)
        side = "none" if value is None else "up" if value > 0 else "down" if value < 0 else "same"
        told = MISSING if value is None else f"{value:+d}" if value else "0"
        shown = pair.verdict.word in _SHOWN
        values.append({
            "row": labels[pair.second], "column": labels[pair.first], "side": side,
            "told": f"{told} {_LETTERS[pair.verdict.word]}".rstrip(), "strong": shown, "declared": bool(pair.declared),
            "about": f"{pair.first} + {pair.second}: {pair.verdict.word}, {_told(each.said)}{f' ({minds})' if minds else ''}",
            "weight": 1 if shown else min(0.1 + abs(value or 0) / 100, 0.5),
        })  # fmt: skip
    colors = {"domain": ["up", "down", "same", "none"], "range": [SERIES[0], BAD, GRID, GROUND]}
    fill = vl.category("side", scale=colors, legend=None)
    ink = {"value": INK, "condition": {"test": "datum.strong && datum.side !== 'same'", "value": GROUND}}
    border: vl.Spec = {
        "description": vl.channel("about", "nominal"),
        "stroke": vl.either("declared", INK, GROUND),
        "strokeWidth": vl.either("declared", 1.5, 1),
    }
    layers = [
        vl.layer("rect", {}, places, fill=None),
        vl.layer(
            "rect", {"fill": fill, "fillOpacity": vl.channel("weight", scale=None, legend=None), **border}, aria=True
        ),
        vl.layer("text", {"text": {"field": "told"}, "color": ink}, align="center"),
    ]
    x = vl.category("column", title=None, axis={"orient": "top", "labelAngle": -90})
    width = max(210, 44 * len(columns))
    return vl.plot(values, {"step": 26}, layers, width, x=x, y=vl.row_names("row"))
