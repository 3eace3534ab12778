"""Formats the numbers of reports as short text, each with its interval; nothing here escapes anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

Number = Mapping[str, Any]


NOTHING = "–"


def percent(value: float | None, digits: int = 1) -> str:
    """A share in per cent, without the % sign."""
    return NOTHING if value is None else f"{100 * value:.{digits}f}"


def share(number: Number) -> str:
    """A share with its interval, in per cent: "71.3 [64.2, 77.6]"."""
    return _with_interval(number, percent)


def format_number(number: Number) -> str:
    """A number with its interval."""
    return _with_interval(number, lambda value: NOTHING if value is None else f"{value:.3f}")


def bare(number: Number) -> str:
    """A number that cannot have an interval."""
    return NOTHING if number["value"] is None else f"{number['value']:.3f}"


def points(number: Number) -> str:
    """A difference of shares with its interval, in percentage points and with its sign."""
    return _with_interval(number, lambda value: NOTHING if value is None else f"{100 * value:+.1f}")


def _with_interval(number: Number, shown: Any) -> str:
    if number["value"] is None:
        return NOTHING
    if number["low"] is None and number["high"] is None:
        return f"{shown(number['value'])} [{NOTHING}]"
    return f"{shown(number['value'])} [{shown(number['low'])}, {shown(number['high'])}]"


def with_n(shown: str, number: Number) -> str:
    """A number with the calls behind it: "71.3 [64.2, 77.6] n 60"."""
    return f"{shown} n {number['n']:,}" if number["value"] is not None else shown


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


class Interval(Protocol):
    """A number with the ends of its interval."""

    @property
    def value(self) -> float | None:
        """The number; None where it is not known."""
        ...  # pragma: no cover

    @property
    def low(self) -> float | None:
        """The lower end; None where there is no interval."""
        ...  # pragma: no cover

    @property
    def high(self) -> float | None:
        """The upper end."""
        ...  # pragma: no cover


def with_interval(number: Interval, form: str = ".1f", factor: float = 100.0, unit: str = "") -> str:
    """A number and its interval, times `factor` and in a form: "71.3 [64.2, 77.6]"; `unit` stands behind the number."""
    if number.value is None:
        return NOTHING
    ends = NOTHING
    if number.low is not None and number.high is not None:
        ends = f"{number.low * factor:{form}}, {number.high * factor:{form}}"
    return f"{number.value * factor:{form}}{unit} [{ends}]"
