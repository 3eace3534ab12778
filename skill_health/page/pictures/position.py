"""Position bias: how often models pick each place of the list, how often they would, and how often they are right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skill_health.page.figures import MISSING, amount, count, plain, share
from skill_health.page.model import Cell, Page, Picture, Table
from skill_health.page.origin import Doc
from skill_health.page.pictures._router_marks import Spec, caption, intervals, kinds, per_cent
from skill_health.page.pictures._router_models import Entry, caveats, current, listed, part, percent, tag
from skill_health.page.theme import MUTED, SERIES

QUESTION, ORDER = 2, 40
MOST = 4
WIDTH, HEIGHT = 198, 110
PICKED, EXPECTED = "picked", "expected if places did not matter"
LOOKS = {PICKED: (SERIES[0], "circle"), EXPECTED: (SERIES[1], "square")}
DASHES = {PICKED: [1, 0], EXPECTED: [4, 3]}
_HEAD = (
    "Model", "Places", "First answers there", "Picked, %", "Expected, %", "Right where the right skill is there, % [95 % interval], n",
    "Distance, p", "Slope, log odds for each place [95 % interval], p",
)  # fmt: skip

_NOTE = (
    "Left: the share of first answers that stood at a place of the list, against the share if the orders of each prompt "
    "were exchanged among its calls; the distance is the total variation between the two, with the p of that "
    "permutation. Right: the share of right answers where the right skill stood at a place, with 95 % intervals; the "
    "slope is the change of its log odds for each place further down."
)


def build(page: Page) -> tuple[Picture, ...]:
    """One picture of the best models of which the places are known; none where there is no such model."""
    entries = [entry for entry in current(page) if any(map(_known, places(entry)))]
    drawn = entries[:MOST]
    if not drawn:
        return ()
    table = Table(_HEAD, tuple(row for entry in drawn for row in _rows(entry)), "Places of the list")
    said = [f"{entry.label}: {_told(entry)}" for entry in drawn]
    alt = (
        f"Picked and expected share of each place of the list, and share of right answers by place. {'; '.join(said)}."
    )
    note = [_NOTE, caveats(drawn)]
    if len(entries) > MOST:
        note.append(
            f"The best {MOST} of {len(entries)} models are shown; left out: {listed([each.name for each in entries[MOST:]])}."
        )
    title = f"Routing: does the place in the list matter?{tag(drawn)}"
    return (Picture("router-position", title, alt, _spec(drawn), table, 2, " ".join(filter(None, note))),)


def places(entry: Entry) -> tuple[Doc, ...]:
    """The places of a model's report, from the top of the list; none in a report of before they were counted."""
    return tuple(entry.own["position"].get("places"))


def _known(place: Doc) -> bool:
    return place["picked"].value is not None or place["right"]["value"].value is not None


def _told(entry: Entry) -> str:
    return f"{_far(entry.own['position']['tv'])}, {_steep(entry.own['position']['slope'])}"


def _far(distance: Doc) -> str:
    return f"distance {_distance(distance)}" if _has(distance) else "distance not testable"


def _steep(slope: Doc, short: bool = False) -> str:
    return f"slope {_slope(slope, short)}" if _has(slope) else "slope not testable"


def _distance(distance: Doc) -> str:
    return f"{distance.value['value']:.3f}{_p(distance)}"


def _slope(slope: Doc, short: bool = False) -> str:
    text = amount(slope, digits=2 if short else 3, signed=True).text
    return f"{text.split(' n ')[0] if short else text}{_p(slope)}"


def _p(number: Doc) -> str:
    found = number.value.get("p")
    return "" if found is None else f", p {found:.3f}" if found >= 0.001 else ", p < 0.001"


