"""Confusion heat map: which skill is picked where another is expected, and how alike their descriptions are."""

from __future__ import annotations

from itertools import pairwise
from math import ceil

from skill_health.page.drawing.theme import GRID, GROUND, INK, MUTED, RAMP
from skill_health.page.figures import MISSING, count, score, text_cell
from skill_health.page.model import JsonNode, NumberTable, Page, PageCell, Picture
from skill_health.page.pictures._panel import TURNED, Panel, Spec
from skill_health.page.pictures._router_cells import MOST, NONE, Confusions, confusions
from skill_health.page.pictures._router_models import listed, run_id, tag, warning
from skill_health.page.pictures._text import fitted, padding, text_width

QUESTION, ORDER = 2, 30
EDGES = (5, 10, 25, 50, 75)
"""Where a darker colour begins, in per cent."""
BINS = ("below 5", *(f"{low} to {high}" for low, high in pairwise(EDGES)), f"{EDGES[-1]} and more")
_DARK = 50
_LONG = 130
"""Pixels for the name of a skill."""
_LEAST = 300
"""Pixels that names and plot take at least, as the legends do."""
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


def build(page: Page) -> tuple[Picture, ...]:
    """One heat map; none where no report has a call with a right answer to count."""
    found = confusions(page)
    if found is None:
        return ()
    whose = _whose(found)
    wrong = sorted(
        (cell for cell in found.cells if cell.value["expected"] != cell.value["picked"]),
        key=lambda cell: -cell.value["calls"],
    )
    right = [cell for cell in found.cells if cell.value["expected"] == cell.value["picked"]]
    table = NumberTable(
        _HEAD, tuple(_row(found, cell) for cell in [*wrong, *right]), "What was picked for what, confusions first"
    )
    worst = [
        f"{name(cell.value['picked'])} for {name(cell.value['expected'])} in {cell.value['calls']} of "
        f"{found.totals[cell.value['expected']]} calls"
        for cell in wrong
    ]
    said = f"Most frequent: {listed(worst, 3)}." if worst else "No skill was picked for another."
    alt = f"Heat map of {len(found.rows)} expected and {len(found.columns)} picked classes, answers of {whose}. {said}{warning(found.sources)}"
    note = _NOTE
    if found.left_out:
        note += f" The {MOST} skills that are most involved in confusions are shown, {found.left_out} are left out."
    return (
        Picture(
            "router-confusion",
            f"Routing: picked skill by expected skill, {whose}{tag(found.sources)}",
            alt,
            _spec(found),
            table,
            2,
            note,
        ),
    )


def name(picked: str | None) -> str:
    """A class in words."""
    return "no valid answer" if picked is None else "no skill" if picked == NONE else picked


def _whose(found: Confusions) -> str:
    if len(found.sources) == 1:
        return found.sources[0].name
    return f"{len(found.sources)} models of run {run_id(found.report)}"


def _row(found: Confusions, cell: JsonNode) -> tuple[PageCell, ...]:
    alike = found.similarity(cell)
    own = 100 * found.share(cell)
    return (
        text_cell(name(cell.value["expected"])), text_cell(name(cell.value["picked"])), count(cell["calls"]),
        PageCell(f"{own:.1f}", own), count(cell["prompts"]), score(alike) if alike is not None else text_cell(MISSING),
    )  # fmt: skip


def _shade(share: float) -> int:
    """The place of a share in per cent among BINS and colours."""
    return sum(share >= edge for edge in EDGES)


def _spec(found: Confusions) -> Spec:
    down, over = len(found.rows), len(found.columns)
    step = 26 if over <= 14 else 18 if over <= 20 else 15
    panel = Panel(step * over, step * down, (0, over), (down, 0))
    panel.cells.extend([_cell(0, row, GROUND, GRID, over) for row in range(down)])
    panel.cells.extend([_cell(column, 0, "none", GRID, 1, down) for column in range(over)])
    panel.cells.extend([cell for _, cell in sorted(_squares(found), key=lambda pair: pair[0])])
    most = ceil(10 * max((alike for *_, alike in _rings(found)), default=0.1)) / 10 or 0.1
    for column, row, share, alike in _rings(found):
        color = GROUND if share >= _DARK else INK
        panel.dot(column + 0.5, row + 0.5, color, size=_ring(alike, most, step), fill="none")
    rows, columns = ([fitted(name(each), _LONG) for each in names] for names in (found.rows, found.columns))
    for at, words in enumerate(rows):
        panel.say(panel.x(-6), at + 0.5, words, align="right")
    for at, words in enumerate(columns):
        panel.say(at + 0.5, panel.y(-6), words, align=TURNED)
    high = max(map(text_width, columns))
    panel.head("picked skill", high + 20, MUTED)
    panel.say(panel.x(-6), panel.y(-10), "expected skill", MUTED, "right")
    _legends(panel, found, most, step)
    wide = max(0.0, _LEAST - max(map(text_width, rows)) - panel.width)
    return {**panel.spec(), "padding": padding(10, 14 + wide, 10)}


def _cell(column: float, row: float, fill: str, stroke: str, wide: float = 1, high: float = 1) -> Spec:
    return {"x": column, "x2": column + wide, "y": row, "y2": row + high, "f": fill, "c": stroke, "w": 1}


def _squares(found: Confusions) -> list[tuple[bool, Spec]]:
    """Whether a cell is a right answer, and how it is drawn; the borders of right answers lie above all others."""
    squares = []
    for cell in found.cells:
        own = found.rows.index(cell.value["expected"]), found.columns.index(cell.value["picked"])
        right = cell.value["expected"] == cell.value["picked"]
        drawn = _cell(own[1], own[0], RAMP[_shade(round(100 * found.share(cell), 4))], INK if right else GROUND)
        squares.append((right, drawn | {"w": 1.5 if right else 1}))
    return squares


def _rings(found: Confusions) -> list[tuple[int, int, float, float]]:
    """Column, row, share in per cent and similarity of the cells of confusions."""
    rings = []
    for cell in found.cells:
        alike = found.similarity(cell)
        if alike is not None and cell.value["expected"] != cell.value["picked"]:
            place = found.columns.index(cell.value["picked"]), found.rows.index(cell.value["expected"])
            rings.append((*place, 100 * found.share(cell), float(alike.value)))
    return rings


def _ring(alike: float, most: float, step: int) -> float:
    """Square pixels of the ring of a similarity: its radius grows with it."""
    return round(4 + (max(alike, 0.0) / most) ** 2 * ((step - 3) ** 2 - 4), 2)


def _legends(panel: Panel, found: Confusions, most: float, step: int) -> None:
    """What colours and rings mean, below the plot from its names on."""
    left = -max(map(text_width, ("expected skill", *(fitted(name(each), _LONG) for each in found.rows))))
    top = panel.height + 20
    panel.say(panel.x(left), panel.y(top), "share of the expected skill's calls, %", MUTED)
    for at, words in enumerate(BINS):
        x, y = left + 8 + at % 3 * 96, top + 19 + at // 3 * 19
        panel.dot(panel.x(x), panel.y(y), GRID, "square", 140, RAMP[at])
        panel.say(panel.x(x + 14), panel.y(y), words)
    if _rings(found):
        panel.say(panel.x(left), panel.y(top + 62), "similarity of the descriptions (cosine)", MUTED)
        for at, alike in enumerate((most / 4, most / 2, most)):
            x, y = left + 14 + at * 96, top + 84
            panel.dot(panel.x(x), panel.y(y), INK, size=_ring(alike, most, step), fill="none")
            panel.say(panel.x(x + 18), panel.y(y), f"{alike:.2f}")
