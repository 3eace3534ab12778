"""One line for each model and run in router-history.jsonl: what the run was, and what came out.

A line is written once for a run and model, however often the run is resumed or reported; lines of others, such as the
plan's own runner, stay as they are.
"""

from __future__ import annotations

import os

from skill_health.bench.durable import append_once
from skill_health.bench.manifest import digest
from skill_health.documents._record import Figure, record_values
from skill_health.documents.router_check import InstrumentRecord
from skill_health.documents.router_history import (
    HISTORY,
    RouterHistoryFailures,
    RouterHistoryFailureShare,
    RouterHistoryLatency,
    RouterHistoryLine,
    RouterHistoryMetrics,
    RouterHistorySettings,
    RouterHistoryTemplate,
)
from skill_health.documents.router_manifest import RouterManifest
from skill_health.documents.router_report import FailureShare, ModelRoutingReport, RouterReport


def history_lines(
    manifest: RouterManifest, report: RouterReport, check: InstrumentRecord | None
) -> list[RouterHistoryLine]:
    """The lines of a run, one for each model of its report, in the manifest's order.

    `check` is the record of the instrument check, None where it was not made.
    """
    models = {model.model: model for model in report.models}
    mark = digest(record_values(manifest))
    return [
        _line(manifest, mark, models[model.spec], check.trusts(model.spec) if check else None)
        for model in manifest.models
        if model.spec in models
    ]


def record_run(reports: str, manifest: RouterManifest, report: RouterReport, check: InstrumentRecord | None) -> int:
    """Append the lines of a finished run that the history in a folder of reports lacks; how many those were.

    A second call changes nothing, so that only finished runs should be recorded. Raises UsageError where the history
    cannot be read or written.
    """
    lines = [record_values(line) for line in history_lines(manifest, report, check)]
    return append_once(os.path.join(reports, HISTORY), lines, ("schema", "run_id", "model"))


def _line(manifest: RouterManifest, mark: str, model: ModelRoutingReport, passed: bool | None) -> RouterHistoryLine:
    hashes, template, usage = manifest.hashes, manifest.template, model.usage
    return RouterHistoryLine(
        schema="skill-health/router-history/1",
        time=manifest.created,
        run_id=manifest.run_id,
        manifest=mark,
        commit=manifest.commit,
        dirty=manifest.dirty,
        version=manifest.tool_version,
        model=model.model,
        kind=model.kind,
        resolved=model.resolved,
        prompts=hashes.get("prompts"),
        catalogue=hashes.get("catalogue"),
        template=RouterHistoryTemplate(name=template.name, version=template.version, digest=template.digest),
        settings=RouterHistorySettings(
            mode=manifest.mode,
            listing=manifest.listing,
            orders=manifest.orders,
            index=manifest.index,
            seed=manifest.seed,
            retrieve=manifest.retrieval.k if manifest.retrieval else 0,
            retriever=manifest.retrieval.router if manifest.retrieval else "",
        ),
        replications=model.replications,
        selection=manifest.selection.kind,
        imported=bool(manifest.imported),
        planned=model.coverage.planned,
        n=model.coverage.scored,
        coverage=model.coverage.share,
        missing=model.coverage.missing,
        metrics=RouterHistoryMetrics(
            **{name: _bare(getattr(model.metrics, name)) for name in RouterHistoryMetrics.__struct_fields__}
        ),
        failures=RouterHistoryFailures(
            first_attempt=_failures(model.failures.first_attempt), after_retry=_failures(model.failures.after_retry)
        ),
        cost_usd=usage.cost_usd.total,
        cost_known=usage.cost_usd.known,
        latency_ms=RouterHistoryLatency(median=usage.latency_ms.median.value, p95=usage.latency_ms.p95.value),
        simulated=model.kind == "simulated",
        trusted=passed,
    )


def _bare(figure: Figure) -> Figure:
    return Figure(value=figure.value, low=figure.low, high=figure.high, n=figure.n, clusters=figure.clusters)


def _failures(part: FailureShare) -> RouterHistoryFailureShare:
    return RouterHistoryFailureShare(rate=_bare(part.rate), kinds={each.kind: each.calls for each in part.kinds})
