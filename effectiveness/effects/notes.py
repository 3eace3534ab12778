"""What a reader of a report has to mind, one sentence each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skill_health.effectiveness.effects.sheet import MEASURES, ModelTrials, RunTrials
from skill_health.effectiveness.records import AGAIN, PLACEBO


def notes(sheet: RunTrials, manifest: Mapping[str, Any], models: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The notes on a run; none says what a verdict says already. `models` are those of the report."""
    facts = sheet.facts
    if simulated := [str(model["spec"]) for model in facts.models if model.get("simulated")]:
        yield f"Simulated: the figures of {', '.join(simulated)} say nothing about any model."
    if (sandbox := manifest.get("sandbox")) and not sandbox.get("isolates", True):
        yield "Not isolated: the agents could read and change what is outside their workspaces."
    if sheet.foreign:
        yield f"{sheet.foreign} results belong to no planned trial, or are a second one for the same; they are left out."
    planned = facts.planned(facts.tasks.values())
    known = [column.spec for column in sheet.columns if column.cost_usd is not None]
    for column in sheet.columns:
        yield from _of_column(column, planned, [spec for spec in known if spec != column.spec])
    for model in models:
        if (again := model["calibration"]) and again["verdict"] == "differs":
            found = f"{again['name']}, p = {again['sign_flip_p']:.2g}"
            yield f"{model['model']}: the target differs from itself ({found}); one run in 20 does so by chance."
    if not facts.controls:
        yield "No negative-control task was run: only the arm negative can show that the run is biased."
    conditions = {arm.condition for arm in facts.arms.values()}
    if PLACEBO not in conditions:
        yield "No placebo: a gain may be that of any text of this length."
    if AGAIN not in conditions:
        yield "No A/A arm: the run's own noise is known from the replications alone."


def _of_column(column: ModelTrials, planned: int, others: Sequence[str]) -> Iterator[str]:
    """The notes on one model; `others` are those whose trials' cost is known."""
    spec, results = column.spec, len(column.results)
    if results < planned:
        yield f"{spec}: {planned - results} of {planned} planned trials have no result."
    if missing := results - column.scored:
        kinds = {
            word: n for word, n in column.outcomes.items() if word in ("infrastructure", "quota", "auth", "cancelled")
        }
        said = ", ".join(f"{n} {word}" for word, n in kinds.items())
        yield f"{spec}: {missing} trials are missing data, not failures ({said})."
    scored = [result for result in column.results if result.scored]
    unknown = sum(MEASURES["cost_usd"](result) is None for result in column.results)
    if 0 < unknown < results:
        yield f"{spec}: the cost of {unknown} of {results} trials is not known; the sum is of the others."
    elif unknown and others:
        yield f"{spec}: what its trials cost is not known; the sum is of the other models' alone."
    if again := sum(result.attempts > 1 for result in column.results):
        yield f"{spec}: {again} trials were tried again; what their earlier attempts took is in no figure."
    if scored and not any(result.invoked != "not_observable" for result in scored):
        yield f"{spec}: whether a skill was opened cannot be observed."
