"""Leaderboard of the routers: top-1 of every model of the current reports, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skill_health.page.figures import count, share, text_cell
from skill_health.page.model import NumberTable, Page, Picture
from skill_health.page.pictures._panel import Panel, Spec, interval, numbers
from skill_health.page.pictures._router_models import (
    STATES,
    Entry,
    caveats,
    current,
    listed,
    percent,
    run_id,
    tag,
    warning,
)
from skill_health.page.pictures._text import fitted, padding, text_width

QUESTION, ORDER = 2, 10
MOST = 40
WIDTH, STEP = 470, 36
_HEAD = (
    "Model",
    "Top-1, % of calls [95 % interval], n calls",
    "Independent prompts",
    "Scored",
    "Planned",
    "Run",
    "Marks",
)
_NOTE = "A point is the share of calls whose first answer is right, the rule its 95 % interval, n the number of calls."


def build(page: Page) -> tuple[Picture, ...]:
    """One picture of all models; none where no report has a figure."""
    entries = [entry for entry in current(page) if entry.top1 is not None]
    if not entries:
        return ()
    drawn = entries[:MOST]
    table = NumberTable(_HEAD, tuple(map(_row, entries)), "Top-1 of each model in its latest report")
    firsts = [f"{entry.label} {_figure(entry)}" for entry in drawn]
    alt = (
        f"Top-1 of {len(entries)} model{'s' * (len(entries) != 1)} in per cent, with 95 % intervals, best first: "
        f"{listed(firsts)}.{warning(drawn)}"
    )
    return (
        Picture(
            "router-leaderboard", f"Routing: top-1 by model{tag(drawn)}", alt, _spec(drawn), table, 2, _note(entries)
        ),
    )


def _figure(entry: Entry) -> str:
    return share(entry.own["metrics"]["top1"]).text


def _row(entry: Entry) -> tuple[Any, ...]:
    top1, coverage = entry.own["metrics"]["top1"], entry.own["coverage"]
    return (
        text_cell(entry.name), share(top1), count(top1["clusters"]), count(coverage["scored"]), count(coverage["planned"]),
        text_cell(run_id(entry.report)), text_cell(entry.words),
    )  # fmt: skip


def _note(entries: Sequence[Entry]) -> str:
    parts = [_NOTE]
    runs = len({run_id(entry.report) for entry in entries})
    if runs > 1:
        parts.append(f"They come from {runs} runs (see the table); prompts and descriptions may differ between runs.")
    if len(entries) > MOST:
        parts.append(f"{len(entries) - MOST} more are in the table only.")
    return " ".join([*parts, caveats(entries)]).strip()


def _spec(entries: Sequence[Entry]) -> Spec:
    panel = Panel(WIDTH, STEP * len(entries), (0, 100), (len(entries) - 0.6, -0.8))
    panel.below(numbers(range(0, 101, 20)), "top-1, % of calls", grid=True)
    for at, entry in enumerate(entries):
        top1, (color, shape) = entry.own["metrics"]["top1"].value, STATES[entry.state]
        words = ", ".join(mark.word for mark in entry.marks if mark.word != "local")
        figure = _figure(entry) + (f" · {words}" if words else "")
        interval(panel, top1, at, color, upright=False, factor=100)
        panel.dot(percent(top1["value"]) or 0.0, at, color, shape, 80)
        panel.say(0, at - 16 / STEP, fitted(entry.name, WIDTH - 12 - text_width(figure)))
        panel.say(100, at - 16 / STEP, figure, align="right")
    states = [state for state in STATES if any(entry.state == state for entry in entries)]
    if len(states) > 1:
        panel.legend([(state, *STATES[state], 80) for state in states], 0, panel.height + 52, 104)
    return {**panel.spec(), "padding": padding(12, 14, 6, 8)}
