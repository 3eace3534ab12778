"""One line for each model and run in router-history.jsonl: what the run was, and what came out.

`core/schemas/router-history.schema.json` says what a line holds. A line is written once for a run and model, however
often the run is resumed or reported; lines of others, such as the plan's own runner, stay as they are.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from skill_health.bench.durable import append_once
from skill_health.bench.manifest import digest
from skill_health.router.runs import trusted

HISTORY = "router-history.jsonl"
SCHEMA = "skill-health/router-history/1"
_METRICS = (
    "top1", "top3", "acceptable", "mrr", "ndcg3", "abstention_precision", "abstention_recall", "abstention_f1",
    "false_fire", "rejected_at_1", "rejected_at_3",
)  # fmt: skip
_NUMBER = ("value", "low", "high", "n", "clusters")
_SIMULATED = "simulated"


def history_lines(
    manifest: Mapping[str, Any], report: Mapping[str, Any], check: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """The lines of a run, one for each model of its report, in the manifest's order.

    `check` is the record of the instrument check, None where it was not made.
    """
    models = {model["model"]: model for model in report["models"]}
    specs = [model["spec"] for model in manifest["models"]]
    return [_line(manifest, models[spec], trusted(check, spec)) for spec in specs if spec in models]


def record_run(
    reports: str, manifest: Mapping[str, Any], report: Mapping[str, Any], check: Mapping[str, Any] | None
) -> int:
    """Append the lines of a finished run that the history in a folder of reports lacks; how many those were.

    A second call changes nothing, so that only finished runs should be recorded. Raises UsageError where the history
    cannot be read or written.
    """
    return append_once(
        os.path.join(reports, HISTORY), history_lines(manifest, report, check), ("schema", "run_id", "model")
    )


def _line(manifest: Mapping[str, Any], model: Mapping[str, Any], passed: bool | None) -> dict[str, Any]:
    hashes = manifest.get("hashes") or {}
    coverage, usage = model["coverage"], model["usage"]
    return {
        "schema": SCHEMA,
        "time": manifest["created"],
        "run_id": manifest["run_id"],
        "manifest": digest(dict(manifest)),
        "commit": manifest.get("commit"),
        "dirty": manifest.get("dirty"),
        "version": manifest.get("tool_version"),
        "model": model["model"],
        "kind": model["kind"],
        "resolved": list(model["resolved"]),
        "prompts": hashes.get("prompts"),
        "catalogue": hashes.get("catalogue"),
        "template": {key: (manifest["template"] or {}).get(key) for key in ("name", "version", "digest")},
        "settings": {key: manifest.get(key) for key in ("mode", "listing", "orders", "index", "seed")},
        "replications": model["replications"],
        "selection": str((manifest.get("selection") or {}).get("kind") or "all"),
        "imported": bool(manifest.get("imported")),
        "planned": coverage["planned"],
        "n": coverage["scored"],
        "coverage": coverage["share"],
        "missing": dict(coverage["missing"]),
        "metrics": {key: _number(model["metrics"][key]) for key in _METRICS},
        "failures": {when: _failures(model["failures"][when]) for when in ("first_attempt", "after_retry")},
        "cost_usd": usage["cost_usd"]["total"],
        "cost_known": usage["cost_usd"]["known"],
        "latency_ms": {key: usage["latency_ms"][key]["value"] for key in ("median", "p95")},
        "simulated": model["kind"] == _SIMULATED,
        "trusted": passed,
    }


def _number(number: Mapping[str, Any]) -> dict[str, Any]:
    return {key: number[key] for key in _NUMBER}


def _failures(part: Mapping[str, Any]) -> dict[str, Any]:
    return {"rate": _number(part["rate"]), "kinds": {kind["kind"]: kind["calls"] for kind in part["kinds"]}}
