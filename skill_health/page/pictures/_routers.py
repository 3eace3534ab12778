"""The models of the router's current reports, and what their figures are marked with."""

from __future__ import annotations

from dataclasses import dataclass

from skill_health.page.drawing.theme import BAD, SERIES, UNKNOWN, WARN
from skill_health.page.figures import MISSING, Mark, route_marks
from skill_health.page.model import JsonNode, Page, PageCell

STATES = {
    "measured": (SERIES[0], "circle"),
    "preliminary": (WARN, "triangle-up"),
    "untrusted": (BAD, "cross"),
    "SIMULATED": (UNKNOWN, "diamond"),
}
"""Colour and shape of a model's point by what is to be said of it first."""


@dataclass(frozen=True, slots=True)
class RouterStanding:
    """A model in the report that stands for it: `own` is its part of `report`.

    `marks` are what keeps its figures from being taken at their word.
    """

    own: JsonNode
    report: JsonNode
    marks: tuple[Mark, ...]

    @property
    def subject(self) -> str:
        """The model as the user named it."""
        return str(self.own["model"].value)

    @property
    def state(self) -> str:
        """The one of STATES that weighs most."""
        words = {mark.word for mark in self.marks}
        return next((word for word in ("SIMULATED", "untrusted", "preliminary") if word in words), "measured")

    @property
    def is_sound(self) -> bool:
        """Whether a model was asked, and the run passed its own checks."""
        return self.state in ("measured", "preliminary")

    @property
    def top1(self) -> float | None:
        """Its share of right first answers, from 0 to 1."""
        found: float | None = self.own["metrics"]["top1"].value["value"]
        return found

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
        for own in report["models"]:
            name = own["model"].value
            if name not in kept or (is_whole(report) and not is_whole(kept[name].report)):
                kept[name] = standing_of(page, report, own)
    return tuple(sorted(kept.values(), key=lambda each: (not each.is_sound, each.top1 is None, -(each.top1 or 0.0))))


def standing_of(page: Page, report: JsonNode, own: JsonNode) -> RouterStanding:
    """A model in a report."""
    name, check = own["model"].value, report["check"].value or {}
    lines = [each.value for each in page.status.get("routing")]
    marks = route_marks({
        "simulated": own["kind"].value == "simulated", "local": own["kind"].value == "local",
        "changed": any(line["changed"] for line in lines if (line["model"], line["run_id"]) == (name, run_id(report))),
        "selection": _selection(report), "trusted": name not in check.get("failed", ()),
    })  # fmt: skip
    reasons = own["preliminary"].value
    preliminary = (Mark("preliminary", "; ".join(map(str, reasons))),) if reasons else ()
    return RouterStanding(own, report, (*marks, *preliminary))


def is_whole(report: JsonNode) -> bool:
    """Whether all prompts were asked."""
    return _selection(report) == "all"


def _selection(report: JsonNode) -> str:
    return str((report["run"]["selection"].value or {}).get("kind") or "all")


def run_id(report: JsonNode) -> str:
    """The run of a report, "" where it does not say."""
    return str(report["run"]["run_id"].value or "")


def percent(value: float | None) -> float | None:
    """A share in per cent, as it is drawn."""
    return None if value is None else round(value * 100, 4)


def percent_cell(number: JsonNode) -> PageCell:
    """A share without an interval in per cent; a dash where it is null."""
    if number.value is None:
        return PageCell(MISSING, None, number.origin)
    return PageCell(f"{number.value * 100:.1f}", number.value * 100, number.origin)
