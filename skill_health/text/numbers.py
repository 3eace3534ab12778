"""Formats the numbers of reports as short text, each with its interval; nothing here escapes anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, Protocol


class Ends(Protocol):
    """The two ends of an interval; None where there is none."""

    @property
    def low(self) -> float | None:
        """The lower one."""

    @property
    def high(self) -> float | None:
        """The upper one."""


class Ranged(Ends, Protocol):
    """A number with its interval, and what it rests on."""

    @property
    def value(self) -> float | None:
        """The estimate; None where there is none."""

    @property
    def n(self) -> int:
        """How many observations it rests on."""


Number = Mapping[str, Any]
NOTHING = "–"


def percent(value: float | None, digits: int = 1) -> str:
    """A share in per cent, without the % sign."""
    return NOTHING if value is None else f"{100 * value:.{digits}f}"


def signed(value: float | None) -> str:
    """A difference of shares in percentage points, with its sign."""
    return NOTHING if value is None else f"{100 * value:+.1f}"


def share(number: Ranged | Number) -> str:
    """A share with its interval, in per cent: "71.3 [64.2, 77.6]"."""
    return _with_interval(number, percent)


def format_number(number: Ranged | Number) -> str:
    """A number with its interval."""
    return _with_interval(number, lambda value: NOTHING if value is None else f"{value:.3f}")


def quantity(number: Ranged) -> str:
    """A mean of tokens, dollars or milliseconds with its interval, to four significant digits."""
    return _with_interval(number, lambda value: amount(_tidy(value)))


def change(number: Ranged) -> str:
    """A difference of such means with its interval and with its sign."""
    return _with_interval(number, _changed)


def _changed(value: float | None) -> str:
    return NOTHING if value is None else f"{'-' if value < 0 else '+'}{amount(_tidy(abs(value)))}"


def _tidy(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def bare(number: Ranged) -> str:
    """A number that cannot have an interval."""
    return NOTHING if number.value is None else f"{number.value:.3f}"


def points(number: Ranged | Number) -> str:
    """A difference of shares with its interval, in percentage points and with its sign."""
    return _with_interval(number, signed)


def bracket(ends: Ends | None) -> str:
    """The two ends of an interval of such differences; a dash where one is not known."""
    known = ends is not None and ends.low is not None and ends.high is not None
    return f"[{signed(ends.low)}, {signed(ends.high)}]" if ends and known else NOTHING


def _with_interval(number: Ranged | Number, shown: Callable[[float | None], str]) -> str:
    found: Any = SimpleNamespace(**number) if isinstance(number, Mapping) else number
    if found.value is None:
        return NOTHING
    if found.low is None and found.high is None:
        return f"{shown(found.value)} [{NOTHING}]"
    return f"{shown(found.value)} [{shown(found.low)}, {shown(found.high)}]"


def with_n(shown: str, number: Ranged) -> str:
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
