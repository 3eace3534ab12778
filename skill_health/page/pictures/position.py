"""Position bias: how often models pick each place of the list, how often they would, and how often they are right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from skill_health.page.drawing.theme import MUTED, SERIES
from skill_health.page.figures import MISSING, amount, count, share, text_cell
from skill_health.page.model import JsonNode, NumberTable, Page, PageCell, Picture
from skill_health.page.pictures._panel import Panel, Spec, Ticks, interval, numbers, round_ticks, together
from skill_health.page.pictures._router_models import Entry, caveats, current, listed, part, percent, tag, warning
from skill_health.page.pictures._text import fitted, padding

QUESTION, ORDER = 2, 40
MOST = 4
WIDTH, WHOLE, HEIGHT = 198, 440, 110
"""Pixels of a plot that has another beside it, and of one that has none."""
PICKED, EXPECTED = "picked", "expected if places did not matter"
LOOKS = {PICKED: (SERIES[0], "circle"), EXPECTED: (SERIES[1], "square")}
DASHES = {PICKED: [1, 0], EXPECTED: [4, 3]}
_HEAD = (
    "Model", "Places", "First answers there", "Picked, %", "Expected, %", "Right where the right skill is there, % [95 % interval], n",
    "Distance, p", "Slope, log odds for each place [95 % interval], p",
)  # fmt: skip

_PICKED = (
    "Picked: the share of first answers that stood at a place of the list, against the share if the orders of each prompt "
    "were exchanged among its calls; the distance is the total variation between the two, with the p of that permutation."
)
_RIGHT = (
    "Right: the share of right answers where the right skill stood at a place, with 95 % intervals; the slope is the "
    "change of its log odds for each place further down."
)
_UNTESTED = "How often places are picked is not tested: that takes several calls for each prompt, in different orders."


def build(page: Page) -> tuple[Picture, ...]:
    """One picture of the best models of which the places are known; none where there is no such model."""
    entries = [entry for entry in current(page) if any(map(_known, places(entry)))]
    drawn = entries[:MOST]
    if not drawn:
        return ()
    table = NumberTable(_HEAD, tuple(row for entry in drawn for row in _rows(entry)), "Places of the list")
    said = [f"{entry.label}: {_told(entry)}" for entry in drawn]
    tested = any(map(_shares, drawn))
    what = "Picked and expected share of each place of the list, and share" if tested else "Share"
    alt = f"{what} of right answers by place in the list. {'; '.join(said)}.{warning(drawn)}"
    note = [_PICKED if tested else "", _RIGHT, "" if tested else _UNTESTED, caveats(drawn)]
    if len(entries) > MOST:
        note.append(
            f"The best {MOST} of {len(entries)} models are shown; left out: {listed([each.name for each in entries[MOST:]])}."
        )
    title = f"Routing: does the place in the list matter?{tag(drawn)}"
    return (Picture("router-position", title, alt, _spec(drawn), table, 2, " ".join(filter(None, note))),)


def places(entry: Entry) -> tuple[JsonNode, ...]:
    """The places of a model's report, from the top of the list; none in a report of before they were counted."""
    return tuple(entry.own["position"].get("places"))


def _known(place: JsonNode) -> bool:
    return place["picked"].value is not None or place["right"]["value"].value is not None


def _told(entry: Entry) -> str:
    return f"{_far(entry.own['position']['tv'])}, {_steep(entry.own['position']['slope'])}"


def _far(distance: JsonNode) -> str:
    return f"distance {_distance(distance)}" if _has(distance) else "distance not testable"


def _steep(slope: JsonNode, short: bool = False) -> str:
    return f"slope {_slope(slope, short)}" if _has(slope) else "slope not testable"


def _distance(distance: JsonNode) -> str:
    return f"{distance.value['value']:.3f}{_p(distance)}"


def _slope(slope: JsonNode, short: bool = False) -> str:
    text = amount(slope, digits=2 if short else 3, signed=True).text
    return f"{text.split(' n ')[0] if short else text}{_p(slope)}"


def _p(number: JsonNode) -> str:
    found = number.value.get("p")
    return "" if found is None else f", p {found:.3f}" if found >= 0.001 else ", p < 0.001"


