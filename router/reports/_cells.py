"""Numbers of a report as short text; nothing in here escapes anything, which is each format's own business."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Number = Mapping[str, Any]
NOTHING = "–"
NO_ANSWER = "(no valid answer)"


def percent(value: float | None, digits: int = 1) -> str:
    """A share as a number of hundredths, without the sign."""
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
    """A number with the calls that it rests on: "71.3 [64.2, 77.6] n 60"."""
    return f"{shown} n {number['n']:,}" if number["value"] is not None else shown


def p_value(p: float | None) -> str:
    """A p-value to three places."""
    return NOTHING if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def picked(name: str | None) -> str:
    """A class that was picked, in words."""
    return NO_ANSWER if name is None else name


def amount(value: float | None, digits: int = 3) -> str:
    """Dollars or milliseconds to so many significant digits, without an exponent."""
    if value is None:
        return NOTHING
    text = f"{value:,.{digits}g}" if abs(value) < 10**digits else f"{value:,.0f}"
    return f"{value:.8f}".rstrip("0") if "e" in text else text


def count(n: int, noun: str) -> str:
    """A number of things: "1 call", "2 calls"."""
    return f"{n:,} {noun}{'s' * (n != 1)}"


def kinds(part: Mapping[str, Any]) -> str:
    """The kinds of failures with their numbers."""
    return ", ".join(f"{each['kind']} {each['calls']}" for each in part["kinds"])


def preliminary(models: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Why figures are preliminary, each with the models of which it holds; models without any figure are left out."""
    found: dict[str, list[str]] = {}
    for model in models:
        if model["preliminary"] and model["metrics"]["top1"]["value"] is not None:
            found.setdefault("; ".join(model["preliminary"]), []).append(model["model"])
    return found


def missing(coverage: Mapping[str, Any]) -> str:
    """What became of the calls that are missing."""
    return ", ".join(f"{status} {n}" for status, n in coverage["missing"].items())


def rank_skills(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The skills with a recall, the lowest first; of equals the one with more prompts."""
    tested = [skill for skill in report["skills"] if skill["recall"]["value"] is not None]
    return sorted(tested, key=lambda skill: (skill["recall"]["value"], -skill["prompts"], skill["name"]))


def failing(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The prompts that failed, the worst first."""
    found = [prompt for prompt in report["prompts"] if prompt["failing"]]
    return sorted(found, key=lambda prompt: -1 if prompt["right"] is None else prompt["right"])


def trust(report: Mapping[str, Any]) -> str:
    """The verdict of the instrument check in one sentence; "" where nothing speaks against it."""
    check = report["check"]
    if check is None:
        return "The instrument was not checked."
    if check["failed"]:
        return f"Not to be trusted: the instrument check failed for {', '.join(check['failed'])}."
    return ""
