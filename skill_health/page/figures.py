"""Figures as cells: one way of writing a share, a difference, a score and a count, each with its interval."""

from __future__ import annotations

from skill_health.page.model import PageCell, Tone
from skill_health.page.origin import JsonNode

MISSING = "–"


def text_cell(text: object) -> PageCell:
    """A text that is no figure."""
    return PageCell(str(text), str(text))


def count(number: JsonNode) -> PageCell:
    """A whole number with commas; a dash where it is null."""
    value = number.value
    return PageCell(MISSING if value is None else f"{value:,}", value, number.origin)


def score(number: JsonNode, tone: Tone | None = None) -> PageCell:
    """A score between 0 and 1 with two digits, not rounded up to 1.00."""
    value = number.value
    if value is None:
        return PageCell(MISSING, None, number.origin)
    text = f"{value:.2f}" if not 0.995 <= value < 1 else "0.99"
    return PageCell(text, value, number.origin, tone or "")


def share(estimate: JsonNode) -> PageCell:
    """An estimate of a share in per cent: "40.0 [28.4, 52.8] n 60"; without an interval "40.0 [–] n 3"."""
    return _estimate(estimate, 100.0, "")


def points(estimate: JsonNode) -> PageCell:
    """An estimate of a difference of shares in percentage points, signed: "+40.0 [+13.8, +63.8] n 15"."""
    return _estimate(estimate, 100.0, "+")


def amount(estimate: JsonNode, unit: float = 1.0, digits: int = 1, signed: bool = False) -> PageCell:
    """An estimate of anything else, divided by `unit` and with so many digits: tokens, dollars, seconds."""
    return _estimate(estimate, 1.0 / unit, "+" if signed else "", digits)


def _estimate(estimate: JsonNode, factor: float, sign: str, digits: int = 1) -> PageCell:
    told = estimate.value or {}
    value = told.get("value")
    if value is None:
        return PageCell(MISSING, None, estimate.origin)
    low, high = told.get("low"), told.get("high")
    form = f"{sign},.{digits}f"
    interval = f"[{MISSING}]"
    if low is not None and high is not None:
        interval = f"[{low * factor:{form}}, {high * factor:{form}}]"
    n = f" n {told['n']:,}" if "n" in told else ""
    return PageCell(f"{value * factor:{form}} {interval}{n}", value * factor, estimate.origin)
