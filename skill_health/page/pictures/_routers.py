"""The models of the router's current reports, and what their figures are marked with."""

from __future__ import annotations

from dataclasses import dataclass

from skill_health.documents._record import Record
from skill_health.documents.caveats import Caveat, FoundCaveat, RoutingFacts, find_routing_caveats
from skill_health.documents.router_report import ModelRoutingReport, RouterReport
from skill_health.page.drawing.theme import BAD, SERIES, UNKNOWN, WARN
from skill_health.page.figures import MISSING
from skill_health.page.model import Origins, Page, PageCell

_HEAVY = (Caveat.SIMULATED, Caveat.UNTRUSTED, Caveat.PRELIMINARY)
STATES = {
    "measured": (SERIES[0], "circle"),
    Caveat.PRELIMINARY.value.word: (WARN, "triangle-up"),
    Caveat.UNTRUSTED.value.word: (BAD, "cross"),
    Caveat.SIMULATED.value.word: (UNKNOWN, "diamond"),
}
"""Colour and shape of a model's point by what is to be said of it first."""


@dataclass(frozen=True, slots=True)
class RouterStanding:
    """A model in the report that stands for it: `own` is its part of `report`.

    `marks` are what keeps its figures from being taken at their word.
    """

    own: ModelRoutingReport
    report: RouterReport
    marks: tuple[FoundCaveat, ...]

    @property
    def subject(self) -> str:
        """The model as the user named it."""
        return self.own.model

    @property
    def state(self) -> str:
        """The one of STATES that weighs most."""
        found = {mark.caveat for mark in self.marks}
        return next((caveat.value.word for caveat in _HEAVY if caveat in found), "measured")

    @property
    def is_sound(self) -> bool:
        """Whether a model was asked, and the run passed its own checks."""
        return not {Caveat.SIMULATED, Caveat.UNTRUSTED} & {mark.caveat for mark in self.marks}

    @property
    def top1(self) -> float | None:
        """Its share of right first answers, from 0 to 1."""
        return self.own.metrics.top1.value

    @property
    def label(self) -> str:
        """The name, and whether it is simulated or not to be trusted."""
        return self.subject if self.is_sound else f"{self.subject} ({self.state})"


def router_standings(page: Page) -> tuple[RouterStanding, ...]:
    """One for each model, the best top-1 first; those that are simulated or untrusted come after the others.

    A model's latest report over all prompts stands for it; one over a part of them only where it has no other.
    """
    kept: dict[str, RouterStanding] = {}
    for report in page.router:
        for own in report.models:
            if own.model not in kept or (is_whole(report) and not is_whole(kept[own.model].report)):
                kept[own.model] = standing_of(page, report, own)
    return tuple(sorted(kept.values(), key=lambda each: (not each.is_sound, each.top1 is None, -(each.top1 or 0.0))))


def standing_of(page: Page, report: RouterReport, own: ModelRoutingReport) -> RouterStanding:
    """A model in a report."""
    lines = [each for each in page.status.routing if (each.model, each.run_id) == (own.model, report.run.run_id)]
    failed = report.check.failed if report.check else ()
    facts = RoutingFacts(
        own.kind == "simulated", own.kind == "local", any(line.changed for line in lines), own.model not in failed,
        _selection(report), own.preliminary, report.retrieval.k if report.retrieval else 0,
    )  # fmt: skip
    return RouterStanding(own, report, find_routing_caveats(facts))


def is_whole(report: RouterReport) -> bool:
    """Whether all prompts were asked."""
    return _selection(report) == "all"


def _selection(report: RouterReport) -> str:
    return report.run.selection.kind if report.run.selection else "all"


def percent(value: float | None) -> float | None:
    """A share in per cent, as it is drawn."""
    return None if value is None else round(value * 100, 4)


def percent_cell(origins: Origins, record: Record, name: str) -> PageCell:
    """A share without an interval in per cent, in the field of this name; a dash where it is null."""
    value: float | None = getattr(record, name)
    text = MISSING if value is None else f"{value * 100:.1f}"
    return PageCell(text, None if value is None else value * 100, origins.of(record, name))
