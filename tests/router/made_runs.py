"""Manifests and results made up for tests, in the forms that runs write them."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from skill_health.documents._record import TokenUsage, convert_record
from skill_health.documents.router_check import InstrumentRecord
from skill_health.documents.router_manifest import RouterManifest
from skill_health.documents.router_report import RouterReport
from skill_health.router import report
from skill_health.router.plan.orders import presentation
from skill_health.router.records import NONE, Prompt, RoutingResult

SKILLS = ("alpha", "beta", "gamma", "delta")


def prompt(prompt_id: str, expected: str | None, **more: Any) -> Prompt:
    return Prompt(prompt_id, more.pop("text", f"please do {prompt_id}"), expected, **more)


def manifest(
    prompts: Sequence[Prompt],
    models: Sequence[str | dict[str, Any]] = ("maker:one",),
    skills: Sequence[str] = SKILLS,
    replications: int = 1,
    **more: Any,
) -> dict[str, Any]:
    """A manifest like those of `router run`; `more` replaces any of its keys."""
    records = [{"spec": each} if isinstance(each, str) else each for each in models]
    base = {"kind": "provider", "replications": replications, "settings": {}, "price": None}
    listed = [
        {
            "name": name, "text": f"Handles {name} things for teams. Use when {name} is named.", "state": "full",
            "description": f"Handles {name} things for teams. Use when {name} is named.", "path": f"skills/{name}/SKILL.md",
        }
        for name in skills
    ]  # fmt: skip
    return {
        "version": 1, "kind": "router", "run_id": "20260515T120000Z-abc", "created": "2026-05-15T12:00:00Z",
        "tool_version": "0.1", "python": "3.11.9", "commit": "0" * 40, "dirty": False, "seed": 1,
        "replications": replications, "mode": "text", "listing": "full", "orders": "cyclic", "index": "description",
        "template": {"name": "none", "version": "1", "digest": "d", "none_allowed": True},
        "hashes": {"catalogue": "c", "prompts": "p"}, "price_table": "genai-prices 1",
        "models": [base | record for record in records], "catalogue": listed, "omitted": [],
        "prompts": [
            {
                "prompt_id": each.prompt_id, "text": each.text, "expected": each.expected, "known": each.known,
                "acceptable": list(each.acceptable), "rejected": list(each.rejected), "family": each.family,
                "tags": list(each.tags), "split": each.split, "reason": each.reason, "source": each.source,
            }
            for each in prompts
        ],
        "selection": {"kind": "all"},
    } | more  # fmt: skip


def result(
    prompt_id: str, ranking: Sequence[str] = (), model: str = "maker:one", replication: int = 0, **more: Any
) -> RoutingResult:
    """A finished result with this ranking, or a format failure without one."""
    status = more.pop("status", "finished" if ranking else "format_failure")
    failed = status == "format_failure"
    given: dict[str, Any] = {
        "kinds": ("prose",) if failed else (), "first_kinds": ("prose",) if failed else (), "first_status": status,
    }  # fmt: skip
    return RoutingResult(prompt_id, model, replication, status, tuple(ranking), **{**given, **more})


def frozen(given: dict[str, Any]) -> RouterManifest:
    """A manifest as it is read."""
    return convert_record(given, RouterManifest)


def checked(check: dict[str, Any] | None) -> InstrumentRecord | None:
    """The record of an instrument check whose verdicts say who failed, and no more than a test needs."""
    if check is None:
        return None
    usual = {"asked": 6, "answered": 6, "tested": True, "cost_usd": None}
    wrong = [{"key": "always_none", "text": "every answer is none", "hits": 6, "n": 6, "level": "fail"}]
    planted = [
        usual | each | {"findings": each.get("findings") or (wrong if each["failed"] else [])}
        for each in check["planted"]
    ]
    return convert_record({**check, "planted": planted}, InstrumentRecord)


def report_record(
    given: dict[str, Any], results: Sequence[RoutingResult], check: dict[str, Any] | None = None, **more: Any
) -> RouterReport:
    """The report of a run."""
    return report.build_report(frozen(given), results, checked(check), **more)


def build_report(
    given: dict[str, Any], results: Sequence[RoutingResult], check: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """The report of a run, as JSON holds it."""
    return values(report_record(given, results, check, **more))


def put_run(reports: Path, given: dict[str, Any], results: Sequence[RoutingResult]) -> Path:
    """Write a run below a folder of reports; its folder."""
    folder = reports / "router" / given["run_id"]
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps(given), "utf-8")
    (folder / "results.jsonl").write_text("".join(json.dumps(values(one)) + "\n" for one in results), "utf-8")
    return folder


def values(record: Any) -> Any:
    """What JSON holds of a record, or of several."""
    return json.loads(json.dumps(msgspec.to_builtins(record)))


def replace(record: Any, **more: Any) -> Any:
    """The same record with other values, whichever way it is made."""
    kind = msgspec.structs if isinstance(record, msgspec.Struct) else dataclasses
    return kind.replace(record, **more)


Answer = Callable[[random.Random, Prompt, tuple[str, ...]], Sequence[str]]


def simulate(
    given: dict[str, Any],
    answers: dict[str, Answer],
    seed: int,
    confidence: Callable[[random.Random, bool], float] | None = None,
) -> list[RoutingResult]:
    """Every result of a run whose models answer by a function of their own, with the positions filled in."""
    prompts = [convert_record(record, Prompt) for record in given["prompts"]]
    names = [skill["name"] for skill in given["catalogue"]]
    found = []
    for model in given["models"]:
        for each in prompts:
            for replication in range(model["replications"]):
                rng = random.Random(f"{seed}|{model['spec']}|{each.prompt_id}|{replication}")
                order = presentation(names, each.prompt_id, model["spec"], replication, given["seed"], given["orders"])
                ranking = tuple(answers[model["spec"]](rng, each, order))
                place = {name: at for at, name in enumerate(order, 1)}
                right = bool(ranking) and ranking[0] == (each.expected or NONE)
                found.append(result(
                    each.prompt_id, ranking, model["spec"], replication,
                    target_position=place.get(each.expected or ""), picked_position=place.get(ranking[0]) if ranking else None,
                    confidence=confidence(rng, right) if confidence and ranking else None,
                    usage=TokenUsage(input_tokens=100, output_tokens=10), duration_ms=10.0 + 5 * rng.random(), cost_usd=0.001,
                ))  # fmt: skip
    return found
