"""Manifest and results -> the report, one JSON-safe mapping (core/schemas/effectiveness-report.schema.json).

Whatever is shown of a run is rendered from this mapping alone. docs/statistics.md explains every figure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from skill_health.effectiveness.effects.absence import absence
from skill_health.effectiveness.effects.arms import arms
from skill_health.effectiveness.effects.contrasts import as_record, compare
from skill_health.effectiveness.effects.controls import Control, as_table, controls
from skill_health.effectiveness.effects.facts import TaskFacts, TrialRunFacts, read_facts
from skill_health.effectiveness.effects.families import ALL, Families, Scope, families, scopes
from skill_health.effectiveness.effects.notes import notes
from skill_health.effectiveness.effects.pairs import calibration, primary
from skill_health.effectiveness.effects.sheet import ModelTrials, RunTrials, read_sheet
from skill_health.effectiveness.effects.tables import leaderboard, tasks
from skill_health.effectiveness.effects.verdicts import ALPHA, VerdictEvidence, verdict
from skill_health.effectiveness.records import PLACEBO, TARGET, TrialResult

VERSION, KIND = 1, "effectiveness"
_DIGITS = 6


def build_report(manifest: Mapping[str, Any], results: Sequence[TrialResult]) -> dict[str, Any]:
    """Everything that is known of a run, in JSON values; the order of `results` does not matter.

    Floats are rounded to 6 significant digits, so that the bytes are the same everywhere.

    Raises:
        KeyError, TypeError: where the manifest is none of ours.
        UsageError: for an arm in it that there is not.
    """
    facts = read_facts(manifest)
    sheet = read_sheet(facts, results)
    found, checked = families(sheet), controls(sheet)
    models = [
        _model(column, model, facts, found, checked[column.spec])
        for column, model in zip(sheet.columns, facts.models, strict=True)
    ]
    report: dict[str, Any] = _settled(
        {
            "version": VERSION,
            "kind": KIND,
            "run_id": manifest["run_id"],
            "created": manifest.get("created"),
            "tool_version": manifest.get("tool_version"),
            "simulated": any(model["simulated"] for model in models),
            "sandbox": (manifest.get("sandbox") or {}).get("name"),
            "seed": facts.seed,
            "replications": facts.replications,
            "margin": facts.margin,
            "planned": sum(model["planned"] for model in models),
            "scored": sum(model["scored"] for model in models),
            "outcomes": _summed([model["outcomes"] for model in models]),
            "cost_usd": _cost(sheet, facts),
            "biased": [f"{model['model']}: {reason}" for model in models for reason in model["biased"]],
            "preliminary": _preliminary(models),
            "notes": list(notes(sheet, manifest, models)),
            "models": models,
            "leaderboard": leaderboard(models),
        }
    )
    return report


def _model(
    column: ModelTrials, model: Mapping[str, Any], facts: TrialRunFacts, found: Families, checked: Sequence[Control]
) -> dict[str, Any]:
    biased = [each.why() for each in checked if each.failed]
    return {
        "model": column.spec,
        "agent": str(model.get("agent") or ""),
        "agent_version": model.get("version"),
        "resolved": sorted({result.resolved_model for result in column.results if result.resolved_model}),
        "simulated": bool(model.get("simulated")),
        "planned": facts.planned(facts.tasks.values()),
        "scored": column.scored,
        "outcomes": column.outcomes,
        "retried": sum(result.attempts > 1 for result in column.results),
        "cost_usd": column.cost_usd,
        "biased": biased,
        **_scope(ALL, facts.targets, column, facts, found, biased),
        "skills": [
            {"skill": scope.name, "tasks": [task.id for task in own]} | _scope(scope, own, column, facts, found, biased)
            for scope, own in scopes(facts).items()
            if scope.kind == "skill"
        ],
        "categories": [
            {
                "category": scope.name,
                "tasks": len(own),
                "contrasts": [as_record(each) for each in found.table[column.spec, scope]],
            }
            for scope, own in scopes(facts).items()
            if scope.kind == "category"
        ],
        "controls": as_table(column, checked, facts),
        "calibration": _calibration(column, facts),
        "tasks": tasks(facts, column.cells),
    }


def _scope(
    scope: Scope,
    own: Sequence[TaskFacts],
    column: ModelTrials,
    facts: TrialRunFacts,
    found: Families,
    biased: Sequence[str],
) -> dict[str, Any]:
    """The arms, contrasts and verdict over some tasks."""
    table = arms(facts, own, column.cells)
    by_name = {arm["arm"]: arm for arm in table}
    pair = primary(facts.arms)
    sides = (pair.arm, pair.against) if pair else ()
    planned = facts.planned(own, sides)
    absent = absence(pair, own, column.cells, facts.replications) if pair else None
    evidence = VerdictEvidence(
        primary=found.primary(column.spec, scope),
        family=found.skills if scope.kind else found.models,
        missing=sum(by_name[side]["missing"] for side in sides if side in by_name) / planned if planned else 1.0,
        absent=absent,
        margin=facts.margin,
        biased=biased,
        placebo=found.find(column.spec, scope, sides[0], sides[0].replace(TARGET, PLACEBO)) if sides else None,
    )
    records = [as_record(each) for each in found.table[column.spec, scope]]
    return {"arms": table, "contrasts": records, "verdict": verdict(evidence)}


def _calibration(column: ModelTrials, facts: TrialRunFacts) -> dict[str, Any] | None:
    """The target against itself; None where no task has both arms."""
    pair = calibration(facts.arms)
    contrast = compare(pair, facts.targets, column.cells, facts.seed) if pair else None
    if contrast is None:
        return None
    p = contrast.delta.p
    word = "not testable" if p is None else "differs" if p < ALPHA else "no difference shown"
    return as_record(contrast) | {"verdict": word}


def _preliminary(models: Sequence[Mapping[str, Any]]) -> list[str]:
    """The reasons of all models, each once; with the model's name where there are several."""
    reasons = [(model["model"], reason) for model in models for reason in model["verdict"]["preliminary"]]
    return [f"{spec}: {reason}" if len(models) > 1 else reason for spec, reason in reasons]


def _summed(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    words = sorted({word for each in counts for word in each})
    return {word: sum(each.get(word, 0) for each in counts) for word in words}


def _cost(sheet: RunTrials, facts: TrialRunFacts) -> float | None:
    """Dollars that were spent: made-up ones of a simulated model are no part of them."""
    pairs = zip(sheet.columns, facts.models, strict=True)
    known = [one.cost_usd for one, model in pairs if one.cost_usd is not None and not model.get("simulated")]
    return math.fsum(known) if known else None


def _settled(value: Any) -> Any:
    """The value as JSON can hold it: rounded, without NaN, half surrogate pairs and numpy's own numbers."""
    kind = type(value)
    if kind is float:
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    if value is None or kind is bool or kind is int:
        return value
    if kind is str:
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, Mapping):
        return {_settled(str(key)): _settled(each) for key, each in value.items()}
    return [_settled(each) for each in value] if isinstance(value, list | tuple) else _settled(value.item())
