"""One table of the report as CSV, long: for spreadsheets and data frames.

A cell of text that a spreadsheet would take for a formula begins with an apostrophe. Shares are not percentages.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from skill_health.router.reports import PLAIN, RenderOptions, Report
from skill_health.text.terminal import clean

EXTENSION = ".csv"
_NUMBER = ("value", "low", "high", "n", "clusters", "coverage", "p", "p_adjusted", "note")
_OUTCOMES = (
    "planned", "missing", "right", "other_skill", "abstained", "no_answer", "picked", "picked_right", "picked_acceptable",
)  # fmt: skip
_LABEL = ("prompt_id", "text", "expected", "family", "split", "untested", "source")
_LISTS = ("acceptable", "rejected", "tags")
_FORMULA = ("=", "+", "-", "@", "'")
Row = Mapping[str, Any]


def render(report: Report, look: RenderOptions = PLAIN) -> str:
    """The table that `look` names."""
    head, rows = _TABLES[look.table]
    out = io.StringIO()
    writer = csv.DictWriter(out, head, restval="", lineterminator="\n")
    writer.writeheader()
    for row in rows(report):
        writer.writerow({key: _cell(value) for key, value in row.items()})
    return out.getvalue()


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if not isinstance(value, str):
        return value
    shown = clean(value.replace("\n", " ").replace("\r", " "))
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA) else shown


def _leaderboard(report: Report) -> Iterator[Row]:
    for model in report["models"]:
        numbers = {
            **model["metrics"],
            "failures_first_attempt": model["failures"]["first_attempt"]["rate"],
            "failures_after_retry": model["failures"]["after_retry"]["rate"],
            "modal_share": model["stability"]["modal_share"],
            "flip_rate": model["stability"]["flip_rate"],
            "position_tv": model["position"]["tv"],
            "position_slope": model["position"]["slope"],
            "brier": model["calibration"]["brier"],
            "ece": model["calibration"]["ece"],
            "cost_usd_median": model["usage"]["cost_usd"]["median"],
            "cost_usd_p95": model["usage"]["cost_usd"]["p95"],
            "latency_ms_median": model["usage"]["latency_ms"]["median"],
            "latency_ms_p95": model["usage"]["latency_ms"]["p95"],
        }
        for metric, number in numbers.items():
            yield {"model": model["model"], "kind": model["kind"], "metric": metric, **_number(number)}


def _number(number: Row, prefix: str = "") -> Row:
    return {f"{prefix}{name}": number.get(name) for name in _NUMBER}


def _skills(report: Report) -> Iterator[Row]:
    for skill in report["skills"]:
        shared = {name: skill[name] for name in ("name", "path", "state", "prompts", "length")}
        for part in (skill, *skill["models"]):
            yield {
                **shared, "model": part.get("model", ""), **{name: part[name] for name in _OUTCOMES},
                **_number(part["recall"], "recall_"), **_number(part["precision"], "precision_"),
            }  # fmt: skip


def _prompts(report: Report) -> Iterator[Row]:
    for prompt in report["prompts"]:
        shared = {name: prompt[name] for name in _LABEL} | {name: " ".join(prompt[name]) for name in _LISTS}
        for model in prompt["models"]:
            own = {"model": model["model"], "missing": model["missing"]}
            if not model["picks"]:
                yield {**shared, **own, "calls": 0}
            for pick in model["picks"]:
                rationale = pick.get("rationale", "")
                kinds = " ".join(pick.get("kinds", ()))
                yield {
                    **shared, **own, "picked": pick["picked"], "calls": pick["calls"], "right": int(pick["right"]),
                    "rationale": rationale, "failures": kinds,
                }  # fmt: skip


def _confusion(report: Report) -> Iterator[Row]:
    for part in ({"model": "", "confusion": report["confusion"]}, *report["models"]):
        for cell in part["confusion"]:
            yield {"model": part["model"], **cell}


def _numbers(prefix: str) -> list[str]:
    return [f"{prefix}{name}" for name in _NUMBER]


_TABLES: Mapping[str, tuple[list[str], Callable[[Report], Iterator[Row]]]] = {
    "leaderboard": (["model", "kind", "metric", *_NUMBER], _leaderboard),
    "skills": (
        ["name", "path", "state", "prompts", "length", "model", *_OUTCOMES, *_numbers("recall_"), *_numbers("precision_")],
        _skills,
    ),
    "prompts": (
        [
            "prompt_id", "text", "expected", "acceptable", "rejected", "family", "tags", "split", "untested", "source",
            "model", "missing", "picked", "calls", "right", "rationale", "failures",
        ],
        _prompts,
    ),
    "confusion": (["model", "expected", "picked", "calls", "prompts"], _confusion),
}  # fmt: skip
