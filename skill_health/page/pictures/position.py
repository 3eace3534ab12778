"""Position bias: how often models pick each place of the list, how often they would, and how often they are right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skill_health.documents._record import Figure
from skill_health.documents.router_report import PositionShare
from skill_health.page.drawing.theme import MUTED, SERIES
from skill_health.page.figures import MISSING, count, share, text_cell
from skill_health.page.model import NumberTable, Origins, Page, PageCell, Picture
from skill_health.page.pictures import _specs as vl
from skill_health.page.pictures._caveats import caveated_picture
from skill_health.page.pictures._routers import RouterStanding, percent, percent_cell, router_standings
from skill_health.text.near import list_some
from skill_health.text.numbers import with_interval

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
    table = NumberTable(_HEAD, tuple(row for each in drawn for row in _rows(page.origins, each)), "Places of the list")
    found = "; ".join(f"{each.label}: {_describe_distance(each)}, {_describe_slope(each)}" for each in drawn)
    tested = any(place.picked is not None for each in drawn for place in _places(each))
    what = "Picked and expected share of each place of the list, and share" if tested else "Share"
    alt, rest = f"{what} of right answers by place in the list. {found}.", [each.subject for each in standings[MOST:]]
    left = f"The best {MOST} of {len(standings)} models are shown; left out: {list_some(rest, 4)}." if rest else ""
    notes = (_PICKED if tested else "", _RIGHT, "" if tested else _UNTESTED, left)
    title = "Routing: does the place in the list matter?"
    return (caveated_picture("router-position", title, alt, _spec(drawn, tested), table, 2, drawn, *notes),)


def _places(standing: RouterStanding) -> tuple[PositionShare, ...]:
    """The places of a model's report, from the top of the list; none in a report of before they were counted."""
    return standing.own.position.places


def _is_known(place: PositionShare) -> bool:
    return place.picked is not None or place.right.value is not None


def _p(number: Figure) -> str:
    return "" if number.p is None else f", p {number.p:.3f}" if number.p >= 0.001 else ", p < 0.001"


def _distance(standing: RouterStanding) -> str:
    found = standing.own.position.tv
    return "" if found.value is None else f"{found.value:.3f}{_p(found)}"


def _slope(standing: RouterStanding, digits: int = 3, n: bool = True) -> str:
    found = standing.own.position.slope
    if found.value is None:
        return ""
    return f"{with_interval(found, f'+,.{digits}f', 1.0)}{f' n {found.n:,}' if n else ''}{_p(found)}"


def _describe_distance(standing: RouterStanding) -> str:
    return f"distance {_distance(standing) or 'not testable'}"


def _describe_slope(standing: RouterStanding, brief: bool = False) -> str:
    return f"slope {(_slope(standing, 2, False) if brief else _slope(standing)) or 'not testable'}"


def _rows(origins: Origins, standing: RouterStanding) -> Iterator[tuple[PageCell, ...]]:
    label, nothing = text_cell(standing.label), text_cell("")
    tv, slope = standing.own.position.tv, standing.own.position.slope
    distance = steepness = text_cell(MISSING)
    if tv.value is not None:
        distance = PageCell(_distance(standing), tv.value, origins.of(tv, "value"))
    if slope.value is not None:
        steepness = PageCell(_slope(standing), slope.value, origins.of(slope))
    yield (label, text_cell("all"), count(origins, tv, "n"), *[nothing] * 3, distance, steepness)
    for place in _places(standing):
        span = text_cell(str(place.first) if place.first == place.last else f"{place.first} to {place.last}")
        shares = (percent_cell(origins, place, "picked"), percent_cell(origins, place, "expected"))
        calls, right = count(origins, place, "calls"), share(origins, place.right)
        yield (label, span, calls, *shares, right, nothing, nothing)


def _spec(standings: Sequence[RouterStanding], tested: bool) -> vl.Spec:
    """A row for each model: where it picks, if that was `tested`, and beside it where it is right."""
    picks: list[vl.Spec] = []
    right: list[vl.Spec] = []
    names = vl.labels([each.label for each in standings], width=32)
    for standing, label in zip(standings, names, strict=True):
        picks.append({"group": label, "words": _describe_distance(standing)})
        right.append({"group": label, "words": _describe_slope(standing, brief=tested)})
        for place in _places(standing):
            own = {"group": label, "place": (place.first + place.last) / 2}
            for value, name in zip((place.picked, place.expected), _LOOKS, strict=True):
                picks.append({**own, "value": percent(value), "series": name})
            if place.right.value is not None:
                right.append({**own, **vl.estimate_values(place.right)})
    most = max(place.last for each in standings for place in _places(each))
    scale = {"domain": [0.5, most + 0.5], "nice": False}
    x = vl.channel("place", title="place in the list, 1 is the top", scale=scale, axis={"tickMinStep": 1})
    axis = {"grid": True, "tickCount": 4}
    y = vl.channel("value", title="first answers, %", scale={"domainMin": 0}, axis=axis)
    share_axis = vl.percent_axis("right, % of calls")
    color, shape = vl.looks("series", _LOOKS, _LOOKS)
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
    answers = vl.facets(right, vl.layered(110, ends, width))
    lines = [
        vl.layer("line", {"x": x, "y": y, "color": color, "strokeDash": dash}, only="series"),
        vl.layer("point", {"x": x, "y": y, "color": color, "shape": shape}, only="series", filled=True, size=34),
        words,
    ]
    drawn = vl.facets(picks, vl.layered(110, lines, width))
    return {"hconcat": [drawn, answers], "spacing": 12} if tested else answers
