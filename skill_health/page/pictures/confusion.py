"""Confusion heat map: which skill is picked where another is expected, and how alike their descriptions are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from skill_health.documents.router_report import ConfusedPair, ConfusionCell, RouterReport
from skill_health.page.drawing.theme import GROUND, INK, RAMP
from skill_health.page.figures import MISSING, count, score, text_cell
from skill_health.page.model import NumberTable, Origins, Page, PageCell, Picture
from skill_health.page.pictures import _specs as vl
from skill_health.page.pictures._caveats import caveated_picture
from skill_health.page.pictures._routers import RouterStanding, is_whole, router_standings, standing_of
from skill_health.text.near import list_some

QUESTION, ORDER = 2, 30
NONE = "none"
MOST = 24
_EDGES = (5, 10, 25, 50, 75)
"""Where a darker colour begins, in per cent."""
_BINS = ("below 5", *(f"{low} to {high}" for low, high in pairwise(_EDGES)), f"{_EDGES[-1]} and more")
_DARK = 50
_HEAD = (
    "Expected",
    "Picked",
    "Calls",
    "Share of the expected skill's calls, %",
    "Prompts",
    "Similarity of the descriptions",
)
_NOTE = (
    "The colour is the share of the calls that expect the skill on the left. Cells with a border are right answers. A ring "
    "is as large as the two descriptions are alike (cosine similarity): a large ring in a dark cell means that the "
    "descriptions say the same, a dark cell with a small one that something else misleads."
)


@dataclass(frozen=True, slots=True)
class ConfusionMatrix:
    """The cells of a report's confusion matrix.

    `sources` are the models whose answers are counted. `rows` are the expected skills and `columns` the picked ones,
    with NONE and None (no valid answer) last. `left_out` counts the skills that are not among them. `totals` are the
    calls of each row, those that are left out too. `alike` has the pairs of which it is known how alike their
    descriptions are.
    """

    report: RouterReport
    cells: tuple[ConfusionCell, ...]
    rows: tuple[str, ...]
    columns: tuple[str | None, ...]
    left_out: int
    totals: Counter[str]
    alike: Mapping[tuple[str, str | None], ConfusedPair]
    sources: tuple[RouterStanding, ...]

    def percent(self, cell: ConfusionCell) -> float:
        """The share of the expected skill's calls that a cell holds, in per cent."""
        return 100 * cell.calls / self.totals[cell.expected]

    def similarity(self, cell: ConfusionCell) -> ConfusedPair | None:
        """The pair that has the similarity of the two descriptions of a cell; None where it is not known."""
        return self.alike.get((cell.expected, cell.picked))


def build(page: Page) -> tuple[Picture, ...]:
    """One heat map; none where no report has a call with a right answer to count."""
    matrix = _matrix(page)
    if matrix is None:
        return ()
    whose = f"{len(matrix.sources)} models of run {matrix.report.run.run_id or ''}"
    if len(matrix.sources) == 1:
        whose = matrix.sources[0].subject
    right = [cell for cell in matrix.cells if _is_right(cell)]
    wrong = sorted((cell for cell in matrix.cells if not _is_right(cell)), key=lambda cell: -cell.calls)
    worst = [
        f"{describe_class(cell.picked)} for {describe_class(cell.expected)} in {cell.calls} of "
        f"{matrix.totals[cell.expected]} calls"
        for cell in wrong
    ]
    first = f"Most frequent: {list_some(worst, 3)}." if worst else "No skill was picked for another."
    size = f"{len(matrix.rows)} expected and {len(matrix.columns)} picked classes"
    left = f"The {MOST} skills that are most involved in confusions are shown, {matrix.left_out} are left out."
    notes = (_NOTE, left if matrix.left_out else "")
    rows = tuple(_row(page.origins, matrix, cell) for cell in [*wrong, *right])
    table = NumberTable(_HEAD, rows, "What was picked for what, confusions first")
    title, alt = f"Routing: picked skill by expected skill, {whose}", f"Heat map of {size}, answers of {whose}. {first}"
    return (caveated_picture("router-confusion", title, alt, _spec(matrix), table, 2, matrix.sources, *notes),)


def _matrix(page: Page) -> ConfusionMatrix | None:
    """The cells of the latest report over all prompts, else of the latest; None where no cell is there.

    Those of all its models together, unless some are simulated or untrusted and others are not: then those of the best
    of the others, since what a script answers says nothing about the descriptions.
    """
    reports = [report for report in page.router if report.confusion]
    report = next((each for each in reports if is_whole(each)), next(iter(reports), None))
    if report is None:
        return None
    standings = [each for each in router_standings(page) if each.report is report and each.own.confusion]
    sound = [each for each in standings if each.is_sound]
    if 0 < len(sound) < len(report.models):
        return _matrix_of(report, sound[0].own.confusion, (sound[0],))
    sources = tuple(standing_of(page, report, own) for own in report.models)
    return _matrix_of(report, report.confusion, sources)


