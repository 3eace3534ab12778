"""The part of the Markdown report on how models behave: failures, position, stability, calibration, cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from skill_health.router.reports import Report, _cells
from skill_health.text import numbers
from skill_health.text.blocks import table, text
from skill_health.text.numbers import NOTHING, format_number, share

Model = Mapping[str, Any]


def behaviour(report: Report) -> Iterator[str]:
    """Every table about the calls themselves."""
    yield from _failures(report)
    yield from _behaviour(report)
    yield from _cost(report)


def _failures(report: Report) -> Iterator[str]:
    yield "### Failures and missing calls"
    yield ""
    rows = []
    for model in report["models"]:
        first, final = model["failures"]["first_attempt"], model["failures"]["after_retry"]
        rows.append([
            text(model["model"]), share(first["rate"]), text(_cells.kinds(first)) or NOTHING, share(final["rate"]),
            text(_cells.kinds(final)) or NOTHING, f"{model['coverage']['scored']} of {model['coverage']['planned']}",
            text(_cells.missing(model["coverage"])) or NOTHING,
        ])  # fmt: skip
    yield from table(("model", "first attempt", "kinds", "after retry", "kinds", "scored", "missing"), rows)


def _behaviour(report: Report) -> Iterator[str]:
    yield "### Position, stability, calibration, length"
    yield ""
    rows = []
    why: dict[str, list[str]] = {}
    for model in report["models"]:
        position, stability, calibration = model["position"], model["stability"], model["calibration"]
        rows.append([
            text(model["model"]), _n(numbers.bare, position["tv"]), numbers.p_value(position["tv"].get("p")),
            _n(format_number, position["slope"]), _n(share, stability["modal_share"]), share(stability["flip_rate"]),
            _n(format_number, calibration["brier"]), numbers.bare(calibration["ece"]), _n(format_number, model["length"]),
        ])  # fmt: skip
        if notes := _notes(model):
            why.setdefault("; ".join(notes), []).append(model["model"])
    head = (
        "model", "position TV", "p", "slope by place", "modal share", "flip rate", "Brier", "ECE", "slope by length",
    )  # fmt: skip
    yield from table(head, rows)
    yield "TV: distance of the places picked from those expected if places did not matter. Slopes: change of the log odds of"
    yield "a right answer for each place further down, and for each 100 characters more of the right description."
    yield ""
    for said, names in why.items():
        yield f"- {text(', '.join(names))}: {text(said)}"
    if why:
        yield ""


def _n(shown: Callable[[Model], str], number: Model) -> str:
    return numbers.with_n(shown(number), number)


def _notes(model: Model) -> list[str]:
    """Why a number of that table is not there, and what distance chance alone makes; equal reasons once."""
    numbers = {
        "TV": model["position"]["tv"], "slope by place": model["position"]["slope"],
        "modal share": model["stability"]["modal_share"], "flip rate": model["stability"]["flip_rate"],
        "Brier": model["calibration"]["brier"], "ECE": model["calibration"]["ece"], "slope by length": model["length"],
    }  # fmt: skip
    names: dict[str, list[str]] = {}
    for name, number in numbers.items():
        if number["value"] is None or name == "TV":
            names.setdefault(str(number.get("note", "")), []).append(name)
    return [f"{', '.join(each)}: {note}" for note, each in names.items() if note]


def _cost(report: Report) -> Iterator[str]:
    rows = []
    for model in report["models"]:
        usage = model["usage"]
        cost, latency, tokens = usage["cost_usd"], usage["latency_ms"], usage["tokens"]
        if not cost["total"] and latency["median"]["value"] is None and not tokens["input_tokens"]["known"]:
            continue
        rows.append([
            text(model["model"]), numbers.amount(cost["total"]), f"{cost['known']} of {cost['calls']}",
            _amounts(cost["median"]), _amounts(cost["p95"]), _amounts(latency["median"]), _amounts(latency["p95"]),
            *(numbers.amount(tokens[name]["total"], 9) for name in ("input_tokens", "output_tokens", "cached_tokens")),
        ])  # fmt: skip
    if rows:
        yield "### Cost and time"
        yield ""
    head = (
        "model", "US dollars", "known for", "per call, median", "p95", "ms, median", "p95", "tokens read", "written", "cached",
    )  # fmt: skip
    yield from table(head, rows)


def _amounts(number: Model) -> str:
    if number["value"] is None:
        return NOTHING
    return f"{numbers.amount(number['value'])} [{numbers.amount(number['low'])}, {numbers.amount(number['high'])}]"