def _rows(entry: Entry) -> Iterator[tuple[Cell, ...]]:
    distance, slope = entry.own["position"]["tv"], entry.own["position"]["slope"]
    nothing = plain("")
    yield (
        plain(entry.label), plain("all"), count(distance["n"]), nothing, nothing, nothing,
        Cell(_distance(distance), distance.value["value"], distance["value"].origin) if _has(distance) else plain(MISSING),
        Cell(_slope(slope), slope.value["value"], slope.origin) if _has(slope) else plain(MISSING),
    )  # fmt: skip
    for place in places(entry):
        yield (
            plain(entry.label),
            plain(_span(place)),
            count(place["calls"]),
            part(place["picked"]),
            part(place["expected"]),
            share(place["right"]),
            nothing,
            nothing,
        )


def _has(number: Doc) -> bool:
    return number.value["value"] is not None


def _span(place: Doc) -> str:
    first, last = place.value["first"], place.value["last"]
    return str(first) if first == last else f"{first} to {last}"


def _spec(entries: Sequence[Entry]) -> Spec:
    shares = [place.value[key] for entry in entries for place in places(entry) for key in ("picked", "expected")]
    top = min(100.0, max(10.0, 115 * max((each for each in shares if each is not None), default=0.1)))
    rows = [_panels(entry, top, at == len(entries) - 1) for at, entry in enumerate(entries)]
    return {"vconcat": rows, "spacing": 10}


def _panels(entry: Entry, top: float, last: bool) -> Spec:
    spots = [(place.value, (place.value["first"] + place.value["last"]) / 2) for place in places(entry)]
    title = "place in the list, 1 is the top" if last else None
    most = spots[-1][0]["last"]
    step = -(-most // 6)
    x = {
        "field": "x", "type": "quantitative",
        "scale": {"domain": [0.5, most + 0.5], "nice": False, "zero": False},
        "axis": {"title": title, "values": list(range(step, most + 1, step)), "format": "d", "grid": False},
    }  # fmt: skip
    shares = [
        {"x": at, "v": percent(place[key]), "k": name}
        for place, at in spots
        for key, name in (("picked", PICKED), ("expected", EXPECTED))
        if place[key] is not None
    ]
    right = [
        {"x": at, "v": percent(place["right"]["value"]), "l": percent(place["right"]["low"]), "h": percent(place["right"]["high"])}
        for place, at in spots
        if place["right"]["value"] is not None
    ]  # fmt: skip
    return {"hconcat": [_left(entry, shares, x, top), _right(entry, right, x)], "spacing": 14}


def _left(entry: Entry, values: list[Spec], x: Spec, top: float) -> Spec:
    y = per_cent("v", "first answers, %", top, tickCount=4)
    look = kinds(LOOKS, LOOKS)
    layers = [
        *(
            {
                "data": {"values": [each for each in values if each["k"] == name]},
                "mark": {"type": "line", "strokeWidth": 1.5, "color": color, "strokeDash": DASHES[name]},
                "encoding": {"x": x, "y": y},
            }
            for name, (color, _) in LOOKS.items()
        ),
        {
            "data": {"values": values},
            "mark": {"type": "point", "filled": True, "size": 34, "opacity": 1},
            "encoding": {"x": x, "y": y, **look},
        },
        caption(entry.label, WIDTH, y=-25),
        caption(_far(entry.own["position"]["tv"]), WIDTH, color=MUTED),
    ]
    return {"width": WIDTH, "height": HEIGHT, "layer": layers}


def _right(entry: Entry, values: list[Spec], x: Spec) -> Spec:
    y = per_cent("v", "right, % of calls", tickCount=4)
    point = {"type": "point", "filled": True, "size": 34, "opacity": 1, "color": SERIES[2], "shape": "triangle-up"}
    rules = intervals(values, "y", {"x": x, "color": {"value": SERIES[2]}}, y)
    points = {"data": {"values": values}, "mark": point, "encoding": {"x": x, "y": y}}
    slope = caption(_steep(entry.own["position"]["slope"], short=True), WIDTH, color=MUTED)
    return {"width": WIDTH, "height": HEIGHT, "layer": [rules, points, slope]}
