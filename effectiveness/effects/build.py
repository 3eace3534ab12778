"""Manifest and results -> the report, one JSON-safe mapping (core/schemas/effectiveness-report.schema.json).

Whatever is shown of a run is rendered from this mapping alone. docs/statistics.md explains every figure.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skill_health.effectiveness.effects.arms import arms, invoked_of
from skill_health.effectiveness.effects.contrasts import (
    ALL,
    ArmPair,
    Families,
    Scope,
    as_record,
    calibration,
    compare,
    families,
    primary,
    scopes,
)
from skill_health.effectiveness.effects.controls import Control, absence, as_table, controls
from skill_health.effectiveness.effects.sheet import (
    MEASURES,
    Cells,
    CellTrials,
    ModelTrials,
    RunTrials,
    TaskFacts,
    TrialRunFacts,
    read_facts,
    read_sheet,
)
from skill_health.effectiveness.effects.verdicts import ALPHA, VerdictEvidence, verdict
from skill_health.effectiveness.records import AGAIN, PLACEBO, TARGET, TrialResult


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


def tasks(facts: TrialRunFacts, cells: Cells) -> list[dict[str, Any]]:
    """Every task under all its arms; `flip` is by the contrast that decides verdicts."""
    pair = primary(facts.arms)
    return [
        {
            "task_id": task.id,
            "slug": task.slug,
            "skill": task.skill,
            "category": task.category,
            "difficulty": task.difficulty,
            "arms": {arm: _cell(cells.get((task.id, arm))) for arm in task.arms},
            "flip": _flip(task, cells, pair),
            "invoked": invoked_of(task, cells),
        }
        for task in facts.tasks.values()
    ]


def _cell(cell: CellTrials | None) -> dict[str, Any]:
    if cell is None:
        return {"n": 0, "passes": 0, "success": None, "reward": None}
    reward = sum(cell.rewards) / len(cell.rewards) if cell.rewards else None
    return {"n": len(cell.trials), "passes": cell.passes, "success": cell.success, "reward": reward}


def _flip(task: TaskFacts, cells: Cells, pair: ArmPair | None) -> str | None:
    """What the target did to a task; None for one that has no such arm."""
    if pair is None or pair.arm not in task.arms:
        return None
    one, other = cells.get((task.id, pair.arm)), cells.get((task.id, pair.against))
    if one is None or other is None:
        return "missing"
    change = one.passes * len(other.trials) - other.passes * len(one.trials)
    return "gained" if change > 0 else "lost" if change < 0 else "same"


def leaderboard(models: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Models with the whole collection, then pairs of model and skill, each from the greatest gain to the least.

    Equal gains share a rank. What is biased or has no difference comes last, without one.
    """
    whole = [_entry(model, None, model) for model in models]
    single = [_entry(model, skill["skill"], skill) for model in models for skill in model["skills"]]
    return [*_ranked(whole), *_ranked(single)]


def _entry(model: Mapping[str, Any], skill: str | None, among: Mapping[str, Any]) -> dict[str, Any]:
    primary = next((each for each in among["contrasts"] if each["kind"] == "primary"), None)
    missing = {"value": None, "low": None, "high": None, "n": 0, "clusters": 0, "p": None, "p_adjusted": None}
    delta = primary["delta"] if primary else missing | {"method": "", "note": "the run has no such contrast"}
    return {"rank": None, "model": model["model"], "skill": skill, "delta": delta, "verdict": among["verdict"]["word"]}


def _ranked(entries: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    fair = [each for each in entries if each["verdict"] != "biased" and each["delta"]["value"] is not None]
    fair.sort(key=lambda each: (-each["delta"]["value"], each["model"], each["skill"] or ""))
    gains = [each["delta"]["value"] for each in fair]
    for each in fair:
        yield each | {"rank": gains.index(each["delta"]["value"]) + 1}
    yield from (each for each in entries if each not in fair)


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
