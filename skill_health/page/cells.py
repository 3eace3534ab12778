"""Cells and tables as HTML, each figure with the place in the reports that it comes from."""

from __future__ import annotations

import re
from html import escape

from skill_health.page.figures import MISSING, escape_text
from skill_health.page.model import NumberTable, PageCell

_INSIDE = re.compile(r"(?!//)(?:#|\.{0,2}/|[\w.~%-])[\w.~%/#!,()@+-]*", re.ASCII)


def cell_html(cell: PageCell, tag: str = "td", limit: int | None = None) -> str:
    """A cell as an element. What is a figure names its origin, and its raw value where the text is not just that."""
    text = escape_text(cell.text, limit)
    attributes = f' data-from="{escape(escape_text(cell.origin))}"' if cell.origin else ""
    if cell.origin and cell.value is not None and _raw(cell.value) != text:
        attributes += f' data-value="{escape(_raw(cell.value))}"'
    if cell.tone:
        attributes += f' class="{cell.tone}"'
    inner = escape(text)
    if cell.link and inside(cell.link):
        inner = f'<a href="{escape(cell.link)}">{inner}</a>'
    return f"<{tag}{attributes}>{inner}</{tag}>"


def inside(link: str) -> bool:
    """Whether a link stays on the page or goes to a file by a relative path: it names no scheme and no host."""
    return _INSIDE.fullmatch(link) is not None


def table_html(table: NumberTable, limit: int | None = None) -> str:
    """A table with its caption. The first cell of a row is its head unless it is a figure."""
    caption = f"<caption>{escape(escape_text(table.caption))}</caption>" if table.caption else ""
    head = "".join(f"<th scope=col>{escape(escape_text(each))}</th>" for each in table.head)
    rows = "".join(f"<tr>{_row(row, limit)}</tr>" for row in table.rows)
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _row(row: tuple[PageCell, ...], limit: int | None) -> str:
    cells = [cell_html(cell, limit=limit) for cell in row]
    if row and not row[0].origin:
        cells[0] = f"<th scope=row{cells[0][3:-5]}</th>"
    return "".join(cells)


def _raw(value: float | str) -> str:
    if isinstance(value, float):
        return f"{value:.12g}"
    return MISSING if value is None else escape_text(value)