def _rows(entry: Entry) -> Iterator[tuple[PageCell, ...]]:
    distance, slope = entry.own["position"]["tv"], entry.own["position"]["slope"]
    nothing = text_cell("")
    yield (
        text_cell(entry.label), text_cell("all"), count(distance["n"]), nothing, nothing, nothing,
        PageCell(_distance(distance), distance.value["value"], distance["value"].origin) if _has(distance) else text_cell(MISSING),
        PageCell(_slope(slope), slope.value["value"], slope.origin) if _has(slope) else text_cell(MISSING),
    )  # fmt: skip
    for place in places(entry):
        yield (
            text_cell(entry.label),
            text_cell(_span(place)),
            count(place["calls"]),
            part(place["picked"]),
            part(place["expected"]),
            share(place["right"]),
            nothing,
            nothing,
        )


def _has(number: JsonNode) -> bool:
    return number.value["value"] is not None


def _span(place: JsonNode) -> str:
    first, last = place.value["first"], place.value["last"]
    return str(first) if first == last else f"{first} to {last}"


def _shares(entry: Entry) -> bool:
    """Whether it is known how often places are picked."""
    return any(place.value["picked"] is not None for place in places(entry))


def _spec(entries: Sequence[Entry]) -> Spec:
    shares = [place.value[key] for entry in entries for place in places(entry) for key in ("picked", "expected")]
    top = min(100.0, max(10.0, 115 * max((each for each in shares if each is not None), default=0.1)))
    tested = any(map(_shares, entries))
    panels: list[Panel] = []
    for at, entry in enumerate(entries):
        title = "place in the list, 1 is the top" if at == len(entries) - 1 else ""
        own = (_left(entry, top, title), _right(entry, title, WIDTH)) if tested else (_right(entry, title, WHOLE),)
        own[0].head(fitted(entry.label, own[0].width), 47)
        panels += own
    if tested:
        panels[-2].legend([(name, *LOOKS[name], 34.0) for name in LOOKS], 0, HEIGHT + 48, 74)
    return together(panels, padding(12, 14, 14), 2 if tested else 1, 82, 44)


def _spots(entry: Entry) -> list[tuple[dict[str, Any], float]]:
    return [(place.value, (place.value["first"] + place.value["last"]) / 2) for place in places(entry)]


def _panel(entry: Entry, top: float, title: str, width: int, beside: str) -> Panel:
    """An empty plot over the places of the list."""
    most = places(entry)[-1].value["last"]
    ticks = sorted({1, *(int(each) for each in round_ticks(0, most) if each >= 1 and each == int(each))})
    panel = Panel(width, HEIGHT, (0.5, most + 0.5), (0, top))
    panel.beside(numbers(round_ticks(0, top, 4)), beside, above=17)
    panel.below(_apart(ticks), title)
    return panel


def _apart(ticks: Sequence[int]) -> Ticks:
    """Ticks without those next to the first that would touch it."""
    return numbers(each for each in ticks if each == 1 or each - 1 > ticks[-1] / 12)


def _left(entry: Entry, top: float, title: str) -> Panel:
    if not _shares(entry):
        bare = Panel(WIDTH, HEIGHT, (0, 1), (0, 1))
        bare.head(_far(entry.own["position"]["tv"]), 32, MUTED)
        return bare
    panel = _panel(entry, top, title, WIDTH, "first answers, %")
    for name, (color, shape) in LOOKS.items():
        key = "picked" if name == PICKED else "expected"
        values = [(at, percent(place[key])) for place, at in _spots(entry) if place[key] is not None]
        panel.line(values, color, strokeDash=DASHES[name])
        for at, value in values:
            panel.dot(at, value or 0.0, color, shape, 34)
    panel.head(_far(entry.own["position"]["tv"]), 32, MUTED)
    return panel


def _right(entry: Entry, title: str, width: int) -> Panel:
    panel = _panel(entry, 100.0, title, width, "right, % of calls")
    for place, at in _spots(entry):
        if place["right"]["value"] is not None:
            interval(panel, place["right"], at, SERIES[2], upright=True, factor=100)
            panel.dot(at, percent(place["right"]["value"]) or 0.0, SERIES[2], "triangle-up", 34)
    panel.head(_steep(entry.own["position"]["slope"], short=width == WIDTH), 32, MUTED)
    return panel
