"""History of the routers: top-1 of each model over time, in lines that end where runs stop being comparable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from skill_health.page.drawing.theme import BAD, SERIES, UNKNOWN, WARN, ZERO
from skill_health.page.figures import share, text_cell
from skill_health.page.model import NumberTable, Page, PageCell, Picture
from skill_health.page.pictures._panel import Panel, Spec, Ticks, interval, numbers, together
from skill_health.page.pictures._router_lines import KINDS, Line, by_model
from skill_health.page.pictures._router_models import listed, percent
from skill_health.page.pictures._tags import tag, warning
from skill_health.page.pictures._text import fitted, padding, text_width
from skill_health.page.pictures._times import milliseconds, time_ticks

QUESTION, ORDER = 2, 20
MOST, RUNS = 8, 60
"""So many models are drawn, of each the last so many runs."""
WIDTH, HEIGHT = 440, 62
LOOKS = dict(zip(KINDS, ((SERIES[0], "circle"), (WARN, "diamond"), (UNKNOWN, "square"), (BAD, "cross")), strict=True))
_HEAD = (
    "Model",
    "Run, time in UTC",
    "Top-1, % of calls [95 % interval], n calls",
    "Prompts asked",
    "Other than before",
    "Marks",
)
_NOTE = (
    "A line joins runs with the same prompts, template, settings and descriptions; a dashed rule stands where any of them "
    "changed, and figures on its two sides are not comparable. Runs over a part of the prompts are not joined."
)


def build(page: Page) -> tuple[Picture, ...]:
    """One picture with a panel for each model, those asked last first; none without a line that has a figure."""
    models = by_model(page.router_history)
    names = sorted(models, key=lambda name: str(models[name][-1].own.value["time"]), reverse=True)[:MOST]
    if not names:
        return ()
    drawn = {name: models[name][-RUNS:] for name in names}
    rows = tuple(_row(name, line) for name, lines in drawn.items() for line in reversed(lines))
    table = NumberTable(_HEAD, rows, "Top-1 of each run, the latest first")
    lasts = [f"{name} {_figure(lines)} on {_last(lines).own.value['time'][:10]}" for name, lines in drawn.items()]
    marked = [frozenset(mark.word for mark in _last(lines).marks) for lines in drawn.values()]
    alt = (
        f"Top-1 over time of {len(names)} model{'s' * (len(names) != 1)}, with 95 % intervals. The last runs: "
        f"{listed(lasts)}.{warning(marked)}"
    )
    return (
        Picture(
            "router-history",
            f"Routing: top-1 over time{tag(marked)}",
            alt,
            _spec(drawn),
            table,
            2,
            _note(models, drawn),
        ),
    )


def _last(lines: Sequence[Line]) -> Line:
    """The last line over all prompts that can be trusted, else the last one."""
    return next((line for line in reversed(lines) if line.segment), lines[-1])


def _figure(lines: Sequence[Line]) -> str:
    return share(_last(lines).own["metrics"]["top1"]).text


def _note(models: Mapping[str, Sequence[Line]], drawn: Mapping[str, Sequence[Line]]) -> str:
    parts = [_NOTE]
    if len(models) > len(drawn):
        parts.append(f"{len(models) - len(drawn)} more models are left out.")
    older = sum(len(models[name]) - len(lines) for name, lines in drawn.items())
    if older:
        parts.append(f"{older:,} older runs are left out.")
    false = [name for name, lines in drawn.items() if _last(lines).own.value["simulated"]]
    if false:
        parts.append(f"SIMULATED: {listed(false)}.")
    return " ".join(parts)


def _row(name: str, line: Line) -> tuple[PageCell, ...]:
    told = line.own.value
    other = ", ".join(line.differs) if line.segment else "not compared"
    return (
        text_cell(name), PageCell(told["time"], told["time"], line.own["time"].origin), share(line.own["metrics"]["top1"]),
        text_cell(told["selection"]), text_cell(other), text_cell(", ".join(mark.word for mark in line.marks)),
    )  # fmt: skip


def _spec(drawn: Mapping[str, Sequence[Line]]) -> Spec:
    kept = [line for lines in drawn.values() for line in lines]
    times = [milliseconds(str(line.own.value["time"])) for line in kept]
    room = max((max(times) - min(times)) * 0.04, 3.6e6)
    across = (min(times) - room, max(times) + room)
    ticks, unit = time_ticks(min(times), max(times), 5)
    panels = [_panel(name, lines, across, ticks) for name, lines in drawn.items()]
    panels[0].say(panels[0].x(-28), panels[0].y(-30), "top-1, % of calls")
    panels[-1].below(ticks, f"run, {unit}, {_dates(kept)}")
    present = [kind for kind in KINDS if any(line.kind == kind for line in kept)]
    if len(present) > 1:
        for at in range(0, len(present), 2):
            entries = [(kind, *LOOKS[kind], 48.0) for kind in present[at : at + 2]]
            panels[-1].legend(entries, 0, HEIGHT + 54 + 9 * at, 236)
    return together(panels, padding(12, 14, 14, 8), 1, 38)


def _dates(kept: Sequence[Line]) -> str:
    first, last = (pick(str(line.own.value["time"]) for line in kept)[:10] for pick in (min, max))
    return first if first == last else f"{first} to {last}"


def _panel(name: str, lines: Sequence[Line], across: tuple[float, float], ticks: Ticks) -> Panel:
    panel = Panel(WIDTH, HEIGHT, across, (0, 100))
    panel.beside(numbers((0, 50, 100)))
    panel.below(ticks, labels=False)
    label, figure = " (SIMULATED)" if _last(lines).own.value["simulated"] else "", _figure(lines)
    name = fitted(name, WIDTH - 12 - text_width(f"{label}{figure}"))
    panel.head(f"{name}{label}", 14)
    panel.head(figure, 14, align="right")
    places = []
    for line in lines:
        at, top1 = milliseconds(str(line.own.value["time"])), line.own.value["metrics"]["top1"]
        if line.differs:
            panel.rule((at, at), (0, 100), ZERO, dashed=True)
        color, shape = LOOKS[line.kind]
        interval(panel, top1, at, color, upright=True, factor=100)
        panel.dot(at, percent(top1["value"]) or 0.0, color, shape, 48)
        if line.segment:
            places.append((line.segment, at, percent(top1["value"])))
    joined: list[tuple[float, float | None]] = []
    for _, own in groupby(places, key=lambda place: place[0]):
        stretch = [(at, value) for _, at, value in own]
        joined += [(stretch[0][0], None), *stretch] if joined else stretch
    panel.line(joined, SERIES[0])
    return panel
