"""Figures as cells: one way of writing a share, a difference, a score and a count, each with its interval."""

from __future__ import annotations

import re
from functools import reduce
from typing import Literal

from skill_health.documents._record import Figure, FullFigure, NotedFigure, OpenRecord, Record
from skill_health.page.model import Origins, PageCell, Tone
from skill_health.text.numbers import with_interval
from skill_health.text.terminal import escape_character

MISSING = "–"


def text_cell(text: object) -> PageCell:
    """A text that is no figure."""
    return PageCell(str(text), str(text))


def count(origins: Origins, record: Record | OpenRecord, *names: str) -> PageCell:
    """A whole number with commas, in the field that these names lead to; a dash where it is null."""
    value: int | None = reduce(getattr, names, record)  # type: ignore[assignment]
    return PageCell(MISSING if value is None else f"{value:,}", value, origins.of(record, *names))


def score(origins: Origins, record: Record | OpenRecord, *names: str, tone: Tone | Literal[""] = "") -> PageCell:
    """A score between 0 and 1, in the field that these names lead to."""
    value: float | None = reduce(getattr, names, record)  # type: ignore[assignment]
    return PageCell(score_text(value), value, origins.of(record, *names), "" if value is None else tone)


def score_text(value: float | None) -> str:
    """A score with two digits, not rounded up to 1.00."""
    return MISSING if value is None else f"{value:.2f}" if not 0.995 <= value < 1 else "0.99"


def share(origins: Origins, estimate: AnyFigure) -> PageCell:
    """An estimate of a share in per cent: "40.0 [28.4, 52.8] n 60"; without an interval "40.0 [–] n 3"."""
    return _estimate(origins, estimate, 100.0, ",.1f")


def points(origins: Origins, estimate: AnyFigure) -> PageCell:
    """An estimate of a difference of shares in percentage points, signed: "+40.0 [+13.8, +63.8] n 15"."""
    return _estimate(origins, estimate, 100.0, "+,.1f")


def amount(origins: Origins, estimate: AnyFigure, unit: float = 1.0, digits: int = 1, signed: bool = False) -> PageCell:
    """An estimate of anything else, divided by `unit` and with so many digits: tokens, dollars, seconds."""
    return _estimate(origins, estimate, 1.0 / unit, f"{'+' if signed else ''},.{digits}f")


def _estimate(origins: Origins, estimate: AnyFigure, factor: float, form: str) -> PageCell:
    value = None if estimate.value is None else estimate.value * factor
    return PageCell(estimate_text(estimate, form, factor), value, origins.of(estimate))


def estimate_text(estimate: AnyFigure, form: str = ",.1f", factor: float = 100.0, unit: str = "") -> str:
    """An estimate, times `factor` and in a form, with its interval and n; a dash where it is null."""
    said = with_interval(estimate, form, factor, unit)
    return said if estimate.value is None else f"{said} n {estimate.n:,}"


AnyFigure = Figure | NotedFigure | FullFigure
"""A number with its interval, as the reports have it."""


# What terminal.clean makes visible, and what only a browser would hide or refuse: soft hyphens, fillers, variation
# selectors that carry hidden bytes, and noncharacters. New lines and tabs are white space in HTML and stay.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufdd0-\ufdef\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)


def escape_text(text: object, limit: int | None = None) -> str:
    r"""The text with control, bidi and invisible characters and halves of surrogate pairs as escapes (`\u{202e}`).

    It is text still, to be escaped for HTML. What is longer than `limit` characters is cut, and says by how much.
    """
    whole = str(text)
    if whole.isascii() and whole.isprintable():
        told = whole if limit is None else whole[:limit]
    else:
        whole = whole.replace("\r\n", "\n")
        told = _UNSAFE.sub(escape_character, whole if limit is None else whole[:limit])
    if limit is None or len(whole) <= limit:
        return told
    return f"{told}… (and {len(whole) - limit:,} more characters)"
