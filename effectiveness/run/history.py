"""One line for each model and skill of a run, and one for the whole collection, in effectiveness-history.jsonl.

`core/schemas/effectiveness-history.schema.json` says what a line holds. A line is written once for a run, model and
skill, however often the run is resumed or reported; when its trials are verified again with another outcome, once more.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skill_health.bench.durable import append_once
from skill_health.bench.manifest import digest
from skill_health.core.history import append_history, read_backwards
from skill_health.documents.effect_history import HISTORY, KIND, VERSION
from skill_health.effectiveness.records import CONTROL, TARGET, TrialResult
from skill_health.effectiveness.tasks._api import NO_SKILL

_NUMBER = ("value", "low", "high", "n", "clusters")
_NONE = {"value": None, "low": None, "high": None, "n": 0, "clusters": 0}
_OF_MODEL = ("model", "agent", "agent_version", "resolved", "simulated", "outcomes", "biased", "cost_usd")


def history_lines(
    manifest: Mapping[str, Any], report: Mapping[str, Any], results: Sequence[TrialResult]
) -> list[dict[str, Any]]:
    """The lines of a run: of each model in the report's order that of the collection, then those of its skills."""
    return [line for model in report["models"] for line in _lines(manifest, model, results)]


def record_run(
    reports: str, manifest: Mapping[str, Any], report: Mapping[str, Any], results: Sequence[TrialResult]
) -> int:
    """Append the lines of a finished run that the history in a folder of reports lacks; how many those were.

    Raises UsageError where the history cannot be read or written.
    """
    path = os.path.join(reports, HISTORY)
    return append_once(path, history_lines(manifest, report, results), ("kind", "version", "run_id", "model", "skill"))


def record_again(
    reports: str, manifest: Mapping[str, Any], report: Mapping[str, Any], results: Sequence[TrialResult]
) -> int:
    """Append new lines of a run whose results were replaced, where it is the last that was recorded; how many.

    The last line of a model and skill is what is known of them, so a run that a later one has followed gets none.
    Raises UsageError where the history cannot be read or written.
    """
    path = os.path.join(reports, HISTORY)
    last: dict[tuple[Any, Any], Any] = {}
    for _, raw in read_backwards(path):
        try:
            line = json.loads(raw)
        except (ValueError, RecursionError):
            continue
        if isinstance(line, dict) and isinstance(line.get("model"), str) and isinstance(line.get("skill"), str | None):
            last.setdefault((line["model"], line["skill"]), line)
    lines = []
    for line in history_lines(manifest, report, results):
        known = last.get((line["model"], line["skill"]))
        if known and known.get("run_id") == line["run_id"] and known != json.loads(json.dumps(line)):
            lines.append(line)
    for line in lines:
        append_history(path, line)
    return len(lines)


def _lines(
    manifest: Mapping[str, Any], model: Mapping[str, Any], results: Sequence[TrialResult]
) -> Iterator[dict[str, Any]]:
    digests = {skill["name"]: skill["digest"] for skill in manifest["skills"]}
    targets = [task["id"] for task in manifest["tasks"] if task["target_skill"] != NO_SKILL]
    yield _line(manifest, model, model, None, manifest["hashes"].get("skills"), targets, results)
    for part in model["skills"]:
        yield _line(manifest, model, part, part["skill"], digests.get(part["skill"]), part["tasks"], results)


def _line(
    manifest: Mapping[str, Any],
    model: Mapping[str, Any],
    part: Mapping[str, Any],
    skill: str | None,
    skill_digest: str | None,
    tasks: Sequence[str],
    results: Sequence[TrialResult],
) -> dict[str, Any]:
    """The line of one part of a model's report: all of it, or a skill."""
    arms = {arm["arm"]: arm["success"] for arm in part["arms"]}
    primary = next((each for each in part["contrasts"] if each["name"] == f"{TARGET}-{CONTROL}"), None)
    delta = primary["delta"] if primary else _NONE
    planned = sum(len(manifest["staged"].get(task, ())) for task in tasks) * manifest["replications"]
    wanted = set(tasks)
    scored = sum(each.scored and each.model == model["model"] and each.task_id in wanted for each in results)
    return {
        "version": VERSION,
        "kind": KIND,
        "created": manifest["created"],
        "run_id": manifest["run_id"],
        "manifest": digest(dict(manifest)),
        "commit": manifest.get("commit"),
        "dirty": manifest.get("dirty"),
        "tool_version": manifest["tool_version"],
        **{name: model[name] for name in _OF_MODEL},
        "skill": skill,
        "skill_digest": skill_digest,
        "hashes": dict(manifest["hashes"]),
        "sandbox": manifest["sandbox"]["name"],
        "seed": manifest["seed"],
        "replications": manifest["replications"],
        "tasks": len(tasks),
        "trials": planned,
        "scored": scored,
        "control": _number(arms.get(CONTROL, _NONE)),
        "target": _number(arms.get(TARGET, _NONE)),
        "delta": _number(delta),
        "p": delta.get("p"),
        "p_adjusted": delta.get("p_adjusted"),
        "verdict": part["verdict"]["word"],
        "reason": part["verdict"]["reason"],
        "preliminary": list(part["verdict"]["preliminary"]),
    }


def _number(estimate: Mapping[str, Any]) -> dict[str, Any]:
    return {name: estimate[name] for name in _NUMBER}
