"""Router runs for a made-up page: routers of different strength with their own biases, failures and missing calls."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks._made_page import Known, Texts, append, write_json
from skill_health.bench.manifest import digest
from skill_health.discovery.hosts import FULL
from skill_health.documents._record import TokenUsage, convert_record, record_values
from skill_health.documents.router_manifest import RouterManifest
from skill_health.router.history import history_lines
from skill_health.router.plan.orders import presentation
from skill_health.router.records import NONE, RoutingResult
from skill_health.router.report import build_report

# Of the orders: runs with another one are not comparable.
_SEED = 1


def write_router(
    reports: Path,
    skills: Sequence[Known],
    prompts: Sequence[Mapping[str, Any]],
    models: int,
    day: date,
    seed: int,
    texts: Texts,
) -> None:
    """Write one run of this many models over all prompts, as `router run` leaves it, and its history lines."""
    listed = [skill for skill in skills if not skill.hidden]
    rng = random.Random(f"router {seed}")
    specs = [texts("model", nth) for nth in range(models)]
    manifest = _manifest(f"{day:%Y%m%d}T050000Z-{seed:08x}", f"{day}T05:00:00Z", listed, prompts, specs)
    names = [skill.name for skill in listed]
    results = []
    for prompt in manifest["prompts"]:
        order = presentation(names, prompt["prompt_id"], "", 0, _SEED)
        hard = rng.random()
        for at, model in enumerate(specs):
            right = rng.random() < 0.45 + 0.5 * at / max(1, models - 1) - 0.3 * hard + 0.15
            results.append(_result(rng, prompt, model, order, right, names, texts))
    folder = reports / "router" / manifest["run_id"]
    frozen = convert_record(manifest, RouterManifest)
    report = build_report(frozen, results)
    write_json(folder / "manifest.json", manifest)
    write_json(folder / "report.json", record_values(report))
    lines = (json.dumps(record_values(result), sort_keys=True) + "\n" for result in results)
    (folder / "results.jsonl").write_text("".join(lines), encoding="utf-8")
    append(reports / "router-history.jsonl", [record_values(line) for line in history_lines(frozen, report, None)])


def _manifest(
    run: str,
    created: str,
    listed: Sequence[Known],
    prompts: Sequence[Mapping[str, Any]],
    specs: Sequence[str],
) -> dict[str, Any]:
    catalogue = [
        {"name": each.name, "text": each.description, "state": FULL, "description": each.description, "path": each.path}
        for each in listed
    ]
    asked = [
        {
            "prompt_id": each["prompt_id"], "text": each["prompt"], "expected": each["expected_primary_skill"], "known": True,
            "acceptable": [], "rejected": [], "family": each["family"], "tags": each["tags"], "split": each["split"],
            "reason": each["reason"], "source": f"registries/prompts.jsonl:{at}",
        }
        for at, each in enumerate(prompts, 1)
    ]  # fmt: skip
    return {
        "version": 1, "kind": "router", "run_id": run, "created": created, "tool_version": "0", "python": "3",
        "commit": None, "dirty": None, "seed": _SEED, "replications": 1, "mode": "text", "listing": "full",
        "orders": "cyclic", "index": "description", "selection": {"kind": "all"},
        "template": {"name": "none", "version": "1", "digest": "0", "none_allowed": True},
        "hashes": {"catalogue": digest(catalogue), "prompts": digest(asked)}, "price_table": "0",
        "models": [{"spec": spec, "kind": "provider", "replications": 1, "settings": {}, "price": None} for spec in specs],
        "catalogue": catalogue, "omitted": [], "prompts": asked,
    }  # fmt: skip


def _result(
    rng: random.Random,
    prompt: Mapping[str, Any],
    model: str,
    order: Sequence[str],
    right: bool,
    names: Sequence[str],
    texts: Texts,
) -> RoutingResult:
    target = prompt["expected"] or NONE
    key = (prompt["prompt_id"], model, 0)
    drawn = rng.random()
    if drawn < 0.03:
        kind: Any = "provider_error" if drawn < 0.015 else "format_failure"
        kinds = ("prose",) if kind == "format_failure" else ()
        return RoutingResult(
            *key, status=kind, kinds=kinds, first_kinds=kinds, first_status=kind, attempts=2 if kinds else 1
        )
    # The wrong pick is a neighbour, one of a few favourites, or any skill.
    at = names.index(target) if target in names else rng.randrange(len(names))
    first = target if right else rng.choice([names[at - 1], *names[:2], NONE, rng.choice(names)])
    ranking = [first] if first == NONE else list(dict.fromkeys([first, *rng.sample(names, min(2, len(names)))]))
    place = {name: nth for nth, name in enumerate(order, 1)}
    return RoutingResult(
        *key, status="finished", ranking=tuple(ranking), confidence=round(rng.uniform(0.4, 1), 2),
        rationale=texts("rationale", rng.randrange(10_000)), target_position=place.get(target), picked_position=place.get(first),
        resolved_model=model, request_id=f"req-{rng.random():.12f}", stop_reason="stop",
        usage=TokenUsage(input_tokens=rng.randint(9000, 9500), output_tokens=rng.randint(40, 90)),
        duration_ms=round(rng.lognormvariate(7, 0.4), 1), cost_usd=round(rng.uniform(0.001, 0.01), 6),
    )  # fmt: skip
