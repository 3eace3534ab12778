"""CSV with the columns of labelled queries: query, skill, should_trigger, and if wanted expected, id, family and more.

The separator is a comma, a semicolon or a tab. A cell of `tags` holds several with semicolons or commas between. Where
no skill should fire, `skill` is empty and `should_trigger` false, or `expected` is none.
"""

from __future__ import annotations

import csv
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from skill_health.core.strict_json import quote
from skill_health.registries.records import BadRecord
from skill_health.router.prompts._api import FileShape, Found, Known, PromptFile
from skill_health.router.prompts._look import TEXT_KEYS, column_name, look_at
from skill_health.router.prompts._rows import row_prompt

TITLE = "labelled rows"
_TRUE, _FALSE = ("true", "yes", "1", "y", "t"), ("false", "no", "0", "n", "f")
_EMPTY_IS_NULL = ("skill", "skill_name")


def fits(look: FileShape) -> bool:
    """A header with a column of requests and one of labels."""
    return look.kind == "table"


def read(file: PromptFile, known: Known) -> Iterator[Found]:
    """The rows of the table; one that holds bytes that are not UTF-8, or cells too many, is a bad record."""
    for line, cells in read_table(file, look_at(file.raw).delimiter, column_name):
        yield cells if isinstance(cells, BadRecord) else _row(file, line, cells, known)


def read_table(
    file: PromptFile, delimiter: str, name_of: Callable[[str], str] = str.strip
) -> Iterator[tuple[int, dict[str, str] | BadRecord]]:
    """The rows of a CSV file with their lines, as cells by the names of their columns; empty cells are left in."""
    text = file.raw.removeprefix(BOM_UTF8).decode("utf-8", "surrogateescape").replace("\r\n", "\n").replace("\r", "\n")
    rows = csv.reader(_lines(text), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    while True:
        line = rows.line_num + 1
        try:
            cells = next(rows, None)
        except csv.Error as error:
            yield line, _bad(file, line, f"not CSV: {error}", "Close each quote and double the quotes within a cell.")
            continue
        if cells is None:
            return
        if not any(cell.strip() for cell in cells):
            continue
        if header is None:
            header = [name_of(cell) for cell in cells]
        elif fault := _fault(header, cells):
            yield line, _bad(file, line, *fault)
        else:
            yield line, dict(zip(header, cells, strict=False))


def _fault(header: Sequence[str], cells: Sequence[str]) -> tuple[str, str] | None:
    if any("\udc80" <= char <= "\udcff" for cell in cells if not cell.isascii() for char in cell):
        return "bytes that are not UTF-8", "Save the file as UTF-8."
    if len(cells) > len(header):
        message = f"{len(cells)} cells, but the header names {len(header)} columns"
        return message, "Put cells that hold the separator in double quotes."
    return None


def _lines(text: str) -> Iterator[str]:
    """The lines with their ends; unlike `str.splitlines`, nothing but a newline ends one."""
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


def _row(file: PromptFile, line: int, cells: Mapping[str, str], known: Known) -> Found:
    row: dict[str, Any] = {}
    for key, cell in cells.items():
        if cell.strip():
            row[key] = cell.strip() if key not in TEXT_KEYS else cell
        elif key in _EMPTY_IS_NULL:
            row[key] = None
    if "tags" in row:
        row["tags"] = [tag.strip() for tag in row["tags"].replace(",", ";").split(";") if tag.strip()]
    if "should_trigger" in row:
        word = row["should_trigger"].lower()
        if word not in (*_TRUE, *_FALSE):
            return _bad(file, line, f"should_trigger is {quote(word)}", "Write true or false.")
        row["should_trigger"] = word in _TRUE
    return row_prompt(file, line, row, known, file.skill)


def _bad(file: PromptFile, line: int, message: str, advice: str) -> BadRecord:
    return BadRecord(file.path, line, 1, message, advice, "prompts")
