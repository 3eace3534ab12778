"""JUnit XML: one suite for each agent, one test case for each prompt.

A case fails where a known request did not load what its label says. Where nothing is known of a prompt it is skipped:
that is no failure.
"""

from __future__ import annotations

from skill_health.bench.report_formats import (
    PLAIN,
    RenderOptions,
    junit_document,
    junit_suite,
    xml_attribute,
    xml_text,
)
from skill_health.documents.activation_report import ActivationReport, ModelActivation, PromptActivation, PromptLoads
from skill_health.documents.router_manifest import NONE
from skill_health.text.numbers import count, share

EXTENSION = ".xml"


def render(report: ActivationReport, look: RenderOptions = PLAIN) -> str:
    """The report as JUnit XML, for any text in it."""
    return junit_document(_suite(report, model) for model in report.models)


def _suite(report: ActivationReport, model: ModelActivation) -> str:
    cases = [
        _case(request, loads) for request in report.requests for loads in request.models if loads.model == model.model
    ]
    said = [*(["Simulated: no model of anybody's."] if model.simulated else [])]
    said += [f"recall {share(model.metrics.recall)} %, precision {share(model.metrics.precision)} %"]
    said += [f"Preliminary: {why}" for why in model.preliminary]
    return junit_suite(model.model, cases, report.created, "\n".join(said))


def _case(request: PromptActivation, loads: PromptLoads) -> str:
    head = f"<testcase classname={xml_attribute(loads.model)} name={xml_attribute(request.prompt_id)}>"
    return f"{head}{_outcome(request, loads)}</testcase>"


def is_wrong(request: PromptActivation, first: str) -> bool:
    """Whether a label says that this must not be opened first."""
    if first in request.rejected:
        return True
    known = "skill" in request.classes or "none" in request.classes
    return known and first not in (request.expected or NONE, *request.acceptable)


def _outcome(request: PromptActivation, loads: PromptLoads) -> str:
    known = sum(loads.first.values())
    gone = [f"{count(loads.cannot_tell, 'request')} cannot be told"] if loads.cannot_tell else []
    gone += [f"{count(loads.missing, 'request')} without a score"] if loads.missing else []
    if not known:
        return f"<skipped message={xml_attribute('; '.join(gone) or 'nothing is known')}/>"
    told = ", ".join(f"{name} {number}" for name, number in loads.first.items())
    said = "; ".join([f"opened first: {told}", *gone])
    if any(is_wrong(request, name) for name in loads.first):
        wanted = (
            request.expected or NONE if "near_miss" not in request.classes else f"not {', '.join(request.rejected)}"
        )
        wanted = request.expected or wanted
        return f'<failure type="not as labelled" message={xml_attribute(f"{said}; wanted: {wanted}")}/>'
    return f"<system-out>{xml_text(said)}</system-out>"
