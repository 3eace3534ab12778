"""One table of the report as CSV, long: for spreadsheets and data frames.

A cell of text that a spreadsheet would take for a formula begins with an apostrophe. Shares are not percentages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec.structs import asdict

from skill_health.bench.report_formats import PLAIN, RenderOptions, Row, render_csv
from skill_health.documents._record import Figure
from skill_health.documents.router_report import RouterReport, RoutingCalls
from skill_health.router.reports import TABLES

EXTENSION = ".csv"
_NUMBER = ("value", "low", "high", "n", "clusters", "coverage", "p", "p_adjusted", "note")
_OUTCOMES = (
    "planned", "missing", "right", "other_skill", "abstained", "no_answer", "picked", "picked_right", "picked_acceptable",
)  # fmt: skip
_SKILL = ("name", "path", "state", "prompts", "length")
_LABEL = ("prompt_id", "text", "expected", "family", "split", "untested", "source")
_LISTS = ("acceptable", "rejected", "tags")


def render(report: RouterReport, look: RenderOptions = PLAIN) -> str:
    """The table that `look` names."""
    head, rows = _TABLES[look.table or TABLES[0]]
    return render_csv(head, rows(report))


def _leaderboard(report: RouterReport) -> Iterator[Row]:
    for model in report.models:
        numbers = {
            **asdict(model.metrics),
            "failures_first_attempt": model.failures.first_attempt.rate,
            "failures_after_retry": model.failures.after_retry.rate,
            "modal_share": model.stability.modal_share,
            "flip_rate": model.stability.flip_rate,
            "position_tv": model.position.tv,
            "position_slope": model.position.slope,
            "brier": model.calibration.brier,
            "ece": model.calibration.ece,
            "cost_usd_median": model.usage.cost_usd.median,
            "cost_usd_p95": model.usage.cost_usd.p95,
            "latency_ms_median": model.usage.latency_ms.median,
            "latency_ms_p95": model.usage.latency_ms.p95,
        }
        for metric, number in numbers.items():
            yield {"model": model.model, "kind": model.kind, "metric": metric, **_number(number)}


def _number(number: Figure, prefix: str = "") -> Row:
    return {f"{prefix}{name}": getattr(number, name) for name in _NUMBER}


def _skills(report: RouterReport) -> Iterator[Row]:
    for skill in report.skills:
        shared = {name: getattr(skill, name) for name in _SKILL}
        parts: list[tuple[str, RoutingCalls]] = [("", skill), *((each.model, each) for each in skill.models)]
        for model, part in parts:
            yield {
                **shared, "model": model, **{name: getattr(part, name) for name in _OUTCOMES},
                **_number(part.recall, "recall_"), **_number(part.precision, "precision_"),
            }  # fmt: skip


def _prompts(report: RouterReport) -> Iterator[Row]:
    for prompt in report.prompts:
        shared = {name: getattr(prompt, name) for name in _LABEL}
        shared |= {name: " ".join(getattr(prompt, name)) for name in _LISTS}
        for model in prompt.models:
            own = {"model": model.model, "missing": model.missing}
            if not model.picks:
                yield {**shared, **own, "calls": 0}
            for pick in model.picks:
                yield {
                    **shared, **own, "picked": pick.picked, "calls": pick.calls, "right": int(pick.right),
                    "rationale": pick.rationale, "failures": " ".join(pick.kinds),
                }  # fmt: skip


def _confusion(report: RouterReport) -> Iterator[Row]:
    for model, cells in (("", report.confusion), *((each.model, each.confusion) for each in report.models)):
        for cell in cells:
            yield {"model": model, **asdict(cell)}


def _numbers(prefix: str) -> list[str]:
    return [f"{prefix}{name}" for name in _NUMBER]


_TABLES: Mapping[str, tuple[list[str], Callable[[RouterReport], Iterator[Row]]]] = {
    "leaderboard": (["model", "kind", "metric", *_NUMBER], _leaderboard),
    "skills": (
        [*_SKILL, "model", *_OUTCOMES, *_numbers("recall_"), *_numbers("precision_")],
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
