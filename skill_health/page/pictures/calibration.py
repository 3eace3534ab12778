"""Calibration: the confidence that models state against how often they are right with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skill_health.page.drawing.theme import MUTED, SERIES, ZERO
from skill_health.page.figures import MISSING, amount, count, text_cell
from skill_health.page.model import NumberTable, Page, PageCell, Picture
from skill_health.page.origin import JsonNode
from skill_health.page.pictures._caveats import caveat_note, caveat_sentences, list_some, title_suffix
from skill_health.page.pictures._routers import RouterStanding, percent, percent_cell, router_standings
from skill_health.page.pictures._specs import WIDTH, Spec, channel, facet_channel, labels, layer

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
    alt = f"Share of right answers by stated confidence. {errors}.{caveat_sentences(drawn)}"
    note = [_NOTE, caveat_note(drawn)]
    if len(standings) > MOST:
        rest = list_some([each.subject for each in standings[MOST:]])
        note.append(f"The best {MOST} of {len(standings)} models are shown; left out: {rest}.")
    title = f"Routing: is a model as often right as it says?{title_suffix(drawn)}"
    return (Picture("router-calibration", title, alt, _spec(drawn), table, 2, " ".join(filter(None, note))),)


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


def _spec(standings: Sequence[RouterStanding]) -> Spec:
    """A square for each model, two beside each other; its errors stand above it."""
    values: list[Spec] = []
    names = labels([each.label for each in standings], width=32)
    for at, (standing, label) in enumerate(zip(standings, names, strict=True)):
        group = {"model": label, "order": at}
        for row, words in enumerate(_describe_errors(standing)):
            values.append({**group, "words": words, "row": 12 * row - 30})
        for each in _filled(standing):
            own = {"stated": percent(each.value["confidence"]), "right": percent(each.value["accuracy"])}
            values.append({**group, "answers": each.value["n"], **own})
    scale = {"domain": [0, 100], "nice": False}
    x = channel("stated", title="stated confidence, %", scale=scale)
    y = channel("right", title="right, % of answers", scale=scale, axis={"grid": True})
    most = max(each.value["n"] for standing in standings for each in _filled(standing))
    steps = sorted({max(1, round(most * part)) for part in (0.1, 0.5, 1)})
    scale_of_size = {"domain": [0, most], "range": [8, 300]}
    size = channel("answers", title="answers in the range", scale=scale_of_size, legend={"values": steps})
    corner = {"x": {"datum": 0}, "y": {"datum": 0}, "x2": {"datum": 100}, "y2": {"datum": 100}}
    errors = {"x": {"value": 0}, "y": channel("row", scale=None), "text": {"field": "words"}}
    plot = {
        "width": 172 if len(standings) > 1 else WIDTH,
        "height": 150,
        "layer": [
            layer("rule", corner, [{}], strokeDash=[3, 3], color=ZERO),
            layer("line", {"x": x, "y": y}, only="datum.answers", strokeWidth=1),
            layer(
                "point", {"x": x, "y": y, "size": size}, only="datum.answers", filled=True, opacity=1, color=SERIES[0]
            ),
            layer("text", errors, only="datum.words", align="left", color=MUTED),
        ],
    }
    return {"data": {"values": values}, "facet": facet_channel("model"), "columns": 2, "spacing": 16, "spec": plot}
