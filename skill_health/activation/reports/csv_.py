"""One table of the report as CSV, long: for spreadsheets and data frames. Shares are not percentages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec.structs import asdict

from skill_health.activation.reports import TABLES
from skill_health.activation.scores.rows import METRICS
from skill_health.bench.report_formats import PLAIN, RenderOptions, Row, render_csv
from skill_health.documents._record import Figure
from skill_health.documents.activation_report import ActivationMetrics, ActivationReport

EXTENSION = ".csv"
_NUMBER = ("value", "low", "high", "n", "clusters", "coverage", "method", "note")


def render(report: ActivationReport, look: RenderOptions = PLAIN) -> str:
    """The table that `look` names."""
    head, rows = _TABLES[look.table or TABLES[0]]
    return render_csv(head, rows(report))


def _number(figure: Figure) -> Row:
    return {name: getattr(figure, name) for name in _NUMBER}


def _metrics(metrics: ActivationMetrics, **more: object) -> Iterator[Row]:
    for name in METRICS:
        yield {**more, "metric": name, **_number(getattr(metrics, name))}


def _figures(report: ActivationReport) -> Iterator[Row]:
    for model in report.models:
        for size in model.sizes:
            yield from _metrics(size.metrics, model=model.model, simulated=int(model.simulated), size=size.size)
        for place in model.places:
            yield {
                "model": model.model, "simulated": int(model.simulated), "size": report.skills,
                "metric": f"recall, {place.part}", **_number(place.recall),
            }  # fmt: skip


def _skills(report: ActivationReport) -> Iterator[Row]:
    for model in report.models:
        for skill in model.skills:
            for metric in ("recall", "precision", "false_fire_near"):
                yield {
                    "model": model.model, "skill": skill.skill, "prompts": skill.prompts, "opened": skill.opened,
                    "metric": metric, **_number(getattr(skill, metric)),
                }  # fmt: skip


def _requests(report: ActivationReport) -> Iterator[Row]:
    for request in report.requests:
        shared = {
            "prompt_id": request.prompt_id, "text": request.text, "classes": " ".join(request.classes),
            "expected": request.expected, "acceptable": " ".join(request.acceptable),
            "rejected": " ".join(request.rejected),
            "places": " ".join(f"{each.router}={each.place:g}" for each in request.routers if each.place is not None),
        }  # fmt: skip
        for model in request.models:
            own = {"model": model.model, "cannot_tell": model.cannot_tell, "missing": model.missing}
            if not model.first:
                yield {**shared, **own, "calls": 0}
            for name, calls in model.first.items():
                yield {**shared, **own, "first": name, "calls": calls}


def _confusion(report: ActivationReport) -> Iterator[Row]:
    for model in report.models:
        for cell in model.confusion:
            yield {"model": model.model, **asdict(cell)}


def _calibration(report: ActivationReport) -> Iterator[Row]:
    for model in report.models:
        for each in model.calibration:
            for name in ("place_auc", "place_correlation", "margin_auc", "margin_correlation", "fire_auc"):
                yield {"model": model.model, "router": each.router, "figure": name, **_number(getattr(each, name))}
            for step in each.steps:
                yield {
                    "model": model.model, "router": each.router, "figure": f"recall at {step.place}",
                    **_number(step.recall),
                }  # fmt: skip


_TABLES: Mapping[str, tuple[list[str], Callable[[ActivationReport], Iterator[Row]]]] = {
    "figures": (["model", "simulated", "size", "metric", *_NUMBER], _figures),
    "skills": (["model", "skill", "prompts", "opened", "metric", *_NUMBER], _skills),
    "requests": (
        ["prompt_id", "text", "classes", "expected", "acceptable", "rejected", "places", "model", "first", "calls",
         "cannot_tell", "missing"],
        _requests,
    ),
    "confusion": (["model", "expected", "first", "calls", "prompts"], _confusion),
    "calibration": (["model", "router", "figure", *_NUMBER], _calibration),
}  # fmt: skip
