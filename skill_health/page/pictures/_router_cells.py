"""What was picked for what, as the cells of a square: whose answers they are, which skills, how alike two are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skill_health.page.model import JsonNode, Page
from skill_health.page.pictures._router_models import Entry, current, entry_of, whole

NONE = "none"
MOST = 24


@dataclass(frozen=True, slots=True)
class Confusions:
    """The cells of a report's confusion matrix.

    `entry` is the model whose answers they are, None for all models of `report` together. `rows` are the expected
    skills and `columns` the picked ones, with NONE and None (no valid answer) last. `left_out` counts the skills that
    are not among them. `totals` are the calls of each row, those that are left out too. `alike` has the similarity of
    two descriptions where it is known. `sources` are the models whose answers are counted.
    """

    report: JsonNode
    entry: Entry | None
    cells: tuple[JsonNode, ...]
    rows: tuple[str, ...]
    columns: tuple[str | None, ...]
    left_out: int
    totals: Counter[str]
    alike: Mapping[tuple[str, str | None], JsonNode]
    sources: tuple[Entry, ...]

    def share(self, cell: JsonNode) -> float:
        """The share of the expected skill's calls that a cell holds."""
        return float(cell.value["calls"] / self.totals[cell.value["expected"]])

    def similarity(self, cell: JsonNode) -> JsonNode | None:
        """The similarity of the two descriptions of a cell; None where it is not known."""
        return self.alike.get((cell.value["expected"], cell.value["picked"]))


def confusions(page: Page) -> Confusions | None:
    """The cells of the latest report over all prompts, else of the latest; None where no cell is there.

    Those of all its models together, unless some are simulated or untrusted and others are not: then those of the best
    of the others, since what a script answers says nothing about the descriptions.
    """
    entry, report, matrix = _source(page)
    if report is None or not matrix:
        return None
    wrong: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    skills: set[str] = set()
    for cell in matrix:
        expected, picked, calls = (cell.value[key] for key in ("expected", "picked", "calls"))
        totals[expected] += calls
        skills |= {expected, picked}
        if expected != picked:
            wrong.update({expected: calls, picked: calls})
    named = {each for each in skills if each not in (NONE, None)}
    chosen = set(sorted(named, key=lambda name: (-wrong[name], name))[:MOST])
    rows = (*sorted(chosen & totals.keys()), *([NONE] if NONE in totals else []))
    last = [each for each in (NONE, None) if each in skills]
    columns = (*sorted(chosen), *last)
    cells = tuple(cell for cell in matrix if cell.value["expected"] in rows and cell.value["picked"] in columns)
    if not cells:
        return None
    sources = (entry,) if entry else tuple(entry_of(page, report, own) for own in report["models"])
    return Confusions(report, entry, cells, rows, columns, len(named) - len(chosen), totals, _alike(report), sources)


def _alike(report: JsonNode) -> dict[tuple[str, str | None], JsonNode]:
    """The similarities of a report by both orders of the pair."""
    found: dict[tuple[str, str | None], JsonNode] = {}
    for pair in report["pairs"]:
        if pair.value["similarity"] is not None:
            one, other = pair.value["expected"], pair.value["picked"]
            found.setdefault((other, one), pair["similarity"])
            found[one, other] = pair["similarity"]
    return found


def _source(page: Page) -> tuple[Entry | None, JsonNode | None, Sequence[JsonNode]]:
    reports = [report for report in page.router if report["confusion"]]
    report = next((each for each in reports if whole(each)), next(iter(reports), None))
    if report is None:
        return None, None, ()
    entries = [each for each in current(page) if each.report.origin == report.origin]
    real = [each for each in entries if each.state not in ("SIMULATED", "untrusted") and each.own["confusion"]]
    if real and len(real) < len(report["models"].value):
        return real[0], report, tuple(real[0].own["confusion"])
    return None, report, tuple(report["confusion"])
