"""Position bias: how often models pick each place of the list, how often they would, and how often they are right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skill_health.page.drawing.theme import MUTED, SERIES
from skill_health.page.figures import MISSING, amount, count, share, text_cell
from skill_health.page.model import JsonNode, NumberTable, Page, PageCell, Picture
from skill_health.page.pictures import _specs as vl
from skill_health.page.pictures._caveats import caveated_picture
from skill_health.page.pictures._routers import RouterStanding, percent, percent_cell, router_standings
from skill_health.text.near import list_some

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
    alt, rest = f"{what} of right answers by place in the list. {found}.", [each.subject for each in standings[MOST:]]
    left = f"The best {MOST} of {len(standings)} models are shown; left out: {list_some(rest, 4)}." if rest else ""
    notes = (_PICKED if tested else "", _RIGHT, "" if tested else _UNTESTED, left)
    title = "Routing: does the place in the list matter?"
    return (caveated_picture("router-position", title, alt, _spec(drawn, tested), table, 2, drawn, *notes),)


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


def _spec(standings: Sequence[RouterStanding], tested: bool) -> vl.Spec:
    """A row for each model: where it picks, if that was `tested`, and beside it where it is right."""
    picks: list[vl.Spec] = []
    right: list[vl.Spec] = []
    names = vl.labels([each.label for each in standings], width=32)
    for standing, label in zip(standings, names, strict=True):
        picks.append({"group": label, "words": _describe_distance(standing)})
        right.append({"group": label, "words": _describe_slope(standing, brief=tested)})
        for place in _places(standing):
            own = {"group": label, "place": (place.value["first"] + place.value["last"]) / 2}
            for key, name in zip(("picked", "expected"), _LOOKS, strict=True):
                picks.append({**own, "value": percent(place.value[key]), "series": name})
            if place.value["right"]["value"] is not None:
                right.append({**own, **vl.estimate_values(place.value["right"])})
    most = max(place.value["last"] for each in standings for place in _places(each))
    scale = {"domain": [0.5, most + 0.5], "nice": False}
    x = vl.channel("place", title="place in the list, 1 is the top", scale=scale, axis={"tickMinStep": 1})
    axis = {"grid": True, "tickCount": 4}
    y = vl.channel("value", title="first answers, %", scale={"domainMin": 0}, axis=axis)
    share_axis = vl.percent_axis("right, % of calls")
    look = vl.looks("series", _LOOKS, _LOOKS)
    dash = {"condition": {"test": "datum.series === 'picked'", "value": [1, 0]}, "value": [4, 3]}
    words, width = vl.text("words", 0, -7, "words", color=MUTED), 172 if tested else vl.WIDTH
    ends = [
        vl.layer("rule", {"x": x, **vl.interval("y", share_axis)}, only="place", color=SERIES[2]),
        vl.layer(
            "point", {"x": x, "y": vl.channel("value", **share_axis)}, None, "place",
            filled=True, shape="triangle-up", size=34, color=SERIES[2],
        ),
        words,
    ]  # fmt: skip
    answers = vl.facets(vl.plot(right, 110, ends, width), names)
    lines = [
        vl.layer("line", {"x": x, "y": y, "color": look["color"], "strokeDash": dash}, only="series"),
        vl.layer("point", {"x": x, "y": y, **look}, only="series", filled=True, size=34),
        words,
    ]
    drawn = vl.facets(vl.plot(picks, 110, lines, width), names)
    return {"hconcat": [drawn, answers], "spacing": 12} if tested else answers
