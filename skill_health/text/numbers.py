"""Formats the numbers of reports as short text, each with its interval; nothing here escapes anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

NOTHING = "–"


class Ends(Protocol):
    """The two ends of an interval; None where there is none."""

    @property
    def low(self) -> float | None:
        """The lower one."""

    @property
    def high(self) -> float | None:
        """The upper one."""


class Interval(Ends, Protocol):
    """A number with its interval."""

    @property
    def value(self) -> float | None:
        """The number; None where it is not known."""


class Observed(Interval, Protocol):
    """A number with its interval and what it rests on."""

    @property
    def n(self) -> int:
        """How many observations."""


def format_interval(number: Interval, form: Callable[[float | None], str], unit: str = "") -> str:
    """A number in a form, its unit, and its interval: "71.3 % [64.2, 77.6]". Every number of a report is made here."""
    if number.value is None:
        return NOTHING
    known = number.low is not None or number.high is not None
    return f"{form(number.value)}{unit} [{f'{form(number.low)}, {form(number.high)}' if known else NOTHING}]"


def with_interval(number: Interval, form: str = ".1f", factor: float = 100.0, unit: str = "") -> str:
    """A number times `factor` in a form of Python's, its unit, and its interval likewise."""
    return format_interval(number, lambda value: NOTHING if value is None else f"{value * factor:{form}}", unit)


def percent(value: float | None, digits: int = 1) -> str:
    """A share in per cent, without the % sign."""
    return NOTHING if value is None else f"{100 * value:.{digits}f}"


def signed(value: float | None) -> str:
    """A difference of shares in percentage points, with its sign."""
    return NOTHING if value is None else f"{100 * value:+.1f}"


def decimals(value: float | None) -> str:
    """A number to three decimal places."""
    return NOTHING if value is None else f"{value:.3f}"


def share(number: Interval, unit: str = "") -> str:
    """A share with its interval, in per cent: "71.3 [64.2, 77.6]"."""
    return format_interval(number, percent, unit)


def format_number(number: Interval) -> str:
    """A number with its interval, to three decimal places."""
    return format_interval(number, decimals)


def points(number: Interval, unit: str = "") -> str:
    """A difference of shares with its interval, in percentage points and with its sign."""
    return format_interval(number, signed, unit)


def quantity(number: Interval) -> str:
    """A mean of tokens, dollars or milliseconds with its interval, to four significant digits."""
    return format_interval(number, lambda value: amount(_tidy(value)))


def change(number: Interval) -> str:
    """A difference of such means with its interval and with its sign."""
    return format_interval(number, _changed)


def _changed(value: float | None) -> str:
    return NOTHING if value is None else f"{'-' if value < 0 else '+'}{amount(_tidy(abs(value)))}"


def _tidy(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def bracket(ends: Ends | None) -> str:
    """The two ends of an interval of differences of shares; a dash where one is not known."""
    known = ends is not None and ends.low is not None and ends.high is not None
    return f"[{signed(ends.low)}, {signed(ends.high)}]" if ends and known else NOTHING


def with_n(shown: str, number: Observed) -> str:
    """A number with the calls behind it: "71.3 [64.2, 77.6] n 60"."""
    return f"{shown} n {number.n:,}" if number.value is not None else shown


def p_value(p: float | None) -> str:
    """A p-value to three decimal places."""
    return NOTHING if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def amount(value: float | None, digits: int = 3) -> str:
    """Dollars or milliseconds to this many significant digits, without an exponent."""
    if value is None:
        return NOTHING
    text = f"{value:,.{digits}g}" if abs(value) < 10**digits else f"{value:,.0f}"
    return f"{value:.8f}".rstrip("0") if "e" in text else text


def count(n: int, noun: str) -> str:
    """A number of things: "1 call", "2 calls"."""
    return f"{n:,} {noun}{'s' * (n != 1)}"
