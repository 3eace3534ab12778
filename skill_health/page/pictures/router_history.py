"""History of the routers: top-1 of each model over time, in lines that end where runs stop being comparable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skill_health.documents.caveats import FoundCaveat, RoutingFacts, find_routing_caveats
from skill_health.documents.router_history import RouterHistoryLine
from skill_health.page.drawing.theme import BAD, SERIES, UNKNOWN, WARN, ZERO
from skill_health.page.figures import estimate_text, share, text_cell
from skill_health.page.model import NumberTable, Origins, Page, PageCell, Picture
from skill_health.page.pictures import _specs as vl
from skill_health.page.pictures._caveats import caveated_picture, mark_words
from skill_health.text.near import list_some

QUESTION, ORDER = 2, 20
MOST, RUNS = 8, 60
"""So many models are drawn, of each the last so many runs."""
BASIS = {"prompts": "prompts", "template": "template", "settings": "settings", "catalogue": "descriptions"}
"""What must be the same in two lines that are compared, and what it is called."""
LOOKS = {
    "comparable with the run before": (SERIES[0], "circle"),
    "first, or not comparable": (WARN, "diamond"),
    "part of the prompts": (UNKNOWN, "square"),
    "untrusted": (BAD, "cross"),
}
"""Colour and shape of a run by what its figure is worth."""
KINDS = tuple(LOOKS)
_HEAD = (
    "Model", "Run, time in UTC", "Top-1, % of calls [95 % interval], n calls", "Prompts asked", "Other than before", "Marks",
)  # fmt: skip
_NOTE = (
    "A line joins runs with the same prompts, template, settings and descriptions; a dashed rule stands where any of them "
    "changed, and figures on its two sides are not comparable. Runs over a part of the prompts are not joined."
)


@dataclass(frozen=True, slots=True)
class RoutedRun:
    """A line of a model with a figure. `kind` says what it is worth, `segment` numbers the lines that can be compared.

    `differs` names what is another than in the model's run before; empty where nothing is, or nothing went before.
    """

    own: RouterHistoryLine
    time: str
    kind: str
    segment: int
    differs: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        """The model."""
        return self.own.model

    @property
    def marks(self) -> tuple[FoundCaveat, ...]:
        """What keeps the figure from being taken at its word."""
        own = self.own
        facts = RoutingFacts(
            own.simulated, own.kind == "local", False, own.trusted, own.selection, (), own.settings.retrieve
        )
        return find_routing_caveats(facts)

    @property
    def figure(self) -> str:
        """Its top-1 in words."""
        return estimate_text(self.own.metrics.top1)


def build(page: Page) -> tuple[Picture, ...]:
    """One picture with a panel for each model, those asked last first; none without a line that has a figure."""
    models = runs_by_model(page.router_history)
    names = sorted(models, key=lambda name: models[name][-1].time, reverse=True)[:MOST]
    if not names:
        return ()
    drawn = {name: models[name][-RUNS:] for name in names}
    rows = tuple(_row(page.origins, run) for runs in drawn.values() for run in reversed(runs))
    lasts = [_last(runs) for runs in drawn.values()]
    figures = list_some([f"{run.subject} {run.figure} on {run.time[:10]}" for run in lasts], 4)
    models_drawn = f"{len(names)} model{'s' * (len(names) != 1)}"
    alt = f"Top-1 over time of {models_drawn}, with 95 % intervals. The last runs: {figures}."
    more, older = len(models) - len(drawn), sum(len(models[name]) - len(runs) for name, runs in drawn.items())
    notes = [
        f"{more} more models are left out." if more else "",
        f"{older:,} older runs are left out." if older else "",
    ]
    table = NumberTable(_HEAD, rows, "Top-1 of each run, the latest first")
    title = "Routing: top-1 over time"
    return (caveated_picture("router-history", title, alt, _spec(drawn), table, 2, lasts, _NOTE, *notes),)


def runs_by_model(history: Sequence[RouterHistoryLine]) -> dict[str, list[RoutedRun]]:
    """The lines of each model that say when and how well, oldest first; the models in the order of their names.

    Only runs over all prompts that passed the instrument check, or had none, are comparable with each other.
    """
    own: dict[str, list[tuple[str, RouterHistoryLine]]] = {}
    for line in history:
        if line.time is not None and line.metrics.top1.value is not None:
            own.setdefault(line.model, []).append((line.time, line))
    return {name: _judged(sorted(own[name], key=lambda each: each[0])) for name in sorted(own)}


def _judged(lines: Sequence[tuple[str, RouterHistoryLine]]) -> list[RoutedRun]:
    found, segment = [], 0
    before: RouterHistoryLine | None = None
    for time, line in lines:
        if line.trusted is False or line.selection != "all":
            found.append(RoutedRun(line, time, KINDS[3] if line.trusted is False else KINDS[2], 0))
            continue
        differs = _differing(before, line)
        segment += before is None or bool(differs)
        found.append(RoutedRun(line, time, KINDS[1 if before is None or differs else 0], segment, differs))
        before = line
    return found


def _differing(before: RouterHistoryLine | None, line: RouterHistoryLine) -> tuple[str, ...]:
    """What of the basis is another, or not known in either."""
    if before is None:
        return ()
    pairs = ((word, getattr(before, key), getattr(line, key)) for key, word in BASIS.items())
    return tuple(word for word, then, now in pairs if now is None or now != then)


def _last(runs: Sequence[RoutedRun]) -> RoutedRun:
    """The last run over all prompts that can be trusted, else the last one."""
    return next((run for run in reversed(runs) if run.segment), runs[-1])


def _row(origins: Origins, run: RoutedRun) -> tuple[PageCell, ...]:
    other = ", ".join(run.differs) if run.segment else "not compared"
    return (
        text_cell(run.subject), PageCell(run.time, run.time, origins.of(run.own, "time")),
        share(origins, run.own.metrics.top1), text_cell(run.own.selection), text_cell(other), text_cell(mark_words(run)),
    )  # fmt: skip


def _spec(drawn: Mapping[str, Sequence[RoutedRun]]) -> vl.Spec:
    values: list[vl.Spec] = []
    for name, runs in zip(vl.labels([*drawn], width=36), drawn.values(), strict=True):
        last = _last(runs)
        simulated = " (SIMULATED)" if last.own.simulated else ""
        for run in runs:
            own: vl.Spec = {"group": f"{name}{simulated}: {last.figure}", "time": run.time, "kind": run.kind}
            own |= {"segment": run.segment or None, "changed": True if run.differs else None}
            values.append({**own, **vl.estimate_values(run.own.metrics.top1)})
    every = [run for runs in drawn.values() for run in runs]
    color, shape = vl.looks("kind", LOOKS, [run.kind for run in every])
    up = vl.percent_axis("top-1, %", (0, 50, 100))
    y = vl.channel("value", **up)
    layers = [
        vl.layer("rule", {}, only="changed", strokeWidth=1, strokeDash=vl.DASHED, color=ZERO),
        vl.layer("rule", {**vl.interval("y", up), "color": color}),
        vl.layer("line", {"y": y, "detail": {"field": "segment"}}, only="segment"),
        vl.layer("point", {"y": y, "color": color, "shape": shape}, filled=True, size=48),
    ]
    return vl.facets(values, vl.layered(62, layers, x=vl.time_channel("time", [run.time for run in every])))
