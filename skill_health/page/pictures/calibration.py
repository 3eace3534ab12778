"""Calibration: the confidence that models state against how often they are right with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skill_health.page.drawing.theme import MUTED, SERIES
from skill_health.page.figures import MISSING, amount, count, text_cell
from skill_health.page.model import JsonNode, NumberTable, Page, PageCell, Picture
from skill_health.page.pictures._panel import Panel, Spec, dashed_diagonal, numbers, together
from skill_health.page.pictures._router_models import Entry, caveats, current, listed, part, percent, tag, warning
from skill_health.page.pictures._text import fitted, padding, text_width

QUESTION, ORDER = 2, 50
MOST = 4
WIDTH, HEIGHT = 200, 166
LEAST, LARGEST = 8, 300
"""Square pixels of a point without answers, and of the one with most."""
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
    table = NumberTable(
        _HEAD, tuple(row for entry in drawn for row in _rows(entry)), "Stated confidence and right answers"
    )
    said = [f"{entry.label}: {_told(entry)}" for entry in drawn]
    alt = f"Share of right answers by stated confidence. {'; '.join(said)}.{warning(drawn)}"
    note = [_NOTE, caveats(drawn)]
    if len(entries) > MOST:
        note.append(
            f"The best {MOST} of {len(entries)} models are shown; left out: {listed([each.name for each in entries[MOST:]])}."
        )
    title = f"Routing: is a model as often right as it says?{tag(drawn)}"
    return (Picture("router-calibration", title, alt, _spec(drawn), table, 2, " ".join(filter(None, note))),)


def filled(entry: Entry) -> tuple[JsonNode, ...]:
    """The ranges of confidence that have answers, the lowest first."""
    return tuple(each for each in entry.own["calibration"]["bins"] if each.value["n"])


def _told(entry: Entry) -> str:
    error, brier = entry.own["calibration"]["ece"], entry.own["calibration"]["brier"]
    shown = MISSING if error.value["value"] is None else f"{error.value['value']:.3f}"
    return f"ECE {shown}, Brier {amount(brier, digits=3).text}"


def _rows(entry: Entry) -> Iterator[tuple[PageCell, ...]]:
    found, nothing = entry.own["calibration"], text_cell("")
    error = found["ece"]["value"]
    yield (
        text_cell(entry.label), text_cell("all"), count(found["brier"]["n"]), nothing, nothing,
        PageCell(MISSING if error.value is None else f"{error.value:.3f}", error.value, error.origin),
        amount(found["brier"], digits=3),
    )  # fmt: skip
    for each in filled(entry):
        yield (
            text_cell(entry.label),
            text_cell(f"{100 * each.value['low']:.0f} to {100 * each.value['high']:.0f}"),
            count(each["n"]),
            part(each["confidence"]),
            part(each["accuracy"]),
            nothing,
            nothing,
        )


def _spec(entries: Sequence[Entry]) -> Spec:
    most = max(each.value["n"] for entry in entries for each in filled(entry))
    panels = [_panel(entry, most) for entry in entries]
    below = panels[(len(panels) - 1) // 2 * 2]
    words = "answers in the range:"
    below.say(below.x(0), below.y(HEIGHT + 54), words, MUTED)
    steps = sorted({max(1, round(most * part)) for part in (0.1, 0.5, 1)})
    sizes = [(f"{each:,}", SERIES[0], "circle", _size(each, most)) for each in steps]
    below.legend(sizes, text_width(words) + 8, HEIGHT + 54, 62)
    return together(panels, padding(12, 16, 14), 2, 108, 52)


def _size(answers: int, most: int) -> float:
    return round(LEAST + (LARGEST - LEAST) * answers / most, 2)


def _panel(entry: Entry, most: int) -> Panel:
    """The plot of a model; its texts stand clear of a large point at 100 %."""
    panel = Panel(WIDTH, HEIGHT, (0, 100), (0, 100))
    panel.beside(numbers(range(0, 101, 20)), "right, % of answers", above=20)
    panel.below(numbers(range(0, 101, 20)), "stated confidence, %")
    dashed_diagonal(panel)
    places = [
        (percent(each.value["confidence"]) or 0.0, percent(each.value["accuracy"]), each.value["n"])
        for each in filled(entry)
    ]
    panel.line([(x, y) for x, y, _ in places], SERIES[0], strokeWidth=1)
    for x, y, answers in places:
        panel.dot(x, y or 0.0, SERIES[0], "circle", _size(answers, most))
    panel.head(fitted(entry.label, WIDTH), 50)
    panel.head(_told(entry).rsplit(" n ", 1)[0], 35, MUTED)
    return panel
