"""Calibration: the confidence that models state against how often they are right with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skill_health.page.drawing.theme import MUTED, ZERO
from skill_health.page.figures import MISSING, amount, count, text_cell
from skill_health.page.model import JsonNode, NumberTable, Page, PageCell, Picture
from skill_health.page.pictures import _specs as vl
from skill_health.page.pictures._caveats import caveated_picture
from skill_health.page.pictures._routers import RouterStanding, percent, percent_cell, router_standings
from skill_health.text.near import list_some

QUESTION, ORDER = 2, 50
MOST = 4
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
    standings = [each for each in router_standings(page) if _filled(each)]
    drawn = standings[:MOST]
    if not drawn:
        return ()
    table = NumberTable(
        _HEAD, tuple(row for each in drawn for row in _rows(each)), "Stated confidence and right answers"
    )
    errors = "; ".join(f"{each.label}: {', '.join(_describe_errors(each))}" for each in drawn)
    alt, rest = f"Share of right answers by stated confidence. {errors}.", [each.subject for each in standings[MOST:]]
    left = f"The best {MOST} of {len(standings)} models are shown; left out: {list_some(rest, 4)}." if rest else ""
    name, title = "router-calibration", "Routing: is a model as often right as it says?"
    return (caveated_picture(name, title, alt, _spec(drawn), table, 2, drawn, _NOTE, left),)


def _filled(standing: RouterStanding) -> tuple[JsonNode, ...]:
    """The ranges of confidence that have answers, the lowest first."""
    return tuple(each for each in standing.own["calibration"]["bins"] if each.value["n"])


def _error_cell(standing: RouterStanding) -> PageCell:
    error = standing.own["calibration"]["ece"]["value"]
    return PageCell(MISSING if error.value is None else f"{error.value:.3f}", error.value, error.origin)


def _describe_errors(standing: RouterStanding) -> tuple[str, str]:
    brier = amount(standing.own["calibration"]["brier"], digits=3).text
    return f"ECE {_error_cell(standing).text}", f"Brier {brier}"


def _rows(standing: RouterStanding) -> Iterator[tuple[PageCell, ...]]:
    brier, label, nothing = standing.own["calibration"]["brier"], text_cell(standing.label), text_cell("")
    errors = (_error_cell(standing), amount(brier, digits=3))
    yield (label, text_cell("all"), count(brier["n"]), nothing, nothing, *errors)
    for each in _filled(standing):
        span = text_cell(f"{100 * each.value['low']:.0f} to {100 * each.value['high']:.0f}")
        shares = (percent_cell(each["confidence"]), percent_cell(each["accuracy"]))
        yield (label, span, count(each["n"]), *shares, nothing, nothing)


def _spec(standings: Sequence[RouterStanding]) -> vl.Spec:
    """A square for each model, two beside each other; its errors stand above it."""
    values: list[vl.Spec] = []
    names = vl.labels([each.label for each in standings], width=32)
    for standing, label in zip(standings, names, strict=True):
        ece, brier = _describe_errors(standing)
        values.append({"group": label, "ece": ece, "brier": brier})
        for each in _filled(standing):
            own = {"stated": percent(each.value["confidence"]), "right": percent(each.value["accuracy"])}
            values.append({"group": label, "answers": each.value["n"], **own})
    most = max(each.get("answers", 0) for each in values)
    steps = sorted({max(1, round(most * part)) for part in (0.1, 0.5, 1)})
    scale = {"domain": [0, most], "range": [8, 300]}
    size = vl.channel("answers", title="answers in the range", scale=scale, legend={"values": steps})
    across, up = vl.percent_axis("stated confidence, %", grid=False), vl.percent_axis("right, % of answers")
    x, y = vl.channel("stated", **across), vl.channel("right", **up)
    corners = {**vl.interval("x", across, "from", "to"), **vl.interval("y", up, "from", "to")}
    layers = [
        vl.layer("rule", corners, [{"from": 0, "to": 100}], strokeDash=vl.DASHED, color=ZERO, strokeWidth=1),
        vl.layer("line", {"x": x, "y": y}, only="answers", strokeWidth=1),
        vl.layer("point", {"x": x, "y": y, "size": size}, only="answers", filled=True),
        vl.text("ece", 0, -30, "ece", color=MUTED),
        vl.text("brier", 0, -18, "brier", color=MUTED),
    ]
    return vl.facets(vl.plot(values, 150, layers, 172 if len(standings) > 1 else vl.WIDTH), names, columns=2)
