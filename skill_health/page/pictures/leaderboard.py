"""Leaderboard of the routers: top-1 of every model of the current reports, with its interval."""

from __future__ import annotations

from collections.abc import Sequence

from skill_health.documents.caveats import Caveat
from skill_health.page.drawing.theme import MUTED
from skill_health.page.figures import count, estimate_text, share, text_cell
from skill_health.page.model import NumberTable, Origins, Page, PageCell, Picture
from skill_health.page.pictures import _specs as vl
from skill_health.page.pictures._caveats import caveated_picture, mark_words
from skill_health.page.pictures._routers import STATES, RouterStanding, router_standings
from skill_health.text.near import list_some

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
    table = NumberTable(
        _HEAD, tuple(_row(page.origins, each) for each in standings), "Top-1 of each model in its latest report"
    )
    firsts = list_some([f"{each.label} {_figure(each)}" for each in drawn], 4)
    models = f"{len(standings)} model{'s' * (len(standings) != 1)}"
    alt = f"Top-1 of {models} in per cent, with 95 % intervals, best first: {firsts}."
    runs, rest = len({each.report.run.run_id for each in standings}), len(standings) - len(drawn)
    several = f"They come from {runs} runs (see the table); prompts and descriptions may differ between runs."
    notes = (_NOTE, several if runs > 1 else "", f"{rest} more are in the table only." if rest else "")
    name, title = "router-leaderboard", "Routing: top-1 by model"
    return (caveated_picture(name, title, alt, _spec(drawn), table, 2, drawn, *notes),)


def _figure(standing: RouterStanding) -> str:
    return estimate_text(standing.own.metrics.top1)


def _row(origins: Origins, standing: RouterStanding) -> tuple[PageCell, ...]:
    top1, coverage = standing.own.metrics.top1, standing.own.coverage
    return (
        text_cell(standing.subject), share(origins, top1), count(origins, top1, "clusters"),
        count(origins, coverage, "scored"), count(origins, coverage, "planned"),
        text_cell(standing.report.run.run_id or ""), text_cell(mark_words(standing)),
    )  # fmt: skip


def _spec(standings: Sequence[RouterStanding]) -> vl.Spec:
    marks = [", ".join(mark.word for mark in each.marks if mark.caveat is not Caveat.LOCAL) for each in standings]
    figures = [_figure(each) + (f" · {words}" if words else "") for each, words in zip(standings, marks, strict=True)]
    names = vl.labels([each.subject for each in standings], width=74 - max(map(len, figures)))
    values = [
        {**vl.estimate_values(each.own.metrics.top1), "name": name, "figure": figure, "state": each.state}
        for each, name, figure in zip(standings, names, figures, strict=True)
    ]
    color, shape = vl.looks("state", STATES, {each.state for each in standings})
    along = vl.percent_axis("top-1, % of calls", grid=False)
    point = {"x": vl.channel("value", **along), "shape": shape, "fill": color}
    layers = [
        vl.layer("rule", {**vl.interval("x", along), "color": color}, yOffset=5),
        vl.layer("point", {**point, "color": color}, size=80, yOffset=5),
        vl.text("figure", vl.WIDTH, align="right", dy=-11, color=MUTED),
    ]
    return vl.plot(values, {"step": 36}, layers, y=vl.row_heads())
