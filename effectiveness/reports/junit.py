"""JUnit XML: one suite for each model, one test case for each task and arm.

A case fails where a scored trial did not pass, an arm without skills included: what that is worth is for the reader.
Where no trial is scored, or some are missing, nothing is known of them: that is skipped, or said, and never a failure.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from skill_health.bench.report_formats import PLAIN, RenderOptions
from skill_health.documents.effect_report import EffectReport, ModelEffectReport, TaskArmCounts, TaskReport
from skill_health.effectiveness.reports import _cells, _composition, _loading
from skill_health.text.numbers import count, points
from skill_health.text.terminal import table_line

EXTENSION = ".xml"
# Two characters that XML cannot hold and that are neither controls nor halves of a pair.
_NEVER = str.maketrans({"\ufffe": "\\ufffe", "\uffff": "\\uffff"})


def render(report: EffectReport, look: RenderOptions = PLAIN) -> str:
    """The report as JUnit XML, for any text in it."""
    suites = [_suite(report, model) for model in report.models]
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>", *suites, "</testsuites>"]) + "\n"


def _suite(report: EffectReport, model: ModelEffectReport) -> str:
    cases = [case for task in model.tasks for case in _cases(report, model, task)]
    failures, skipped = (sum(f"<{word}" in case for case in cases) for word in ("failure", "skipped"))
    when = f" timestamp={_attribute(report.created.removesuffix('Z'))}" if report.created else ""
    head = (
        f'<testsuite name={_attribute(model.model)} tests="{len(cases)}" failures="{failures}" errors="0" '
        f'skipped="{skipped}"{when}>'
    )
    return "\n".join([head, *cases, f"<system-out>{_text(_summary(report, model))}</system-out>", "</testsuite>"])


def _cases(report: EffectReport, model: ModelEffectReport, task: TaskReport) -> Iterator[str]:
    for arm, found in task.arms.items():
        place = _attribute(f"{model.model}.{arm}")
        inner = _outcome(found, report.replications)
        yield f"<testcase classname={place} name={_attribute(task.task_id)}>{inner}</testcase>"


def _outcome(found: TaskArmCounts, planned: int) -> str:
    absent = max(planned - found.n, 0)
    gone = f"{absent} of {count(planned, 'trial')} without a score" if absent else ""
    if not found.n:
        return f"<skipped message={_attribute(gone or 'no trial is scored')}/>"
    said = f"{found.passes} of {count(found.n, 'scored trial')} passed" + (f"; {gone}" if gone else "")
    if found.passes < found.n:
        return f'<failure type="not passed" message={_attribute(said)}>{_text(said)}</failure>'
    return f"<system-out>{_text(said)}</system-out>"


def _summary(report: EffectReport, model: ModelEffectReport) -> str:
    """What the cases do not say: whether the numbers mean anything, and the headline."""
    primary, verdict = _cells.headline(model.contrasts), model.verdict
    said = [*([_cells.SIMULATED] if model.simulated else []), *filter(None, [_cells.weaker_proof(model)])]
    said += [f"Biased: {why}" for why in dict.fromkeys([*report.biased, *model.biased])]
    if primary:
        said.append(
            f"{_cells.name_of(primary)}: {points(primary.delta)} points, {count(primary.tasks, 'task')}, "
            f"{_cells.tested(primary)}: {verdict.word}"
        )
    said += [f"Preliminary: {why}" for why in verdict.preliminary]
    said += (
        f"{_composition.name(pair)}: {pair.verdict.word}, interaction {points(pair.interaction)} points, "
        f"{count(pair.tasks, 'task')}"
        for pair in model.composition
    )
    said += _loading.sentences(model)
    said += filter(None, [_cells.efficiency(model), _cells.missing(model)])
    return "\n".join(said)


def _text(text: str) -> str:
    return escape("\n".join(map(_safe, text.split("\n"))))


def _attribute(text: str) -> str:
    return quoteattr(_safe(text))


def _safe(text: str) -> str:
    return table_line(text).translate(_NEVER)
