"""Routing against the size of the library: the last curve, a panel for each thing that was measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from skill_health.documents._record import Figure
from skill_health.documents.caveats import FoundCaveat, RoutingFacts, find_routing_caveats
from skill_health.documents.router_curve import CurvePoint, ModelCurve, RouterCurve
from skill_health.page.drawing.theme import SERIES
from skill_health.page.figures import estimate_text, share, text_cell
from skill_health.page.model import NumberTable, Origins, Page, PageCell, Picture
from skill_health.page.pictures import _specs as vl
from skill_health.page.pictures._caveats import caveated_picture
from skill_health.text.near import list_some
from skill_health.text.numbers import quantity, with_n

QUESTION, ORDER = 2, 25
MOST = len(SERIES)
"""So many models are drawn; each has a colour of its own."""
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-left", "triangle-right")
_TOP1, _FIRE, _FOUND = "right, a skill applies", "fires where no skill applies", "retrieved by the first stage"
_TOKENS, _DOLLARS = "tokens of a question", "US dollars of a call"
_HEAD = (
    "Model", "Skills", "Top-1, % [95 % interval], n", "Top-1 where a skill applies, %", "Retrieved, %", "False fire, %",
    "Tokens of a question, median", "Tokens read, median", "US dollars of a call, median",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CurvedModel:
    """A model of the curve."""

    own: ModelCurve

    @property
    def subject(self) -> str:
        """The model."""
        return self.own.model

    @property
    def marks(self) -> tuple[FoundCaveat, ...]:
        """What keeps its figures from being taken at their word."""
        trusted = all(point.trusted is not False for point in self.own.points)
        facts = RoutingFacts(self.own.kind == "simulated", self.own.kind == "local", False, trusted, "all")
        return find_routing_caveats(facts)


def build(page: Page) -> tuple[Picture, ...]:
    """One picture of the curve that was saved; none where there is none."""
    curve = page.curve
    if curve is None or not curve.models:
        return ()
    drawn = [CurvedModel(model) for model in curve.models[:MOST]]
    rows = tuple(row for model in curve.models for row in _rows(page.origins, model))
    left = f"{len(curve.models) - MOST} more models are in the table." if len(curve.models) > MOST else ""
    ends = [_ends(each.own) for each in drawn]
    alt = (
        f"Right answers, false fires, tokens and dollars in libraries of {curve.sizes[0]:,} to {curve.sizes[-1]:,} skills. "
        f"{list_some(ends, 4)}."
    )
    stages = f"{curve.retriever} left {curve.retrieve} skills for each prompt." if curve.retrieve else ""
    table = NumberTable(_HEAD, rows, "Each model in each library")
    title = "Routing and the size of the library"
    notes = (stages, left, *curve.notes)
    return (caveated_picture("router-curve", title, alt, _spec(curve, drawn), table, 2, drawn, *notes),)


def _ends(model: ModelCurve) -> str:
    first, last = model.points[0], model.points[-1]
    return (
        f"{model.model}: right {estimate_text(first.top1_skill)} at {first.size:,} skills, "
        f"{estimate_text(last.top1_skill)} at {last.size:,}"
    )


def _rows(origins: Origins, model: ModelCurve) -> Iterator[tuple[PageCell, ...]]:
    for point in model.points:
        size = PageCell(f"{point.size:,}", point.size, origins.of(point, "size"))
        found = share(origins, point.retrieved) if point.retrieved else text_cell("")
        yield (
            text_cell(model.model), size, share(origins, point.top1), share(origins, point.top1_skill), found,
            share(origins, point.false_fire),
            *(_amount(origins, each) for each in (point.question_tokens, point.input_tokens, point.cost_usd)),
        )  # fmt: skip


def _amount(origins: Origins, figure: Figure) -> PageCell:
    if figure.value is None:
        return text_cell(quantity(figure))
    return PageCell(with_n(quantity(figure), figure), figure.value, origins.of(figure))


def _spec(curve: RouterCurve, drawn: list[CurvedModel]) -> vl.Spec:
    names = vl.labels([each.subject for each in drawn])
    looks = {name: (SERIES[at], _SHAPES[at % len(_SHAPES)]) for at, name in enumerate(names)}
    shares: list[vl.Spec] = []
    amounts: list[vl.Spec] = []
    for each, name in zip(drawn, names, strict=True):
        for point in each.own.points:
            shares += _values(name, point)
            amounts += _costs(name, point)
    return {"vconcat": [_panel(shares, looks, True), *([_panel(amounts, looks, False)] if amounts else [])]}


def _values(name: str, point: CurvePoint) -> Iterator[vl.Spec]:
    figures = [(_TOP1, point.top1_skill), (_FOUND, point.retrieved), (_FIRE, point.false_fire)]
    for group, figure in figures:
        if figure and figure.value is not None:
            yield {"group": group, "series": name, "size": point.size, **vl.estimate_values(figure)}


def _costs(name: str, point: CurvePoint) -> Iterator[vl.Spec]:
    read = point.question_tokens if point.input_tokens.value is None else point.input_tokens
    for group, figure in ((_TOKENS, read), (_DOLLARS, point.cost_usd)):
        if figure.value:
            yield {"group": group, "series": name, "size": point.size, **vl.estimate_values(figure, 1.0)}


def _panel(values: list[vl.Spec], looks: dict[str, tuple[str, str]], percent: bool) -> vl.Spec:
    color, shape = vl.looks("series", looks, looks)
    x = vl.channel(
        "size",
        title="skills in the library",
        scale={"type": "log", "nice": False, "padding": 8},
        axis={"tickCount": 5, "format": "~s"},
    )
    axis = vl.percent_axis("% of calls") if percent else {"title": None, "axis": {"grid": True, "tickCount": 4}}
    y = vl.channel("value", **axis)
    layers = [
        vl.layer("line", {"x": x, "y": y, "color": color}),
        vl.layer("rule", {"x": x, **vl.interval("y", axis), "color": color}, only="low"),
        vl.layer("point", {"x": x, "y": y, "color": color, "shape": shape}, filled=True, size=40),
    ]
    return vl.facets(values, vl.layered(120, layers), apart=not percent)
