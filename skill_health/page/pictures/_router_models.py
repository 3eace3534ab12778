"""The models of the router's current reports, one entry each, and what their figures are marked with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from skill_health.page.drawing.theme import BAD, SERIES, UNKNOWN, WARN
from skill_health.page.figures import MISSING, Mark, route_marks
from skill_health.page.model import JsonNode, Page, PageCell
from skill_health.page.pictures import _tags

STATES = {
    "measured": (SERIES[0], "circle"),
    "preliminary": (WARN, "triangle-up"),
    "untrusted": (BAD, "cross"),
    "SIMULATED": (UNKNOWN, "diamond"),
}
"""Colour and shape of a model's point by what is to be said of it first."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A model in the report that stands for it: `own` is its part of `report`.

    `marks` are what keeps its figures from being taken at their word.
    """

    own: JsonNode
    report: JsonNode
    marks: tuple[Mark, ...]

    @property
    def name(self) -> str:
        """The model as the user named it."""
        return str(self.own["model"].value)

    @property
    def marked(self) -> frozenset[str]:
        """The words of its marks."""
        return frozenset(mark.word for mark in self.marks)

    @property
    def words(self) -> str:
        """The marks as one text."""
        return ", ".join(mark.word for mark in self.marks)

    @property
    def state(self) -> str:
        """The one of STATES that weighs most."""
        words = {mark.word for mark in self.marks}
        return next((word for word in ("SIMULATED", "untrusted", "preliminary") if word in words), "measured")

    @property
    def top1(self) -> float | None:
        """Its share of right first answers, from 0 to 1."""
        found: float | None = self.own["metrics"]["top1"].value["value"]
        return found

    @property
    def label(self) -> str:
        """The name, and whether it is simulated or not to be trusted."""
        return self.name if self.state in ("measured", "preliminary") else f"{self.name} ({self.state})"


def current(page: Page) -> tuple[Entry, ...]:
    """One entry for each model, the best top-1 first; those that are simulated or untrusted come after the others.

    A model's latest report over all prompts stands for it; one over a part of them only where it has no other.
    """
    kept: dict[str, Entry] = {}
    for report in page.router:
        for own in report["models"]:
            name = own["model"].value
            if name not in kept or (whole(report) and not whole(kept[name].report)):
                kept[name] = entry_of(page, report, own)
    return tuple(sorted(kept.values(), key=_rank))


def entry_of(page: Page, report: JsonNode, own: JsonNode) -> Entry:
    """The entry of a model in a report."""
    return Entry(own, report, _marks(page, report, own))


def _rank(entry: Entry) -> tuple[bool, bool, float]:
    return (entry.state in ("SIMULATED", "untrusted"), entry.top1 is None, -(entry.top1 or 0.0))


def whole(report: JsonNode) -> bool:
    """Whether all prompts were asked."""
    return _selection(report) == "all"


def _selection(report: JsonNode) -> str:
    return str((report["run"]["selection"].value or {}).get("kind") or "all")


def run_id(report: JsonNode) -> str:
    """The run of a report, "" where it does not say."""
    return str(report["run"]["run_id"].value or "")


def _marks(page: Page, report: JsonNode, own: JsonNode) -> tuple[Mark, ...]:
    name, check = own["model"].value, report["check"].value or {}
    lines = [each.value for each in page.status.get("routing")]
    changed = any(line["changed"] for line in lines if line["model"] == name and line["run_id"] == run_id(report))
    found = route_marks({
        "simulated": own["kind"].value == "simulated", "local": own["kind"].value == "local",
        "changed": changed, "selection": _selection(report),
        "trusted": name not in check.get("failed", ()),
    })  # fmt: skip
    reasons = own["preliminary"].value
    return (*found, Mark("preliminary", "; ".join(map(str, reasons)))) if reasons else found


def caveats(entries: Iterable[Entry]) -> str:
    """Which models are marked, a sentence for each mark but "local"; "" where none is."""
    names: dict[str, list[str]] = {}
    for entry in entries:
        for mark in entry.marks:
            if mark.word != "local":
                names.setdefault(mark.word, []).append(entry.name)
    return " ".join(f"{word[0].upper()}{word[1:]}: {listed(each)}." for word, each in names.items())


def listed(names: Sequence[str], most: int = 4) -> str:
    """The first of some names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def percent(value: float | None) -> float | None:
    """A share in per cent, as it is drawn."""
    return None if value is None else round(value * 100, 4)


def part(number: JsonNode) -> PageCell:
    """A share without an interval in per cent; a dash where it is null."""
    if number.value is None:
        return PageCell(MISSING, None, number.origin)
    return PageCell(f"{number.value * 100:.1f}", number.value * 100, number.origin)


def tag(entries: Sequence[Entry]) -> str:
    """What a title says at its end where models are simulated, untrusted, stale, preliminary or asked in part."""
    return _tags.tag([each.marked for each in entries])


def warning(entries: Sequence[Entry]) -> str:
    """The sentences of the alternative text about such models."""
    return _tags.warning([each.marked for each in entries])
