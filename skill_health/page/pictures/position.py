"""Position bias: how often models pick each place of the list, how often they would, and how often they are right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skill_health.page.drawing.theme import MUTED, SERIES
from skill_health.page.figures import MISSING, amount, count, share, text_cell
from skill_health.page.model import NumberTable, Page, PageCell, Picture
from skill_health.page.origin import JsonNode
from skill_health.page.pictures._caveats import caveat_note, caveat_sentences, list_some, title_suffix
from skill_health.page.pictures._routers import RouterStanding, percent, percent_cell, router_standings
from skill_health.page.pictures._specs import WIDTH, Spec, channel, estimate_values, facet_channel, labels, layer, looks

QUESTION, ORDER = 2, 40
MOST = 4
EXPECTED = "expected if places did not matter"
_LOOKS = {"picked": (SERIES[0], "circle"), EXPECTED: (SERIES[1], "square")}
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
    standings = [each for each in router_standings(page) if any(map(_is_known, _places(each)))]
    drawn = standings[:MOST]
    if not drawn:
        return ()
    table = NumberTable(_HEAD, tuple(row for each in drawn for row in _rows(each)), "Places of the list")
    found = "; ".join(f"{each.label}: {_describe_distance(each)}, {_describe_slope(each)}" for each in drawn)
    tested = any(place.value["picked"] is not None for each in drawn for place in _places(each))
    what = "Picked and expected share of each place of the list, and share" if tested else "Share"
    alt = f"{what} of right answers by place in the list. {found}.{caveat_sentences(drawn)}"
    note = [_PICKED if tested else "", _RIGHT, "" if tested else _UNTESTED, caveat_note(drawn)]
    if len(standings) > MOST:
        rest = list_some([each.subject for each in standings[MOST:]])
        note.append(f"The best {MOST} of {len(standings)} models are shown; left out: {rest}.")
    title = f"Routing: does the place in the list matter?{title_suffix(drawn)}"
    return (Picture("router-position", title, alt, _spec(drawn, tested), table, 2, " ".join(filter(None, note))),)


def _places(standing: RouterStanding) -> tuple[JsonNode, ...]:
    """The places of a model's report, from the top of the list; none in a report of before they were counted."""
    return tuple(standing.own["position"].get("places"))


def _is_known(place: JsonNode) -> bool:
    return place["picked"].value is not None or place["right"]["value"].value is not None


def _distance_cell(standing: RouterStanding) -> PageCell:
    found = standing.own["position"]["tv"]
    value = found.value["value"]
    return text_cell(MISSING) if value is None else PageCell(f"{value:.3f}{_p(found)}", value, found["value"].origin)


def _slope_cell(standing: RouterStanding, brief: bool = False) -> PageCell:
    found = standing.own["position"]["slope"]
    if found.value["value"] is None:
        return text_cell(MISSING)
    text = amount(found, digits=2 if brief else 3, signed=True).text
    return PageCell(f"{text.split(' n ')[0] if brief else text}{_p(found)}", found.value["value"], found.origin)


def _p(number: JsonNode) -> str:
    found = number.value.get("p")
    return "" if found is None else f", p {found:.3f}" if found >= 0.001 else ", p < 0.001"


def _describe_distance(standing: RouterStanding) -> str:
    text = _distance_cell(standing).text
    return "distance not testable" if text == MISSING else f"distance {text}"


def _describe_slope(standing: RouterStanding, brief: bool = False) -> str:
    text = _slope_cell(standing, brief).text
    return "slope not testable" if text == MISSING else f"slope {text}"


def _rows(standing: RouterStanding) -> Iterator[tuple[PageCell, ...]]:
    label, nothing = text_cell(standing.label), text_cell("")
    calls = count(standing.own["position"]["tv"]["n"])
    yield (label, text_cell("all"), calls, *[nothing] * 3, _distance_cell(standing), _slope_cell(standing))
    for place in _places(standing):
        first, last = place.value["first"], place.value["last"]
        span = text_cell(str(first) if first == last else f"{first} to {last}")
        shares = (percent_cell(place["picked"]), percent_cell(place["expected"]), share(place["right"]))
        yield (label, span, count(place["calls"]), *shares, nothing, nothing)


def _spec(standings: Sequence[RouterStanding], tested: bool) -> Spec:
    """A row for each model: where it picks, if that was `tested`, and beside it where it is right."""
    picks: list[Spec] = []
    right: list[Spec] = []
    names = labels([each.label for each in standings], width=32)
    for at, (standing, label) in enumerate(zip(standings, names, strict=True)):
        group = {"model": label, "order": at}
        picks.append({**group, "words": _describe_distance(standing)})
        right.append({**group, "words": _describe_slope(standing, brief=tested)})
        for place in _places(standing):
            own = {**group, "place": (place.value["first"] + place.value["last"]) / 2}
            picks += [
                {**own, "value": percent(place.value[key]), "series": name}
                for key, name in zip(("picked", "expected"), _LOOKS, strict=True)
                if place.value[key] is not None
            ]
            if place.value["right"]["value"] is not None:
                right.append({**own, **estimate_values(place.value["right"])})
    width = 172 if tested else WIDTH
    most = max(place.value["last"] for each in standings for place in _places(each))
    x = channel(
        "place",
        title="place in the list, 1 is the top",
        scale={"domain": [0.5, most + 0.5], "nice": False},
        axis={"tickMinStep": 1},
    )
    left = channel(
        "value", title="first answers, %", scale={"domainMin": 0, "nice": True}, axis={"grid": True, "tickCount": 4}
    )
    y = channel("value", title="right, % of calls", scale={"domain": [0, 100]}, axis={"grid": True, "tickCount": 4})
    look = looks("series", _LOOKS, _LOOKS)
    dash = {"condition": {"test": "datum.series === 'picked'", "value": [1, 0]}, "value": [4, 3]}
    marks = [
        layer(
            "line",
            {"x": x, "y": left, "color": look["color"], "strokeDash": dash},
            only="datum.series",
            strokeWidth=1.5,
        ),
        layer(
            "point",
            {"x": x, "y": left, "shape": look["shape"], "color": look["color"]},
            only="datum.series",
            filled=True,
            size=34,
            opacity=1,
        ),
    ]
    ends = [
        layer(
            "rule",
            {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
            only="datum.place",
            strokeWidth=1.5,
            color=SERIES[2],
        ),
        layer(
            "point",
            {"x": x, "y": y},
            only="datum.place",
            filled=True,
            shape="triangle-up",
            size=34,
            opacity=1,
            color=SERIES[2],
        ),
    ]
    answers = _plots(right, width, ends)
    return {"hconcat": [_plots(picks, width, marks), answers], "spacing": 12} if tested else answers


def _plots(values: Sequence[Spec], width: int, marks: Sequence[Spec]) -> Spec:
    """A plot for each model, with a line of words above it."""
    words = {"x": {"value": 0}, "y": {"value": -7}, "text": {"field": "words"}}
    plot = {
        "width": width,
        "height": 110,
        "layer": [*marks, layer("text", words, only="datum.words", align="left", color=MUTED)],
    }
    return {"data": {"values": [*values]}, "facet": {"row": facet_channel("model")}, "spacing": 16, "spec": plot}
