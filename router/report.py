"""Manifest and results -> the report, one JSON-safe mapping (core/schemas/router-report.schema.json).

Whatever is shown of a run is rendered from this mapping alone; see `skill_health.router.reports`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skill_health.router.records import RoutingResult
from skill_health.router.scores.failures import coverage, failures
from skill_health.router.scores.judge import ModelScores, RoutingRunFacts, RunScores, judge, read_facts
from skill_health.router.scores.metrics import PRIMARY, measure, usage
from skill_health.router.scores.models import agreement, calibration, compare_models
from skill_health.router.scores.numbers import number, proportion
from skill_health.router.scores.position import Tables, length_slope, position, positions, stability
from skill_health.router.scores.prompts import prompts
from skill_health.router.scores.skills import matrix, pairs, skills, thieves
from skill_health.router.scores.standing import EFFECT, detectable, notes, reasons, statements

SCHEMA = "skill-health/router-report/1"
_RUN = (
    "run_id", "created", "tool_version", "python", "commit", "dirty", "seed", "replications", "mode", "listing", "orders",
    "index", "template", "hashes", "price_table", "selection",
)  # fmt: skip
_DIGITS = 6

Report = Mapping[str, Any]


def build_report(
    manifest: Mapping[str, Any],
    results: Sequence[RoutingResult],
    check: Mapping[str, Any] | None = None,
    effect: float = EFFECT,
) -> dict[str, Any]:
    """Everything that is known of a run, in JSON values; the order of `results` does not matter.

    `check` is the record of the instrument check, None where it was not made. `effect` is the difference in top-1
    that the run is about. Floats are rounded to 6 significant digits, so that the bytes are the same everywhere.
    """
    sheet = judge(read_facts(manifest), results)
    report = {
        "schema": SCHEMA,
        "run": {name: manifest.get(name) for name in _RUN},
        "statements": statements(manifest),
        "notes": notes(sheet, manifest),
        "check": _check(check),
        "counts": _counts(sheet),
        "effect": effect,
        "models": _models(sheet, effect),
        "comparisons": compare_models(sheet),
        "agreement": agreement(sheet),
        "gaps": list(manifest.get("gaps") or ()),
        "length": length_slope(sheet.scored, sheet.facts),
        "steals": thieves(sheet.scored),
        "skills": skills(sheet),
        "confusion": matrix(sheet.scored),
        "pairs": pairs(sheet),
        "prompts": prompts(sheet),
    }
    settled: dict[str, Any] = _settled(report)
    return settled


def _counts(sheet: RunScores) -> dict[str, Any]:
    facts = sheet.facts
    tested = facts.tested
    return {
        "prompts": len(facts.prompts),
        "clusters": len(set(facts.clusters.values())),
        "tested": len(tested),
        "with_skill": sum(prompt.expected is not None for prompt in tested),
        "null": sum(prompt.expected is None for prompt in tested),
        "untested": dict(sorted(Counter(facts.untested.values()).items())),
        "listed": len(facts.shown),
        "omitted": len(facts.omitted),
        "planned": sum(column.planned(facts.prompts.values()) for column in sheet.columns),
        "results": sum(len(column.results) for column in sheet.columns),
        "scored": sum(len(column.scored) for column in sheet.columns),
    }


def _models(sheet: RunScores, effect: float) -> list[dict[str, Any]]:
    """The models, the best top-1 first; those without one last, in the manifest's order."""
    tables = positions(sheet)
    found = [_model(column, sheet.facts, tables, effect) for column in sheet.columns]
    return sorted(found, key=lambda model: -(-1 if (top := model["metrics"][PRIMARY]["value"]) is None else top))


def _model(column: ModelScores, facts: RoutingRunFacts, tables: Mapping[str, Tables], effect: float) -> dict[str, Any]:
    metrics = measure(column, facts)
    model = column.model
    return {
        "model": model.spec,
        "kind": model.kind,
        "replications": model.replications,
        "settings": dict(model.settings),
        "resolved": sorted({result.resolved_model for result in column.results if result.resolved_model}),
        "coverage": coverage(column, facts),
        "preliminary": reasons(column, facts, metrics[PRIMARY], effect),
        "detectable": detectable(column, facts),
        "metrics": metrics,
        "failures": failures(column, facts),
        "usage": usage(column, facts),
        "steals": thieves(column.scored),
        "position": position(column, facts, tables),
        "stability": stability(column),
        "calibration": calibration(column, facts),
        "length": length_slope(column.scored, facts),
        "splits": list(_splits(column, facts)),
        "confusion": matrix(column.scored),
    }


def _splits(column: ModelScores, facts: RoutingRunFacts) -> Iterator[dict[str, Any]]:
    """Top-1 for each split that the prompts name; nothing where they name none."""
    splits = sorted({prompt.split for prompt in facts.tested})
    if splits in ([], [""]):
        return
    for split in splits:
        among = [prompt for prompt in facts.tested if prompt.split == split]
        rows = [row for row in column.tested() if row.prompt.split == split]
        estimate = proportion(rows, lambda row: row.right, "no call is scored")
        yield {"split": split, "prompts": len(among), PRIMARY: number(estimate, column.planned(among))}


def _check(check: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The verdicts of the instrument check: whom it failed, and what it found, one sentence each."""
    if check is None:
        return None
    verdicts = [verdict for part in ("planted", "finished") for verdict in check.get(part) or ()]
    failed = sorted({str(verdict.get("model")) for verdict in verdicts if verdict.get("failed")})
    return {
        "failed": failed,
        "findings": [
            {"model": str(verdict.get("model")), "level": str(finding.get("level")), "text": str(finding.get("text"))}
            for verdict in verdicts
            for finding in verdict.get("findings") or ()
        ],
    }


def _settled(value: Any) -> Any:
    """The value as JSON can hold it: rounded, without NaN, half surrogate pairs and numpy's own numbers."""
    if isinstance(value, Mapping):
        return {_settled(str(key)): _settled(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_settled(each) for each in value]
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int) else _settled(value.item())
