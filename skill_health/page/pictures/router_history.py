"""History of the routers: top-1 of each model over time, in lines that end where runs stop being comparable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from skill_health.page.figures import plain, share
from skill_health.page.model import Cell, Page, Picture, Table
from skill_health.page.pictures._router_lines import KINDS, Line, by_model
from skill_health.page.pictures._router_marks import Spec, caption, intervals, kinds, per_cent
from skill_health.page.pictures._router_models import listed, percent
from skill_health.page.theme import BAD, SERIES, UNKNOWN, WARN, ZERO

QUESTION, ORDER = 2, 20
MOST, RUNS = 8, 60
"""So many models are drawn, of each the last so many runs."""
WIDTH, HEIGHT = 410, 62
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
    table = Table(_HEAD, rows, "Top-1 of each run, the latest first")
    lasts = [f"{name} {_figure(lines)} on {_last(lines).own.value['time'][:10]}" for name, lines in drawn.items()]
    alt = (
        f"Top-1 over time of {len(names)} model{'s' * (len(names) != 1)}, with 95 % intervals. The last runs: "
        f"{listed(lasts)}."
    )
    return (Picture("router-history", "Routing: top-1 over time", alt, _spec(drawn), table, 2, _note(models, drawn)),)


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
    false = [name for name, lines in drawn.items() if lines[-1].own.value["simulated"]]
    if false:
        parts.append(f"SIMULATED: {listed(false)}.")
    return " ".join(parts)


def _row(name: str, line: Line) -> tuple[Cell, ...]:
    told = line.own.value
    other = ", ".join(line.differs) if line.segment else "not compared"
    return (
        plain(name), Cell(told["time"], told["time"], line.own["time"].origin), share(line.own["metrics"]["top1"]),
        plain(told["selection"]), plain(other), plain(", ".join(mark.word for mark in line.marks)),
    )  # fmt: skip


def _spec(drawn: Mapping[str, Sequence[Line]]) -> Spec:
    kept = [line for lines in drawn.values() for line in lines]
    times = [str(line.own.value["time"]) for line in kept]
    panels = [
        _panel(name, lines, _time(times, at == len(drawn) - 1), kinds(LOOKS, [line.kind for line in kept], columns=2))
        for at, (name, lines) in enumerate(drawn.items())
    ]
    return {"vconcat": panels, "spacing": 8}


def _time(times: Sequence[str], last: bool) -> Spec:
    first, final = (datetime.fromisoformat(edge(times)) for edge in (min, max))
    room = max((final - first) * 0.04, timedelta(hours=1))
    ends = [{**_parts(first - room), "utc": True}, {**_parts(final + room), "utc": True}]
    axis: Spec = {"title": None, "labels": False, "ticks": False, "grid": False, "domain": True, "tickCount": 4}
    if last:
        short = final - first < timedelta(days=3)
        shown = {"format": "%m-%d %H:%M" if short else "%Y-%m-%d", "labelOverlap": True, "labelFlush": True}
        axis |= {
            "title": "run, month-day and time (UTC)" if short else "run, date (UTC)",
            "labels": True,
            "ticks": True,
        } | shown
    return {"field": "t", "type": "temporal", "scale": {"type": "utc", "domain": ends, "nice": False}, "axis": axis}


def _parts(time: datetime) -> dict[str, int]:
    at = time.astimezone(UTC)
    return {"year": at.year, "month": at.month, "date": at.day, "hours": at.hour, "minutes": at.minute}


def _panel(name: str, lines: Sequence[Line], x: Spec, look: Spec) -> Spec:
    values = []
    for line in lines:
        told = line.own.value
        top1 = told["metrics"]["top1"]
        ends = {key[0]: percent(top1[key]) for key in ("value", "low", "high")}
        values.append({"t": told["time"], **ends, "s": line.segment, "k": line.kind})
    y = per_cent("v", "top-1, %", values=[0, 50, 100])
    joined = [each for each in values if each["s"]]
    changes = [{"t": each["t"]} for each, line in zip(values, lines, strict=True) if line.differs]
    last = lines[-1].own.value
    label = f"{name} (SIMULATED)" if last["simulated"] else name
    line_mark: dict[str, Any] = {
        "data": {"values": joined},
        "mark": {"type": "line", "color": SERIES[0], "strokeWidth": 1.5},
        "encoding": {"x": x, "y": y, "detail": {"field": "s", "type": "nominal"}},
    }
    layers = [
        {
            "data": {"values": changes},
            "mark": {"type": "rule", "color": ZERO, "strokeDash": [3, 3]},
            "encoding": {"x": x},
        },
        line_mark,
        intervals(values, "y", {"x": x, "color": look["color"]}, y),
        {
            "data": {"values": values},
            "mark": {"type": "point", "filled": True, "size": 48, "opacity": 1},
            "encoding": {"x": x, "y": y, **look},
        },
        caption(label, 230),
        caption(_figure(lines), 170, WIDTH, "right"),
    ]
    return {"width": WIDTH, "height": HEIGHT, "layer": layers}
