"""Confusion heat map: which skill is picked where another is expected, and how alike their descriptions are."""

from __future__ import annotations

from itertools import pairwise
from math import ceil
from typing import Any

from skill_health.page.figures import count, plain, score
from skill_health.page.model import Cell, Page, Picture, Table
from skill_health.page.origin import Doc
from skill_health.page.pictures._router_cells import MOST, NONE, Confusions, confusions
from skill_health.page.pictures._router_marks import Spec
from skill_health.page.pictures._router_models import listed, run_id
from skill_health.page.theme import GRID, GROUND, INK, RAMP

QUESTION, ORDER = 2, 30
EDGES = (5, 10, 25, 50, 75)
"""Where a darker colour begins, in per cent."""
BINS = ("below 5", *(f"{low} to {high}" for low, high in pairwise(EDGES)), f"{EDGES[-1]} and more")
_DARK = 50
_LONG, _LETTER = 130, 5.6
_MOST, _HEAD_OF, _TAIL_OF = 24, 12, 10
_HEAD = (
    "Expected",
    "Picked",
    "Calls",
    "Share of the expected skill's calls, %",
    "Prompts",
    "Similarity of the descriptions",
)
_NOTE = (
    "The colour is the share of the calls that expect the skill on the left. Cells with a border are right answers. A ring "
    "is as large as the two descriptions are alike (cosine similarity): a large ring in a dark cell means that the "
    "descriptions say the same, a dark cell with a small one that something else misleads."
)


def build(page: Page) -> tuple[Picture, ...]:
    """One heat map; none where no report has a call with a right answer to count."""
    found = confusions(page)
    if found is None:
        return ()
    whose, tag = _whose(found)
    wrong = sorted(
        (cell for cell in found.cells if cell.value["expected"] != cell.value["picked"]),
        key=lambda cell: -cell.value["calls"],
    )
    right = [cell for cell in found.cells if cell.value["expected"] == cell.value["picked"]]
    table = Table(
        _HEAD, tuple(_row(found, cell) for cell in [*wrong, *right]), "What was picked for what, confusions first"
    )
    worst = [
        f"{name(cell.value['picked'])} for {name(cell.value['expected'])} in {cell.value['calls']} of "
        f"{found.totals[cell.value['expected']]} calls"
        for cell in wrong
    ]
    said = f"Most frequent: {listed(worst, 3)}." if worst else "No skill was picked for another."
    alt = f"Heat map of {len(found.rows)} expected and {len(found.columns)} picked classes, answers of {whose}. {said}"
    note = _NOTE
    if found.left_out:
        note += f" The {MOST} skills that are most involved in confusions are shown, {found.left_out} are left out."
    return (
        Picture(
            "router-confusion",
            f"Routing: picked skill by expected skill, {whose}{tag}",
            alt,
            _spec(found),
            table,
            2,
            note,
        ),
    )


def name(picked: str | None) -> str:
    """A class in words."""
    return "no valid answer" if picked is None else "no skill" if picked == NONE else picked


def _cut(text: str) -> str:
    """A long name without its middle: many names begin alike, and differ at the end."""
    return text if len(text) <= _MOST else f"{text[:_HEAD_OF]}…{text[-_TAIL_OF:]}"


def _whose(found: Confusions) -> tuple[str, str]:
    if found.entry is not None:
        return found.entry.name, ""
    models = [each.value for each in found.report["models"]]
    false = [each["kind"] == "simulated" for each in models]
    tag = "" if not any(false) else " (SIMULATED)" if all(false) else " (in part SIMULATED)"
    return (models[0]["model"] if len(models) == 1 else f"{len(models)} models of run {run_id(found.report)}"), tag


def _row(found: Confusions, cell: Doc) -> tuple[Cell, ...]:
    alike = found.similarity(cell)
    own = 100 * found.share(cell)
    return (
        plain(name(cell.value["expected"])), plain(name(cell.value["picked"])), count(cell["calls"]),
        Cell(f"{own:.1f}", own), count(cell["prompts"]), score(alike) if alike is not None else plain("–"),
    )  # fmt: skip