def _matrix_of(
    report: RouterReport, matrix: Sequence[ConfusionCell], sources: tuple[RouterStanding, ...]
) -> ConfusionMatrix | None:
    wrong: Counter[str | None] = Counter()
    totals: Counter[str] = Counter()
    skills: set[str | None] = set()
    for cell in matrix:
        totals[cell.expected] += cell.calls
        skills |= {cell.expected, cell.picked}
        if cell.expected != cell.picked:
            wrong.update({cell.expected: cell.calls, cell.picked: cell.calls})
    named = {each for each in skills if each is not None and each != NONE}
    chosen = set(sorted(named, key=lambda name: (-wrong[name], name))[:MOST])
    rows = (*sorted(chosen & totals.keys()), *([NONE] if NONE in totals else []))
    columns = (*sorted(chosen), *(each for each in (NONE, None) if each in skills))
    cells = tuple(cell for cell in matrix if cell.expected in rows and cell.picked in columns)
    left_out = len(named) - len(chosen)
    return ConfusionMatrix(report, cells, rows, columns, left_out, totals, _alike(report), sources) if cells else None


def _alike(report: RouterReport) -> dict[tuple[str, str | None], ConfusedPair]:
    """The pairs of a report of which the similarity is known, by both orders of the pair."""
    found: dict[tuple[str, str | None], ConfusedPair] = {}
    for pair in report.pairs:
        if pair.similarity is not None:
            found.setdefault((pair.picked, pair.expected), pair)
            found[pair.expected, pair.picked] = pair
    return found


def describe_class(picked: str | None) -> str:
    """A class in words."""
    return "no valid answer" if picked is None else "no skill" if picked == NONE else picked


def _is_right(cell: ConfusionCell) -> bool:
    return cell.expected == cell.picked


def _row(origins: Origins, matrix: ConfusionMatrix, cell: ConfusionCell) -> tuple[PageCell, ...]:
    alike, own = matrix.similarity(cell), matrix.percent(cell)
    return (
        text_cell(describe_class(cell.expected)), text_cell(describe_class(cell.picked)), count(origins, cell, "calls"),
        PageCell(f"{own:.1f}", own), count(origins, cell, "prompts"),
        score(origins, alike, "similarity") if alike is not None else text_cell(MISSING),
    )  # fmt: skip


def _spec(matrix: ConfusionMatrix) -> vl.Spec:
    names = dict(zip(matrix.columns, vl.labels([*map(describe_class, matrix.columns)], width=24), strict=True))
    # Rows and columns stand in the order of the first data, and have a place there even without a call.
    rows = [names[each if each in matrix.rows else matrix.rows[0]] for each in matrix.columns]
    places = [{"expected": row, "picked": names[each]} for row, each in zip(rows, matrix.columns, strict=True)]
    values: list[vl.Spec] = []
    known = [0.1]
    for cell in sorted(matrix.cells, key=_is_right):
        pair, right, share = matrix.similarity(cell), _is_right(cell), round(matrix.percent(cell), 4)
        own: vl.Spec = {"expected": names[cell.expected], "picked": names[cell.picked], "right": right}
        own |= {"shade": _BINS[sum(share >= edge for edge in _EDGES)], "dark": share >= _DARK}
        if pair is not None and not right:
            known.append(max(0.0, pair.similarity or 0.0))
            own |= {"alike": known[-1]}
        values.append(own)
    most = ceil(10 * max(known)) / 10
    width = max(300, 15 * len(matrix.columns))
    step = max(15, min(26, width // len(matrix.columns)))
    shades = {"title": "share of the expected skill's calls, %", "columns": 3, "symbolType": "square"}
    fill = vl.category("shade", scale={"domain": _BINS, "range": RAMP}, legend=shades)
    ring = {"type": "pow", "exponent": 2, "domain": [0, most], "range": [4, (step - 3) ** 2]}
    rings = {"title": "similarity (cosine)", "values": [most / 4, most / 2, most]}
    rings |= {"symbolFillColor": GROUND, "symbolStrokeColor": INK}
    border = {"stroke": vl.either("right", INK, GROUND), "strokeWidth": vl.either("right", 1.5, 1)}
    circle = {"size": vl.channel("alike", scale=ring, legend=rings), "color": vl.either("dark", GROUND, INK)}
    axis = {"grid": True, "zindex": 0}
    x = vl.category("picked", title="picked skill", axis={**axis, "orient": "top", "labelAngle": -90})
    y = vl.category("expected", title="expected skill", axis=axis)
    layers = [
        vl.layer("rect", {}, places, fill=None),
        vl.layer("rect", {"fill": fill, **border}),
        vl.layer("point", circle, only="alike"),
    ]
    return vl.plot(values, {"step": step}, layers, width, x=x, y=y)
