"""Manifest and results -> the report (`skill_health.documents.router_report`).

Whatever is shown of a run is rendered from this record alone; see `skill_health.router.reports`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import UnsetType

from skill_health.documents._record import map_values
from skill_health.documents.router_check import InstrumentRecord
from skill_health.documents.router_manifest import RouterManifest
from skill_health.documents.router_report import (
    CheckFinding,
    CheckVerdicts,
    ModelRoutingReport,
    ReportedRun,
    RouterCounts,
    RouterReport,
    SharedName,
    SplitFigures,
)
from skill_health.router.records import RoutingResult
from skill_health.router.scores.failures import coverage, failures
from skill_health.router.scores.judge import ModelScores, RoutingRunFacts, RunScores, judge, read_facts
from skill_health.router.scores.metrics import measure, usage
from skill_health.router.scores.models import agreement, calibration, compare_models
from skill_health.router.scores.numbers import number, proportion
from skill_health.router.scores.position import Tables, length_slope, position, positions, stability
from skill_health.router.scores.prompts import prompts
from skill_health.router.scores.skills import matrix, pairs, skills, thieves
from skill_health.router.scores.stages import ambiguous, retrieval, stages
from skill_health.router.scores.standing import EFFECT, detectable, notes, reasons, statements

_DIGITS = 6


def build_report(
    manifest: RouterManifest,
    results: Sequence[RoutingResult],
    check: InstrumentRecord | None = None,
    effect: float = EFFECT,
) -> RouterReport:
    """Everything that is known of a run; the order of `results` does not matter.

    `check` is the record of the instrument check, None where it was not made. `effect` is the difference in top-1
    that the run is about. Floats are rounded to 6 significant digits, so that the bytes are the same everywhere.
    """
    sheet = judge(read_facts(manifest), results)
    report = RouterReport(
        schema="skill-health/router-report/1",
        run=ReportedRun(**{name: getattr(manifest, name) for name in ReportedRun.__struct_fields__}),
        statements=statements(manifest),
        notes=notes(sheet, manifest),
        check=_check(check),
        counts=_counts(sheet),
        effect=effect,
        models=_models(sheet, effect),
        comparisons=compare_models(sheet),
        agreement=agreement(sheet),
        gaps=manifest.gaps or (),
        length=length_slope(sheet.scored, sheet.facts),
        steals=thieves(sheet.scored),
        skills=skills(sheet),
        confusion=matrix(sheet.scored),
        pairs=pairs(sheet),
        prompts=prompts(sheet),
        retrieval=retrieval(manifest, sheet.facts),
        shared=tuple(
            SharedName(name=name, skills=tuple(sorted(skills))) for name, skills in sheet.facts.shared.items()
        ),
    )
    return map_values(report, settle)


def _counts(sheet: RunScores) -> RouterCounts:
    facts = sheet.facts
    tested = facts.tested
    return RouterCounts(
        prompts=len(facts.prompts),
        clusters=len(set(facts.clusters.values())),
        tested=len(tested),
        with_skill=sum(prompt.expected is not None for prompt in tested),
        null=sum(prompt.expected is None for prompt in tested),
        untested=dict(sorted(Counter(facts.untested.values()).items())),
        listed=len(facts.shown),
        omitted=len(facts.omitted),
        planned=sum(column.planned(facts.prompts.values()) for column in sheet.columns),
        results=sum(len(column.results) for column in sheet.columns),
        scored=sum(len(column.scored) for column in sheet.columns),
    )


def _models(sheet: RunScores, effect: float) -> tuple[ModelRoutingReport, ...]:
    """The models, the best top-1 first; those without one last, in the manifest's order."""
    tables = positions(sheet)
    found = [_model(column, sheet.facts, tables, effect) for column in sheet.columns]
    return tuple(sorted(found, key=lambda model: -(-1 if (top := model.metrics.top1.value) is None else top)))


def _model(
    column: ModelScores, facts: RoutingRunFacts, tables: Mapping[str, Tables], effect: float
) -> ModelRoutingReport:
    metrics = measure(column, facts)
    model = column.model
    return ModelRoutingReport(
        model=model.spec,
        kind=model.kind,
        replications=model.replications,
        settings=model.settings,
        resolved=column.resolved,
        coverage=coverage(column, facts),
        preliminary=reasons(column, facts, metrics.top1, effect),
        detectable=detectable(column, facts),
        metrics=metrics,
        failures=failures(column, facts),
        usage=usage(column, facts),
        steals=thieves(column.scored),
        position=position(column, facts, tables),
        stability=stability(column),
        calibration=calibration(column, facts),
        length=length_slope(column.scored, facts),
        splits=tuple(_splits(column, facts)),
        confusion=matrix(column.scored),
        stages=stages(column, facts),
        ambiguous=ambiguous(column, facts),
    )


def _splits(column: ModelScores, facts: RoutingRunFacts) -> Iterator[SplitFigures]:
    """Top-1 for each split that the prompts name; nothing where they name none."""
    splits = sorted({prompt.split for prompt in facts.tested})
    if splits in ([], [""]):
        return
    for split in splits:
        among = [prompt for prompt in facts.tested if prompt.split == split]
        rows = [row for row in column.tested() if row.prompt.split == split]
        estimate = proportion(rows, lambda row: row.right, "no call is scored")
        yield SplitFigures(split=split, prompts=len(among), top1=number(estimate, column.planned(among)))


def _check(check: InstrumentRecord | None) -> CheckVerdicts | None:
    """The verdicts of the instrument check: whom it failed, and what it found, one sentence each."""
    if check is None:
        return None
    return CheckVerdicts(
        failed=tuple(sorted({verdict.model for verdict in check.verdicts if verdict.failed})),
        findings=tuple(
            CheckFinding(model=verdict.model, level=finding.level, text=finding.text)
            for verdict in check.verdicts
            for finding in verdict.findings
        ),
    )


def settle(value: Any) -> Any:
    """A value as JSON can hold it: rounded, without NaN, half surrogate pairs and numpy's own numbers."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | UnsetType) else settle(value.item())
