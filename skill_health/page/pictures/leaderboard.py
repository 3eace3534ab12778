"""Leaderboard of the routers: top-1 of every model of the current reports, with its interval."""

from __future__ import annotations

from collections.abc import Sequence

from skill_health.page.drawing.theme import MUTED
from skill_health.page.figures import count, share, text_cell
from skill_health.page.model import NumberTable, Page, PageCell, Picture
from skill_health.page.pictures._caveats import caveat_note, caveat_sentences, list_some, mark_words, title_suffix
from skill_health.page.pictures._routers import STATES, RouterStanding, router_standings, run_id
from skill_health.page.pictures._specs import (
    WIDTH,
    Spec,
    category,
    channel,
    estimate_values,
    heading_axis,
    labels,
    layer,
    looks,
)  # fmt: skip

QUESTION, ORDER = 2, 10
MOST = 40
_HEAD = (
    "Model", "Top-1, % of calls [95 % interval], n calls", "Independent prompts", "Scored", "Planned", "Run", "Marks",
)  # fmt: skip
_NOTE = "A point is the share of calls whose first answer is right, the rule its 95 % interval, n the number of calls."


def build(page: Page) -> tuple[Picture, ...]:
    """One picture of all models; none where no report has a figure."""
    standings = [each for each in router_standings(page) if each.top1 is not None]
    if not standings:
        return ()
    drawn = standings[:MOST]
    table = NumberTable(_HEAD, tuple(map(_row, standings)), "Top-1 of each model in its latest report")
    firsts = [f"{each.label} {_figure(each)}" for each in drawn]
    alt = (
        f"Top-1 of {len(standings)} model{'s' * (len(standings) != 1)} in per cent, with 95 % intervals, best first: "
        f"{list_some(firsts)}.{caveat_sentences(drawn)}"
    )
    title = f"Routing: top-1 by model{title_suffix(drawn)}"
    return (Picture("router-leaderboard", title, alt, _spec(drawn), table, 2, _note(standings)),)


def _figure(standing: RouterStanding) -> str:
    return share(standing.own["metrics"]["top1"]).text


def _row(standing: RouterStanding) -> tuple[PageCell, ...]:
    top1, coverage = standing.own["metrics"]["top1"], standing.own["coverage"]
    return (
        text_cell(standing.subject), share(top1), count(top1["clusters"]), count(coverage["scored"]),
        count(coverage["planned"]), text_cell(run_id(standing.report)), text_cell(mark_words(standing)),
    )  # fmt: skip


def _note(standings: Sequence[RouterStanding]) -> str:
    parts = [_NOTE]
    runs = len({run_id(each.report) for each in standings})
    if runs > 1:
        parts.append(f"They come from {runs} runs (see the table); prompts and descriptions may differ between runs.")
    if len(standings) > MOST:
        parts.append(f"{len(standings) - MOST} more are in the table only.")
    return " ".join([*parts, caveat_note(standings)]).strip()


def _spec(standings: Sequence[RouterStanding]) -> Spec:
    figures = []
    for each in standings:
        words = ", ".join(mark.word for mark in each.marks if mark.word != "local")
        figures.append(_figure(each) + (f" · {words}" if words else ""))
    room = 74 - max(map(len, figures))
    values = [
        {**estimate_values(each.own["metrics"]["top1"].value), "name": name, "figure": figure, "state": each.state}
        for each, name, figure in zip(
            standings, labels([each.subject for each in standings], width=room), figures, strict=True
        )
    ]
    look = looks("state", STATES, {each.state for each in standings})
    along: Spec = {"title": "top-1, % of calls", "scale": {"domain": [0, 100]}}
    filled = {"x": channel("value", **along), "shape": look["shape"], "fill": look["color"]}
    return {
        "width": WIDTH,
        "height": {"step": 36},
        "data": {"values": values},
        "encoding": {"y": category("name", **heading_axis()), "color": look["color"]},
        "layer": [
            layer("rule", {"x": channel("low", **along), "x2": {"field": "high"}}, strokeWidth=1.5, yOffset=5),
            layer("point", filled, size=80, opacity=1, yOffset=5),
            layer(
                "text",
                {"x": {"value": WIDTH}, "text": {"field": "figure"}, "color": {"value": MUTED}},
                align="right",
                dy=-11,
            ),
        ],
    }