def _bin(share: float) -> str:
    return BINS[sum(share >= edge for edge in EDGES)]


def _spec(found: Confusions) -> Spec:
    step = 26 if len(found.columns) <= 14 else 18 if len(found.columns) <= 20 else 15
    values, rings = [], []
    for cell in found.cells:
        at = {"r": found.rows.index(cell.value["expected"]), "c": found.columns.index(cell.value["picked"])}
        own = round(100 * found.share(cell), 4)
        right = cell.value["expected"] == cell.value["picked"]
        values.append(at | {"b": _bin(own), "right": right})
        alike = found.similarity(cell)
        if alike is not None and not right:
            rings.append(at | {"s": alike.value, "k": GROUND if own >= _DARK else INK})
    rows, columns = [_cut(name(each)) for each in found.rows], [_cut(name(each)) for each in found.columns]
    x, y = _place("c", "picked skill", columns, "top"), _place("r", "expected skill", rows, "left")
    scale = {"domain": list(BINS), "range": list(RAMP)}
    legend = {
        "title": "share of the expected skill's calls, %", "orient": "bottom", "symbolType": "square", "columns": 3,
        "symbolStrokeColor": GRID, "symbolStrokeWidth": 1, "symbolSize": 140,
    }  # fmt: skip
    layers: list[Spec] = [
        {
            "data": {"values": [each for each in values if each["right"] is right]},
            "mark": {"type": "rect"}
            | ({"stroke": INK, "strokeWidth": 1.5} if right else {"stroke": GROUND, "strokeWidth": 1}),
            "encoding": {"x": x, "y": y, "fill": {"field": "b", "type": "ordinal", "scale": scale, "legend": legend}},
        }
        for right in (False, True)
    ]
    layers += [_names(rows, "r", y), _names(columns, "c", x)]
    if rings:
        layers.append(_rings(rings, x, y, step))
    return {
        "width": {"step": step},
        "height": {"step": step},
        "layer": layers,
        "config": {"legend": {"layout": {"bottom": {"anchor": "start", "direction": "vertical", "margin": 10}}}},
    }


def _place(field: str, title: str, names: list[str], orient: str) -> Spec:
    room = min(_LONG, round(_LETTER * max(map(len, names)))) + 10
    axis = {
        "title": title, "labels": False, "ticks": False, "domain": False, "grid": True, "tickBand": "extent", "orient": orient,
        "titlePadding": room, "zindex": 0,
    }  # fmt: skip
    return {"field": field, "type": "ordinal", "scale": {"domain": list(range(len(names))), "padding": 0}, "axis": axis}


def _names(names: list[str], field: str, place: Spec) -> Spec:
    across = field == "c"
    turned: dict[str, Any] = {"align": "left", "angle": 270} if across else {"align": "right"}
    return {
        "data": {"values": [{field: at, "t": text} for at, text in enumerate(names)]},
        "mark": {"type": "text", "baseline": "middle", "limit": _LONG, **turned},
        "encoding": {
            ("x" if across else "y"): place,
            ("y" if across else "x"): {"value": -6},
            "text": {"field": "t", "type": "nominal"},
        },
    }


def _rings(rings: list[dict[str, Any]], x: Spec, y: Spec, step: int) -> Spec:
    most = ceil(10 * max(each["s"] for each in rings)) / 10 or 0.1
    size = {
        "field": "s", "type": "quantitative", "scale": {"type": "pow", "exponent": 2, "domain": [0, most], "range": [4, (step - 3) ** 2]},
        "legend": {
            "title": "similarity of the descriptions (cosine)", "orient": "bottom", "values": [most / 4, most / 2, most],
            "symbolType": "circle", "symbolFillColor": None, "symbolStrokeColor": INK, "format": ".2f",
        },
    }  # fmt: skip
    return {
        "data": {"values": rings},
        "mark": {"type": "point", "shape": "circle", "filled": False, "strokeWidth": 1.5, "opacity": 1},
        "encoding": {"x": x, "y": y, "size": size, "stroke": {"field": "k", "type": "nominal", "scale": None}},
    }
