"""Calibration: the confidence that models state against how often they are right with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skill_health.documents.router_report import ConfidenceBin
from skill_health.page.drawing.theme import MUTED, ZERO
from skill_health.page.figures import MISSING, amount, count, estimate_text, text_cell
from skill_health.page.model import NumberTable, Origins, Page, PageCell, Picture
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
        _HEAD, tuple(row for each in drawn for row in _rows(page.origins, each)), "Stated confidence and right answers"
    )
    errors = "; ".join(f"{each.label}: {', '.join(_describe_errors(each))}" for each in drawn)
    alt, rest = f"Share of right answers by stated confidence. {errors}.", [each.subject for each in standings[MOST:]]
    left = f"The best {MOST} of {len(standings)} models are shown; left out: {list_some(rest, 4)}." if rest else ""
    name, title = "router-calibration", "Routing: is a model as often right as it says?"
    return (caveated_picture(name, title, alt, _spec(drawn), table, 2, drawn, _NOTE, left),)


def _filled(standing: RouterStanding) -> tuple[ConfidenceBin, ...]:
    """The ranges of confidence that have answers, the lowest first."""
    return tuple(each for each in standing.own.calibration.bins if each.n)


def _describe_error(standing: RouterStanding) -> str:
    error = standing.own.calibration.ece.value
    return MISSING if error is None else f"{error:.3f}"


def _describe_errors(standing: RouterStanding) -> tuple[str, str]:
    brier = estimate_text(standing.own.calibration.brier, ",.3f", 1.0)
    return f"ECE {_describe_error(standing)}", f"Brier {brier}"


def _rows(origins: Origins, standing: RouterStanding) -> Iterator[tuple[PageCell, ...]]:
    found, label, nothing = standing.own.calibration, text_cell(standing.label), text_cell("")
    error = PageCell(_describe_error(standing), found.ece.value, origins.of(found.ece, "value"))
    brier = amount(origins, found.brier, digits=3)
    yield (label, text_cell("all"), count(origins, found.brier, "n"), nothing, nothing, error, brier)
    for each in _filled(standing):
        span = text_cell(f"{100 * each.low:.0f} to {100 * each.high:.0f}")
        shares = (percent_cell(origins, each, "confidence"), percent_cell(origins, each, "accuracy"))
        yield (label, span, count(origins, each, "n"), *shares, nothing, nothing)


def _spec(standings: Sequence[RouterStanding]) -> vl.Spec:
    """A square for each model, two beside each other; its errors stand above it."""
    values: list[vl.Spec] = []
    names = vl.labels([each.label for each in standings], width=32)
    for standing, label in zip(standings, names, strict=True):
        ece, brier = _describe_errors(standing)
        values.append({"group": label, "ece": ece, "brier": brier})
        for each in _filled(standing):
            own = {"stated": percent(each.confidence), "right": percent(each.accuracy)}
            values.append({"group": label, "answers": each.n, **own})
    most = max(each.n for standing in standings for each in _filled(standing))
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
    return vl.facets(values, vl.layered(150, layers, 172 if len(standings) > 1 else vl.WIDTH), columns=2)
