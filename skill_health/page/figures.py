"""Figures as cells: one way of writing a share, a difference, a score and a count, each with its interval."""

from __future__ import annotations

from skill_health.page.model import Cell, Tone
from skill_health.page.origin import Doc

MISSING = "–"


def plain(text: object) -> Cell:
    """A text that is no figure."""
    return Cell(str(text), str(text))


def count(number: Doc) -> Cell:
    """A whole number with commas; a dash where it is null."""
    value = number.value
    return Cell(MISSING if value is None else f"{value:,}", value, number.origin)


def score(number: Doc, tone: Tone | None = None) -> Cell:
    """A score between 0 and 1 with two digits, not rounded up to 1.00."""
    value = number.value
    if value is None:
        return Cell(MISSING, None, number.origin)
    text = f"{value:.2f}" if not 0.995 <= value < 1 else "0.99"
    return Cell(text, value, number.origin, tone or "")


def share(estimate: Doc) -> Cell:
    """An estimate of a share in per cent: "40.0 [28.4, 52.8] n 60"; without an interval "40.0 [–] n 3"."""
    return _estimate(estimate, 100.0, "")


def points(estimate: Doc) -> Cell:
    """An estimate of a difference of shares in percentage points, signed: "+40.0 [+13.8, +63.8] n 15"."""
    return _estimate(estimate, 100.0, "+")


def amount(estimate: Doc, unit: float = 1.0, digits: int = 1, signed: bool = False) -> Cell:
    """An estimate of anything else, divided by `unit` and with so many digits: tokens, dollars, seconds."""
    return _estimate(estimate, 1.0 / unit, "+" if signed else "", digits)


def _estimate(estimate: Doc, factor: float, sign: str, digits: int = 1) -> Cell:
    told = estimate.value or {}
    value = told.get("value")
    if value is None:
        return Cell(MISSING, None, estimate.origin)
    low, high = told.get("low"), told.get("high")
    form = f"{sign},.{digits}f"
    interval = f"[{MISSING}]"
    if low is not None and high is not None:
        interval = f"[{low * factor:{form}}, {high * factor:{form}}]"
    n = f" n {told['n']:,}" if "n" in told else ""
    return Cell(f"{value * factor:{form}} {interval}{n}", value * factor, estimate.origin)
