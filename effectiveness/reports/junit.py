"""JUnit XML: one suite for each model, one test case for each task and arm.

A case fails where a scored trial did not pass, an arm without skills included: what that is worth is for the reader.
Where no trial is scored, or some are missing, nothing is known of them: that is skipped, or said, and never a failure.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.bench.report_formats import (
    PLAIN,
    RenderOptions,
    junit_document,
    junit_suite,
    xml_attribute,
    xml_text,
)
from skill_health.documents.effect_report import EffectReport, ModelEffectReport, TaskArmCounts, TaskReport
from skill_health.effectiveness.reports import _cells, _composition, _loading
from skill_health.text.numbers import count, points

EXTENSION = ".xml"


def render(report: EffectReport, look: RenderOptions = PLAIN) -> str:
    """The report as JUnit XML, for any text in it."""
    return junit_document(_suite(report, model) for model in report.models)


def _suite(report: EffectReport, model: ModelEffectReport) -> str:
    cases = [case for task in model.tasks for case in _cases(report, model, task)]
    return junit_suite(model.model, cases, report.created, _summary(report, model))


def _cases(report: EffectReport, model: ModelEffectReport, task: TaskReport) -> Iterator[str]:
    for arm, found in task.arms.items():
        place = xml_attribute(f"{model.model}.{arm}")
        inner = _outcome(found, report.replications)
        yield f"<testcase classname={place} name={xml_attribute(task.task_id)}>{inner}</testcase>"


def _outcome(found: TaskArmCounts, planned: int) -> str:
    absent = max(planned - found.n, 0)
    gone = f"{absent} of {count(planned, 'trial')} without a score" if absent else ""
    if not found.n:
        return f"<skipped message={xml_attribute(gone or 'no trial is scored')}/>"
    said = f"{found.passes} of {count(found.n, 'scored trial')} passed" + (f"; {gone}" if gone else "")
    if found.passes < found.n:
        return f'<failure type="not passed" message={xml_attribute(said)}>{xml_text(said)}</failure>'
    return f"<system-out>{xml_text(said)}</system-out>"


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
