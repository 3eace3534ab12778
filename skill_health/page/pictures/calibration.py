"""Calibration: the confidence that models state against how often they are right with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skill_health.page.figures import MISSING, amount, count, plain
from skill_health.page.model import Cell, Page, Picture, Table
from skill_health.page.origin import Doc
from skill_health.page.pictures._router_marks import Spec, caption, per_cent
from skill_health.page.pictures._router_models import Entry, caveats, current, listed, part, percent, tag
from skill_health.page.theme import MUTED, SERIES, ZERO

QUESTION, ORDER = 2, 50
MOST = 4
SIDE = 206
_HEAD = (
    "Model", "Stated confidence, %", "Answers", "Mean confidence, %", "Right, % of answers", "Expected calibration error",
    "Brier score [95 % interval]",
)  # fmt: skip
_NOTE = (
    "A point is a range of stated confidence, as large as it has answers. On the dashed line a model is as often right as it "
    "says; below it, it is too sure of itself. An expected calibration error (ECE) errs upwards, the more the fewer answers."
)


def build(page: Page) -> tuple[Picture, ...]:
    """One picture of the best models that state a confidence; none where no model does."""
    entries = [entry for entry in current(page) if filled(entry)]
    drawn = entries[:MOST]
    if not drawn:
        return ()
    table = Table(_HEAD, tuple(row for entry in drawn for row in _rows(entry)), "Stated confidence and right answers")
    said = [f"{entry.label}: {_told(entry)}" for entry in drawn]
    alt = f"Share of right answers by stated confidence. {'; '.join(said)}."
    note = [_NOTE, caveats(drawn)]
    if len(entries) > MOST:
        note.append(
            f"The best {MOST} of {len(entries)} models are shown; left out: {listed([each.name for each in entries[MOST:]])}."
        )
    title = f"Routing: is a model as often right as it says?{tag(drawn)}"
    return (Picture("router-calibration", title, alt, _spec(drawn), table, 2, " ".join(filter(None, note))),)


def filled(entry: Entry) -> tuple[Doc, ...]:
    """The ranges of confidence that have answers, the lowest first."""
    return tuple(each for each in entry.own["calibration"]["bins"] if each.value["n"])


def _told(entry: Entry) -> str:
    error, brier = entry.own["calibration"]["ece"], entry.own["calibration"]["brier"]
    shown = MISSING if error.value["value"] is None else f"{error.value['value']:.3f}"
    return f"ECE {shown}, Brier {amount(brier, digits=3).text}"


def _rows(entry: Entry) -> Iterator[tuple[Cell, ...]]:
    found, nothing = entry.own["calibration"], plain("")
    error = found["ece"]["value"]
    yield (
        plain(entry.label), plain("all"), count(found["brier"]["n"]), nothing, nothing,
        Cell(MISSING if error.value is None else f"{error.value:.3f}", error.value, error.origin),
        amount(found["brier"], digits=3),
    )  # fmt: skip
    for each in filled(entry):
        yield (
            plain(entry.label),
            plain(f"{100 * each.value['low']:.0f} to {100 * each.value['high']:.0f}"),
            count(each["n"]),
            part(each["confidence"]),
            part(each["accuracy"]),
            nothing,
            nothing,
        )


def _spec(entries: Sequence[Entry]) -> Spec:
    most = max(each.value["n"] for entry in entries for each in filled(entry))
    panels = [_panel(entry, most, at) for at, entry in enumerate(entries)]
    pairs = [{"hconcat": panels[at : at + 2], "spacing": 20} for at in range(0, len(panels), 2)]
    return {"vconcat": pairs, "spacing": 14}


def _panel(entry: Entry, most: int, at: int) -> Spec:
    values = [
        {"x": percent(each.value["confidence"]), "v": percent(each.value["accuracy"]), "n": each.value["n"]}
        for each in filled(entry)
    ]
    x = per_cent("x", "stated confidence, %", grid=False)
    y = per_cent("v", "right, % of answers" if at % 2 == 0 else None)
    steps = sorted({max(1, round(most * part)) for part in (0.1, 0.5, 1)})
    size = {
        "field": "n", "type": "quantitative", "scale": {"domain": [0, most], "range": [8, 300]},
        "legend": {
            "title": "answers in the range", "orient": "bottom", "values": steps, "symbolFillColor": SERIES[0],
            "symbolStrokeWidth": 0, "format": "d",
        },
    }  # fmt: skip
    layers = [
        {
            "data": {"values": [{"x": 0, "v": 0}, {"x": 100, "v": 100}]},
            "mark": {"type": "line", "color": ZERO, "strokeDash": [4, 3], "strokeWidth": 1},
            "encoding": {"x": x, "y": y},
        },
        {
            "data": {"values": values},
            "mark": {"type": "line", "color": SERIES[0], "strokeWidth": 1},
            "encoding": {"x": x, "y": y},
        },
        {
            "data": {"values": values},
            "mark": {"type": "point", "filled": True, "color": SERIES[0], "opacity": 1},
            "encoding": {"x": x, "y": y, "size": size},
        },
        caption(entry.label, SIDE, y=-25),
        caption(_told(entry).rsplit(" n ", 1)[0], SIDE, color=MUTED),
    ]
    return {"width": SIDE, "height": SIDE - 40, "layer": layers}
